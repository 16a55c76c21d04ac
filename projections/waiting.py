"""A trigger that waits for its turn."""

from datetime import datetime

from msgspec import Struct

from events.base import Position, Recorded
from events.turn import TriggerReceived


class Waiting(Struct, frozen=True, kw_only=True):
    """A trigger without a turn."""

    trigger: TriggerReceived
    """The trigger."""
    position: Position
    """Where it stands in the log."""
    seq: int
    """Where it stands in its channel's stream."""
    received_at: datetime
    """When it came."""


def waiting(trigger: TriggerReceived, recorded: Recorded) -> Waiting:
    """Return `trigger`, the event of `recorded`, as it waits."""
    return Waiting(
        trigger=trigger,
        position=recorded.position,
        seq=recorded.seq,
        received_at=recorded.recorded_at,
    )
