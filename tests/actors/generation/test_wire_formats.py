"""A whole turn in every wire format: one script, told in the words of each provider."""

import asyncio
from collections.abc import AsyncIterator
from typing import get_args

import pytest

from actors.generation.exchanges import exchanges
from actors.providers.adapter import ProviderKind
from bot.loopback.formats import SIGNATURE
from bot.loopback.script import Answer, Call, Tokens, refusal, say
from events.base import TurnId
from events.generation import RequestClosed
from events.spending import UsageReport
from tests.actors.generation.tooling import Bench, ask, results
from tests.stack import Stack

SIGNED = ("openrouter", "anthropic", "google")


@pytest.fixture(params=get_args(ProviderKind))
async def stack(request: pytest.FixtureRequest) -> AsyncIterator[Stack]:
    """The whole path to a provider of each kind."""
    async with Stack(kind=request.param) as one:
        yield one


async def closed(stack: Stack, turn_id: TurnId) -> RequestClosed:
    """Return how the turn's last request ended."""
    events = await stack.events(turn_id)
    return [one for one in events if isinstance(one, RequestClosed)][-1]


@pytest.mark.parametrize("cut", [0, 1, 7])
async def test_an_answer_is_posted_and_its_usage_is_on_record(stack: Stack, cut: int) -> None:
    """However the network cuts it, and whatever the provider thought before."""
    tokens = Tokens(input_tokens=50, output_tokens=7, cached_tokens=40)
    pieces = ("Good ", "morning, ", "Ann ☀.")
    stack.provider.script(Answer(pieces=pieces, reasoning=("Who ", "asks?"), usage=tokens, cut=cut))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert stack.contents() == ["Good morning, Ann ☀."]
    assert (ended.status, ended.stop_reason) == ("completed", "stop")
    [report] = [one for one in await stack.events(start.turn_id) if isinstance(one, UsageReport)]
    assert (report.input_tokens, report.output_tokens, report.cache_read_tokens) == (50, 7, 40)
    assert report.response_id is not None


async def test_a_tool_is_called_and_the_model_gets_back_what_it_signed(stack: Stack) -> None:
    """A provider refuses a call that comes back without the signature it was made with."""
    bench = Bench()
    stack.tools = bench.registry()
    calls = (
        Call(name="echo", arguments='{"word":"hi"}'),
        Call(name="echo", arguments='{"word":"ho"}'),
    )
    stack.provider.script(
        Answer(pieces=("One moment.",), reasoning=("Echo ", "it."), calls=calls), say("Both said.")
    )
    start = await ask(stack)

    ended = await stack.run_to_end(start)

    assert stack.contents() == ["One moment.", "Both said."]
    assert (ended.status, ended.requests, bench.ran) == ("completed", 2, ["hi", "ho"])
    assert [one for _, one, _ in await results(stack, start.turn_id)] == ["completed"] * 2
    sent = str(stack.provider.requests[1].body)
    assert "'hi'" in sent or '"hi"' in sent
    assert (SIGNATURE in sent) == (stack.kind in SIGNED)
    # What a process that takes the turn over would send, from the log alone.
    [exchange] = exchanges(await stack.events(start.turn_id))
    assert (SIGNATURE in exchange.items[0].calls[0].carried) == (stack.kind in SIGNED)


async def test_a_failure_before_the_answer_is_the_request_s_end(stack: Stack) -> None:
    """Nothing was said, so that another model may speak."""
    stack.provider.script(refusal(503, "busy"))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert (ended.status, ended.error, ended.delivered_text) == ("error", "503", "")
    last = await closed(stack, start.turn_id)
    assert last.error is not None
    assert (last.error.type, last.error.retryable) == ("provider_overloaded", True)


async def test_a_failure_inside_the_answer_keeps_what_was_said(stack: Stack) -> None:
    """What people have read is not taken back, where nobody else speaks instead."""
    stack.provider.script(Answer(pieces=("Once upon", " a time."), error="overloaded"))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert ended.status == "error"
    assert stack.contents()[0] == "Once upon a time."
    last = await closed(stack, start.turn_id)
    assert last.error is not None
    assert (last.error.type, last.error.retryable) == ("provider_overloaded", True)


async def test_a_stop_while_it_streams_closes_the_socket(stack: Stack) -> None:
    """Whoever stops an answer stops paying for it."""
    never = asyncio.Event()
    stack.provider.script(Answer(pieces=("First line.\nSec", "ond."), gates={4: never, 3: never}))
    start = await stack.ask()
    running = stack.run(start)
    request = await stack.provider.received()
    await asyncio.wait_for(stack.discord.until(lambda: bool(stack.contents())), 5)

    await stack.stop(start)
    await asyncio.wait_for(request.closed.wait(), 1)
    await running

    ended = await stack.end_of(start.turn_id)
    assert (ended.status, request.ending) == ("stopped_by_user", "client_closed")
    assert stack.contents()[0] == "First line."


async def test_an_answer_cut_off_by_its_length_says_so(stack: Stack) -> None:
    """The word differs by provider; the turn knows one."""
    stack.provider.script(Answer(pieces=("It goes on and",), finish_reason="length"))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert (ended.status, ended.stop_reason) == ("completed", "length")
