"""The races between a store and its pushes, one step at a time."""

import asyncio
from collections.abc import Collection

import pytest

from events.base import Position, Recorded, StreamId
from events.errors import LogUnavailableError
from events.row import recorded
from events.subscriptions import Hub, PushSubscription
from tests.events.rows import row
from tests.events.samples import positions, take

A, B = StreamId("channel/1"), StreamId("channel/2")


class SteppedStore:
    """A store whose reads see it as it is when they begin, and end when they are let."""

    def __init__(self) -> None:
        self.events: list[Recorded] = []
        self.reads = 0
        self.gate: asyncio.Event | None = None
        self.reading = asyncio.Event()
        self.is_broken = False

    async def select(
        self, streams: Collection[StreamId] | None, after: Position, limit: int
    ) -> list[Recorded]:
        """Read; held up by the gate, where one is set."""
        self.reads += 1
        found = [
            one
            for one in self.events
            if one.position > after and (streams is None or one.stream in streams)
        ][:limit]
        self.reading.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.is_broken:
            raise LogUnavailableError("broken")
        return found


class Log:
    """A store with its hub."""

    def __init__(self, max_waiting: int = 100) -> None:
        self.store = SteppedStore()
        self.hub = Hub(self.store.select, Position(0), max_waiting=max_waiting)

    def commit(self, *streams: StreamId) -> list[Recorded]:
        """Make one event durable in each of `streams`, not yet published."""
        first = len(self.store.events) + 1
        events = [recorded(row(first + at, stream)) for at, stream in enumerate(streams)]
        self.store.events += events
        return events

    def append(self, *streams: StreamId) -> None:
        """Make one event durable in each of `streams` and publish them."""
        self.hub.publish(self.commit(*streams))

    def subscribe(self, *streams: StreamId, after: int = 0) -> PushSubscription:
        """Subscribe; to all where no stream is named."""
        subscription = self.hub.subscribe(streams or None, Position(after))
        assert isinstance(subscription, PushSubscription)
        return subscription


async def test_an_event_committed_during_the_first_read_is_delivered_once() -> None:
    """The read did not see it, and its push came before the read was over."""
    log = Log()
    log.append(A)
    log.store.gate = asyncio.Event()
    subscription = log.subscribe(A)
    taking = asyncio.create_task(take(subscription, 2))
    await log.store.reading.wait()

    log.append(B, A)
    log.store.gate.set()

    assert positions(await taking) == [1, 3]


async def test_an_event_that_the_read_saw_before_its_push_is_delivered_once() -> None:
    """A read may run between a commit and its publication."""
    log = Log()
    events = log.commit(A)
    subscription = log.subscribe(A)

    first = await take(subscription, 1)
    log.hub.publish(events)
    log.append(A)

    assert positions(first + await take(subscription, 1)) == [1, 2]


async def test_a_slow_subscriber_is_sent_back_to_the_store() -> None:
    """Its queue is bounded, whatever it does, and it still misses nothing."""
    log = Log(max_waiting=5)
    subscription = log.subscribe(A)
    log.append(A)
    await take(subscription, 1)
    reads = log.store.reads

    for _ in range(23):
        log.append(A, B)
        assert subscription.waiting() <= 5

    assert positions(await take(subscription, 23)) == list(range(2, 48, 2))
    assert log.store.reads > reads


async def test_an_overflow_during_a_read_is_read_again() -> None:
    """What the queue lost while the store was read lies beyond what that read saw."""
    log = Log(max_waiting=2)
    log.append(A)
    log.store.gate = asyncio.Event()
    subscription = log.subscribe(A)
    taking = asyncio.create_task(take(subscription, 9))
    await log.store.reading.wait()

    for _ in range(8):
        log.append(A)
    log.store.gate.set()

    assert positions(await taking) == list(range(1, 10))


async def test_a_live_subscriber_reads_no_store() -> None:
    """Pushes cost no query."""
    log = Log()
    subscription = log.subscribe(A)
    log.append(A)
    await take(subscription, 1)
    reads = log.store.reads

    for _ in range(10):
        log.append(A)
        await take(subscription, 1)

    assert log.store.reads == reads


async def test_unpublished_events_are_found_after_a_resync() -> None:
    """A commit that landed although the store failed was never pushed."""
    log = Log()
    subscription = log.subscribe(A)
    log.append(A)
    await take(subscription, 1)
    log.commit(A, A)

    log.hub.resync(Position(3))
    log.append(A)

    assert positions(await take(subscription, 3)) == [2, 3, 4]


async def test_a_push_with_a_gap_before_it_is_a_resync() -> None:
    """Nobody may be left with a hole, whatever the writer forgot to publish."""
    log = Log()
    subscription = log.subscribe(A)
    log.commit(A)

    log.append(A)

    assert positions(await take(subscription, 2)) == [1, 2]


async def test_positions_that_were_lost_and_given_again_are_delivered_again() -> None:
    """After a loss the same position holds another fact, and that one counts."""
    log = Log()
    subscription = log.subscribe(A)
    log.append(A, A, A)
    await take(subscription, 3)

    del log.store.events[1:]
    log.hub.resync(Position(1))
    log.append(A)

    assert positions(await take(subscription, 1)) == [2]


async def test_a_failed_read_is_told_and_can_be_tried_again() -> None:
    """The subscriber decides how long it waits for a broken disk."""
    log = Log()
    log.append(A)
    subscription = log.subscribe(A)
    log.store.is_broken = True
    with pytest.raises(LogUnavailableError):
        await take(subscription, 1)

    log.store.is_broken = False

    assert positions(await take(subscription, 1)) == [1]


async def test_a_stream_unwatched_during_its_read_is_not_delivered() -> None:
    """What was read for it is nobody's any more."""
    log = Log()
    log.append(A, B)
    log.store.gate = asyncio.Event()
    subscription = log.subscribe(A, B)
    taking = asyncio.create_task(take(subscription, 1))
    await log.store.reading.wait()

    await subscription.unwatch(A)
    log.store.gate.set()

    assert positions(await taking) == [2]


async def test_what_waits_of_an_unwatched_stream_is_dropped() -> None:
    """Its turn has ended; nobody knows its events any more."""
    log = Log()
    subscription = log.subscribe(A, B)
    log.append(A, B)
    await take(subscription, 2)
    log.append(A, B)

    await subscription.unwatch(A)

    assert positions(await take(subscription, 1)) == [4]


async def test_watching_twice_does_not_deliver_twice() -> None:
    """Each event once, whoever asks for its stream."""
    log = Log()
    log.append(A)
    subscription = log.subscribe(A)
    await take(subscription, 1)

    await subscription.watch(A, Position(0))
    log.append(A)

    assert positions(await take(subscription, 1)) == [2]


async def test_ended_subscribers_leave_nothing_behind() -> None:
    """5,000 turns must not leave 5,000 queues."""
    log = Log()
    subscriptions = [log.subscribe(A) for _ in range(3)]
    for subscription in subscriptions:
        await subscription.aclose()

    log.append(A)

    assert log.hub.count() == 0
    assert [one.waiting() for one in subscriptions] == [0, 0, 0]
