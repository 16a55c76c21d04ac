"""A turn under way, as its parts share it: what it writes, what it posts, and what may end it.

Three things interrupt a turn whatever it is at: a stop, an end of delivery, a log that does not
hear it any more.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

from actors.generation.answer import Answer
from actors.generation.deliverer import Deliverer
from actors.generation.journal import Journal
from actors.generation.replying import reply_card
from actors.generation.start import Closed, StartTurn
from actors.generation.stopping import StopWatch
from actors.generation.typing_indicator import TypingIndicator
from actors.generation.world import World
from actors.ports import Draft, SendRequest
from actors.voice import looks_of, voice_of
from events.notes import NotePinned

T = TypeVar("T")

Notice = Literal["last", "still_working", "fell_back", "too_long"]
"""The bot's own words in a turn, each at most once."""

_PIECES: dict[Notice, int] = {"last": 0, "still_working": 1, "fell_back": 2, "too_long": 3}


class Running:
    """What the parts of one turn share."""

    def __init__(
        self,
        world: World,
        start: StartTurn,
        stop: StopWatch,
        journal: Journal,
        deliverer: Deliverer,
        answer: Answer,
    ) -> None:
        self.world = world
        """The ports."""
        self.start = start
        """What the turn runs on."""
        self.stop = stop
        """Its stops."""
        self.journal = journal
        """Its writer."""
        self.deliverer = deliverer
        """Its messages."""
        self.answer = answer
        """Its text."""
        self.requests = 0
        """Provider requests so far."""
        self.notes: list[NotePinned] = []
        """Notes that it has kept."""
        self.closed: list[Closed] = []
        """Requests that it has closed."""
        self.typing: TypingIndicator | None = None
        """The typing indicator, while it shows."""

    @property
    def is_interrupted(self) -> bool:
        """Whether the turn has to end."""
        return self.stop.is_set() or self.deliverer.ended.is_set() or self.journal.failed.is_set()

    async def until_interrupted(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return what `work` gives, or cancel it at a stop or at the end of delivery: None."""
        task = asyncio.create_task(work)
        watchers = [
            asyncio.ensure_future(signal)
            for signal in (
                self.stop.wait(),
                self.deliverer.ended.wait(),
                self.journal.failed.wait(),
            )
        ]
        try:
            await asyncio.wait({task, *watchers}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            unfinished = not task.done()
            for one in (task, *watchers):
                one.cancel()
            await asyncio.gather(task, *watchers, return_exceptions=True)
        return None if unfinished else task.result()

    async def end_typing(self) -> None:
        """End the typing indicator."""
        if self.typing is not None:
            await self.typing.end()
            self.typing = None

    async def notify(self, words: str, notice: Notice = "last") -> None:
        """Say something of the bot's own, once; what becomes of it changes nothing."""
        start = self.start
        await self.journal.barrier()
        await self.world.sender.send(
            SendRequest(
                turn_id=start.turn_id,
                scope=start.scope,
                epoch=start.epoch,
                flush=0,
                piece=_PIECES[notice],
                purpose="notice",
                draft=Draft(
                    channel_id=start.channel_id,
                    content=words,
                    reply_to=None if self.deliverer.has_posted else start.trigger.message_id,
                ),
                voice=voice_of(start.personas, start.persona),
                looks=looks_of(start.persona) if start.is_alter else (),
                reply_card=None if self.deliverer.has_posted else reply_card(start.trigger),
            )
        )
