"""Pushes durable events to subscribers; knows no store but through `Select`.

A subscriber is fed from two sources: live events, which the hub hands to it as they become
durable, and the store, for whatever lies before them. Each watched stream has a cursor, the last
position that was delivered of it, and is either live or behind. While any stream is behind,
the subscriber reads the store from the cursors on, and live events wait in a queue; an event at or
below its stream's cursor is dropped, so that what both sources hold is delivered once.

The queue is bounded. When it overflows it is emptied and every stream is marked as behind: the
store has all of it, so a slow subscriber costs reads, never memory. Whatever overflows during
a read leaves its mark too, and is read again.

All of it runs on one event loop, and each subscription has one consumer.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Collection, Sequence
from typing import Final, Protocol

from typing_extensions import override

from events.base import Position, Recorded, StreamId
from events.errors import LogUnavailableError
from events.log import Subscription

MAX_WAITING = 4096
"""Most live events that wait for one subscriber, before it is sent back to the store."""
READ_LIMIT = 4096
"""Most events of one read from the store."""

_ALL: Final = StreamId("")


class Select(Protocol):
    """Reads durable events."""

    def __call__(
        self, streams: Collection[StreamId] | None, after: Position, limit: int
    ) -> Awaitable[list[Recorded]]:
        """Return up to `limit` events of `streams` (None: all) above `after`, oldest first."""
        ...


class Hub:
    """All subscribers of one log."""

    def __init__(self, select: Select, head: Position, *, max_waiting: int = MAX_WAITING) -> None:
        self.select = select
        """How the store is read."""
        self.head = head
        """Position of the last event that was published."""
        self.max_waiting = max_waiting
        """Bound of each subscriber's queue."""
        self._by_stream: dict[StreamId, set[PushSubscription]] = {}
        self._subscriptions: set[PushSubscription] = set()
        self._is_closed = False

    def publish(self, events: Sequence[Recorded]) -> None:
        """Push `events`, which are durable and follow each other from `head` on."""
        if not events:
            return
        if events[0].position != self.head + 1:
            self.resync(events[-1].position)
            return
        self.head = events[-1].position
        everything = self._by_stream.get(_ALL, ())
        for event in events:
            for subscription in everything:
                subscription.offer(_ALL, event)
            for subscription in self._by_stream.get(event.stream, ()):
                subscription.offer(event.stream, event)

    def resync(self, head: Position) -> None:
        """Send every subscriber to the store: events may be durable that were never published.

        Where the store has lost events, what follows takes their positions; so no cursor stays
        beyond `head`.
        """
        self.head = head
        for subscription in self._subscriptions:
            subscription.fall_behind(head)

    def subscribe(
        self, streams: Collection[StreamId] | None, after: Position = Position(0)
    ) -> Subscription:
        """Return a subscriber of `streams` (None: of all) from above `after` on.

        Raises:
            LogUnavailableError: The hub is closed.
        """
        if self._is_closed:
            raise LogUnavailableError("it is closed")
        subscription = PushSubscription(self)
        self._subscriptions.add(subscription)
        for stream in [_ALL] if streams is None else streams:
            subscription.add(stream, after)
        return subscription

    def join(self, stream: StreamId, subscription: "PushSubscription") -> None:
        """Push `stream` to `subscription` from here on."""
        self._by_stream.setdefault(stream, set()).add(subscription)

    def leave(self, stream: StreamId, subscription: "PushSubscription") -> None:
        """Push `stream` to `subscription` no longer."""
        others = self._by_stream.get(stream, set())
        others.discard(subscription)
        if not others:
            self._by_stream.pop(stream, None)

    def forget(self, subscription: "PushSubscription") -> None:
        """Drop a subscriber that has ended."""
        self._subscriptions.discard(subscription)

    def count(self) -> int:
        """Return how many subscribers there are."""
        return len(self._subscriptions)

    def close(self) -> None:
        """End every subscription, and have no more."""
        self._is_closed = True
        for subscription in tuple(self._subscriptions):
            subscription.end()


class _Watch:
    """How far one watched stream has been delivered."""

    __slots__ = ("cursor", "has_lost", "is_behind")

    def __init__(self, cursor: int) -> None:
        self.cursor = cursor
        self.is_behind = True
        self.has_lost = False


class PushSubscription(Subscription):
    """One subscriber; made by `Hub.subscribe`."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._watches: dict[StreamId, _Watch] = {}
        self._waiting: deque[tuple[StreamId, Recorded]] = deque()
        self._wake = asyncio.Event()
        self._has_ended = False

    @override
    def __aiter__(self) -> "PushSubscription":
        return self

    @override
    async def __anext__(self) -> list[Recorded]:
        while not self._has_ended:
            behind = {name: one for name, one in self._watches.items() if one.is_behind}
            events = await self._catch_up(behind) if behind else self._drain()
            if events:
                return events
            if not behind:
                self._wake.clear()
                await self._wake.wait()
        raise StopAsyncIteration

    @override
    async def watch(self, stream: StreamId, after: Position) -> None:
        self.add(stream, after)

    @override
    async def unwatch(self, stream: StreamId) -> None:
        if self._watches.pop(stream, None) is not None:
            self._hub.leave(stream, self)
            self._waiting = deque(one for one in self._waiting if one[0] != stream)

    @override
    async def aclose(self) -> None:
        self.end()

    def waiting(self) -> int:
        """Return how many live events wait to be taken."""
        return len(self._waiting)

    def add(self, stream: StreamId, after: Position) -> None:
        """Watch `stream`; a stream that is watched already keeps its cursor."""
        if self._has_ended or stream in self._watches or _ALL in self._watches:
            return
        self._watches[stream] = _Watch(after)
        self._hub.join(stream, self)
        self._wake.set()

    def offer(self, key: StreamId, event: Recorded) -> None:
        """Take a live event of the watch `key`."""
        if len(self._waiting) >= self._hub.max_waiting:
            self._lose_waiting()
        self._waiting.append((key, event))
        self._wake.set()

    def fall_behind(self, head: Position) -> None:
        """Read on from the store, from `head` at the latest."""
        self._lose_waiting()
        for one in self._watches.values():
            one.cursor = min(one.cursor, head)
        self._wake.set()

    def end(self) -> None:
        """End the iteration; what waits is left to the next subscription."""
        self._has_ended = True
        for stream in self._watches:
            self._hub.leave(stream, self)
        self._watches.clear()
        self._waiting.clear()
        self._hub.forget(self)
        self._wake.set()

    def _lose_waiting(self) -> None:
        self._waiting.clear()
        for one in self._watches.values():
            one.is_behind = one.has_lost = True

    def _drain(self) -> list[Recorded]:
        taken: list[Recorded] = []
        while self._waiting:
            key, event = self._waiting.popleft()
            one = self._watches[key]
            if event.position > one.cursor:
                one.cursor = event.position
                taken.append(event)
        return taken

    async def _catch_up(self, behind: dict[StreamId, _Watch]) -> list[Recorded]:
        after = Position(min(one.cursor for one in behind.values()))
        for one in behind.values():
            one.has_lost = False
        events = await self._hub.select(None if _ALL in behind else set(behind), after, READ_LIMIT)
        is_complete = len(events) < READ_LIMIT
        taken: list[Recorded] = []
        for event in events:
            key = _ALL if _ALL in behind else event.stream
            one = behind[key]
            if self._watches.get(key) is one and event.position > one.cursor:
                taken.append(event)
        for one in behind.values():
            if events:
                one.cursor = max(one.cursor, events[-1].position)
            one.is_behind = one.has_lost or not is_complete
        return taken
