"""One sample a turn that ended: what its requests used together, without a word on whose it was.

Tokens are added over the requests that told of them. What came from or went to a cache, and the
cost, are known of a turn only where each of its requests that reported anything reported them: half
a sum would read as the whole. One estimate among measurements makes the turn estimated. A sample
holds no id of a turn, channel, guild or person.
"""

from collections.abc import Iterable
from datetime import date
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import Recorded, TurnId
from events.spending import UsageReport
from events.turn import TurnEnded
from projections.fold import turn_of


class TurnUsage(Struct, frozen=True, kw_only=True):
    """A sample; None is unknown, 0 was reported."""

    provider: str
    """The provider of the last request with a report."""
    model: str
    """Its model."""
    measurement: Literal["measured", "estimated"]
    """`estimated` where any of the reports is."""
    requests: int
    """Requests with a report."""
    input_tokens: int | None
    """Prompt tokens, cached ones included."""
    output_tokens: int | None
    """Completion tokens, reasoning included."""
    cache_read_tokens: int | None
    """Input that came from a cache."""
    cache_write_tokens: int | None
    """Input that was written to a cache."""
    cost_pico: int | None
    """Cost in 10**-12 US dollars."""


def sum_turn_usage(reports: Iterable[UsageReport]) -> TurnUsage | None:
    """Return the sum of a turn's reports, one a request in any order; None where there is none."""
    ordered = sorted(reports, key=lambda one: one.request)
    if not ordered:
        return None
    is_measured = all(one.measurement == "measured" for one in ordered)
    return TurnUsage(
        provider=ordered[-1].provider,
        model=ordered[-1].model,
        measurement="measured" if is_measured else "estimated",
        requests=len(ordered),
        input_tokens=_known(one.input_tokens for one in ordered),
        output_tokens=_known(one.output_tokens for one in ordered),
        cache_read_tokens=_complete(one.cache_read_tokens for one in ordered),
        cache_write_tokens=_complete(one.cache_write_tokens for one in ordered),
        cost_pico=_complete(one.cost_pico for one in ordered),
    )


def _known(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _complete(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


class TurnUsageState(Struct, frozen=True, kw_only=True):
    """The reports of all turns."""

    reports: dict[TurnId, dict[int, UsageReport]] = field(
        default_factory=dict[TurnId, dict[int, UsageReport]]
    )
    """The latest report of each request."""
    ended: dict[TurnId, date] = field(default_factory=dict[TurnId, date])
    """The UTC day on which each turn ended."""

    @property
    def samples(self) -> list[tuple[date, TurnUsage]]:
        """A sample for each turn that ended and used something, with the day of its end."""
        sums = ((day, sum_turn_usage(self._of(turn_id))) for turn_id, day in self.ended.items())
        return [(day, sample) for day, sample in sums if sample is not None]

    def _of(self, turn_id: TurnId) -> Iterable[UsageReport]:
        return self.reports.get(turn_id, {}).values()


def initial() -> TurnUsageState:
    """Return the state of an empty log."""
    return TurnUsageState()


def evolve(state: TurnUsageState, recorded: Recorded) -> TurnUsageState:
    """Return the state after one more event."""
    turn_id = turn_of(recorded)
    if turn_id is None:
        return state
    match recorded.event:
        case UsageReport() as report:
            of_turn = {**state.reports.get(turn_id, {}), report.request: report}
            return replace(state, reports={**state.reports, turn_id: of_turn})
        case TurnEnded():
            return replace(state, ended={**state.ended, turn_id: recorded.recorded_at.date()})
        case _:
            return state
