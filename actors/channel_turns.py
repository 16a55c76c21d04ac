"""One channel as the router sees it: the turn that runs there, and what waits for it."""

import asyncio
from collections import deque
from typing import Final

from msgspec import Struct

from actors.generation.start import StartTurn
from events.turn import StopKind, TriggerReceived
from projections.waiting import Waiting

FOLLOW_UP_LIMIT: Final = 3
"""Interrupts by the asker's own follow-ups in a row; the next one just waits."""


class Running(Struct, kw_only=True):
    """A turn that has not ended."""

    start: StartTurn
    """What it was given, at its latest epoch."""
    task: asyncio.Task[None] | None = None
    """What sees it through."""
    stops: set[StopKind]
    """The stops that were requested of it."""


class Channel(Struct, kw_only=True):
    """What goes on in a channel."""

    running: Running | None = None
    """The turn that holds it."""
    queue: deque[Waiting]
    """Triggers that wait for it, the next one first."""
    takeovers: deque[StartTurn]
    """Open turns of a lost router that wait for it, before any trigger."""
    follow_ups: int = 0
    """Interrupts by the asker's own follow-ups since an answer was last finished."""

    def is_follow_up(self, trigger: TriggerReceived) -> bool:
        """Return whether `trigger` is the asker of the running turn writing on."""
        assert self.running is not None
        answered = self.running.start.trigger
        return (
            answered.author_id == trigger.author_id
            and "command" not in (answered.trigger, trigger.trigger)
            and answered.persona == trigger.persona
            and self.follow_ups < FOLLOW_UP_LIMIT
            and not self.running.stops - {"follow_up"}
        )
