"""The stops of one turn. A stop names its turn, so none outlives it."""

from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import Position, Recorded, TurnId
from events.turn import StopKind, StopObserved, StopRequested
from projections.fold import turn_of

_OWING: Final[frozenset[StopKind]] = frozenset(("stop", "operator", "shutdown"))


def owes_flush(stop: StopKind) -> bool:
    """Return whether a stop of this kind lets the turn say what it has already written.

    A follow-up does not: its author has moved on. Nor does a kill.
    """
    return stop in _OWING


class Stop(Struct, frozen=True, kw_only=True):
    """A stop of a turn."""

    position: Position
    """Where it stands in the log."""
    stop: StopKind
    """Its kind."""
    requester: str
    """Who asked for it."""


class Stops(Struct, frozen=True, kw_only=True):
    """The stops of a turn."""

    turn_id: TurnId
    """The turn."""
    earliest: dict[StopKind, Stop] = field(default_factory=dict[StopKind, Stop])
    """The earliest of each kind."""
    observed: Position | None = None
    """Position of the stop that the turn acted on; None where it has acted on none."""

    @property
    def first(self) -> Stop | None:
        """The earliest of all: the one that the turn acts on."""
        return min(self.earliest.values(), key=lambda stop: stop.position, default=None)

    @property
    def is_flush_owed(self) -> bool:
        """Whether the first stop lets the turn say what it has already written."""
        return self.first is not None and owes_flush(self.first.stop)


def initial(turn_id: TurnId) -> Stops:
    """Return the state of a turn that nobody stopped."""
    return Stops(turn_id=turn_id)


def evolve(state: Stops, recorded: Recorded) -> Stops:
    """Return the state after one more event, of this turn or of any other."""
    match recorded.event:
        case StopRequested(turn_id=turn_id, stop=kind, requester=requester):
            if turn_id != state.turn_id or kind in state.earliest:
                return state
            stop = Stop(position=recorded.position, stop=kind, requester=requester)
            return replace(state, earliest={**state.earliest, kind: stop})
        case StopObserved(position=position) if turn_of(recorded) == state.turn_id:
            return replace(state, observed=Position(position))
        case _:
            return state
