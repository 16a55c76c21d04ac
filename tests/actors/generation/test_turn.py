"""A turn over real sockets: what is posted, what is not, and what the log says of it."""

import asyncio
import time
from collections.abc import AsyncIterator

import msgspec
import pytest

from actors.generation.replay import replay
from actors.generation.start import StartTurn
from actors.providers.registry import provider_for
from actors.text import core
from bot.loopback.discord.faults import Fault as DiscordFault
from bot.loopback.script import Answer, Tokens, refusal, say
from bot.loopback.script import Fault as ProviderFault
from events.codec import encode
from events.delivery import Receipt, SendAttempt, SendFailed
from events.generation import ProcessedChunk, RawChunk, RequestClosed, RequestOpened
from events.spending import UsageReport
from events.turn import StopKind, StopObserved, TurnEnded, TurnStarted
from tests.stack import Stack


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """The whole path, healthy, with a short patience towards Discord and the provider."""
    async with Stack(request_seconds=0.5, idle_seconds=0.5) as one:
        yield one


async def run(stack: Stack, start: StartTurn) -> TurnEnded:
    """Run a turn to its end."""
    await stack.run(start)
    return await stack.end_of(start.turn_id)


async def test_an_answer_arrives_in_order_and_replies_to_its_question(stack: Stack) -> None:
    """The main job."""
    stack.provider.script(say("First line.\nSecond line.\n```py\nx = 1\n```\nLast line."))
    start = await stack.ask()

    ended = await run(stack, start)

    assert stack.contents() == ["First line.", "Second line.", "```py\nx = 1\n```", "Last line."]
    replies = [one.reply_to for one in stack.discord.messages(stack.channel_id)[1:]]
    assert replies == [start.trigger.message_id, None, None, None]
    assert (ended.status, ended.messages, ended.stop_reason) == ("completed", 4, "stop")


async def test_t95_without_live_streaming_the_answer_comes_in_one_piece() -> None:
    """The guild's choice: quiet until the answer is there."""
    async with Stack(live=False) as whole:
        whole.provider.script(say("First line.\nSecond line."))

        await run(whole, await whole.ask())

        assert whole.contents() == ["First line.\nSecond line."]


async def test_the_log_tells_the_whole_turn(stack: Stack) -> None:
    """An operator replays it, an analyst counts it."""
    tokens = Tokens(input_tokens=11, output_tokens=5, cached_tokens=4)
    stack.provider.script(Answer(pieces=("Hi ", "there."), reasoning=("plan",), usage=tokens))
    start = await stack.ask("What is up?")

    await run(stack, start)

    events = await stack.events(start.turn_id)
    first, opened = events[0], next(one for one in events if isinstance(one, RequestOpened))
    assert isinstance(first, TurnStarted)
    assert (first.prompt, first.models, first.seed) == ("What is up?", ("main/loopback",), 1)
    assert "sk-test" not in opened.body
    assert "What is up?" in opened.body
    report = next(one for one in events if isinstance(one, UsageReport))
    assert (report.input_tokens, report.output_tokens, report.cache_read_tokens) == (11, 5, 4)
    closed = next(one for one in events if isinstance(one, RequestClosed))
    assert (closed.end, closed.http_status, closed.finish_reason) == ("done", 200, "stop")
    thoughts = [
        thought.content
        for one in events
        if isinstance(one, ProcessedChunk)
        for chunk in one.chunks
        for thought in chunk.thoughts
    ]
    assert thoughts == ["plan"]


async def test_the_flush_and_its_chunks_are_durable_before_the_attempt(stack: Stack) -> None:
    """Whatever was posted can be derived from the log."""
    stack.provider.script(say("One.\nTwo."))
    start = await stack.ask()

    await run(stack, start)

    kinds = [type(one).__name__ for one in await stack.events(start.turn_id)]
    assert kinds.index("RawChunk") < kinds.index("Flush") < kinds.index("SendAttempt")
    assert kinds.index("SendAttempt") < kinds.index("Receipt")


async def test_the_model_is_given_the_channels_past_without_the_trigger_twice(
    stack: Stack,
) -> None:
    """An answer without its conversation makes no sense."""
    stack.provider.script(say("Blue."), say("As I said."))
    await run(stack, await stack.ask("Which colour?"))

    await run(stack, await stack.ask("Really?"))

    sent = stack.provider.requests[-1].body["messages"]
    assert [(one["role"], one["content"]) for one in sent] == [
        ("system", "Be kind."),
        ("user", "Ann: Which colour?"),
        ("assistant", "Blue."),
        ("user", "Ann: Really?"),
    ]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(refusal(401, "bad key sk-123"), "401", id="P112-401"),
        pytest.param(refusal(429, "slow down", retry_after=3), "429", id="P112-429"),
        pytest.param(refusal(503, "busy"), "503", id="P112-503"),
        pytest.param(
            Answer(payloads=('{"error":{"code":502,"message":"busy"}}',)), "502", id="B43a"
        ),
        pytest.param(
            Answer(pieces=("Hi",), fault=ProviderFault(kind="reset", after=0)),
            "connection_lost",
            id="P114-reset",
        ),
        pytest.param(
            Answer(pieces=("Hi",), fault=ProviderFault(kind="hang", after=0)),
            "read_timeout",
            id="B46",
        ),
    ],
)
async def test_a_failing_provider_is_told_once_in_our_own_words(
    stack: Stack, answer: Answer, code: str
) -> None:
    """P118: no upstream prose; the channel is not left waiting."""
    stack.provider.script(answer)

    ended = await run(stack, await stack.ask())

    assert (ended.status, ended.error) == ("error", code)
    (notice,) = stack.contents()
    assert code in notice
    assert "sk-123" not in notice
    assert len(stack.provider.requests) == 1


async def test_a_key_that_a_provider_quotes_is_not_recorded(stack: Stack) -> None:
    """Nothing secret enters an event."""
    stack.provider.script(refusal(401, "Incorrect API key provided: sk-test"))
    start = await stack.ask()

    await run(stack, start)

    recorded = [encode(one) for one in await stack.events(start.turn_id)]
    assert not [body for body in recorded if "sk-test" in body]


async def test_b27_text_before_an_error_is_kept_and_one_notice_follows(stack: Stack) -> None:
    """Once text was shown nobody else may speak in its place."""
    payloads = (
        '{"choices":[{"index":0,"delta":{"content":"P1.\\nP2 st"}}]}',
        '{"error":{"message":"overloaded","code":503}}',
    )
    stack.provider.script(Answer(payloads=payloads))

    ended = await run(stack, await stack.ask())

    assert stack.contents()[:2] == ["P1.", "P2 st"]
    assert len(stack.contents()) == 3
    assert (ended.status, ended.delivered) == ("error", len("P1.") + len("P2 st"))


async def test_a_tool_call_ends_the_turn_with_a_clear_error(stack: Stack) -> None:
    """There are no tools, and a call must not be shown as text."""
    call = '{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}'
    payloads = (
        '{"choices":[{"index":0,"delta":{"content":"Looking."}}]}',
        '{"choices":[{"index":0,"delta":{"tool_calls":[' + call + "]}}]}",
        '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
        "[DONE]",
    )
    stack.provider.script(Answer(payloads=payloads))

    ended = await run(stack, await stack.ask())

    assert (ended.status, ended.error) == ("error", "tool_calls_unsupported")
    assert stack.contents()[0] == "Looking."
    assert len(stack.contents()) == 2


async def test_pt15_an_answer_without_text_says_so(stack: Stack) -> None:
    """Silence would look like a hang."""
    stack.provider.script(Answer(finish_reason="length"))

    ended = await run(stack, await stack.ask())

    assert (ended.status, ended.stop_reason) == ("empty_response", "length")
    assert len(stack.contents()) == 1


# -- faults at the POST -------------------------------------------------------------------------

STATUS = [
    pytest.param(DiscordFault(action="status", status=code, when="after"), 1, id=f"T130-{code}")
    for code in (408, 500, 502, 503, 504)
]


@pytest.mark.parametrize(
    ("fault", "stored"),
    [
        *STATUS,
        pytest.param(DiscordFault(action="status", status=500), 0, id="T130-500-not-stored"),
        pytest.param(DiscordFault(action="reset", when="after"), 1, id="B17-reset-after-storing"),
        pytest.param(DiscordFault(action="reset", when="before"), 0, id="T130-reset-before"),
        pytest.param(DiscordFault(action="reset", when="unread"), 0, id="T130-reset-unread"),
        pytest.param(DiscordFault(action="garbage", when="after"), 1, id="B18-non-json-200"),
        pytest.param(DiscordFault(action="hang", when="before"), None, id="T130-hang"),
    ],
)
async def test_t135_after_an_unconfirmed_post_the_turn_says_nothing_more(
    stack: Stack, fault: DiscordFault, stored: int | None
) -> None:
    """One POST, whatever became of it; and the next turn of the channel is a normal one."""
    stack.discord.fail(fault)
    stack.provider.script(say("One.\nTwo.\nThree."), say("Fine."))
    start = await stack.ask()

    ended = await run(stack, start)

    assert ended.status == "unconfirmed"
    assert len(stack.discord.posts) == 1
    assert stored is None or len(stack.contents()) == stored
    assert ended.withheld["unconfirmed"] == len("One.Two.Three.")
    (failed,) = [one for one in await stack.events(start.turn_id) if isinstance(one, SendFailed)]
    assert failed.outcome == "unconfirmed"
    stack.discord.release()
    assert (await run(stack, await stack.ask())).status == "completed"
    assert stack.contents()[-1] == "Fine."


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        pytest.param(10003, 404, "channel_deleted", id="T126-10003"),
        pytest.param(50001, 403, "missing_access", id="T126-50001"),
    ],
)
async def test_b24_a_channel_that_is_gone_ends_the_turn_quietly(
    stack: Stack, code: int, status: int, reason: str
) -> None:
    """There is nobody to tell: no notice, no second try."""
    stack.discord.fail(DiscordFault(action="status", status=status, code=code, times=None))
    gate = asyncio.Event()
    pieces = ("One.\n", "Two.\n", "Three.")
    stack.provider.script(Answer(pieces=pieces, gates={2: gate}))

    ended = await run(stack, await stack.ask())

    assert (ended.status, ended.stop_reason) == ("stopped_by_user", reason)
    assert len(stack.discord.posts) == 1
    assert stack.provider.requests[0].ending == "client_closed"


async def test_t129_another_refusal_ends_the_turn_as_an_error(stack: Stack) -> None:
    """B26: and what was refused is not sent again."""
    stack.discord.fail(DiscordFault(action="status", status=400, code=50035))
    stack.provider.script(say("One.\nTwo."))

    ended = await run(stack, await stack.ask())

    assert (ended.status, ended.stop_reason) == ("error", "send_refused")
    assert ended.withheld["refused"] == len("One.Two.")


async def test_t133_a_rate_limit_is_waited_out_and_nothing_is_lost(stack: Stack) -> None:
    """Discord accepted nothing, so the message is written again."""
    stack.discord.fail(DiscordFault(action="status", status=429, retry_after=0.05, times=5))
    stack.provider.script(say("One.\nTwo."))
    start = await stack.ask()

    ended = await run(stack, start)

    assert ended.status == "completed"
    assert stack.contents() == ["One.", "Two."]
    receipts = [one for one in await stack.events(start.turn_id) if isinstance(one, Receipt)]
    assert [one.tries for one in receipts] == [6, 1]


# -- stops --------------------------------------------------------------------------------------


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


async def test_pt131_a_stop_flushes_what_was_written_and_waits_for_no_more(stack: Stack) -> None:
    """The flush that a graceful stop owes."""
    gate = asyncio.Event()
    stack.provider.script(Answer(pieces=("One.\nHel", "lo wor", "ld"), gates={2: gate}))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt)
    await stack.until(start.turn_id, RawChunk, 2)

    await stack.stop(start)
    await running

    ended = await stack.end_of(start.turn_id)
    assert stack.contents() == ["One.", "Hello wor"]
    assert (ended.status, ended.stop_reason) == ("stopped_by_user", "stop")


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

    ended = await run(stack, await stack.ask())

    assert ended.status == "completed"
    assert stack.contents() == ["Second."]


async def test_b32_typing_never_outlives_the_answer(stack: Stack) -> None:
    """The last typing call comes before the last message."""
    stack.provider.script(say("One.\nTwo."))

    await run(stack, await stack.ask())

    assert stack.discord.typing
    assert stack.discord.typing[-1][1] < stack.discord.posts[-1].time


async def test_verify_names_the_first_difference_that_a_broken_text_rule_makes(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaying real traffic is the regression test."""
    stack.provider.script(say("A line.\nAnother line, which is a good deal longer."))
    start = await stack.ask()
    await run(stack, start)
    whole = core.initial

    def narrow(config: core.TextConfig) -> core.TextState:
        return whole(msgspec.structs.replace(config, limit=20))

    monkeypatch.setattr(core, "initial", narrow)
    events = await stack.recorded(start.turn_id)
    first, *_ = replay(events, lambda kind: provider_for(kind).reader()).differences

    assert (first.what, first.number) == ("flush", 2)
    assert "pieces" in first.fields
