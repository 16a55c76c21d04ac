"""What a payer has spent and set aside in one month: the fold of one budget stream.

A hold counts with its estimate from the moment it is opened until it is settled; a process that is
lost in between leaves it open, so exposure after a crash is never too small. A hold is opened once
and settled once: a repeat, or a settlement of what was never opened, changes nothing.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field

from events.base import Recorded, Seq, TurnId
from events.spending import HoldOpened, HoldSettled

_HOLD_PARTS: Final = 3


class OpenHold(Struct, frozen=True, kw_only=True):
    """Money set aside."""

    estimate_pico: int
    """How much, in 10**-12 US dollars."""
    opened_at: datetime
    """When, UTC."""


class Exposure(Struct, frozen=True, kw_only=True):
    """The state of one budget stream."""

    seq: Seq = Seq(0)
    """The last event seen."""
    spent_pico: int = 0
    """What settled holds spent, in 10**-12 US dollars."""
    open: dict[str, OpenHold] = field(default_factory=dict[str, OpenHold])
    """What is set aside, by hold."""
    settled: frozenset[str] = frozenset()
    """Holds that are settled."""

    @property
    def open_pico(self) -> int:
        """What is set aside in all."""
        return sum(hold.estimate_pico for hold in self.open.values())

    @property
    def total_pico(self) -> int:
        """Spent and set aside: what a cap is held against."""
        return self.spent_pico + self.open_pico

    def orphans(self, now: datetime, age: timedelta) -> dict[str, OpenHold]:
        """Return the holds opened longer than `age` ago: nobody is left to settle them."""
        return {name: hold for name, hold in self.open.items() if now - hold.opened_at > age}


def request_of(hold_id: str) -> tuple[TurnId, int] | None:
    """Return the turn and the request that a hold was opened for; None where its id names none."""
    parts = hold_id.split("/")
    if len(parts) != _HOLD_PARTS or not parts[-1].isdecimal() or not parts[-1].isascii():
        return None
    return TurnId(parts[0]), int(parts[-1])


def initial() -> Exposure:
    """Return the state of an empty stream."""
    return Exposure()


def evolve(state: Exposure, recorded: Recorded) -> Exposure:
    """Return the state after one more event of the stream."""
    spent, held, settled = state.spent_pico, state.open, state.settled
    match recorded.event:
        case HoldOpened(hold_id=hold_id, estimate_pico=estimate):
            if hold_id not in held and hold_id not in settled:
                hold = OpenHold(estimate_pico=estimate, opened_at=recorded.recorded_at)
                held = {**held, hold_id: hold}
        case HoldSettled(hold_id=hold_id, spent_pico=amount) if hold_id in held:
            spent += amount
            held = {name: hold for name, hold in held.items() if name != hold_id}
            settled = settled | {hold_id}
        case _:
            pass
    return Exposure(seq=recorded.seq, spent_pico=spent, open=held, settled=settled)
