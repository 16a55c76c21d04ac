"""How well decision models do, by model, protocol and UTC day.

Every call that was sent counts once, by its end. Usage that comes after the end belongs to a call
whose asker had stopped waiting; it is counted as late, on the day of that end. A repeat of an event
changes nothing: calls are remembered for as long as a repeat, or a late report, may come.
"""

import math
from collections.abc import Iterable
from datetime import date
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import Recorded
from events.decisions import ApiStyle, DecisionAnswered
from events.spending import UsageReport

Key = TypeVar("Key", str, int)

REMEMBERED_CALLS = 4_096
"""Calls that are remembered after their end, the oldest leaving first."""


class QualityKey(Struct, frozen=True, kw_only=True):
    """What calls are counted by."""

    model: str
    """The model that was asked."""
    api_style: ApiStyle
    """The protocol."""
    day: date
    """The UTC day of the call's end."""


class Quality(Struct, frozen=True, kw_only=True):
    """The calls of one model, protocol and day."""

    statuses: dict[str, int] = field(default_factory=dict[str, int])
    """Calls by how they ended."""
    categories: dict[str, int] = field(default_factory=dict[str, int])
    """Failures by what went wrong."""
    elapsed_ms: dict[int, int] = field(default_factory=dict[int, int])
    """Calls by how long they took."""
    late_usage: int = 0
    """Calls whose usage came after their end."""

    @property
    def calls(self) -> int:
        """How many there were."""
        return sum(self.statuses.values())

    @property
    def refusal_rate(self) -> float | None:
        """Share of the calls with answers in which the model refused some; None without any."""
        refused = self.statuses.get("refused", 0)
        answered = refused + self.statuses.get("completed", 0)
        return refused / answered if answered else None

    def elapsed_quantile(self, share: float) -> int | None:
        """Return the time that `share` of the calls took at most; None without calls."""
        rank = math.ceil(share * self.calls)
        for elapsed, count in sorted(self.elapsed_ms.items()):
            rank -= count
            if rank <= 0:
                return elapsed
        return None


class QualityState(Struct, frozen=True, kw_only=True):
    """All calls."""

    rows: dict[QualityKey, Quality] = field(default_factory=dict[QualityKey, Quality])
    """Calls by key, in order of their first."""
    ended: dict[str, tuple[QualityKey, bool]] = field(
        default_factory=dict[str, tuple[QualityKey, bool]]
    )
    """The latest calls that have ended, by correlation, and whether their usage is known."""
    used: tuple[str, ...] = ()
    """Calls that have not ended and whose usage is known."""


def initial() -> QualityState:
    """Return the state of an empty log."""
    return QualityState()


def evolve(state: QualityState, recorded: Recorded) -> QualityState:
    """Return the state after one more event."""
    match recorded.event:
        case DecisionAnswered() as answered if answered.correlation not in state.ended:
            return _ended(state, answered, recorded.recorded_at.date())
        case UsageReport(correlation=correlation) if correlation:
            return _used(state, correlation)
        case _:
            return state


def _ended(state: QualityState, answered: DecisionAnswered, day: date) -> QualityState:
    key = QualityKey(model=answered.model, api_style=answered.api_style, day=day)
    quality = state.rows.get(key, Quality())
    categories = (answered.category,) if answered.category is not None else ()
    counted = replace(
        quality,
        statuses=_counted(quality.statuses, (answered.status,)),
        categories=_counted(quality.categories, categories),
        elapsed_ms=_counted(quality.elapsed_ms, (answered.elapsed_ms,)),
    )
    is_known = answered.correlation in state.used
    ended = {**state.ended, answered.correlation: (key, is_known)}
    if len(ended) > REMEMBERED_CALLS:
        del ended[next(iter(ended))]
    used = tuple(one for one in state.used if one != answered.correlation)
    return QualityState(rows={**state.rows, key: counted}, ended=ended, used=used)


def _used(state: QualityState, correlation: str) -> QualityState:
    if correlation not in state.ended:
        if correlation in state.used:
            return state
        return replace(state, used=(*state.used, correlation)[-REMEMBERED_CALLS:])
    key, is_known = state.ended[correlation]
    if is_known:
        return state
    quality = state.rows[key]
    late = replace(quality, late_usage=quality.late_usage + 1)
    ended = {**state.ended, correlation: (key, True)}
    return replace(state, rows={**state.rows, key: late}, ended=ended)


def _counted(counts: dict[Key, int], keys: Iterable[Key]) -> dict[Key, int]:
    return {**counts, **{key: counts.get(key, 0) + 1 for key in keys}}
