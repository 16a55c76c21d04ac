"""A `LogPort` without Ray: the real client on the real host on a log in memory."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from actors.event_log import EventLogHost
from actors.log_client import Endpoint, Feed, LogClient, Watch
from actors.ports import Clock
from bot.clock import SystemClock
from events.base import Position, Recorded, StreamId
from events.errors import LogUnavailableError
from events.log import EventLog
from events.memory_log import MemoryLog

T = TypeVar("T")


class LocalEndpoint:
    """Calls a host in this process; it can be lost, before or after a call took effect."""

    def __init__(self, log: EventLog | None = None) -> None:
        self.log = log or MemoryLog()
        self.lose_before = 0
        """So many calls are lost before they reach the log."""
        self.lose_after = 0
        """So many calls take effect, but their answer is lost."""
        self.appends = 0
        """Append calls that reached the log."""
        self.in_flight = 0
        self.most_in_flight = 0
        """Most append calls that were under way at once."""
        self.silent = asyncio.Event()
        """While set, appends are taken and never answered."""
        self._host = EventLogHost(self._open)
        self._feeds: list[_LocalFeed] = []

    async def _open(self) -> tuple[EventLog, str | None]:
        return self.log, None

    async def append(self, batch: bytes) -> bytes:
        """As the log actor's."""
        if self.silent.is_set():
            await asyncio.Event().wait()
        self.appends += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._lossy(self._host.append(batch))
        finally:
            self.in_flight -= 1

    async def read(self, stream: StreamId, after: int) -> list[Recorded]:
        """As the log actor's."""
        return await self._lossy(self._host.read(stream, after))

    async def read_all(self, after: Position, kinds: tuple[str, ...], limit: int) -> list[Recorded]:
        """As the log actor's."""
        return await self._lossy(self._host.read_all(after, kinds, limit))

    def feed(self, watches: tuple[Watch, ...]) -> Feed:
        """As the log actor's."""
        feed = _LocalFeed(self._host, f"feed-{len(self._feeds)}", watches)
        self._feeds.append(feed)
        return feed

    async def break_feeds(self) -> None:
        """Let every open feed fail, as when the log's process dies."""
        for feed in self._feeds:
            await feed.lose()

    async def _lossy(self, call: Awaitable[T]) -> T:
        if self.lose_before:
            self.lose_before -= 1
            asyncio.ensure_future(call).cancel()
            raise LogUnavailableError("lost before")
        result = await call
        if self.lose_after:
            self.lose_after -= 1
            raise LogUnavailableError("lost after")
        return result


class MortalEndpoint:
    """The log as one process sees it; once it is dead nothing of it arrives any more."""

    def __init__(self, endpoint: LocalEndpoint) -> None:
        self._endpoint = endpoint
        self._is_dead = False

    def die(self) -> None:
        """Let no further call through, as after SIGKILL."""
        self._is_dead = True

    async def append(self, batch: bytes) -> bytes:
        """As the log actor's, while alive."""
        if self._is_dead:
            await asyncio.Event().wait()
        return await self._endpoint.append(batch)

    async def read(self, stream: StreamId, after: int) -> list[Recorded]:
        """As the log actor's."""
        return await self._endpoint.read(stream, after)

    async def read_all(self, after: Position, kinds: tuple[str, ...], limit: int) -> list[Recorded]:
        """As the log actor's."""
        return await self._endpoint.read_all(after, kinds, limit)

    def feed(self, watches: tuple[Watch, ...]) -> Feed:
        """As the log actor's."""
        return self._endpoint.feed(watches)


class _LocalFeed:
    def __init__(self, host: EventLogHost, name: str, watches: tuple[Watch, ...]) -> None:
        self._host = host
        self._name = name
        self._watches = watches
        self._is_lost = False

    def __aiter__(self) -> AsyncIterator[list[Recorded]]:
        return self._batches()

    async def _batches(self) -> AsyncIterator[list[Recorded]]:
        async for batch in self._host.feed(self._name, self._watches):
            yield batch
        if self._is_lost:
            raise LogUnavailableError("feed lost")

    async def lose(self) -> None:
        """End it as a death would."""
        self._is_lost = True
        await self.aclose()

    async def watch(self, stream: StreamId, after: Position) -> None:
        await self._host.watch(self._name, stream, after)

    async def unwatch(self, stream: StreamId) -> None:
        await self._host.unwatch(self._name, stream)

    async def aclose(self) -> None:
        # Over Ray the call is cancelled; here its subscription is closed under it.
        feeds = self._host._feeds  # pyright: ignore[reportPrivateUsage] - as said
        if (feed := feeds.get(self._name)) is not None:
            await feed.aclose()


def log_client(endpoint: Endpoint | None = None, clock: Clock | None = None) -> LogClient:
    """Return a client of a fresh log in memory, or of `endpoint`."""
    return LogClient(endpoint or LocalEndpoint(), clock or SystemClock())
