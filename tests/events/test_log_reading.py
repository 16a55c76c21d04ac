"""What a log gives back: single streams, ranges, and pushes; on both logs."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from events.base import ChannelId, Position, Scope, channel_stream, delivery_stream, turn_stream
from events.codec import append_of
from events.errors import LogUnavailableError
from events.log import EventLog
from tests.events.samples import (
    CHANNEL,
    NOW,
    SCOPE,
    TURN,
    attempt,
    chunk,
    note,
    number_of,
    positions,
    take,
    to_channel,
    to_delivery,
    to_turn,
)

HERE = channel_stream(CHANNEL)
THERE = channel_stream(ChannelId(5))


async def test_an_event_comes_back_as_it_was_written(log: EventLog) -> None:
    """Replay and figures read nothing but this."""
    event = chunk('a "quoted" \\ud83d line\u2028\x00 end')
    await log.append([to_turn(event)])

    (found,) = await log.read(turn_stream(TURN))

    assert found.event == event
    assert (found.stream, found.position, found.seq) == (turn_stream(TURN), 1, 1)
    assert found.scope == SCOPE
    assert found.recorded_at == NOW
    assert found.recorded_at.tzinfo is UTC


async def test_a_time_of_another_zone_is_kept_as_utc(log: EventLog) -> None:
    """Two machines' clocks must sort into one order."""
    there = datetime(2026, 5, 4, 5, 0, 0, 1, tzinfo=timezone(timedelta(hours=2)))
    await log.append([append_of(HERE, [(note(1), there)], scope=Scope())])

    (found,) = await log.read(HERE)

    assert found.recorded_at == datetime(2026, 5, 4, 3, 0, 0, 1, tzinfo=UTC)
    assert found.scope == Scope()


async def test_a_stream_is_read_above_a_seq(log: EventLog) -> None:
    """Whoever has seen a part of a stream reads the rest alone."""
    await log.append([to_turn(note(1), note(2)), to_delivery(attempt()), to_turn(note(3))])

    assert positions(await log.read(turn_stream(TURN), after=1)) == [2, 4]
    assert positions(await log.read(delivery_stream(TURN))) == [3]
    assert await log.read(turn_stream(TURN), after=3) == []
    assert await log.read(THERE) == []


async def test_a_range_is_read_by_position_kind_and_limit(log: EventLog) -> None:
    """The analyst and recovery page through the whole log."""
    await log.append([to_turn(note(1), chunk()), to_channel(note(2)), to_turn(chunk(), note(3))])

    assert positions(await log.read_all(Position(0))) == [1, 2, 3, 4, 5]
    assert positions(await log.read_all(Position(2), limit=2)) == [3, 4]
    assert positions(await log.read_all(Position(0), kinds={"raw_chunk"})) == [2, 4]
    assert positions(await log.read_all(Position(1), kinds=["stop_observed"], limit=1)) == [3]
    assert await log.read_all(Position(5)) == []
    assert await log.read_all(Position(0), limit=0) == []


async def test_a_filtered_range_reaches_beyond_many_others(log: EventLog) -> None:
    """The one event of a kind may lie far behind the place where reading starts."""
    await log.append([to_channel(*(note(at) for at in range(500))), to_turn(chunk())])

    found = await log.read_all(Position(0), kinds={"raw_chunk"}, limit=3)

    assert positions(found) == [501]


async def test_a_subscriber_gets_the_past_then_the_present(log: EventLog) -> None:
    """A projection starts from its checkpoint and lives on pushes."""
    await log.append([to_channel(note(1)), to_turn(note(2)), to_channel(note(3))])
    subscription = log.subscribe({HERE}, Position(1))

    past = await take(subscription, 1)
    await log.append([to_turn(note(4)), to_channel(note(5))])
    present = await take(subscription, 1)

    assert (positions(past), positions(present)) == ([3], [5])
    await subscription.aclose()


async def test_a_subscriber_of_all_gets_every_stream(log: EventLog) -> None:
    """The analyst follows the whole log."""
    subscription = log.subscribe(None)

    await log.append([to_channel(note(1)), to_turn(note(2))])
    await log.append([to_delivery(attempt())])

    assert positions(await take(subscription, 3)) == [1, 2, 3]
    await subscription.aclose()


async def test_a_waiting_subscriber_is_woken_by_an_append(log: EventLog) -> None:
    """No polling anywhere."""
    subscription = log.subscribe({HERE})
    waiting = asyncio.create_task(take(subscription, 1))
    await asyncio.sleep(0)

    await log.append([to_channel(note(1))])

    assert positions(await waiting) == [1]
    await subscription.aclose()


async def test_a_stream_watched_later_brings_its_past(log: EventLog) -> None:
    """A process subscribes once and adds a channel with each turn that it takes."""
    await log.append([to_channel(note(1)), to_channel(note(2), channel_id=ChannelId(5))])
    subscription = log.subscribe({HERE})
    first = await take(subscription, 1)

    await subscription.watch(THERE, Position(0))
    second = await take(subscription, 1)
    await log.append([to_channel(note(3), channel_id=ChannelId(5)), to_channel(note(4))])

    assert (positions(first), positions(second)) == ([1], [2])
    assert positions(await take(subscription, 2)) == [3, 4]
    await subscription.aclose()


async def test_an_unwatched_stream_is_delivered_no_longer(log: EventLog) -> None:
    """A turn that has ended leaves nothing behind in its process's subscription."""
    subscription = log.subscribe({HERE, THERE})
    await log.append([to_channel(note(1), channel_id=ChannelId(5))])

    await subscription.unwatch(THERE)
    await log.append([to_channel(note(2), channel_id=ChannelId(5)), to_channel(note(3))])

    assert positions(await take(subscription, 1)) == [3]
    await subscription.aclose()


async def test_a_cancelled_wait_loses_nothing(log: EventLog) -> None:
    """A consumer waits with a timeout, and goes on after it."""
    subscription = log.subscribe({HERE})
    await log.append([to_channel(note(1))])
    for _ in range(3):
        waiting = asyncio.ensure_future(subscription.__anext__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert positions(await take(subscription, 1)) == [1]
    await subscription.aclose()


async def test_a_cancelled_append_still_reaches_the_subscribers(log: EventLog) -> None:
    """It lands although nobody waits for it; then it is a fact like any other."""
    subscription = log.subscribe({HERE})
    appending = asyncio.ensure_future(log.append([to_channel(note(1))]))
    await asyncio.sleep(0)
    appending.cancel()

    assert positions(await take(subscription, 1)) == [1]
    await subscription.aclose()


async def test_closing_ends_every_iteration(log: EventLog) -> None:
    """A subscriber's task must not outlive the log."""
    whole, one = log.subscribe(None), log.subscribe({HERE})
    waiting = asyncio.create_task(take(whole, 1))
    await asyncio.sleep(0)

    await one.aclose()
    await log.aclose()

    assert [batch async for batch in one] == []
    with pytest.raises(StopAsyncIteration):
        await waiting


async def test_pushes_fold_to_what_reading_gives(log: EventLog) -> None:
    """Live behaviour and replay must see the same log."""
    subscription = log.subscribe(None)
    taking = asyncio.create_task(take(subscription, 120))

    batches = [[to_channel(note(at)), to_turn(note(at))] for at in range(60)]
    await asyncio.gather(*map(log.append, batches))
    pushed = await taking

    assert pushed == await log.read_all(Position(0))
    assert sorted(map(number_of, pushed)) == sorted([*range(60), *range(60)])
    await subscription.aclose()


async def test_a_closed_log_has_no_subscribers(log: EventLog) -> None:
    """A subscription that nothing will ever end would be waited on for ever."""
    await log.aclose()

    with pytest.raises(LogUnavailableError):
        log.subscribe(None)
