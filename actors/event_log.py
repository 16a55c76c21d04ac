"""The event log's host: what other processes call, around the one open log.

A plain class; `actors.cluster` makes it an actor. Calls carry MessagePack where they are many
(appends), and Recorded structs where they are few (reads, pushes).
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import msgspec

from actors.log_client import Watch
from actors.log_lines import SetUpLog
from events.base import Append, Position, Recorded, StreamId
from events.log import EventLog, Subscription

_BATCH: Final = msgspec.msgpack.Decoder(list[Append])

OpenLog = Callable[[], Awaitable[tuple[EventLog, str | None]]]
"""Opens the log, once, at the first use; also tells what of it was lost, in a sentence."""


class EventLogHost:
    """Appends, reads and pushes, for any number of processes."""

    def __init__(self, open_log: OpenLog, set_up_log: SetUpLog | None = None) -> None:
        if set_up_log is not None:
            set_up_log(())
        self._open_log = open_log
        self._log: EventLog | None = None
        self._damage: str | None = None
        self._opening = asyncio.Lock()
        self._feeds: dict[str, Subscription] = {}

    async def open(self) -> int:
        """Open the log if it is not; return this process's id."""
        async with self._opening:
            if self._log is None:
                self._log, self._damage = await self._open_log()
        return os.getpid()

    async def damage(self) -> str | None:
        """Return what was lost of the log, in a sentence; None where nothing was."""
        await self._opened()
        return self._damage

    async def append(self, blob: bytes) -> bytes:
        """Append a MessagePack `list[Append]`; return a MessagePack `list[AppendResult]`."""
        log = await self._opened()
        return msgspec.msgpack.encode(await log.append(_BATCH.decode(blob)))

    async def read(self, stream: StreamId, after: int) -> list[Recorded]:
        """As `EventLog.read`."""
        return await (await self._opened()).read(stream, after)

    async def read_all(self, after: Position, kinds: tuple[str, ...], limit: int) -> list[Recorded]:
        """As `EventLog.read_all`."""
        return await (await self._opened()).read_all(after, kinds=kinds, limit=limit)

    async def head(self) -> Position:
        """As `EventLog.head`."""
        return await (await self._opened()).head()

    async def feed(self, name: str, watches: tuple[Watch, ...]) -> AsyncIterator[list[Recorded]]:
        """Push the watched streams' events under the subscriber's `name` until it closes.

        The first batch is empty and says that the feed is open.
        """
        log = await self._opened()
        everything = [after for stream, after in watches if stream is None]
        subscription = log.subscribe(None, everything[0]) if everything else log.subscribe(())
        self._feeds[name] = subscription
        try:
            yield []
            for stream, after in watches:
                if stream is not None:
                    await subscription.watch(stream, after)
            async for batch in subscription:
                yield batch
        finally:
            self._feeds.pop(name, None)
            await subscription.aclose()

    async def watch(self, name: str, stream: StreamId, after: Position) -> None:
        """Add `stream` to the feed `name`, if it is open here."""
        if (feed := self._feeds.get(name)) is not None:
            await feed.watch(stream, after)

    async def unwatch(self, name: str, stream: StreamId) -> None:
        """Take `stream` from the feed `name`, if it is open here."""
        if (feed := self._feeds.get(name)) is not None:
            await feed.unwatch(stream)

    async def aclose(self) -> None:
        """Close the log; what was acknowledged stays durable."""
        if self._log is not None:
            await self._log.aclose()

    async def _opened(self) -> EventLog:
        if self._log is None:
            await self.open()
        assert self._log is not None
        return self._log
