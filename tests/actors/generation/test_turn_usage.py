"""What a turn used is on record however it ended, wherever its provider said so."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from actors.generation.turn import Turn
from actors.spending.registrations import Registrations
from bot.loopback.script import Answer, Fault, say
from events.base import TurnId, delivery_stream
from events.generation import RawChunk, RequestOpened
from events.spending import UsageReport
from events.turn import StopKind
from tests.actors.generation.test_recorded_streams import STREAMS, payloads_of, served
from tests.stack import Stack

COST_PICO = 4_200_000_000


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """The whole path, healthy."""
    async with Stack() as one:
        yield one


@pytest.fixture
async def hasty_stack() -> AsyncIterator[Stack]:
    """The whole path, which loses patience with a silent provider soon."""
    async with Stack(idle_seconds=0.3) as one:
        yield one


def spoken(text: str, *, tokens: int | None = None) -> str:
    """Return a payload with text, and with what was used so far where `tokens` were."""
    body: dict[str, object] = {
        "id": "r1",
        "choices": [{"index": 0, "delta": {"content": text}}],
    }
    if tokens is not None:
        body["usage"] = {"prompt_tokens": 100, "completion_tokens": tokens, "cost": 0.0042}
    return json.dumps(body)


def broken_off(fault: Fault | None = None, *, tokens: int | None = 7) -> Answer:
    """Return an answer that tells its usage in the middle, and then waits or breaks."""
    return Answer(
        payloads=(spoken("One.\n", tokens=tokens), spoken("Two.")),
        gates={} if fault else {1: asyncio.Event()},
        fault=fault,
    )


def totals_of(payloads: list[str]) -> dict[str, int] | None:
    """Return the last usage that a recording tells, read without any code of the project."""
    last: dict[str, int] | None = None
    for payload in payloads:
        body: dict[str, Any] = {} if payload == "[DONE]" else json.loads(payload)
        aside: dict[str, Any] = body.get("x_groq") or {}
        last = body.get("usage") or aside.get("usage") or last
    return last


async def reports(stack: Stack, turn_id: TurnId) -> list[UsageReport]:
    """Return the turn's reports."""
    return [one for one in await stack.events(turn_id) if isinstance(one, UsageReport)]


def assert_known(report: UsageReport) -> None:
    """Check that the report says what the answer said, and nothing beyond."""
    assert (report.input_tokens, report.output_tokens) == (100, 7)
    assert report.cost_pico == COST_PICO
    assert (report.cache_read_tokens, report.reasoning_tokens) == (None, None)
    assert (report.response_id, report.measurement) == ("r1", "measured")


@pytest.mark.parametrize("kind", ["stop", "kill"])
async def test_u7_a_turn_that_people_end_has_its_usage_on_record(
    stack: Stack, kind: StopKind
) -> None:
    """The provider bills what it said, read or not."""
    stack.provider.script(broken_off())
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, RawChunk)

    await stack.stop(start, kind)
    await running

    (report,) = await reports(stack, start.turn_id)
    assert_known(report)
    assert await stack.end_of(start.turn_id)


@pytest.mark.parametrize("kind", ["reset", "close", "hang"])
async def test_u7_a_stream_that_breaks_off_has_its_usage_on_record(
    hasty_stack: Stack, kind: str
) -> None:
    """A failed answer costs as much as a good one."""
    fault = Fault(kind=kind, after=1)  # pyright: ignore[reportArgumentType] - as parametrized
    hasty_stack.provider.script(*(broken_off(fault) for _ in range(5)))
    start = await hasty_stack.ask()

    await hasty_stack.run(start)

    found = await reports(hasty_stack, start.turn_id)
    opened = [
        one for one in await hasty_stack.events(start.turn_id) if isinstance(one, RequestOpened)
    ]
    assert [one.request for one in found] == [one.request for one in opened]
    for report in found:
        assert_known(report)


async def test_v5_a_stream_without_usage_has_no_report(stack: Stack) -> None:
    """Unknown is absent; a report of zeros would read as free."""
    stack.provider.script(broken_off(tokens=None))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, RawChunk)

    await stack.stop(start)
    await running

    assert await reports(stack, start.turn_id) == []


async def test_usage_that_a_lost_process_had_heard_is_reported_by_its_successor(
    stack: Stack,
) -> None:
    """It was spent, and the log holds the payload that says so."""
    stack.provider.script(broken_off())
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, RawChunk)
    await stack.kill_turns(running)
    assert await reports(stack, start.turn_id) == []
    told: list[UsageReport] = []
    registrations = Registrations()
    registrations.register_usage_reporter(lambda _, report: told.append(report))
    world = replace(stack.world(), registrations=registrations)

    await Turn(world, replace(start, epoch=1)).run()

    (report,) = await reports(stack, start.turn_id)
    assert_known(report)
    assert told == [report]
    assert (await stack.end_of(start.turn_id)).status == "recovered"


async def test_usage_on_record_is_not_reported_again_by_a_successor(stack: Stack) -> None:
    """Nobody pays twice because a process died late."""
    stack.provider.script(say("One."))
    start = await stack.ask()
    running = stack.run(start)
    await stack.until(start.turn_id, UsageReport)
    await stack.kill_turns(running)

    await stack.run(replace(start, epoch=1))

    assert len(await reports(stack, start.turn_id)) == 1
    assert await stack.log().read(delivery_stream(start.turn_id))


@pytest.mark.skipif(not STREAMS, reason="no recorded streams")
@pytest.mark.parametrize("name", STREAMS or ["none"])
async def test_u13_the_tokens_on_record_are_the_providers_own_totals(
    stack: Stack, name: str
) -> None:
    """What the console shows can be held against the bill."""
    totals = totals_of(payloads_of(name))
    stack.provider.script(served(name, 4096), say("That is all."))
    start = await stack.ask()

    await stack.run(start)

    found = [one for one in await reports(stack, start.turn_id) if one.request == 1]
    if totals is None:
        assert found == []
        return
    (report,) = found
    assert report.input_tokens == totals["prompt_tokens"]
    both = (report.input_tokens or 0) + (report.output_tokens or 0)
    assert both == totals.get("total_tokens", both)
