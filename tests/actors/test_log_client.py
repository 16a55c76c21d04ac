"""A process's connection to the log: batches, losses, and subscriptions that outlive both."""

import asyncio
from datetime import UTC, datetime

import pytest

from events.base import (
    Append,
    ChannelId,
    Position,
    Scope,
    StreamId,
    TriggerId,
    TurnId,
    channel_stream,
    turn_stream,
)
from events.codec import append_of
from events.errors import ConcurrencyError, FencedError, StoppedError
from events.turn import StopRequested, TriggerDropped, TurnRecovered
from tests.actors.log_ports import LocalEndpoint, log_client

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TURN = TurnId("01900000-0000-7000-8000-000000000001")


def dropped(number: int, *, stream: StreamId, expected_seq: int | None = None) -> Append:
    """Return an append of one small event."""
    event = TriggerDropped(trigger_id=TriggerId(str(number)), reason="expired")
    return append_of(
        stream, [(event, NOW)], scope=Scope(channel_id=ChannelId(1)), expected_seq=expected_seq
    )


async def test_what_arrives_while_an_append_is_in_flight_is_the_next_batch() -> None:
    """Load must make batches larger, not calls more frequent."""
    endpoint = LocalEndpoint()
    client = log_client(endpoint)
    stream = channel_stream(ChannelId(1))

    await asyncio.gather(*(client.append(dropped(i, stream=stream)) for i in range(100)))

    assert endpoint.appends <= 3
    assert [one.seq for one in await client.read(stream)] == list(range(1, 101))


async def test_one_append_is_in_flight_at_a_time() -> None:
    """Two could overtake each other, and a stream's order is its writer's."""
    endpoint = LocalEndpoint()
    client = log_client(endpoint)
    stream = channel_stream(ChannelId(1))

    async def write(number: int) -> None:
        for _ in range(number % 5):
            await asyncio.sleep(0)
        await client.append(dropped(number, stream=stream))

    await asyncio.gather(*(write(number) for number in range(20)))

    assert endpoint.most_in_flight == 1


@pytest.mark.parametrize("lost", ["lose_before", "lose_after"])
async def test_an_append_whose_answer_is_lost_is_made_once(lost: str) -> None:
    """The log may have died before or after the commit; the writer cannot know which."""
    endpoint = LocalEndpoint()
    client = log_client(endpoint)
    stream = turn_stream(TURN)
    setattr(endpoint, lost, 2)

    appended = await client.append(dropped(1, stream=stream, expected_seq=0))

    assert appended.seq == 1
    assert len(await client.read(stream)) == 1


async def test_refusals_come_back_as_the_errors_of_the_log() -> None:
    """Each names what the caller has to do."""
    client = log_client()
    stream, scope = turn_stream(TURN), Scope(turn_id=TURN, channel_id=ChannelId(1))
    recovered = TurnRecovered(epoch=2, found="x", decision="run_again")
    stop = StopRequested(turn_id=TURN, requester="1", stop="stop")
    await client.append(append_of(stream, [(recovered, NOW)], scope=scope, epoch=2))
    await client.append(append_of(channel_stream(ChannelId(1)), [(stop, NOW)], scope=scope))

    with pytest.raises(FencedError):
        await client.append(append_of(stream, [(recovered, NOW)], scope=scope, epoch=1))
    with pytest.raises(StoppedError):
        await client.append(
            append_of(stream, [(recovered, NOW)], scope=scope, epoch=2, unless_stopped=True)
        )
    with pytest.raises(ConcurrencyError):
        await client.append(
            append_of(stream, [(recovered, NOW)], scope=scope, epoch=2, expected_seq=7)
        )
    assert len(await client.read(stream)) == 1


async def test_a_subscription_outlives_the_log_without_gap_or_repeat() -> None:
    """A stop must reach a turn although the log was restarted meanwhile."""
    endpoint = LocalEndpoint()
    client = log_client(endpoint)
    stream = channel_stream(ChannelId(1))
    subscription = client.subscribe((stream,))
    seen: list[int] = []

    async def follow(upto: int) -> None:
        async for batch in subscription:
            seen.extend(one.position for one in batch)
            if seen[-1] >= upto:
                return

    await client.append(dropped(1, stream=stream))
    await follow(1)
    await endpoint.break_feeds()
    await client.append(dropped(2, stream=stream))
    await client.append(dropped(3, stream=stream))
    await follow(3)

    assert seen == [1, 2, 3]
    await subscription.aclose()


async def test_a_stream_watched_later_is_delivered_from_its_own_position() -> None:
    """The sender follows channels as turns come and go."""
    client = log_client()
    first, second = channel_stream(ChannelId(1)), channel_stream(ChannelId(2))
    for number in range(3):
        await client.append(dropped(number, stream=second))
    subscription = client.subscribe((first,))
    await subscription.watch(second, Position(2))

    batch = await anext(subscription)

    assert [one.position for one in batch] == [3]
    await subscription.aclose()
