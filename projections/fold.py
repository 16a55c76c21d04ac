"""The one loop over events.

A projection is an `initial` state and an `evolve(state, recorded) -> state`; it takes events in
order of position and ignores what does not concern it. `evolve` never raises and never changes the
state that it was given.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from events.base import Recorded, TurnId

State = TypeVar("State")


def fold(
    evolve: Callable[[State, Recorded], State], state: State, events: Iterable[Recorded]
) -> State:
    """Return `state` after `events`, oldest first."""
    for recorded in events:
        state = evolve(state, recorded)
    return state


def turn_of(recorded: Recorded) -> TurnId | None:
    """Return the turn whose stream the event stands in; None for other streams."""
    aggregate, _, name = recorded.stream.partition("/")
    return TurnId(name) if aggregate in ("turn", "delivery") else None
