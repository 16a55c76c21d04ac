"""A turn's writer: order, merging, barriers, and giving way."""

import asyncio

import pytest

from actors.errors import LeaseLostError
from actors.generation.journal import LEASE_SECONDS, Arrival, Journal
from actors.ports import Clock
from actors.providers.framing import Payload
from bot.clock import SystemClock
from events.base import ChannelId, Scope, TurnId, turn_stream
from events.errors import ConcurrencyError, FencedError
from events.generation import Chunk, Flush, ProcessedChunk, RawChunk
from events.turn import TurnRecovered
from tests.actors.log_ports import LocalEndpoint, log_client
from tests.fakes import ManualClock

TURN = TurnId("01900000-0000-7000-8000-000000000001")
SCOPE = Scope(turn_id=TURN, channel_id=ChannelId(1))


def journal(endpoint: LocalEndpoint, clock: Clock, *, epoch: int = 0, seq: int = 0) -> Journal:
    """Return a writer of the turn."""
    return Journal(log_client(endpoint, clock), clock, TURN, SCOPE, epoch=epoch, seq=seq)


def arrival(text: str, request: int = 1) -> Arrival:
    """Return the arrival of a payload that gives its own text."""
    payload = Payload(text=text, recorded=text, is_base64=False)
    chunks = (Chunk(type="text", text=text),)
    return Arrival(request=request, payload=payload, ms=1.0, chunks=chunks)


def flush(number: int) -> Flush:
    """Return some flush."""
    return Flush(flush=number, text="x", boundary="final", start=0, end=1)


async def test_payloads_that_arrive_during_an_append_share_one_event() -> None:
    """A fast stream must not cost a row a token."""
    endpoint = LocalEndpoint()
    writer = journal(endpoint, ManualClock())

    for text in "abcde":
        writer.add(arrival(text))
    writer.add(flush(1))
    await writer.barrier()

    events = [one.event for one in await endpoint.log.read(turn_stream(TURN))]
    raw = [event for event in events if isinstance(event, RawChunk)]
    assert [payload for event in raw for payload in event.payloads] == list("abcde")
    assert len(raw) < 5
    assert isinstance(events[-1], Flush)


async def test_a_flush_stands_behind_the_chunks_it_came_from() -> None:
    """Whatever was posted must be derivable from what stands before it."""
    endpoint = LocalEndpoint()
    writer = journal(endpoint, ManualClock())

    writer.add(flush(0))
    for number in range(1, 4):
        writer.add(arrival(str(number)))
        writer.add(flush(number))
    await writer.barrier()

    kinds = [type(one.event) for one in await endpoint.log.read(turn_stream(TURN))]
    assert kinds == [Flush, RawChunk, ProcessedChunk, Flush, Flush, Flush]


async def test_payloads_of_two_requests_are_kept_apart() -> None:
    """Each `raw_chunk` belongs to one request."""
    endpoint = LocalEndpoint()
    writer = journal(endpoint, ManualClock())

    writer.add(flush(0))
    writer.add(arrival("a", request=1))
    writer.add(arrival("b", request=2))
    await writer.barrier()

    events = [one.event for one in await endpoint.log.read(turn_stream(TURN))]
    assert [event.request for event in events if isinstance(event, RawChunk)] == [1, 2]


async def test_a_turn_that_was_taken_over_can_write_no_more() -> None:
    """The fence: a process believed dead learns of it at its next append."""
    endpoint, clock = LocalEndpoint(), ManualClock()
    old, successor = journal(endpoint, clock), journal(endpoint, clock, epoch=1)
    successor.add(TurnRecovered(epoch=1, found="x", decision="run_again"))
    await successor.barrier()

    old.add(flush(1))

    with pytest.raises((FencedError, ConcurrencyError)):
        await old.barrier()
    assert old.failed.is_set()
    assert len(await endpoint.log.read(turn_stream(TURN))) == 1


async def test_an_append_whose_answer_is_lost_stands_in_the_turn_once() -> None:
    """The log knows the repeat by the place that it names."""
    endpoint = LocalEndpoint()
    endpoint.lose_after = 1
    writer = journal(endpoint, SystemClock())

    writer.add(flush(1))
    await writer.barrier()

    assert len(await endpoint.log.read(turn_stream(TURN))) == 1


async def test_a_turn_that_the_log_does_not_hear_gives_way() -> None:
    """A cut-off process is told nothing; only its own clock helps."""
    endpoint, clock = LocalEndpoint(), ManualClock()
    endpoint.silent.set()
    writer = journal(endpoint, clock)

    writer.add(flush(1))
    waiting = asyncio.create_task(writer.barrier())
    await clock.until_someone_sleeps()
    await clock.advance(LEASE_SECONDS)

    with pytest.raises(LeaseLostError):
        await waiting
    assert writer.failed.is_set()
