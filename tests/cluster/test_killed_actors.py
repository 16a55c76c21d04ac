"""SIGKILL of each actor's process at each step of a turn: nothing twice, nothing received lost."""

import asyncio
import os
import signal
import time
from typing import Final

import pytest

from actors.cluster.runtime import Runtime
from actors.generation.replay import replay
from actors.providers.registry import provider_for
from bot.loopback.discord.entities import Channel
from bot.loopback.discord.faults import Fault
from bot.loopback.script import Answer, say
from events.base import (
    ChannelId,
    Event,
    Position,
    Recorded,
    TurnId,
    channel_stream,
    delivery_stream,
    turn_stream,
)
from events.delivery import Receipt, SendAttempt
from events.generation import RawChunk
from events.turn import TriggerReceived, TurnEnded, TurnStarted
from tests.cluster.outside import Outside

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(90),
    pytest.mark.asyncio(loop_scope="session"),
]

RECOVERED_SECONDS: Final = 10.0
"""Within this time after the kill every turn has ended."""

STEPS: Final[dict[str, tuple[type[Event], Fault | None]]] = {
    "trigger-received": (TriggerReceived, None),
    "turn-started": (TurnStarted, None),
    "first-chunk": (RawChunk, None),
    "attempt-durable": (SendAttempt, Fault(action="hang", when="before")),
    "post-stored": (SendAttempt, Fault(action="hang", when="after")),
    "receipt-appended": (Receipt, None),
}


async def first(runtime: Runtime, kind: type[Event], channel: Channel, after: Position) -> Recorded:
    """Return the channel's first event of that kind behind `after`, once it is in the log."""
    subscription = runtime.log().subscribe(None, after)
    try:
        async for batch in subscription:
            for one in batch:
                if isinstance(one.event, kind) and one.scope.channel_id == channel.id:
                    return one
    finally:
        await subscription.aclose()
    raise AssertionError


async def pids_of(runtime: Runtime, victim: str) -> list[int]:
    """Return the processes of the actors that go by that name."""
    pids = await runtime.pids()
    return list(pids.turns) if victim == "turns" else [getattr(pids, victim)]


async def events_of(runtime: Runtime, turn_id: TurnId) -> list[Recorded]:
    """Return both streams of a turn."""
    log = runtime.log()
    return await log.read(turn_stream(turn_id)) + await log.read(delivery_stream(turn_id))


@pytest.mark.parametrize("victim", ["log", "sender", "router", "turns", "analyst"])
@pytest.mark.parametrize("step", STEPS)
async def test_whoever_dies_whenever_nothing_is_said_twice_and_nothing_received_is_lost(
    runtime: Runtime, outside: Outside, step: str, victim: str
) -> None:
    """The promise to people: at most once, and nothing lost."""
    kind, fault = STEPS[step]
    channel, name = outside.channel(), f"{step} of {victim}"
    silent_from = 0 if kind in (TriggerReceived, TurnStarted) else 1
    gate = asyncio.Event()
    lines = (f"One {name}.\nTwo {name}.\nThr", f"ee {name}.")
    outside.answer(name, Answer(pieces=lines, gates={silent_from: gate}), say("".join(lines)))
    if fault is not None:
        outside.discord.fail(Fault(action=fault.action, when=fault.when, channel_id=channel.id))
    after, victims = await runtime.head(), await pids_of(runtime, victim)

    await runtime.trigger(await outside.trigger(channel, name))
    await first(runtime, kind, channel, after)
    if fault is not None:
        await outside.discord.until(lambda: outside.discord.held > 0)
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    killed_at = time.monotonic()
    gate.set()
    outside.discord.release()

    ended = await first(runtime, TurnEnded, channel, after)
    assert time.monotonic() - killed_at < RECOVERED_SECONDS
    await check(runtime, outside, channel, ended)
    await runtime.trigger(await outside.trigger(channel, "and now?"))
    again = await first(runtime, TurnEnded, channel, ended.position)
    assert isinstance(again.event, TurnEnded)
    assert again.event.status == "completed"


async def check(runtime: Runtime, outside: Outside, channel: Channel, ended: Recorded) -> None:
    """Check a turn that was killed at: its text adds up, replays, and stands in Discord once."""
    said = list(outside.said(channel))
    assert len(said) == len(set(said))
    assert isinstance(ended.event, TurnEnded)
    assert ended.scope.turn_id is not None
    events = await events_of(runtime, ended.scope.turn_id)
    replayed = replay(events, lambda kind: provider_for(kind).reader())
    assert replayed.is_sound, (replayed.differences, replayed.balance.problems)
    lost = {rule for rule in ended.event.withheld if rule not in ("blank", "unconfirmed")}
    assert not lost
    attempts = [one for one in events if isinstance(one.event, SendAttempt)]
    assert len(outside.discord.messages(channel.id)) - 1 <= len(attempts)
    if ended.event.status != "unconfirmed":
        assert "".join(said).replace("\n", "") == ended.event.delivered_text.replace("\n", "")
    stream = await runtime.log().read(channel_stream(ChannelId(channel.id)))
    assert sum(isinstance(one.event, TriggerReceived) for one in stream) == 1
