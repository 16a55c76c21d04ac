"""Tokens and cost by guild, model and UTC day.

Unknown is not zero: each sum is over the reports that know the figure, beside a count of those
that don't. A request has one report; should it come again while its turn is open, the later one
replaces the former. So has a decision, by its correlation; outside of a turn the first counts.
Direct messages belong to no guild and stand under None.
"""

from datetime import date

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import GuildId, Recorded, TurnId
from events.spending import UsageReport
from events.turn import TurnEnded
from projections.fold import turn_of
from projections.seen import Seen


class Figure(Struct, frozen=True, kw_only=True):
    """The sum of a figure that some reports lack."""

    total: int = 0
    """Sum over the reports that know it."""
    unknown: int = 0
    """Reports that don't."""

    def plus(self, value: int | None, sign: int = 1) -> "Figure":
        """Return the sum with one more report, or one less where `sign` is -1."""
        if value is None:
            return Figure(total=self.total, unknown=self.unknown + sign)
        return Figure(total=self.total + sign * value, unknown=self.unknown)


class Sums(Struct, frozen=True, kw_only=True):
    """The usage of one guild, model and day."""

    reports: int = 0
    """Provider requests with a report."""
    input_tokens: Figure = Figure()
    """Prompt tokens, cached ones included."""
    output_tokens: Figure = Figure()
    """Completion tokens, reasoning included."""
    cache_read_tokens: Figure = Figure()
    """Input from the provider's cache."""
    cache_write_tokens: Figure = Figure()
    """Input written to the provider's cache."""
    reasoning_tokens: Figure = Figure()
    """Output that was reasoning."""
    cost_pico: Figure = Figure()
    """Cost in 10**-12 US dollars."""
    cacheable_tokens: int = 0
    """Input of the reports that know both their input and what came from the cache."""
    cached_tokens: int = 0
    """Input from the cache in those reports."""

    @property
    def cache_hit_ratio(self) -> float | None:
        """Share of the input that came from the cache; None where no report can tell."""
        return self.cached_tokens / self.cacheable_tokens if self.cacheable_tokens else None


class UsageKey(Struct, frozen=True, kw_only=True):
    """What usage is summed by."""

    guild_id: GuildId | None
    """The guild; None for direct messages."""
    model: str
    """The model's id at its provider."""
    day: date
    """The UTC day of the report."""


class UsageState(Struct, frozen=True, kw_only=True):
    """All usage."""

    days: dict[date, dict[UsageKey, Sums]] = field(default_factory=dict[date, dict[UsageKey, Sums]])
    """Sums by key, those of a day together."""
    reports: dict[TurnId, dict[int | str, tuple[UsageKey, UsageReport]]] = field(
        default_factory=dict[TurnId, dict[int | str, tuple[UsageKey, UsageReport]]]
    )
    """What was counted for the requests and decisions of open turns."""
    decisions: Seen = Seen()
    """Decisions outside of turns that were counted."""

    @property
    def rows(self) -> dict[UsageKey, Sums]:
        """All sums, the oldest day first."""
        return {key: sums for _, day in sorted(self.days.items()) for key, sums in day.items()}


def initial() -> UsageState:
    """Return the state of an empty log."""
    return UsageState()


def evolve(state: UsageState, recorded: Recorded) -> UsageState:
    """Return the state after one more event."""
    turn_id = turn_of(recorded)
    match recorded.event:
        case UsageReport() as report if turn_id is not None:
            return _report(state, turn_id, report, recorded)
        case UsageReport() as report if report.correlation:
            return _decision(state, report, recorded)
        case TurnEnded() if turn_id in state.reports:
            kept = {turn: reports for turn, reports in state.reports.items() if turn != turn_id}
            return replace(state, reports=kept)
        case _:
            return state


def _report(
    state: UsageState, turn_id: TurnId, report: UsageReport, recorded: Recorded
) -> UsageState:
    key = _key(recorded, report)
    of_turn = state.reports.get(turn_id, {})
    name = report.correlation or report.request
    days = state.days
    if name in of_turn:
        days = _counted(days, *of_turn[name], sign=-1)
    return replace(
        state,
        days=_counted(days, key, report, sign=1),
        reports={**state.reports, turn_id: {**of_turn, name: (key, report)}},
    )


def _decision(state: UsageState, report: UsageReport, recorded: Recorded) -> UsageState:
    if report.correlation in state.decisions:
        return state
    return replace(
        state,
        days=_counted(state.days, _key(recorded, report), report, sign=1),
        decisions=state.decisions.with_(report.correlation),
    )


def _key(recorded: Recorded, report: UsageReport) -> UsageKey:
    return UsageKey(
        guild_id=recorded.scope.guild_id, model=report.model, day=recorded.recorded_at.date()
    )


def _counted(
    days: dict[date, dict[UsageKey, Sums]], key: UsageKey, report: UsageReport, *, sign: int
) -> dict[date, dict[UsageKey, Sums]]:
    day = days.get(key.day, {})
    return {**days, key.day: {**day, key: _plus(day.get(key, Sums()), report, sign)}}


def _plus(sums: Sums, report: UsageReport, sign: int) -> Sums:
    cacheable = cached = 0
    if report.input_tokens is not None and report.cache_read_tokens is not None:
        cacheable, cached = report.input_tokens, report.cache_read_tokens
    return Sums(
        reports=sums.reports + sign,
        input_tokens=sums.input_tokens.plus(report.input_tokens, sign),
        output_tokens=sums.output_tokens.plus(report.output_tokens, sign),
        cache_read_tokens=sums.cache_read_tokens.plus(report.cache_read_tokens, sign),
        cache_write_tokens=sums.cache_write_tokens.plus(report.cache_write_tokens, sign),
        reasoning_tokens=sums.reasoning_tokens.plus(report.reasoning_tokens, sign),
        cost_pico=sums.cost_pico.plus(report.cost_pico, sign),
        cacheable_tokens=sums.cacheable_tokens + sign * cacheable,
        cached_tokens=sums.cached_tokens + sign * cached,
    )
