"""The tools of a turn: each call recorded, judged, run, and its result put before the model.

A call is durable before its tool runs and its result after. A process that dies in between leaves
a call without a result: its successor runs it again only where the tool was declared idempotent;
of any other the model is told that nobody knows whether it took effect.

What can't be run is not run: an unknown name, arguments that are no JSON or do not fit. The model
is told why, so that it can do better, and the failure counts. The calls of one response run one
after the other in their order, since the later ones often rest on the earlier.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import structlog
from msgspec import Struct

from actors.errors import RefusalError
from actors.generation.exchanges import FAILED, Exchange
from actors.generation.running import Running
from actors.tools.context import ToolContext
from actors.tools.registry import (
    BadArgumentsError,
    Tool,
    ToolRegistry,
    UnknownToolError,
)
from events.base import MessageId, channel_stream
from events.codec import append_of
from events.generation import (
    ARGUMENTS_LIMIT,
    RESULT_LIMIT,
    FunctionCall,
    ToolCalled,
    ToolOutcome,
    ToolReturned,
)
from events.notes import NotePinned

NAME_LIMIT: Final = 64
"""Characters of a tool's name, as providers take them."""

_LOST: Final = (
    "the process that ran this tool was lost; nobody knows whether it took effect, "
    "so it was not run again"
)
_UNREADABLE: Final = {
    "truncated": "the response ended in the middle of the arguments; nothing was executed",
    "malformed": "the arguments are no JSON object; nothing was executed",
    "oversized": "the arguments are too long; nothing was executed",
}

_REFUSALS: Final[dict[type[RefusalError], tuple[ToolOutcome, str]]] = {
    UnknownToolError: ("refused", "unknown_tool"),
    BadArgumentsError: ("refused", "bad_arguments"),
}

_log = structlog.get_logger(__name__)


class _Answer(Struct, frozen=True, kw_only=True):
    outcome: ToolOutcome
    reason: str = ""
    result: str = ""


class ToolLoop:
    """Runs the calls of a turn's responses."""

    def __init__(
        self, turn: Running, registry: ToolRegistry, past: Sequence[Exchange] = ()
    ) -> None:
        self._turn = turn
        self._registry = registry
        self._calls = max((one.call for past_one in past for one in past_one.calls), default=0)
        self.exchanges = list(past)
        """What tools did so far, oldest first."""
        self.failures = 0
        """Failed calls in a row."""
        for exchange in past:
            self._count(exchange.results)

    @property
    def needs_follow_up(self) -> bool:
        """Whether the model has to speak of what the last tool did."""
        if not self.exchanges or not self.exchanges[-1].calls:
            return False
        last = self.exchanges[-1].calls[-1].function.name
        found = self._registry.tools.get(last)
        return found is None or found.needs_follow_up or self.failures > 0

    async def run(
        self, request: int, text: str, functions: Sequence[FunctionCall], finish_reason: str | None
    ) -> None:
        """Run the calls of one response; cancelled, it says what became of each."""
        self.exchanges.append(Exchange(request=request, text=text))
        await self.go_on(functions, finish_reason)

    async def go_on(
        self, functions: Sequence[FunctionCall], finish_reason: str | None = None
    ) -> None:
        """Bring the calls of the last response to an end, then run `functions` of it."""
        left = list(functions)
        try:
            for called in self.exchanges[-1].open:
                await self._finish(called, finish_reason, is_again=True)
            while left:
                if self.failures >= self._turn.world.limits.tool_failures:
                    break
                called = self._called(left.pop(0))
                await self._turn.journal.barrier()
                await self._finish(called, finish_reason)
        finally:
            for function in left:
                self._returned(self._called(function), _Answer(outcome="dropped"), 0.0)

    def _called(self, function: FunctionCall) -> ToolCalled:
        self._calls += 1
        arguments = function.arguments if len(function.arguments) <= ARGUMENTS_LIMIT else ""
        kept = msgspec.structs.replace(
            function, name=function.name[:NAME_LIMIT] or "unnamed", arguments=arguments
        )
        last = self.exchanges[-1]
        called = ToolCalled(call=self._calls, request=last.request, function=kept)
        self._turn.journal.add(called)
        self.exchanges[-1] = msgspec.structs.replace(last, calls=(*last.calls, called))
        return called

    async def _finish(
        self, called: ToolCalled, finish_reason: str | None, *, is_again: bool = False
    ) -> None:
        clock = self._turn.world.clock
        began = clock.monotonic()
        answer = _Answer(outcome="stopped")
        try:
            answer = await self._answer(called, finish_reason, is_again=is_again)
        finally:
            self._returned(called, answer, round((clock.monotonic() - began) * 1_000, 3))

    def _returned(self, called: ToolCalled, answer: _Answer, ms: float) -> None:
        returned = ToolReturned(
            call=called.call,
            outcome=answer.outcome,
            reason=answer.reason,
            result=answer.result,
            ms=ms,
        )
        self._turn.journal.add(returned)
        last = self.exchanges[-1]
        self.exchanges[-1] = msgspec.structs.replace(last, results=(*last.results, returned))
        self._count((returned,))

    def _count(self, results: Sequence[ToolReturned]) -> None:
        for one in results:
            self.failures = self.failures + 1 if one.outcome in FAILED else 0

    async def _answer(
        self, called: ToolCalled, finish_reason: str | None, *, is_again: bool
    ) -> _Answer:
        function = called.function
        unreadable = _unreadable(function.arguments, finish_reason)
        if unreadable is not None:
            return _failure(called, "refused", unreadable, _UNREADABLE[unreadable])
        try:
            tool = self._registry.find(function.name)
            if is_again and not tool.is_idempotent:
                return _failure(called, "lost", "process_lost", _LOST)
            return await self._run(tool, called)
        except RefusalError as error:
            outcome, reason = _REFUSALS.get(type(error), ("failed", "tool_error"))
            return _failure(called, outcome, reason, str(error))
        except Exception as error:  # noqa: BLE001 - a tool never ends more than its own call
            # Its name only: a message or traceback could quote what must not leave the process.
            _log.error("tool_broke", tool=function.name, error=type(error).__name__)
            return _failure(called, "failed", "exception", f"{type(error).__name__} in the tool")

    async def _run(self, tool: Tool, called: ToolCalled) -> _Answer:
        arguments = tool.decode(called.function.arguments)
        limit = self._turn.world.limits.tool_seconds
        work = asyncio.ensure_future(tool.run(arguments, self._context(called)))
        timer = asyncio.ensure_future(self._turn.world.clock.sleep(limit))
        try:
            await asyncio.wait({work, timer}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return _failure(called, "timeout", "timeout", f"it took longer than {limit:g} s")
            return _success(called, work.result())
        finally:
            for task in (work, timer):
                task.cancel()
            await asyncio.gather(work, timer, return_exceptions=True)

    def _context(self, called: ToolCalled) -> ToolContext:
        start, world = self._turn.start, self._turn.world
        trigger = start.trigger

        async def pin(note: str) -> None:
            pinned = NotePinned(
                turn_id=start.turn_id, call=called.call, note=note, by=trigger.author_name
            )
            stream = channel_stream(start.channel_id)
            await world.log.append(
                append_of(stream, [(pinned, world.clock.now())], scope=start.scope)
            )
            self._turn.notes.append(pinned)

        return ToolContext(
            channel_id=start.channel_id,
            guild_id=trigger.guild_id,
            message_id=trigger.message_id,
            author_id=trigger.author_id,
            author_name=trigger.author_name,
            clock=world.clock,
            history=self._history,
            pin=pin,
        )

    async def _history(self, before: MessageId | None, limit: int) -> list[Any]:
        channel_id = self._turn.start.channel_id
        return await self._turn.world.sender.history(channel_id, before=before, limit=limit)


def _unreadable(arguments: str, finish_reason: str | None) -> str | None:
    """Return why a call's arguments can't be run, None where they are a JSON object."""
    if not arguments:
        return "oversized"
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, RecursionError):
        return "truncated" if finish_reason == "length" else "malformed"
    return None if isinstance(value, dict) else "malformed"


def _failure(called: ToolCalled, outcome: ToolOutcome, reason: str, detail: str) -> _Answer:
    told = {
        "status": "tool_execution_failed",
        "reason": detail[:RESULT_LIMIT],
        "tool_name": called.function.name,
    }
    return _Answer(outcome=outcome, reason=reason, result=_json(told))


def _success(called: ToolCalled, value: object) -> _Answer:
    try:
        result = _json({"status": "completed"} if value is None else value)
    except (TypeError, ValueError, RecursionError):
        return _failure(called, "failed", "bad_result", "its result can't be written as JSON")
    if len(result) > RESULT_LIMIT:
        cut = {"status": "completed", "is_cut": True, "beginning": result[:RESULT_LIMIT]}
        result = _json(cut)
    return _Answer(outcome="completed", result=result)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
