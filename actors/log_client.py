"""A process's connection to the event log: one append in flight, the rest is the next batch.

Load therefore makes batches larger, not calls more frequent. What the log did not acknowledge is
sent again as it was: appends with `expected_seq` are accepted once, the others carry a natural key
that the folds count once. Knows no Ray: an `Endpoint` carries the calls.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from typing import Final, Protocol

import msgspec
from typing_extensions import override

from actors.ports import Clock, LogPort
from events.base import (
    Append,
    Appended,
    AppendResult,
    Conflict,
    Fenced,
    Position,
    Recorded,
    Stopped,
    StreamId,
)
from events.errors import ConcurrencyError, FencedError, LogUnavailableError, StoppedError
from events.log import Subscription

BATCH_LIMIT: Final = 1_000
"""Most appends of one call."""
RECONNECT_SECONDS: Final = 0.05
"""Pause before a call to a log that just did not answer."""

Watch = tuple[StreamId | None, Position]
"""A stream (None: all) and the position after which its events are wanted."""


class Feed(Protocol):
    """One open subscription at the log's end."""

    def __aiter__(self) -> AsyncIterator[list[Recorded]]:
        """Yield batches, perhaps empty; raises LogUnavailableError when the log is lost."""
        ...

    async def watch(self, stream: StreamId, after: Position) -> None:
        """Also deliver `stream`."""
        ...

    async def unwatch(self, stream: StreamId) -> None:
        """Deliver `stream` no longer."""
        ...

    async def aclose(self) -> None:
        """Tell the log to forget it; never raises."""
        ...


class Endpoint(Protocol):
    """Calls to the log's actor; each raises LogUnavailableError when it does not answer."""

    async def append(self, batch: bytes) -> bytes:
        """Append a MessagePack `list[Append]`; return a MessagePack `list[AppendResult]`."""
        ...

    async def read(self, stream: StreamId, after: int) -> list[Recorded]:
        """As `EventLog.read`."""
        ...

    async def read_all(self, after: Position, kinds: tuple[str, ...], limit: int) -> list[Recorded]:
        """As `EventLog.read_all`."""
        ...

    def feed(self, watches: tuple[Watch, ...]) -> Feed:
        """Open a subscription."""
        ...


class LogClient(LogPort):
    """`LogPort` over an `Endpoint`."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._waiting: deque[tuple[Append, asyncio.Future[Appended]]] = deque()
        self._sender: asyncio.Task[None] | None = None

    @override
    async def append(self, append: Append) -> Appended:
        acknowledged = asyncio.get_running_loop().create_future()
        self._waiting.append((append, acknowledged))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_waiting())
        return await acknowledged

    @override
    async def read(self, stream: StreamId, after: int = 0) -> list[Recorded]:
        while True:
            with suppress(LogUnavailableError):
                return await self._endpoint.read(stream, after)
            await self._clock.sleep(RECONNECT_SECONDS)

    @override
    async def read_all(
        self, after: Position, *, kinds: Collection[str] = (), limit: int = 10_000
    ) -> list[Recorded]:
        while True:
            with suppress(LogUnavailableError):
                return await self._endpoint.read_all(after, tuple(kinds), limit)
            await self._clock.sleep(RECONNECT_SECONDS)

    @override
    def subscribe(
        self, streams: Collection[StreamId] | None, after: Position = Position(0)
    ) -> Subscription:
        watches: dict[StreamId | None, Position] = (
            {None: after} if streams is None else dict.fromkeys(streams, after)
        )
        return _LastingSubscription(self._endpoint, self._clock, watches)

    async def aclose(self) -> None:
        """Stop sending; appends that nobody acknowledged stay unanswered."""
        if self._sender is not None:
            self._sender.cancel()
            with suppress(asyncio.CancelledError):
                await self._sender

    async def _send_waiting(self) -> None:
        while self._waiting:
            count = min(len(self._waiting), BATCH_LIMIT)
            batch = [self._waiting.popleft() for _ in range(count)]
            try:
                results = await self._until_answered([append for append, _ in batch])
            except Exception as error:  # noqa: BLE001 - nobody may be left waiting for ever
                for _, acknowledged in batch:
                    if not acknowledged.done():
                        acknowledged.set_exception(error)
                continue
            for (append, acknowledged), result in zip(batch, results, strict=True):
                if not acknowledged.done():
                    _settle(acknowledged, append, result)

    async def _until_answered(self, batch: list[Append]) -> list[AppendResult]:
        blob = msgspec.msgpack.encode(batch)
        while True:
            with suppress(LogUnavailableError):
                return _RESULTS.decode(await self._endpoint.append(blob))
            await self._clock.sleep(RECONNECT_SECONDS)


_RESULTS: Final = msgspec.msgpack.Decoder(list[AppendResult])


def _settle(acknowledged: asyncio.Future[Appended], append: Append, result: AppendResult) -> None:
    match result:
        case Appended():
            acknowledged.set_result(result)
        case Conflict(actual_seq=actual):
            acknowledged.set_exception(
                ConcurrencyError(append.stream, append.expected_seq or 0, actual)
            )
        case Fenced(current_epoch=current):
            acknowledged.set_exception(FencedError(append.stream, append.epoch, current))
        case Stopped(position=position):
            acknowledged.set_exception(StoppedError(append.stream, position))


class _LastingSubscription(Subscription):
    """A subscription that outlives the log's process: it resumes behind what it delivered."""

    def __init__(
        self, endpoint: Endpoint, clock: Clock, watches: dict[StreamId | None, Position]
    ) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._watches = watches
        self._feed: Feed | None = None
        self._batches: AsyncIterator[list[Recorded]] | None = None
        self._closed = False

    @override
    def __aiter__(self) -> AsyncIterator[list[Recorded]]:
        return self

    @override
    async def __anext__(self) -> list[Recorded]:
        while not self._closed:
            if self._batches is None:
                self._feed = self._endpoint.feed(tuple(self._watches.items()))
                self._batches = aiter(self._feed)
            try:
                fresh = self._unseen(await anext(self._batches))
            except (LogUnavailableError, StopAsyncIteration):
                self._feed, self._batches = None, None
                if not self._closed:
                    await self._clock.sleep(RECONNECT_SECONDS)
                continue
            if fresh:
                return fresh
        raise StopAsyncIteration

    def _unseen(self, batch: list[Recorded]) -> list[Recorded]:
        fresh: list[Recorded] = []
        for recorded in batch:
            stream = None if None in self._watches else recorded.stream
            if recorded.position > self._watches.get(stream, recorded.position):
                self._watches[stream] = recorded.position
                fresh.append(recorded)
        return fresh

    @override
    async def watch(self, stream: StreamId, after: Position) -> None:
        if stream in self._watches:
            return
        self._watches[stream] = after
        if self._feed is not None:
            # A log that is lost right here learns of the stream when the feed is reopened.
            with suppress(LogUnavailableError):
                await self._feed.watch(stream, after)

    @override
    async def unwatch(self, stream: StreamId) -> None:
        if self._watches.pop(stream, None) is not None and self._feed is not None:
            with suppress(LogUnavailableError):
                await self._feed.unwatch(stream)

    @override
    async def aclose(self) -> None:
        self._closed = True
        if self._feed is not None:
            await self._feed.aclose()
