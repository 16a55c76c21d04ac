"""A turn whose model calls tools: what runs, what the model is told, and how it ends."""

import json
from typing import Any

import msgspec
import pytest

from bot import notices
from bot.loopback.discord.faults import Fault as DiscordFault
from bot.loopback.script import Answer, say
from events.base import channel_stream
from events.generation import RequestOpened, ToolCalled
from events.notes import NotePinned
from events.turn import StopKind
from tests.actors.generation.tooling import Bench, ask, calling, results
from tests.stack import Stack


@pytest.fixture
def bench(stack: Stack) -> Bench:
    """Tools of the test's own."""
    bench = Bench()
    stack.tools = bench.registry()
    return bench


def sent(stack: Stack, request: int) -> list[dict[str, Any]]:
    """Return what the model was given beyond instructions and the trigger."""
    return stack.provider.requests[request - 1].body["messages"][2:]


async def test_p142_the_result_and_the_text_before_the_call_go_back_to_the_model(
    stack: Stack, bench: Bench
) -> None:
    """It goes on from what it has said, and does not say it again."""
    call = calling(("echo", '{"word":"hi"}'), text=("One moment.",))
    stack.provider.script(call, say("It said hi."))
    start = await ask(stack)

    ended = await stack.run_to_end(start)

    assert stack.contents() == ["One moment.", "It said hi."]
    assert (ended.status, ended.requests, bench.ran) == ("completed", 2, ["hi"])
    assert sent(stack, 2) == [
        {
            "role": "assistant",
            "content": "One moment.",
            "tool_calls": [
                {
                    "id": "call_0",
                    "type": "function",
                    "function": {"name": "echo", "arguments": '{"word":"hi"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_0", "content": '{"word":"hi"}'},
    ]
    opened = [one for one in await stack.events(start.turn_id) if isinstance(one, RequestOpened)]
    assert [one.attempt for one in opened] == ["first", "tool"]


async def test_parallel_calls_run_one_after_the_other_and_none_is_lost(
    stack: Stack, bench: Bench
) -> None:
    """A model that asked for two things is told of two."""
    calls = [("echo", '{"word":"a"}'), ("broken", "{}"), ("echo", '{"word":"b"}')]
    stack.provider.script(calling(*calls), say("Both."))
    start = await ask(stack)

    ended = await stack.run_to_end(start)

    assert (ended.status, bench.ran) == ("completed", ["a", "broken", "b"])
    answered = [one["tool_call_id"] for one in sent(stack, 2)[1:]]
    assert answered == ["call_0", "call_1", "call_2"]


async def test_calls_behind_one_that_is_stopped_are_recorded_as_dropped(
    stack: Stack, bench: Bench
) -> None:
    """An operator sees what the model still wanted."""
    stack.provider.script(calling(("slow", "{}"), ("echo", '{"word":"b"}')))
    start = await ask(stack)
    running = stack.run(start)
    await bench.started.wait()

    await stack.stop(start)
    await running

    assert (await stack.end_of(start.turn_id)).status == "stopped_by_user"
    assert bench.ran == ["slow"]
    assert [one[:2] for one in await results(stack, start.turn_id)] == [
        ("slow", "stopped"),
        ("echo", "dropped"),
    ]


async def test_a_call_is_durable_before_its_tool_runs(stack: Stack, bench: Bench) -> None:
    """Whoever takes over has to know that it may have run."""
    stack.provider.script(calling(("slow", "{}")), say("Done."))
    start = await ask(stack)
    running = stack.run(start)
    await bench.started.wait()

    kinds = [type(one) for one in await stack.events(start.turn_id)]

    assert kinds[-1] is ToolCalled
    bench.release.set()
    await running
    assert (await stack.end_of(start.turn_id)).status == "completed"


@pytest.mark.parametrize(
    ("call", "finish_reason", "reason", "told"),
    [
        pytest.param(("echo", '{"word":'), "length", "truncated", "nothing", id="PT151"),
        pytest.param(("echo", "{word}"), "tool_calls", "malformed", "nothing", id="P141-malformed"),
        pytest.param(("echo", "[1]"), "tool_calls", "malformed", "nothing", id="P105-no-object"),
        pytest.param(("echo", "{}"), "tool_calls", "bad_arguments", "word", id="P141-missing"),
        pytest.param(
            ("echo", '{"word":1}'), "tool_calls", "bad_arguments", "$.word", id="P141-ill-typed"
        ),
        pytest.param(
            ("ecco", "{}"), "tool_calls", "unknown_tool", "did you mean echo?", id="P141-unknown"
        ),
    ],
)
async def test_a_call_that_can_not_be_run_is_never_dispatched(
    stack: Stack, bench: Bench, call: tuple[str, str], finish_reason: str, reason: str, told: str
) -> None:
    """The model is told why, so that it can do better."""
    stack.provider.script(calling(call, finish_reason=finish_reason), say("Sorry."))
    start = await ask(stack)

    ended = await stack.run_to_end(start)

    assert (ended.status, bench.ran) == ("completed", [])
    assert await results(stack, start.turn_id) == [(call[0], "refused", reason)]
    assistant, result = sent(stack, 2)
    failure = json.loads(result["content"])
    assert failure["status"] == "tool_execution_failed"
    assert told in failure["reason"]
    if reason in ("truncated", "malformed"):
        assert assistant["tool_calls"][0]["function"]["arguments"] == "{}"


async def test_pt149_five_failures_in_a_row_end_the_turn(stack: Stack, bench: Bench) -> None:
    """A model that does not learn must not burn money for ever; no other model is tried."""
    stack.provider.script(*(calling(("broken", "{}")) for _ in range(6)))
    start = msgspec.structs.replace(await ask(stack), models=(stack.route(), stack.route()))

    ended = await stack.run_to_end(start)

    assert (ended.status, ended.error) == ("error", "tool_errors")
    assert bench.ran == ["broken"] * 5
    assert stack.contents() == [notices.TOOLS_FAILED]
    assert len(stack.provider.requests) == 5


async def test_pt150_a_success_forgives_the_failures_before_it(stack: Stack, bench: Bench) -> None:
    """Four, one that works, four: no abort."""
    four = [calling(("broken", "{}"))] * 4
    stack.provider.script(*four, calling(("echo", '{"word":"x"}')), *four, say("There."))

    ended = await stack.run_to_end(await ask(stack))

    assert (ended.status, len(bench.ran)) == ("completed", 9)


async def test_pt152_a_tool_that_takes_too_long_is_cancelled_and_the_model_told(
    stack: Stack, bench: Bench
) -> None:
    """W40: it must not act later."""
    stack.limits = msgspec.structs.replace(stack.limits, tool_seconds=0.01)
    stack.provider.script(calling(("slow", "{}")), say("Too slow."))
    start = await ask(stack)

    ended = await stack.run_to_end(start)

    assert (ended.status, bench.cancelled) == ("completed", 1)
    assert await results(stack, start.turn_id) == [("slow", "timeout", "timeout")]


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        pytest.param(("stop",), "stopped_by_user", id="P141.3"),
        pytest.param(("kill",), "stopped_by_user", id="PT153"),
        pytest.param(("stop", "kill"), "stopped_by_user", id="two-stops"),
    ],
)
async def test_a_stop_cancels_the_tool_and_no_model_is_asked_again(
    stack: Stack, bench: Bench, kinds: tuple[StopKind, ...], status: str
) -> None:
    """The result is shown to nobody."""
    stack.provider.script(calling(("slow", "{}"), text=("Wait.",)), say("never"))
    start = await ask(stack)
    running = stack.run(start)
    await bench.started.wait()

    for kind in kinds:
        await stack.stop(start, kind)
    await running

    ended = await stack.end_of(start.turn_id)
    assert (ended.status, ended.stop_reason, bench.cancelled) == (status, kinds[0], 1)
    assert stack.contents() == ["Wait."]
    assert len(stack.provider.requests) == 1
    assert [one[1] for one in await results(stack, start.turn_id)] == ["stopped"]


async def test_p141_after_an_unconfirmed_post_no_tool_runs(stack: Stack, bench: Bench) -> None:
    """P161: nothing of any kind follows."""
    stack.discord.fail(DiscordFault(action="status", status=500, when="after"))
    stack.provider.script(calling(("echo", '{"word":"x"}'), text=("Wait.",)), say("never"))
    start = await ask(stack)

    ended = await stack.run_to_end(start)

    assert (ended.status, bench.ran) == ("unconfirmed", [])
    assert await results(stack, start.turn_id) == []


async def test_pt155_silence_after_a_tool_that_needs_words_is_an_empty_response(
    stack: Stack, bench: Bench
) -> None:
    """A search whose result nobody is told is no answer."""
    call = calling(("echo", '{"word":"x"}'), text=("One moment",))
    stack.provider.script(call, *(Answer() for _ in range(3)))

    ended = await stack.run_to_end(await ask(stack))

    assert (ended.status, ended.requests) == ("empty_response", 4)
    assert bench.ran == ["x"]


async def test_pt156_silence_after_a_tool_that_needs_none_completes_the_turn(
    stack: Stack, bench: Bench
) -> None:
    """What was said before the call is the answer."""
    stack.provider.script(calling(("note", '{"word":"x"}'), text=("Noted",)), Answer())

    ended = await stack.run_to_end(await ask(stack))

    assert (ended.status, ended.delivered_text, bench.ran) == ("completed", "Noted", ["x"])


async def test_p145_a_model_that_calls_for_ever_is_ended(stack: Stack, bench: Bench) -> None:
    """And people are told once that it takes long."""
    stack.limits = msgspec.structs.replace(stack.limits, iterations=4, still_working_after=2)
    stack.provider.script(*(calling(("echo", '{"word":"x"}')) for _ in range(5)))

    ended = await stack.run_to_end(await ask(stack))

    assert (ended.status, ended.stop_reason) == ("timeout", "max_iterations")
    assert stack.contents() == [notices.STILL_WORKING, notices.TOO_MANY_TOOLS]
    assert len(bench.ran) == 4


async def test_a_note_is_a_fact_of_the_channel_and_later_turns_are_shown_it(stack: Stack) -> None:
    """It outlives the turn, without any other service."""
    stack.provider.script(calling(("pin_note", '{"note":"Ann likes tea."}')), say("Kept."))
    start = await ask(stack)

    result = await stack.run(start)

    log = await stack.log().read(channel_stream(stack.channel_id))
    (pinned,) = [one.event for one in log if isinstance(one.event, NotePinned)]
    assert result.notes == (pinned,)
    stack.provider.script(say("Tea."))
    await stack.run_to_end(msgspec.structs.replace(await ask(stack), notes=(pinned.note,)))
    system = stack.provider.requests[-1].body["messages"][0]["content"]
    assert "- Ann likes tea." in system


async def test_a_result_too_long_is_cut_and_said_to_be(stack: Stack, bench: Bench) -> None:
    """A tool must not push the conversation out of the model's window."""
    word = "x" * 20_000
    stack.provider.script(calling(("echo", json.dumps({"word": word}))), say("Long."))

    await stack.run_to_end(await ask(stack))

    result = json.loads(sent(stack, 2)[1]["content"])
    assert result["is_cut"]
    assert len(result["beginning"]) < 17_000
    assert bench.ran == [word]
