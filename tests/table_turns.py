"""A turn whose flushes hold tables: its deliverer on the real sender, over real sockets."""

from typing import Self

from actors.generation.deliverer import Deliverer
from actors.generation.journal import Journal
from actors.generation.start import StartTurn
from actors.generation.stopping import StopWatch
from actors.ports import SendResult
from bot.loopback.discord.entities import StoredMessage
from events.base import Event, delivery_stream
from events.delivery import SendAttempt
from events.generation import Flush, Piece
from projections import attempts
from projections.attempts import Attempts
from projections.fold import fold
from tests.stack import Stack

TABLE = "| Name | Score |\n|---|---:|\n| Ann | 12 |\n"
UNDRAWABLE = "| a " * 80 + "|\n" + "|---" * 80 + "|\n" + ("| b " * 80 + "|\n") * 20
"""A table with more columns than a picture can show, too long for one message."""


def long_table(rows: int) -> str:
    """Return a table of so many rows."""
    return "| # | Word |\n|--:|---|\n" + "".join(f"| {n} | word {n} |\n" for n in range(rows))


class TableTurn:
    """Delivers flushes that a test makes up, as a turn does."""

    def __init__(self, stack: Stack, start: StartTurn, seq: int) -> None:
        self.stack = stack
        self.start = start
        log, clock = stack.log(), stack.clock
        self._stop = StopWatch(log, start.turn_id, start.channel_id, start.trigger_position)
        self._journal = Journal(log, clock, start.turn_id, start.scope, epoch=0, seq=seq)
        self.deliverer = Deliverer(stack.sender, self._journal, clock, start, self._stop)
        self._flushes = 0

    @classmethod
    async def begin(cls, stack: Stack) -> Self:
        """Return a new turn."""
        return cls(stack, await stack.ask(), 0)

    async def flush(self, *contents: str) -> Flush:
        """Flush pieces as `record` does, and return once all is settled."""
        flush = await self.record(*contents)
        await self.put(flush)
        return flush

    async def record(self, *contents: str) -> Flush:
        """Record a flush, in which a piece that begins with a pipe is a table."""
        self._flushes += 1
        pieces = tuple(
            Piece(content=one, start=0, end=len(one), is_table=one.startswith("|"))
            for one in contents
        )
        flush = Flush(
            flush=self._flushes,
            text="".join(contents),
            boundary="final",
            start=0,
            end=sum(map(len, contents)),
            pieces=pieces,
        )
        self._journal.add(flush)
        await self._journal.barrier()
        return flush

    async def put(self, flush: Flush) -> None:
        """Have a recorded flush delivered, and return once it is."""
        self.deliverer.put(flush)
        await self.deliverer.settled()

    async def results(self) -> list[SendResult]:
        """Return what a recovery is told of the turn's attempts."""
        return await self.stack.sender.settle(self.start.turn_id, self.start.scope, 0)

    async def events(self) -> list[Event]:
        """Return the turn's delivery stream."""
        stream = await self.stack.log().read(delivery_stream(self.start.turn_id))
        return [one.event for one in stream]

    async def attempts(self) -> list[SendAttempt]:
        """Return the turn's attempts, oldest first."""
        return [one for one in await self.events() if isinstance(one, SendAttempt)]

    async def account(self) -> Attempts:
        """Return what the log's projection makes of the turn's messages."""
        recorded = await self.stack.recorded(self.start.turn_id)
        return fold(attempts.evolve, attempts.initial(self.start.turn_id), recorded)

    async def aclose(self) -> None:
        """End the turn's tasks."""
        await self.deliverer.aclose()
        await self._journal.aclose()
        await self._stop.aclose()

    @property
    def messages(self) -> list[StoredMessage]:
        """What the bot posted, oldest first."""
        own = self.stack.discord.bot_user.id
        stored = self.stack.discord.messages(self.start.channel_id)
        return [one for one in stored if one.author.id == own]
