"""The figures: turns, usage, and all that concerns one turn."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.errors import RefusalError
from actors.read_models.read_models import ReadModels
from actors.table import Table
from events.base import ChannelId, GuildId, Scope, TurnId, turn_stream
from events.codec import kind_of
from events.delivery import SendFailed
from events.spending import UsageReport
from events.turn import TurnEnded, TurnRecovered
from tests.actors.read_models.samples import (
    CHANNEL,
    GUILD,
    START,
    History,
    opened,
    report,
    turn_id,
)

DONE = TurnEnded(status="completed", messages=1, requests=1)


def dicts(table: Table) -> list[dict[str, Any]]:
    """Return a table's rows by the names of its columns."""
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def test_p1_p2_unknown_cache_use_is_kept_apart_from_none(models: ReadModels) -> None:
    """Counting unknown as 0 would show a hit ratio of 0.47 where it is 0.67."""
    reports = (
        report(1, input_tokens=1000, output_tokens=1, cache_read_tokens=800),
        report(2, input_tokens=500, output_tokens=1),
        report(3, input_tokens=200, output_tokens=1, cache_read_tokens=0),
    )
    models.ingest(History().turn(1, reports=reports, ending=DONE).events)

    (row,) = dicts(models.usage(["model"]))

    assert row["input_tokens"] == 1700
    assert row["cache_read_tokens"] == 800
    assert row["cache_known_input"] == 1200
    assert row["cache_hit_ratio"] == pytest.approx(0.6667, abs=1e-4)


@pytest.mark.parametrize("read", [None, 0], ids=["unknown", "of-no-input"])
def test_p2_a_ratio_of_nothing_is_undefined_not_0(models: ReadModels, read: int | None) -> None:
    """A provider that reports no cache has no hit ratio, rather than a bad one."""
    reports = (report(input_tokens=0, output_tokens=1, cache_read_tokens=read),)
    models.ingest(History().turn(1, reports=reports).events)

    (row,) = dicts(models.usage([]))

    assert row["cache_hit_ratio"] is None


def test_tu18_of_a_repeated_report_the_latest_counts_once(models: ReadModels) -> None:
    """A recovered turn may report a request again; it was still paid once."""
    history = History().turn(1, reports=(report(1, input_tokens=10), report(2, input_tokens=7)))
    scope = Scope(turn_id=turn_id(1), channel_id=CHANNEL, guild_id=GUILD)
    models.ingest(history.events)

    history.add(turn_stream(turn_id(1)), scope, report(1, input_tokens=11))
    models.ingest(history.events)
    history.add(
        turn_stream(turn_id(1)), scope, report(1, input_tokens=12), report(1, input_tokens=13)
    )
    models.ingest(history.events)

    assert [(row["requests"], row["input_tokens"]) for row in dicts(models.usage([]))] == [(2, 20)]
    assert models.sql("SELECT count(*) FROM usage_reports").rows == ((5,),)


def test_cost_is_exact_and_what_is_unknown_is_counted(models: ReadModels) -> None:
    """A dollar figure that drops unknown costs in silence reads as cheap."""
    reports = (
        report(1, cost_pico=4_230_000_000, input_tokens=1, output_tokens=1),
        report(2, cost_pico=1),
        report(3),
        report(4, cost_pico=0, measurement="estimated"),
    )
    models.ingest(History().turn(1, reports=reports).events)

    (row,) = dicts(models.usage([]))

    assert row["cost_usd"] == Decimal("0.004230000001")
    assert row["cost_unknown"] == 1
    assert row["tokens_unknown"] == 3
    assert (row["measured"], row["estimated"]) == (3, 1)


def test_a_cost_of_nothing_known_is_unknown(models: ReadModels) -> None:
    """0 dollars would say that it was free."""
    models.ingest(History().turn(1, reports=(report(),)).events)

    (row,) = dicts(models.usage([]))

    assert row["cost_usd"] is None
    assert row["input_tokens"] is None


def test_usage_is_grouped_as_asked_and_a_direct_message_has_no_guild(models: ReadModels) -> None:
    """TU17: what is written in private belongs to no guild's figures."""
    history = History()
    history.turn(1, reports=(report(input_tokens=1),))
    history.turn(2, reports=(report(input_tokens=2),), guild=None, channel=ChannelId(9))
    history.pass_time(timedelta(days=1))
    history.turn(3, reports=(report(input_tokens=4, model="large"),), guild=GuildId(43))
    models.ingest(history.events)

    def grouped(*by: str) -> list[tuple[Any, ...]]:
        table = models.usage(by)
        place = [column.name for column in table.columns].index("input_tokens")
        return [(*row[: len(by)], row[place]) for row in table.rows]

    assert grouped("guild") == [(42, 1), (43, 4), (None, 2)]
    assert grouped("day", "model") == [("2026-03-01", "small", 3), ("2026-03-02", "large", 4)]
    assert grouped("provider") == [("main", 7)]
    assert grouped() == [(7,)]
    assert models.sql("SELECT guild_id, model, provider, day FROM usage ORDER BY ALL").rows == (
        (42, "small", "main", "2026-03-01"),
        (43, "large", "main", "2026-03-02"),
        (None, "small", "main", "2026-03-01"),
    )


def test_usage_by_an_unknown_word_names_the_allowed_ones(models: ReadModels) -> None:
    """The words are the interface; and the word goes into SQL."""
    with pytest.raises(RefusalError, match="'user'; allowed are guild, model, provider, day"):
        models.usage(["guild", "user"])


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_usage_is_what_a_plain_sum_over_the_reports_gives(
    models: ReadModels, data: st.DataObject
) -> None:
    """The narrow table must never drift from the events, however they come in."""
    count = st.none() | st.integers(0, 10**6)
    reports = data.draw(
        st.lists(
            st.builds(
                report,
                st.integers(1, 3),
                input_tokens=count,
                cache_read_tokens=count,
                cost_pico=st.none() | st.integers(0, 2**62),
                model=st.sampled_from(["small", "large"]),
            ),
            max_size=12,
        )
    )
    models.rebuild()
    history = History()
    latest: dict[tuple[int, int], UsageReport] = {}
    for index, one in enumerate(reports):
        number = index % 2
        scope = Scope(turn_id=turn_id(number))
        history.add(turn_stream(turn_id(number)), scope, one)
        latest[number, one.request] = one
    size = data.draw(st.integers(1, 5))

    for start in range(0, len(reports), size):
        models.ingest(history.events[start : start + size])

    (row,) = dicts(models.usage([]))
    counted = list(latest.values())
    known = [one.cost_pico for one in counted if one.cost_pico is not None]
    assert row["requests"] == len(counted)
    assert row["cost_unknown"] == len(counted) - len(known)
    assert row["cost_usd"] == (Decimal(sum(known)).scaleb(-12) if known else None)
    inputs = [one.input_tokens for one in counted if one.input_tokens is not None]
    assert row["input_tokens"] == (sum(inputs) if inputs else None)


def test_a_turn_is_one_row_with_all_that_is_known_of_it(models: ReadModels) -> None:
    """It is what `turns` prints."""
    reports = (
        report(1, input_tokens=10, output_tokens=3, cost_pico=2_000_000),
        report(2, input_tokens=5, output_tokens=None, cost_pico=1_000_000),
    )
    ending = TurnEnded(status="stopped_by_user", stop_reason="stop", messages=4, requests=2)
    models.ingest(History().turn(1, reports=reports, ending=ending).events)

    table = models.turns()

    assert dicts(table) == [
        {
            "turn_id": turn_id(1),
            "started_at": START + timedelta(seconds=1),
            "ended_at": START + timedelta(seconds=8),
            "channel_id": CHANNEL,
            "guild_id": GUILD,
            "persona": "Rejoinder",
            "model": "main/small",
            "status": "stopped_by_user",
            "stop_reason": "stop",
            "messages": 4,
            "requests": 1,
            "input_tokens": 15,
            "output_tokens": 3,
            "cost_usd": Decimal("0.000003000000"),
            "duration_ms": 7000.0,
            "unconfirmed": 0,
            "recovered": 0,
        }
    ]
    units = {column.name: column.unit for column in table.columns}
    assert units["input_tokens"] == "tokens"
    assert units["cost_usd"] == "USD"
    assert units["duration_ms"] == "ms"
    assert units["status"] is None


def test_an_open_turn_is_open_and_counts_what_it_has(models: ReadModels) -> None:
    """Who looks while a turn runs must not read it as ended, nor as free."""
    models.ingest(History().turn(1).events)

    (row,) = dicts(models.turns())

    assert row["status"] == "open"
    assert row["messages"] == 1
    assert row["ended_at"] is None
    assert row["duration_ms"] is None
    assert row["input_tokens"] is None
    assert row["cost_usd"] is None


def test_u21_a_turns_cost_is_unknown_where_one_request_reports_none(models: ReadModels) -> None:
    """W14: half a sum would read as the whole."""
    reports = (report(1, cost_pico=1000, input_tokens=1), report(2, input_tokens=1))
    models.ingest(History().turn(1, reports=reports).events)

    (row,) = dicts(models.turns())

    assert row["cost_usd"] is None
    assert row["input_tokens"] == 2


def test_a_turn_tells_of_recoveries_unconfirmed_posts_and_its_last_model(
    models: ReadModels,
) -> None:
    """These are the turns that an operator looks for."""
    failures = (
        SendFailed(attempt=1, outcome="definite_refusal", reason="http_403"),
        SendFailed(attempt=2, outcome="unconfirmed", reason="timeout"),
    )
    history = History().turn(1, failures=failures)
    recovered = TurnRecovered(epoch=1, found="nothing", decision="end_unconfirmed")
    history.add(turn_stream(turn_id(1)), Scope(turn_id=turn_id(1)), opened(2, "large"), recovered)
    models.ingest(history.events)

    (row,) = dicts(models.turns())

    assert row["unconfirmed"] == 1
    assert row["recovered"] == 1
    assert row["model"] == "main/large"
    assert row["messages"] == 0


def test_the_latest_turns_come_first_and_a_channel_may_be_named(models: ReadModels) -> None:
    """Of thousands only the last ones are of interest."""
    history = History()
    for number in range(1, 8):
        history.turn(number, channel=ChannelId(number % 2))
    models.ingest(history.events)

    assert [row[0] for row in models.turns(limit=3).rows] == [turn_id(7), turn_id(6), turn_id(5)]
    odd = models.turns(limit=2, channel_id=ChannelId(1))
    assert [row[0] for row in odd.rows] == [turn_id(7), turn_id(5)]
    assert odd.as_of == len(history.events)


def test_an_empty_log_has_empty_figures_with_their_columns(models: ReadModels) -> None:
    """The first command after the first start must not fail."""
    assert models.turns().rows == ()
    assert models.usage().rows == ()
    assert dicts(models.usage([]))[0]["requests"] == 0
    assert models.turn_ids() == []
    assert models.turns().columns[0].name == "turn_id"


@pytest.fixture
def three_turns(models: ReadModels) -> ReadModels:
    """Two turns of one channel and one of another, each with a stop, and strangers' events."""
    history = History()
    history.turn(1, ending=DONE).stop(1).turn(2, ending=DONE).stop(2)
    history.turn(3, channel=ChannelId(5), ending=DONE).stop(3, ChannelId(5))
    models.ingest(history.events)
    return models


def test_all_that_concerns_a_turn_is_found_in_order(three_turns: ReadModels) -> None:
    """A replay without its trigger or its stop explains nothing."""
    found = three_turns.turn_events(turn_id(2))

    assert [kind_of(one.event) for one in found] == [
        "trigger_received",
        "turn_started",
        "request_opened",
        "raw_chunk",
        "send_attempt",
        "receipt",
        "turn_ended",
        "stop_requested",
    ]
    assert found == sorted(found, key=lambda one: one.position)
    assert {one.stream for one in found} == {
        f"turn/{turn_id(2)}",
        f"delivery/{turn_id(2)}",
        f"channel/{CHANNEL}",
    }
    assert found[0].recorded_at.tzinfo is UTC


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(three_turns: ReadModels) -> None:
    """Nobody types 36 characters."""
    assert three_turns.turn_events(f" {turn_id(3)[:13].upper()} ") == three_turns.turn_events(
        turn_id(3)
    )


@pytest.mark.parametrize(
    ("prefix", "told"),
    [
        ("0192", "3 turns' ids begin with '0192', such as"),
        ("ffff", "no turn's id begins with 'ffff'"),
        ("0192%", "no turn's id begins with '0192%'"),
        ("  ", "not by nothing"),
    ],
)
def test_a_prefix_that_names_no_single_turn_is_refused(
    three_turns: ReadModels, prefix: str, told: str
) -> None:
    """Replaying some other turn would be worse than none."""
    with pytest.raises(RefusalError, match=told):
        three_turns.turn_events(prefix)


@pytest.mark.parametrize(("since", "first"), [(None, 1), (9, 2), (9.5, 3), (100, 4)])
def test_turns_are_listed_from_a_time_on(
    three_turns: ReadModels, since: float | None, first: int
) -> None:
    """`verify --since` replays exactly these, the oldest first."""
    at = None if since is None else START + timedelta(seconds=since)

    assert three_turns.turn_ids(at) == [turn_id(number) for number in range(first, 4)]


def test_values_are_plain_and_times_are_aware_utc(models: ReadModels) -> None:
    """Every surface prints them, as JSON too."""
    models.ingest(History().turn(1).events)

    (row,) = models.sql(
        "SELECT 1::TINYINT, 1.5::DOUBLE, 'x', true, NULL, 1.50::DECIMAL(5, 2), recorded_at, "
        "timezone('America/New_York', recorded_at), recorded_at::DATE, recorded_at::TIME, "
        "INTERVAL 90 MINUTE, 'ab'::BLOB, [1, NULL], {'at': recorded_at, 'n': [1.5]}, turn_id "
        "FROM turns_started"
    ).rows

    at = START + timedelta(seconds=1)
    assert row[:6] == (1, 1.5, "x", True, None, Decimal("1.50"))
    assert row[6] == at
    assert row[6].tzinfo is UTC
    assert row[7].tzinfo is UTC
    assert row[8:12] == ("2026-03-01", "12:00:01", "1:30:00", "6162")
    assert row[12:] == ("[1,null]", '{"at":"2026-03-01T12:00:01Z","n":[1.5]}', TurnId(turn_id(1)))
    assert isinstance(row[6], datetime)
