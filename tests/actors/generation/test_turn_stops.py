"""A turn that is stopped: at once, without a hole, and no other turn with it."""

import asyncio
import time

import pytest

from bot.loopback.discord.faults import Fault as DiscordFault
from bot.loopback.script import Answer, say
from events.delivery import Receipt, SendAttempt, SendFailed
from events.generation import RawChunk
from events.turn import StopKind, StopObserved
from tests.stack import Stack


async def test_t144a_a_stop_while_the_provider_is_silent_acts_at_once(stack: Stack) -> None:
    """B33: the provider's socket is closed within 300 ms."""
    stack.provider.script(Answer(pieces=("never",), gates={0: asyncio.Event()}))
    start = await stack.ask()
    running = stack.run(start)
    request = await stack.provider.received()

    stopped_at = time.monotonic()
    await stack.stop(start)
    await request.closed.wait()
    closed_after = time.monotonic() - stopped_at
    await running

    ended = await stack.end_of(start.turn_id)
    assert (ended.status, ended.messages) == ("stopped_by_user", 0)
    assert request.ending == "client_closed"
    assert closed_after < 0.3
    assert stack.contents() == []


async def test_p123_a_stop_before_the_request_asks_nobody(stack: Stack) -> None:
    """A Discord that hangs over the channel's past must not hold up the stop."""
    stack.discord.fail(DiscordFault(route="history", action="hang"))
    start = await stack.ask()
    running = stack.run(start)
    await stack.discord.until(lambda: stack.discord.held == 1)

    await stack.stop(start)
    await asyncio.wait_for(running, 0.3)

    ended = await stack.end_of(start.turn_id)
    assert (ended.status, ended.requests) == ("stopped_by_user", 0)
    assert stack.provider.requests == []


async def test_a_stop_while_discord_cannot_be_reached_ends_the_turn_as_stopped(
    stack: Stack,
) -> None:
    """The pause before another try is no reason to wait, nor the failure one to report."""
    stack.provider.script(Answer(pieces=("One.\nTw", "o"), gates={1: asyncio.Event()}))
    start = await stack.ask()
    await stack.discord.close()
    running = stack.run(start)
    await stack.until(start.turn_id, SendFailed)

    await stack.stop(start)
    await asyncio.wait_for(running, 0.5)

    ended = await stack.end_of(start.turn_id)
    assert (ended.status, ended.withheld["stop"]) == ("stopped_by_user", len("One.Tw"))


async def test_pt131_a_stop_flushes_what_was_written_and_waits_for_no_more(stack: Stack) -> None:
    """The flush that a graceful stop owes."""
    second, never = asyncio.Event(), asyncio.Event()
    pieces = ("One.\nHel", "lo wor", "ld")
    stack.provider.script(Answer(pieces=pieces, gates={1: second, 2: never}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt)
    second.set()
    await stack.until(start.turn_id, RawChunk, 2)

    await stack.stop(start)
    await running

    ended = await stack.end_of(start.turn_id)
    assert stack.contents() == ["One.", "Hello wor"]
    assert (ended.status, ended.stop_reason) == ("stopped_by_user", "stop")


async def test_pt145_a_kill_flushes_nothing(stack: Stack) -> None:
    """The fifty characters in the buffer never appear."""
    gate = asyncio.Event()
    stack.provider.script(Answer(pieces=("One.\n" + "x" * 50, "never"), gates={1: gate}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt)

    await stack.stop(start, "kill")
    await running

    ended = await stack.end_of(start.turn_id)
    assert (ended.status, ended.stop_reason) == ("stopped_by_user", "kill")
    assert (stack.contents(), ended.withheld["stop"]) == (["One."], 50)


async def test_pt132_a_follow_up_flushes_nothing(stack: Stack) -> None:
    """Whoever writes on no longer wants the old answer."""
    gate = asyncio.Event()
    stack.provider.script(Answer(pieces=("One.\nHel", "lo"), gates={1: gate}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt)

    await stack.stop(start, "follow_up")
    await running

    ended = await stack.end_of(start.turn_id)
    assert stack.contents() == ["One."]
    assert ended.status == "follow_up_interrupt"
    assert ended.withheld["stop"] == len("Hel")


@pytest.mark.parametrize("kind", ["stop", "follow_up"])
async def test_b33_a_stop_while_pieces_wait_leaves_no_hole(stack: Stack, kind: StopKind) -> None:
    """What waited is withheld, and so is what stands behind it."""
    stack.discord.fail(DiscordFault(action="hang", when="before"))
    stack.provider.script(Answer(pieces=("One.\nTwo.\nThree.\nFo",), gates={1: asyncio.Event()}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, SendAttempt)
    await stack.until(start.turn_id, RawChunk)
    await stack.discord.until(lambda: stack.discord.held == 1)

    stopped = await stack.stop(start, kind)
    await stack.until(start.turn_id, StopObserved)
    stack.discord.release()
    await running

    ended = await stack.end_of(start.turn_id)
    assert stack.contents() == ["One."]
    assert ended.withheld["stop"] == len("Two.Three.Fo")
    late = [one for one in await stack.recorded(start.turn_id) if one.position > stopped]
    assert not [one for one in late if isinstance(one.event, SendAttempt)]


async def test_b34_a_stop_of_one_turn_does_not_touch_the_next(stack: Stack) -> None:
    """A stop names its turn."""
    stack.provider.script(Answer(pieces=("never",), gates={0: asyncio.Event()}), say("Second."))
    first = await stack.ask()
    running = stack.run(first)
    await stack.provider.received()
    await stack.stop(first)
    await running

    ended = await stack.run_to_end(await stack.ask())

    assert ended.status == "completed"
    assert stack.contents() == ["Second."]


async def test_b32_typing_never_outlives_the_answer(stack: Stack) -> None:
    """The last typing call comes before the last message."""
    stack.provider.script(say("One.\nTwo."))

    await stack.run_to_end(await stack.ask())

    assert stack.discord.typing
    assert stack.discord.typing[-1][1] < stack.discord.posts[-1].time
