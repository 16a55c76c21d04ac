"""Folding the whole log, a page at a time: what an actor knows when it starts."""

from collections.abc import Callable, Collection
from typing import Final, TypeVar

from actors.ports import LogPort
from events.base import Position, Recorded
from projections.fold import fold

PAGE: Final = 10_000
"""Events of one read."""

State = TypeVar("State")


async def fold_log(
    log: LogPort,
    evolve: Callable[[State, Recorded], State],
    state: State,
    kinds: Collection[str],
) -> State:
    """Return `state` after all events of `kinds` that are durable, oldest first."""
    after = Position(0)
    while page := await log.read_all(after, kinds=kinds, limit=PAGE):
        state, after = fold(evolve, state, page), page[-1].position
    return state
