"""A turn whose process dies, taken over from the log: nothing twice, nothing received lost."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from actors.generation.start import StartTurn
from actors.text import core
from bot.loopback.discord.faults import Fault
from bot.loopback.script import Answer, say
from events.base import Event, turn_stream
from events.codec import append_of
from events.delivery import Receipt, SendAttempt
from events.generation import (
    Chunk,
    Flush,
    ProcessedChunk,
    RawChunk,
    RequestClosed,
    RequestOpened,
)
from events.scene import Scene
from events.turn import TurnEnded, TurnRecovered, TurnStarted
from tests.actors.generation.tooling import Bench, calling, results
from tests.stack import Stack


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """The whole path, healthy."""
    async with Stack() as one:
        yield one


async def take_over(stack: Stack, start: StartTurn) -> TurnEnded:
    """Run the turn at its next epoch, as the router would."""
    await stack.run(msgspec.structs.replace(start, epoch=start.epoch + 1))
    return await stack.end_of(start.turn_id)


@pytest.mark.parametrize("died_at", [TurnStarted, RequestOpened])
async def test_a_turn_without_a_chunk_is_run_again(stack: Stack, died_at: type[Event]) -> None:
    """Its asker is still waiting."""
    gate = asyncio.Event()
    stack.provider.script(Answer(pieces=("At last.",), gates={0: gate}), say("At last."))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, died_at)
    await stack.kill_turns(running)
    gate.set()

    ended = await take_over(stack, start)

    assert ended.status == "completed"
    assert stack.contents() == ["At last."]


async def test_a_turn_that_died_before_its_first_word_is_begun_by_its_successor(
    stack: Stack,
) -> None:
    """A dead actor may be handed a turn; the log still tells it from its start."""
    stack.provider.script(say("Here."))
    start = await stack.ask()

    ended = await take_over(stack, start)

    events = await stack.events(start.turn_id)
    assert [type(one) for one in events[:2]] == [TurnStarted, TurnRecovered]
    assert ended.status == "completed"


async def test_received_text_is_delivered_from_the_log(stack: Stack) -> None:
    """The provider is not asked again: its answer is in the log."""
    stack.provider.script(Answer(pieces=("One.\nTwo.\nThr", "ee"), gates={1: asyncio.Event()}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, RawChunk)
    await stack.kill_turns(running)

    ended = await take_over(stack, start)

    assert (ended.status, ended.delivered) == ("recovered", len("One.Two.Thr"))
    assert stack.contents() == ["One.", "Two.", "Thr"]
    assert len(stack.provider.requests) == 1


@pytest.mark.parametrize("receipts", [1, 2])
async def test_what_was_confirmed_is_not_posted_again(stack: Stack, receipts: int) -> None:
    """Recovery goes on behind the last receipt."""
    stack.provider.script(Answer(pieces=("One.\nTwo.\nThr", "ee"), gates={1: asyncio.Event()}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt, receipts)
    await stack.kill_turns(running)

    await take_over(stack, start)

    assert stack.contents() == ["One.", "Two.", "Thr"]


async def test_b26_an_attempt_of_a_lost_sender_is_never_sent_again(stack: Stack) -> None:
    """Everything dies while Discord has stored the message and not answered."""
    stack.discord.fail(Fault(action="hang", when="after"))
    stack.provider.script(Answer(pieces=("One.\nTwo.\nThr", "ee"), gates={1: asyncio.Event()}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.discord.until(lambda: stack.discord.held == 1)
    await stack.kill_turns(running)
    await stack.kill_sender()

    ended = await take_over(stack, start)

    assert ended.status == "unconfirmed"
    assert stack.contents() == ["One."]
    assert ended.withheld["unconfirmed"] == len("One.Two.Thr")


async def test_an_attempt_in_flight_when_only_the_turn_dies_keeps_its_outcome(
    stack: Stack,
) -> None:
    """The sender lives and knows; nothing has to be given up."""
    stack.discord.fail(Fault(action="hang", when="after"))
    stack.provider.script(Answer(pieces=("One.\nTwo.\nThr", "ee"), gates={1: asyncio.Event()}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.discord.until(lambda: stack.discord.held == 1)
    await stack.kill_turns(running)

    taking_over = asyncio.create_task(take_over(stack, start))
    await asyncio.sleep(0)
    stack.discord.release()
    ended = await taking_over

    assert ended.status == "recovered"
    assert stack.contents() == ["One.", "Two.", "Thr"]


async def test_a_sender_that_dies_mid_post_leaves_the_turn_unconfirmed(stack: Stack) -> None:
    """The living turn asks the new sender, which finds an attempt without an outcome."""
    stack.discord.fail(Fault(action="hang", when="after"))
    stack.provider.script(say("One.\nTwo."))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, SendAttempt)
    await stack.discord.until(lambda: stack.discord.held == 1)
    await stack.kill_turns(running)
    await stack.kill_sender()

    ended = await take_over(stack, start)

    assert (ended.status, len(stack.discord.posts)) == ("unconfirmed", 1)


async def test_b34_a_stop_before_the_crash_holds_after_it(stack: Stack) -> None:
    """Whoever said stop does not want the rest, crash or not."""
    stack.provider.script(Answer(pieces=("One.\nTw", "o"), gates={1: asyncio.Event()}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt)
    await stack.kill_turns(running)
    await stack.stop(start)

    ended = await take_over(stack, start)

    assert ended.status == "stopped_by_user"
    assert stack.contents() == ["One."]
    assert ended.withheld["stop"] == len("Tw")


async def test_a_turn_that_dies_on_every_try_is_given_up_after_three(stack: Stack) -> None:
    """It must not hold its channel for ever."""
    stack.provider.script(*(Answer(gates={0: asyncio.Event()}) for _ in range(3)))
    start = await stack.ask()
    for epoch in range(3):
        running = stack.run(msgspec.structs.replace(start, epoch=epoch))
        await stack.until(start.turn_id, RequestOpened, epoch + 1)
        await stack.kill_turns(running)

    await stack.run(msgspec.structs.replace(start, epoch=3))

    ended = await stack.end_of(start.turn_id)
    assert ended.status == "given_up"
    assert len(stack.provider.requests) == 3
    assert len(stack.contents()) == 1


async def test_a_process_believed_dead_can_neither_write_nor_speak(stack: Stack) -> None:
    """The undead: it streams on while its turn is taken over, and learns of it at its next word."""
    gate = asyncio.Event()
    stack.provider.script(Answer(pieces=("One.\nTwo.\nThr", "ee.\nFour.\n"), gates={1: gate}))
    start = await stack.ask()
    undead = stack.run(start)
    await stack.until(start.turn_id, Receipt, 2)
    await take_over(stack, start)
    before = len(await stack.recorded(start.turn_id))

    gate.set()
    result = await undead

    assert result.status == "replaced"
    assert stack.contents() == ["One.", "Two.", "Thr"]
    assert len(await stack.recorded(start.turn_id)) == before


async def test_flushes_that_the_log_lacks_are_added_before_they_are_posted(stack: Stack) -> None:
    """Code that cuts finer than the code that crashed still posts only what the log derives."""
    start = await stack.ask()
    chunk = '{"choices":[{"index":0,"delta":{"content":"One.\\nTwo"}}]}'
    processed = ProcessedChunk(request=1, chunks=(Chunk(type="text", text="One.\nTwo"),))
    opened = RequestOpened(
        request=1,
        provider="main",
        kind_of_provider="openai",
        model="m",
        attempt="first",
        url="",
        body="",
    )
    raw = RawChunk(request=1, payloads=(chunk,), arrived_ms=(1.0,))
    earlier = start.started("0", 1, Scene())
    now = stack.clock.now()
    events = [(one, now) for one in (earlier, opened, raw, processed)]
    await stack.log().append(append_of(turn_stream(start.turn_id), events, scope=start.scope))

    await take_over(stack, start)

    assert stack.contents() == ["One.", "Two"]
    flushes = [one for one in await stack.events(start.turn_id) if isinstance(one, Flush)]
    assert [one.flush for one in flushes] == [1, 2]


async def test_what_another_text_core_flushed_is_delivered_and_nothing_is_cut_anew(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade in the middle of a turn must not say a line twice."""
    stack.provider.script(Answer(pieces=("One.\nTwo.\nThr", "ee"), gates={1: asyncio.Event()}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt)
    await stack.kill_turns(running)
    monkeypatch.setattr(core, "TEXT_VERSION", core.TEXT_VERSION + 1)

    ended = await take_over(stack, start)

    assert (ended.status, stack.contents()) == ("recovered", ["One.", "Two."])
    assert ended.withheld["upgrade"] == len("Thr")


async def test_a_turn_that_had_ended_is_left_as_it_is(stack: Stack) -> None:
    """A router that missed the end must not change it."""
    stack.provider.script(say("Done."))
    start = await stack.ask()
    await stack.run(start)
    before = await stack.recorded(start.turn_id)

    ended = await take_over(stack, start)

    assert ended.status == "completed"
    assert await stack.recorded(start.turn_id) == before


async def test_every_takeover_says_what_it_found_and_decided(stack: Stack) -> None:
    """An operator reads it in the replay."""
    stack.provider.script(Answer(pieces=("One.\nTw", "o"), gates={1: asyncio.Event()}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, Flush)
    await stack.kill_turns(running)

    await take_over(stack, start)

    events = await stack.events(start.turn_id)
    (recovered,) = [one for one in events if isinstance(one, TurnRecovered)]
    assert (recovered.epoch, recovered.decision) == (1, "deliver_rest")


async def test_a_turn_lost_while_its_tool_ran_tells_the_model_that_nobody_knows(
    stack: Stack,
) -> None:
    """A tool's effect is no more repeated than a message."""
    bench = Bench()
    stack.tools = bench.registry()
    stack.provider.script(calling(("slow", "{}"), text=("Wait.",)), say("I can't tell."))
    start = await stack.ask(tools=("slow",))
    running = stack.run(start)
    await bench.started.wait()
    await stack.kill_turns(running)

    ended = await take_over(stack, start)

    assert (ended.status, bench.ran) == ("completed", ["slow"])
    assert stack.contents() == ["Wait.", "I can't tell."]
    assert await results(stack, start.turn_id) == [("slow", "lost", "process_lost")]
    told = stack.provider.requests[-1].body["messages"][-1]
    assert (told["role"], told["tool_call_id"]) == ("tool", "call_0")
    assert "nobody knows" in told["content"]


async def test_an_idempotent_tool_of_a_lost_turn_runs_again(stack: Stack) -> None:
    """Looking twice does no harm, and the model gets its answer."""
    bench = Bench()
    stack.tools = bench.registry(is_idempotent=True)
    stack.provider.script(calling(("slow", "{}")), say("It is done."))
    start = await stack.ask(tools=("slow",))
    running = stack.run(start)
    await bench.started.wait()
    await stack.kill_turns(running)
    bench.release.set()

    ended = await take_over(stack, start)

    assert (ended.status, bench.ran) == ("completed", ["slow", "slow"])
    assert await results(stack, start.turn_id) == [("slow", "completed", "")]


async def test_a_turn_lost_between_two_requests_goes_on_with_the_results_on_record(
    stack: Stack,
) -> None:
    """What was said and done before stands; only the model is asked anew."""
    bench = Bench()
    stack.tools = bench.registry()
    gate = asyncio.Event()
    call = calling(("echo", '{"word":"x"}'), text=("Wait.",))
    stack.provider.script(call, Answer(pieces=("never",), gates={0: gate}), say("It is x."))
    start = await stack.ask(tools=("echo",))
    running = stack.run(start)
    await stack.until(start.turn_id, RequestOpened, 2)
    await stack.kill_turns(running)

    ended = await take_over(stack, start)

    assert (ended.status, bench.ran) == ("completed", ["x"])
    assert stack.contents() == ["Wait.", "It is x."]
    second, third = (one.body["messages"] for one in stack.provider.requests[1:])
    assert second == third
    events = await stack.events(start.turn_id)
    assert [one.decision for one in events if isinstance(one, TurnRecovered)] == ["go_on"]


async def test_calls_that_a_lost_turn_had_received_and_not_made_are_made(stack: Stack) -> None:
    """The response is in the log; asking for it again would cost twice."""
    bench = Bench()
    stack.tools = bench.registry()
    stack.discord.fail(Fault(action="hang", when="after"))
    call = calling(("echo", '{"word":"x"}'), text=("Wait.",))
    stack.provider.script(call, say("It is x."))
    start = await stack.ask(tools=("echo",))
    running = stack.run(start)
    await stack.until(start.turn_id, RequestClosed)
    await stack.discord.until(lambda: stack.discord.held == 1)
    await stack.kill_turns(running)
    taking_over = asyncio.create_task(take_over(stack, start))
    await asyncio.sleep(0)
    stack.discord.release()

    ended = await taking_over

    assert (ended.status, bench.ran, ended.requests) == ("completed", ["x"], 2)
    assert stack.contents() == ["Wait.", "It is x."]


async def test_text_of_a_later_request_is_delivered_after_what_tools_had_said(
    stack: Stack,
) -> None:
    """An answer that had begun is not asked for again."""
    bench = Bench()
    stack.tools = bench.registry()
    call = calling(("echo", '{"word":"x"}'), text=("Wait.",))
    stack.provider.script(call, Answer(pieces=("It is", " x"), gates={1: asyncio.Event()}))
    start = await stack.ask(tools=("echo",))
    running = stack.run(start)
    await stack.until(start.turn_id, RequestOpened, 2)
    await stack.until(start.turn_id, RawChunk, 2)
    await stack.kill_turns(running)

    ended = await take_over(stack, start)

    assert (ended.status, stack.contents()) == ("recovered", ["Wait.", "It is"])


async def test_what_a_failed_request_had_posted_is_no_part_of_a_recovered_answer(
    stack: Stack,
) -> None:
    """It was withdrawn, and must not come back."""
    gate = asyncio.Event()
    payloads = (
        '{"choices":[{"index":0,"delta":{"content":"One.\\nTw"}}]}',
        '{"error":{"message":"overloaded","code":503}}',
    )
    stack.provider.script(
        Answer(payloads=payloads, gates={1: gate}),
        Answer(pieces=("Whole.\nHa", "lf"), gates={1: asyncio.Event()}),
    )
    start = msgspec.structs.replace(await stack.ask(), models=(stack.route(), stack.route()))
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt)
    gate.set()
    await stack.until(start.turn_id, Receipt, 2)
    await stack.kill_turns(running)

    ended = await take_over(stack, start)

    assert (ended.status, stack.contents()) == ("recovered", ["Whole.", "Ha"])
    assert ended.withheld["superseded"] == len("One.Tw")


@pytest.mark.parametrize("wrongs", [1, 2])
async def test_t37_a_turn_lost_behind_a_wrong_beginning_is_asked_again_and_counts_on(
    stack: Stack, wrongs: int
) -> None:
    """The log alone says how often the model was asked; nothing of the wrong part was said."""
    gate = asyncio.Event()
    wrong = say("Bob (smug): hi\n")
    stack.provider.script(wrong, *([wrong] * (wrongs - 1)), Answer(gates={0: gate}), wrong)
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, RequestOpened, wrongs + 1)
    await stack.kill_turns(running)
    gate.set()

    ended = await take_over(stack, start)

    opened = [one for one in await stack.events(start.turn_id) if isinstance(one, RequestOpened)]
    assert [one.attempt for one in opened[1:]] == ["retry"] * (wrongs + 1)
    assert (ended.status, stack.contents()) == ("completed", ["hi"])


async def test_t37_a_turn_lost_between_a_wrong_beginning_and_the_next_try_is_run_again(
    stack: Stack,
) -> None:
    """What was received may not be delivered, and its asker is still waiting."""
    stack.limits = msgspec.structs.replace(stack.limits, empty_retry_seconds=3_600)
    stack.provider.script(say("Bob (smug): hi\n"), say("Me."))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, Flush)
    await stack.kill_turns(running)

    ended = await take_over(stack, start)

    recovered = [one for one in await stack.events(start.turn_id) if isinstance(one, TurnRecovered)]
    assert [one.decision for one in recovered] == ["run_again"]
    assert (ended.status, stack.contents()) == ("completed", ["Me."])
    assert ended.withheld["speaker_guard"] == len("Bob (smug): hi\n")
