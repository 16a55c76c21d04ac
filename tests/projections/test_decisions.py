"""How decision models do: every call once, by its end, and usage that comes after it."""

from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.read_models.read_models import ReadModels
from events.base import Event, GuildId, Position, Recorded, Scope, Seq, guild_stream
from events.decisions import ApiStyle, DecisionAnswered, DecisionFailure, DecisionStatus
from events.spending import UsageReport
from projections import decisions, usage
from projections.decisions import Quality, QualityKey
from projections.fold import fold
from tests.actors.read_models.conftest import models
from tests.projections.histories import GUILD
from tests.strategies import one_of_literal

__all__ = ["models"]

DAY = date(2026, 3, 1)
KEY = QualityKey(model="judge", api_style="system-one", day=DAY)


def answered(
    name: str,
    status: DecisionStatus = "completed",
    *,
    category: DecisionFailure | None = None,
    ms: int = 10,
    style: ApiStyle = "system-one",
) -> DecisionAnswered:
    """Return the end of the call `name`."""
    return DecisionAnswered(
        correlation=name,
        api_style=style,
        model="judge",
        status=status,
        category=category,
        elapsed_ms=ms,
    )


def used(name: str, tokens: int | None = 23) -> UsageReport:
    """Return what the call `name` used."""
    return UsageReport(
        request=0,
        provider="custom",
        model="judge",
        measurement="measured",
        input_tokens=tokens,
        correlation=name,
    )


def history(*events: Event, hours: float = 0) -> list[Recorded]:
    """Return `events` in a guild's stream, so many hours apart."""
    start = datetime(2026, 3, 1, tzinfo=UTC)
    return [
        Recorded(
            position=Position(index),
            stream=guild_stream(GUILD),
            seq=Seq(index),
            recorded_at=start + timedelta(hours=hours * (index - 1)),
            scope=Scope(guild_id=GUILD),
            event=event,
        )
        for index, event in enumerate(events, start=1)
    ]


def quality(*events: Event) -> Quality:
    """Return the figures of one model and day after `events`."""
    return fold(decisions.evolve, decisions.initial(), history(*events)).rows[KEY]


def test_p5_calls_are_counted_by_their_end() -> None:
    """An operator sees which model fails, and how."""
    found = quality(
        answered("a", ms=10),
        answered("b", "refused", ms=20),
        answered("c", "failed", category="timeout", ms=120_000),
        answered("d", "failed", category="timeout", ms=30),
        answered("e", "cancelled", ms=40),
    )

    assert found.statuses == {"completed": 1, "refused": 1, "failed": 2, "cancelled": 1}
    assert found.categories == {"timeout": 2}
    assert found.refusal_rate == 0.5
    assert (found.elapsed_quantile(0.5), found.elapsed_quantile(0.95)) == (30, 120_000)


def test_p5_a_rate_of_no_answers_is_undefined() -> None:
    """Zero would say that the model never refuses."""
    assert quality(answered("a", "failed", category="network")).refusal_rate is None


def test_v1_usage_after_the_end_is_late() -> None:
    """It was paid for, and nobody waited for it."""
    found = quality(used("a"), answered("a"), answered("b", "cancelled"), used("b"), used("b"))

    assert found.late_usage == 1


def test_a_repeated_end_changes_nothing() -> None:
    """An append without a place may land twice."""
    assert quality(answered("a"), answered("a", ms=99)) == quality(answered("a"))


def test_p1_late_usage_is_counted_once_in_its_guild() -> None:
    """A verdict that is thrown away is paid for all the same."""
    events = history(answered("a", "cancelled"), used("a"), used("a"))

    [(key, sums)] = fold(usage.evolve, usage.initial(), events).rows.items()

    assert (key.guild_id, key.model) == (GuildId(GUILD), "judge")
    assert (sums.reports, sums.input_tokens.total) == (1, 23)


names = st.sampled_from("abcdef")
ends = st.builds(
    answered,
    names,
    one_of_literal(DecisionStatus),
    category=st.none() | one_of_literal(DecisionFailure),
    ms=st.integers(0, 5),
    style=one_of_literal(ApiStyle),
)


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(events=st.lists(ends | st.builds(used, names), max_size=30))
def test_p5_the_fold_and_the_view_agree(
    models: ReadModels,
    events: list[Event],
) -> None:
    """Two ways to the same figure, or one of them lies."""
    recorded = history(*events, hours=5)
    models.rebuild()

    models.ingest(recorded)

    rows = fold(decisions.evolve, decisions.initial(), recorded).rows
    table = models.sql("FROM decision_quality")
    columns = [column.name for column in table.columns]
    seen = {
        (row["model"], row["api_style"], row["day"]): row
        for row in (dict(zip(columns, cells, strict=True)) for cells in table.rows)
    }
    assert len(seen) == len(rows)
    for key, row in rows.items():
        found = seen[key.model, key.api_style, key.day.isoformat()]
        statuses = {
            status: found[status.replace("-", "_")]
            for status in DecisionStatus.__args__
            if found[status.replace("-", "_")]
        }
        assert statuses == row.statuses
        assert msgspec.json.decode(found["failures"] or "{}") == row.categories
        assert (found["p50_ms"], found["p95_ms"]) == (
            row.elapsed_quantile(0.5),
            row.elapsed_quantile(0.95),
        )
        assert found["refusal_rate"] == pytest.approx(row.refusal_rate)
        assert (found["calls"], found["late_usage"]) == (row.calls, row.late_usage)


def test_tu18_a_decisions_repeated_report_counts_once_in_sql(models: ReadModels) -> None:
    """As in the fold."""
    models.ingest(history(used("a"), used("b"), used("a")))

    assert models.sql("SELECT requests, input_tokens FROM usage").rows == ((2, 46),)
