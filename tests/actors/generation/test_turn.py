"""A turn over real sockets: what is posted, and what the log says of it."""

import msgspec
import pytest

from actors.generation.replay import replay
from actors.providers.registry import provider_for
from actors.text import core
from bot import notices
from bot.loopback.script import Answer, Tokens, refusal, say
from bot.loopback.script import Fault as ProviderFault
from events.codec import encode
from events.generation import ProcessedChunk, RequestClosed, RequestOpened
from events.spending import UsageReport
from events.turn import TurnStarted
from tests.stack import Stack


async def test_an_answer_arrives_in_order_and_replies_to_its_question(stack: Stack) -> None:
    """The main job."""
    stack.provider.script(say("First line.\nSecond line.\n```py\nx = 1\n```\nLast line."))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert stack.contents() == ["First line.", "Second line.", "```py\nx = 1\n```", "Last line."]
    replies = [one.reply_to for one in stack.discord.messages(stack.channel_id)[1:]]
    assert replies == [start.trigger.message_id, None, None, None]
    assert (ended.status, ended.messages, ended.stop_reason) == ("completed", 4, "stop")


async def test_t95_without_live_streaming_the_answer_comes_in_one_piece() -> None:
    """The guild's choice: quiet until the answer is there."""
    async with Stack(live=False) as whole:
        whole.provider.script(say("First line.\nSecond line."))

        await whole.run_to_end(await whole.ask())

        assert whole.contents() == ["First line.\nSecond line."]


async def test_the_log_tells_the_whole_turn(stack: Stack) -> None:
    """An operator replays it, an analyst counts it."""
    tokens = Tokens(input_tokens=11, output_tokens=5, cached_tokens=4)
    stack.provider.script(Answer(pieces=("Hi ", "there."), reasoning=("plan",), usage=tokens))
    start = await stack.ask("What is up?")

    await stack.run_to_end(start)

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

    await stack.run_to_end(start)

    kinds = [type(one).__name__ for one in await stack.events(start.turn_id)]
    assert kinds.index("RawChunk") < kinds.index("Flush") < kinds.index("SendAttempt")
    assert kinds.index("SendAttempt") < kinds.index("Receipt")


async def test_the_model_is_given_the_channels_past_without_the_trigger_twice(
    stack: Stack,
) -> None:
    """An answer without its conversation makes no sense."""
    stack.provider.script(say("Blue."), say("As I said."))
    await stack.run_to_end(await stack.ask("Which colour?"))

    await stack.run_to_end(await stack.ask("Really?"))

    sent = stack.provider.requests[-1].body["messages"]
    assert [(one["role"], one["content"]) for one in sent] == [
        ("system", "Be kind.\n\nYou are Rejoinder."),
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

    ended = await stack.run_to_end(await stack.ask())

    assert (ended.status, ended.error) == ("error", code)
    (notice,) = stack.contents()
    assert code in notice
    assert "sk-123" not in notice
    assert len(stack.provider.requests) == 1


async def test_a_key_that_a_provider_quotes_is_not_recorded(stack: Stack) -> None:
    """Nothing secret enters an event."""
    stack.provider.script(refusal(401, "Incorrect API key provided: sk-test"))
    start = await stack.ask()

    await stack.run_to_end(start)

    recorded = [encode(one) for one in await stack.events(start.turn_id)]
    assert not [body for body in recorded if "sk-test" in body]


async def test_b27_text_before_an_error_is_kept_and_one_notice_follows(stack: Stack) -> None:
    """Once text was shown nobody else may speak in its place."""
    payloads = (
        '{"choices":[{"index":0,"delta":{"content":"P1.\\nP2 st"}}]}',
        '{"error":{"message":"overloaded","code":503}}',
    )
    stack.provider.script(Answer(payloads=payloads))

    ended = await stack.run_to_end(await stack.ask())

    assert stack.contents()[:2] == ["P1.", "P2 st"]
    assert len(stack.contents()) == 3
    assert (ended.status, ended.delivered) == ("error", len("P1.") + len("P2 st"))


async def test_pt15_an_answer_without_text_says_so(stack: Stack) -> None:
    """Silence would look like a hang."""
    stack.provider.script(*(Answer(finish_reason="length") for _ in range(3)))

    ended = await stack.run_to_end(await stack.ask())

    assert (ended.status, ended.stop_reason) == ("empty_response", "length")
    assert len(stack.contents()) == 1


async def test_verify_names_the_first_difference_that_a_broken_text_rule_makes(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaying real traffic is the regression test."""
    stack.provider.script(say("A line.\nAnother line, which is a good deal longer."))
    start = await stack.ask()
    await stack.run_to_end(start)
    whole = core.initial

    def narrow(config: core.TextConfig) -> core.TextState:
        return whole(msgspec.structs.replace(config, limit=20))

    monkeypatch.setattr(core, "initial", narrow)
    events = await stack.recorded(start.turn_id)
    first, *_ = replay(events, lambda kind: provider_for(kind).reader()).differences

    assert (first.what, first.number) == ("flush", 2)
    assert "pieces" in first.fields


async def test_v138_an_answer_beyond_forty_messages_ends_with_a_notice() -> None:
    """Nothing is asked of the model that can not be said, and the reader knows of the rest."""
    async with Stack() as whole:
        whole.provider.script(say("\n".join(["word " * 200] * 43)), say("Next."))

        ended = await whole.run_to_end(await whole.ask())
        following = await whole.run_to_end(await whole.ask("And now?"))

        assert (ended.status, ended.stop_reason) == ("completed", "flush_limit")
        assert ended.messages == 40
        assert whole.contents()[40] == notices.TOO_LONG
        assert (following.messages, whole.contents()[-1]) == (1, "Next.")


async def test_v137_a_guilds_limit_packs_the_rest_and_says_nothing_of_it(stack: Stack) -> None:
    """A limit that somebody set is no fault."""
    stack.settings = msgspec.structs.replace(stack.settings, send_message_limit=2)
    stack.provider.script(say("a\nb\nc"))

    ended = await stack.run_to_end(await stack.ask())

    assert stack.contents() == ["a", "b\nc"]
    assert (ended.stop_reason, ended.messages) == ("stop", 2)


async def test_p148_a_turn_without_a_model_asks_nobody_and_says_so(stack: Stack) -> None:
    """What a guild chose can't be asked any more, and nobody else pays for its answer."""
    start = msgspec.structs.replace(await stack.ask(), models=())

    ended = await stack.run_to_end(start)

    assert (ended.status, ended.stop_reason, ended.requests) == ("error", "no_model", 0)
    assert stack.contents() == [notices.NO_MODEL]
    assert stack.provider.requests == []
