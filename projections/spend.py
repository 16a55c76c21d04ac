"""What each payer spent, by model and UTC day: reported by providers, or estimated in their place.

A request's cost can stand in the log twice, in its usage report and in the settlement of its hold.
The report counts; a settlement counts only where it rests on an estimate, or on a process that was
lost, and no report of its request knows a cost. What neither tells is counted as unknown and never
summed as 0. A request that several payers held money for is spent by each of them: their sums are
not to be added. What nobody held money for stands under None.

The state keeps each request and hold: this is the law that the read models' view is held to.
"""

from datetime import date
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import Recorded, StreamId, TurnId, payer_of
from events.spending import Basis, HoldOpened, HoldSettled, UsageReport
from projections.fold import turn_of
from projections.holds import request_of

ESTIMATED: Final[tuple[Basis, ...]] = ("estimate", "abandoned")
"""What a settlement rests on where it stands in for a cost that nobody reported."""

Request = tuple[TurnId, int]
"""A turn and a request's ordinal in it."""


class SpendKey(Struct, frozen=True, kw_only=True):
    """What spending is summed by."""

    payer: str | None
    """Who set money aside: `guild/<id>` or `user/<id>`; None: nobody did."""
    provider: str
    """The provider's name in the configuration."""
    model: str
    """The model's id at the provider."""
    day: date
    """The UTC day of the report, or of the settlement that stands in for it."""


class Spend(Struct, frozen=True, kw_only=True):
    """Sums, in 10**-12 US dollars."""

    reported_pico: int | None = None
    """What providers reported; None where none did."""
    estimated_pico: int | None = None
    """What estimates stand in for; None where none does."""
    unknown: int = 0
    """Requests with a report whose cost nobody knows, and nobody estimated."""


class Held(Struct, frozen=True, kw_only=True):
    """One hold."""

    payer: str
    """Who set money aside."""
    opening: HoldOpened
    """What was set aside."""
    settlement: HoldSettled | None = None
    """What became of it; None while it is open."""
    settled_on: date | None = None
    """The UTC day of that."""

    @property
    def is_estimated(self) -> bool:
        """Whether its settlement stands in for a cost."""
        return self.settlement is not None and self.settlement.basis in ESTIMATED


class SpendState(Struct, frozen=True, kw_only=True):
    """All requests and holds."""

    reports: dict[Request, tuple[UsageReport, date]] = field(
        default_factory=dict[Request, tuple[UsageReport, date]]
    )
    """The latest report of each request, and its day."""
    holds: dict[tuple[StreamId, str], Held] = field(
        default_factory=dict[tuple[StreamId, str], Held]
    )
    """Every hold, by its stream and id."""

    @property
    def rows(self) -> dict[SpendKey, Spend]:
        """All sums."""
        rows: dict[SpendKey, Spend] = {}
        held: dict[Request, dict[str, bool]] = {}
        for hold in self.holds.values():
            request = request_of(hold.opening.hold_id)
            if request is not None:
                payers = held.setdefault(request, {})
                payers[hold.payer] = payers.get(hold.payer, False) or hold.is_estimated
            self._add_estimate(rows, hold)
        for request, (report, day) in self.reports.items():
            payers = held.get(request) or {None: False}
            for payer, is_estimated in payers.items():
                key = SpendKey(payer=payer, provider=report.provider, model=report.model, day=day)
                rows[key] = _with_report(rows.get(key, Spend()), report, is_estimated=is_estimated)
        return rows

    def _add_estimate(self, rows: dict[SpendKey, Spend], hold: Held) -> None:
        if not hold.is_estimated or hold.settlement is None or hold.settled_on is None:
            return
        request = request_of(hold.opening.hold_id)
        if request in self.reports and self.reports[request][0].cost_pico is not None:
            return
        opening = hold.opening
        key = SpendKey(
            payer=hold.payer, provider=opening.provider, model=opening.model, day=hold.settled_on
        )
        row = rows.get(key, Spend())
        total = (row.estimated_pico or 0) + hold.settlement.spent_pico
        rows[key] = replace(row, estimated_pico=total)


def _with_report(row: Spend, report: UsageReport, *, is_estimated: bool) -> Spend:
    if report.cost_pico is not None:
        return replace(row, reported_pico=(row.reported_pico or 0) + report.cost_pico)
    return row if is_estimated else replace(row, unknown=row.unknown + 1)


def initial() -> SpendState:
    """Return the state of an empty log."""
    return SpendState()


def evolve(state: SpendState, recorded: Recorded) -> SpendState:
    """Return the state after one more event."""
    day = recorded.recorded_at.date()
    match recorded.event:
        case UsageReport() as report:
            turn_id = turn_of(recorded)
            if turn_id is None:
                return state
            return replace(
                state, reports={**state.reports, (turn_id, report.request): (report, day)}
            )
        case HoldOpened() | HoldSettled() as event:
            return _hold(state, recorded.stream, event, day)
        case _:
            return state


def _hold(
    state: SpendState, stream: StreamId, event: HoldOpened | HoldSettled, day: date
) -> SpendState:
    found = payer_of(stream)
    if found is None:
        return state
    key = (stream, event.hold_id)
    known = state.holds.get(key)
    if isinstance(event, HoldOpened):
        if known is not None:
            return state
        held = Held(payer=found[0], opening=event)
    elif known is None or known.settlement is not None:
        return state
    else:
        held = replace(known, settlement=event, settled_on=day)
    return replace(state, holds={**state.holds, key: held})
