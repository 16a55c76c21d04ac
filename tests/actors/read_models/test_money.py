"""The views over money: on any history they say what the projections say."""

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.read_models.read_models import ReadModels
from events.base import Recorded, Scope, budget_stream, turn_stream
from events.spending import Basis, HoldOpened, HoldSettled, RequestDenied
from events.turn import TurnEnded
from projections import denials, holds, spend, turn_usage, usage
from projections.fold import fold
from projections.turn_usage import TurnUsage
from tests.actors.read_models.samples import GUILD, START, History, report, turn_id
from tests.strategies import one_of_literal

PAYERS = ("guild/42", "user/7")
COUNTS = st.none() | st.integers(0, 10**6)
PICO = st.integers(0, 2**60)
HOLD_IDS = st.builds(
    "{}/{}/{}".format, st.sampled_from([turn_id(1), turn_id(2)]), st.just(0), st.integers(1, 2)
) | st.just("aside")

REPORTS = st.builds(
    report,
    st.integers(1, 2),
    input_tokens=COUNTS,
    output_tokens=COUNTS,
    cache_read_tokens=COUNTS,
    cache_write_tokens=COUNTS,
    cost_pico=st.none() | PICO,
    measurement=st.sampled_from(["measured", "estimated"]),
    model=st.sampled_from(["small", "large"]),
)
DENIED = st.builds(
    RequestDenied,
    request=st.integers(1, 2),
    provider=st.just("main"),
    model=st.sampled_from(["small", "large"]),
    origin=st.sampled_from(["hook", "translator"]),
    code=st.sampled_from(["budget_reached", "402"]),
)
OF_TURN = st.tuples(st.sampled_from([1, 2]), REPORTS | DENIED)
OF_BUDGET = st.tuples(
    st.sampled_from(PAYERS),
    st.builds(
        HoldOpened,
        hold_id=HOLD_IDS,
        estimate_pico=PICO,
        provider=st.just("main"),
        model=st.sampled_from(["small", "large"]),
    )
    | st.builds(HoldSettled, hold_id=HOLD_IDS, spent_pico=PICO, basis=one_of_literal(Basis)),
)
ENDINGS = st.dictionaries(
    st.sampled_from([1, 2]), st.sampled_from(["completed", "error"]), max_size=2
)


def usd(pico: int | None) -> Decimal | None:
    """Return an amount as the views give it."""
    return None if pico is None else Decimal(pico).scaleb(-12)


def rows(models: ReadModels, query: str) -> Counter[tuple[Any, ...]]:
    """Return the rows of a query, in no order."""
    return Counter(models.sql(query).rows)


def history_of(steps: Iterable[tuple[int | str, Any]], endings: dict[int, Any]) -> History:
    """Return the steps as a log, over a day's end; turns end behind them."""
    history = History(START + timedelta(hours=11, minutes=59, seconds=57))
    for where, event in steps:
        if isinstance(where, int):
            turn = turn_id(where)
            history.add(turn_stream(turn), Scope(turn_id=turn, guild_id=GUILD), event)
        else:
            history.add(budget_stream(where, START.date()), Scope(guild_id=GUILD), event)
    for number, status in endings.items():
        turn = turn_id(number)
        ended = TurnEnded(status=status)
        history.add(turn_stream(turn), Scope(turn_id=turn, guild_id=GUILD), ended)
    return history


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(OF_TURN | OF_BUDGET, max_size=14), endings=ENDINGS, size=st.integers(1, 5))
def test_p1_p3_p4_p6_p10_views_and_projections_agree_on_any_history(
    models: ReadModels, steps: list[Any], endings: dict[int, Any], size: int
) -> None:
    """One is the law, the other is fast; nobody may get two answers."""
    events = history_of(steps, endings).events
    models.rebuild()
    for start in range(0, len(events), size):
        models.ingest(events[start : start + size])

    assert rows(models, "FROM spend") == spent(events)
    assert rows(models, "SELECT payer, spent_usd, open_usd, open_requests FROM budgets") == (
        budgets(events)
    )
    assert rows(models, "FROM denials") == denied(events)
    assert rows(models, "FROM turn_usage") == samples(events)
    assert rows(
        models,
        "SELECT model, day, requests, input_tokens, cost_usd, cost_unknown, cache_hit_ratio "
        "FROM usage",
    ) == used(events)


def spent(events: list[Recorded]) -> Counter[tuple[Any, ...]]:
    """Return what the projection of spending says."""
    found = fold(spend.evolve, spend.initial(), events).rows
    return Counter(
        (
            key.payer,
            key.provider,
            key.model,
            key.day.isoformat(),
            usd(row.reported_pico),
            usd(row.estimated_pico),
            row.unknown,
        )
        for key, row in found.items()
    )


def budgets(events: list[Recorded]) -> Counter[tuple[Any, ...]]:
    """Return what the projection of holds says of each payer that ever opened one."""
    found: Counter[tuple[Any, ...]] = Counter()
    for payer in PAYERS:
        stream = budget_stream(payer, START.date())
        state = fold(holds.evolve, holds.initial(), (e for e in events if e.stream == stream))
        if state.open or state.settled:
            found[payer, usd(state.spent_pico), usd(state.open_pico), len(state.open)] += 1
    return found


def denied(events: list[Recorded]) -> Counter[tuple[Any, ...]]:
    """Return what the projection of denials says."""
    found = fold(denials.evolve, denials.initial(), events).rows
    return Counter(
        (
            key.guild_id,
            key.provider,
            key.model,
            key.origin,
            key.code,
            key.day.isoformat(),
            row.denials,
            row.answered,
        )
        for key, row in found.items()
    )


def samples(events: list[Recorded]) -> Counter[tuple[Any, ...]]:
    """Return what the projection of turns' usage says."""
    found = fold(turn_usage.evolve, turn_usage.initial(), events).samples
    return Counter(
        (
            day.isoformat(),
            one.provider,
            one.model,
            one.measurement,
            one.requests,
            one.input_tokens,
            one.output_tokens,
            one.cache_read_tokens,
            one.cache_write_tokens,
            usd(one.cost_pico),
        )
        for day, one in found
    )


def used(events: list[Recorded]) -> Counter[tuple[Any, ...]]:
    """Return what the projection of usage says; a sum of nothing known is unknown."""
    found = fold(usage.evolve, usage.initial(), events).rows
    return Counter(
        (
            key.model,
            key.day.isoformat(),
            row.reports,
            row.input_tokens.total if row.input_tokens.unknown < row.reports else None,
            usd(row.cost_pico.total if row.cost_pico.unknown < row.reports else None),
            row.cost_pico.unknown,
            row.cache_hit_ratio,
        )
        for key, row in found.items()
        if row.reports
    )


def test_tu16_a_turns_sample_holds_no_id(models: ReadModels) -> None:
    """Samples may be handed on; whose they are may not."""
    columns = {column.name for column in models.sql("FROM turn_usage").columns}

    assert columns == set(TurnUsage.__struct_fields__) - {"cost_pico"} | {"day", "cost_usd"}
    assert not any(name.endswith("_id") for name in columns)


def test_p3_a_cost_that_report_and_hold_both_know_is_spent_once(models: ReadModels) -> None:
    """The bill must be what the provider's is."""
    hold_id = f"{turn_id(1)}/0/1"
    opened = HoldOpened(hold_id=hold_id, estimate_pico=50, provider="main", model="small")
    settled = HoldSettled(hold_id=hold_id, spent_pico=42, basis="reported")
    told: list[tuple[int | str, Any]] = [
        ("guild/42", opened),
        (1, report(1, cost_pico=42)),
        ("guild/42", settled),
        (2, report(1, cost_pico=7)),
    ]
    models.ingest(history_of(told, {}).events)

    found = models.sql("SELECT payer, reported_usd, estimated_usd FROM spend ORDER BY ALL").rows

    assert found == (("guild/42", usd(42), None), (None, usd(7), None))


def test_p3_what_was_estimated_is_told_apart_and_nothing_unknown_is_0(models: ReadModels) -> None:
    """An estimate is no bill, and silence is no gift."""
    hold_id = f"{turn_id(1)}/0/1"
    opened = HoldOpened(hold_id=hold_id, estimate_pico=50, provider="main", model="small")
    settled = HoldSettled(hold_id=hold_id, spent_pico=50, basis="estimate")
    told: list[tuple[int | str, Any]] = [
        ("user/7", opened),
        (1, report(1)),
        ("user/7", settled),
        (2, report(1)),
    ]
    models.ingest(history_of(told, {}).events)

    found = models.sql(
        "SELECT payer, sum(reported_usd), sum(estimated_usd), sum(cost_unknown) "
        "FROM spend GROUP BY payer ORDER BY ALL"
    ).rows

    assert found == (("user/7", None, usd(50), 0), (None, None, None, 1))


def test_w13_w14_a_turns_sum_keeps_what_every_request_reported() -> None:
    """Half a sum would read as the whole."""
    first = report(1, input_tokens=1000, cache_read_tokens=800, cost_pico=1_000_000_000)
    second = report(2, input_tokens=500, cost_pico=500_000_000, measurement="estimated")

    both = turn_usage.sum_turn_usage([second, first])

    assert both is not None
    assert (both.input_tokens, both.cache_read_tokens) == (1500, None)
    assert both.cost_pico == 1_500_000_000
    assert both.measurement == "estimated"
    without = turn_usage.sum_turn_usage([first, report(2, input_tokens=1)])
    assert without is not None
    assert without.cost_pico is None
    assert turn_usage.sum_turn_usage([]) is None


def test_p3_days_are_those_of_the_report_and_of_the_settlement() -> None:
    """A month's last night is billed where the provider bills it."""
    told: list[tuple[int | str, Any]] = [(1, report(1, cost_pico=1))]
    history = history_of(told, {}).pass_time(timedelta(days=1))
    turn = turn_id(2)
    history.add(turn_stream(turn), Scope(turn_id=turn), report(1, cost_pico=2))

    found = fold(spend.evolve, spend.initial(), history.events).rows

    assert {key.day: row.reported_pico for key, row in found.items()} == {
        date(2026, 3, 1): 1,
        date(2026, 3, 2): 2,
    }


def test_p4_a_months_budgets_say_what_is_spent_and_what_is_open(models: ReadModels) -> None:
    """It is what `usage` shows beside the caps."""
    told: list[tuple[int | str, Any]] = []
    for request, spent_pico in ((1, 30), (2, None)):
        hold_id = f"{turn_id(1)}/0/{request}"
        opening = HoldOpened(hold_id=hold_id, estimate_pico=50, provider="main", model="small")
        told.append(("guild/42", opening))
        if spent_pico is not None:
            settled = HoldSettled(hold_id=hold_id, spent_pico=spent_pico, basis="reported")
            told.append(("guild/42", settled))
    models.ingest(history_of(told, {}).events)

    table = models.budgets("2026-03")

    assert table.rows == (("guild/42", "2026-03", usd(30), usd(50), 1),)
    units = {column.name: column.unit for column in table.columns}
    assert (units["spent_usd"], units["open_usd"]) == ("USD", "USD")
    assert models.budgets("2026-04").rows == ()
