"""Tools and their calls, for the tests of turns that use them."""

import asyncio
import json
from collections.abc import Sequence

from actors.generation.start import StartTurn
from actors.tools.registry import ToolError, ToolRegistry, tool
from bot.loopback.script import Answer, Body
from events.base import TurnId
from events.generation import ToolCalled, ToolReturned
from tests.stack import Stack


def calling(
    *calls: tuple[str, str], text: Sequence[str] = (), finish_reason: str = "tool_calls"
) -> Answer:
    """Return an answer that says `text` and then makes calls: names with their arguments."""
    made = [
        {"index": at, "id": f"call_{at}", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]
    deltas = [*({"content": one} for one in text), {"tool_calls": made}]
    payloads = [json.dumps({"choices": [{"index": 0, "delta": one}]}) for one in deltas]
    last: Body = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]}
    return Answer(payloads=(*payloads, json.dumps(last), "[DONE]"))


class Bench:
    """Tools that a test can look into."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        """What ran, oldest first."""
        self.started = asyncio.Event()
        """Set once a slow tool runs."""
        self.release = asyncio.Event()
        """Lets slow tools end."""
        self.cancelled = 0
        """Slow tools that were cancelled."""

    def registry(self, *, is_idempotent: bool = False) -> ToolRegistry:
        """Return the tools: `echo` gives its word back, `broken` fails, `slow` waits."""

        async def echo(word: str) -> dict[str, str]:
            """Say a word."""
            self.ran.append(word)
            return {"word": word}

        async def note(word: str) -> None:
            """Keep a word; nothing more is to be said."""
            self.ran.append(word)

        async def broken() -> None:
            """Fail."""
            self.ran.append("broken")
            message = "it is broken"
            raise ToolError(message)

        async def slow() -> str:
            """Take long."""
            self.ran.append("slow")
            self.started.set()
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return "done"

        return ToolRegistry(
            [
                tool(echo),
                tool(note, needs_follow_up=False),
                tool(broken),
                tool(slow, is_idempotent=is_idempotent),
            ]
        )


async def ask(stack: Stack, content: str = "Hello?") -> StartTurn:
    """Return a turn whose model is told of every tool of the stack."""
    return await stack.ask(content, tools=tuple(stack.tools.tools))


async def results(stack: Stack, turn_id: TurnId) -> list[tuple[str, str, str]]:
    """Return each call's name, outcome and reason."""
    events = await stack.events(turn_id)
    names = {one.call: one.function.name for one in events if isinstance(one, ToolCalled)}
    return [
        (names[one.call], one.outcome, one.reason)
        for one in events
        if isinstance(one, ToolReturned)
    ]
