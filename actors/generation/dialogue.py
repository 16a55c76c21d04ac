"""A turn's talk with its models: asked, given what their tools did, asked again, until done.

Ends in one of these: an answer; a failure that no other model made good; a model with nothing to
say, asked again a few times; tools that keep failing; a model that calls tools for ever. A model
that began as somebody else has said nothing: it is told whose part is its own, and the last time
it is asked its wrong label is only dropped.
"""

from collections.abc import Sequence

from actors.generation.asking import Asking
from actors.generation.endings import Endings
from actors.generation.reading import Reading
from actors.generation.running import Running
from actors.generation.tool_loop import ToolLoop
from actors.providers.adapter import ContextItem
from actors.text.caps import FLUSH_LIMIT
from events.generation import AttemptKind, FunctionCall
from events.turn import TurnStatus

DROPPED_PER_RETRY = 4
"""Oldest messages left out, more each time, where an answer had no room for a word."""


class Dialogue:
    """Carries a turn from its first request to its end."""

    def __init__(self, turn: Running, endings: Endings, asking: Asking, tools: ToolLoop) -> None:
        self._turn = turn
        self._endings = endings
        self._asking = asking
        self._tools = tools
        self._limits = turn.world.limits
        self._rounds = len(tools.exchanges)
        self._empty = 0

    async def run(self, kind: AttemptKind, context: Sequence[ContextItem]) -> TurnStatus:
        """Ask until the turn is over; return how it ended."""
        turn = self._turn
        while True:
            said_before = turn.deliverer.messages
            first_flush = turn.answer.flushes + 1
            reading = await self._asking.ask(kind, self._given(context))
            if reading is None:
                return await self._endings.interrupted()
            if reading.fault is None and reading.calls and not turn.answer.stop.is_set():
                ended, kind = await self._use_tools(reading, first_flush), "tool"
            else:
                ended, kind = await self._conclude(reading, said_before), "retry"
            if ended is not None:
                return ended
            if turn.answer.stop.is_set():
                context = _in_its_part(context, turn.start.persona.name)
            if reading.finish_reason == "length":
                context = _shortened(context, DROPPED_PER_RETRY * self._empty)

    async def go_on(
        self, left: Sequence[FunctionCall], first_flush: int, context: Sequence[ContextItem]
    ) -> TurnStatus:
        """Bring the tool calls of a turn taken over to their end, then run it on.

        Args:
            left: Calls of the last response that were not yet made.
            first_flush: The first flush of that response's text.
            context: The conversation.
        """
        turn, past = self._turn, self._tools.exchanges
        if left and (not past or past[-1].request != turn.requests):
            text = turn.deliverer.text_of(range(first_flush, turn.answer.flushes + 1))
            work = self._tools.run(turn.requests, text, left, None)
        else:
            work = self._tools.go_on(left)
        await turn.until_interrupted(work)
        ended = await self._after_tools()
        return ended or await self.run("tool", context)

    def _given(self, context: Sequence[ContextItem]) -> list[ContextItem]:
        exchanged = [item for exchange in self._tools.exchanges for item in exchange.items]
        return [*context, *exchanged]

    async def _use_tools(self, reading: Reading, first_flush: int) -> TurnStatus | None:
        """Deliver what was said before the calls, then run them; None where the turn goes on."""
        turn = self._turn
        turn.answer.finish("tool_call")
        await turn.until_interrupted(turn.deliverer.settled())
        if turn.is_interrupted:
            return await self._endings.interrupted()
        text = turn.deliverer.text_of(range(first_flush, turn.answer.flushes + 1))
        work = self._tools.run(reading.request, text, reading.calls, reading.finish_reason)
        await turn.until_interrupted(work)
        return await self._after_tools()

    async def _after_tools(self) -> TurnStatus | None:
        turn, notices = self._turn, self._turn.world.notices
        if turn.is_interrupted:
            return await self._endings.interrupted()
        self._rounds += 1
        self._empty = 0
        if self._tools.failures >= self._limits.tool_failures:
            await turn.end_typing()
            await turn.notify(notices.tools_failed)
            return await self._endings.end("error", stop_reason="tool_errors", error="tool_errors")
        if self._rounds >= self._limits.iterations:
            await turn.end_typing()
            await turn.notify(notices.too_many_tools)
            return await self._endings.end("timeout", stop_reason="max_iterations")
        if self._rounds == self._limits.still_working_after:
            await turn.notify(notices.still_working, "still_working")
        return None

    async def _conclude(self, reading: Reading, said_before: int) -> TurnStatus | None:
        """End the turn as `reading` has it; None where the model is to be asked again."""
        turn = self._turn
        turn.answer.finish("final" if reading.fault is None else "error")
        await turn.until_interrupted(turn.deliverer.settled())
        if turn.is_interrupted:
            return await self._endings.interrupted()
        if reading.fault is not None:
            return await self._failed(reading)
        if turn.deliverer.messages == said_before and not self._has_said_enough(reading):
            return await self._empty_response(reading)
        await turn.end_typing()
        if turn.answer.stop_reason == FLUSH_LIMIT:
            await turn.notify(turn.world.notices.too_long, "too_long")
        if self._asking.failures:
            await turn.notify(self._fallback_words(reading), "fell_back")
        return await self._endings.end("completed", stop_reason=self._reason(reading))

    def _has_said_enough(self, reading: Reading) -> bool:
        """Return whether what was said before a tool is answer enough."""
        has_answered = self._turn.deliverer.has_posted and not self._tools.needs_follow_up
        return has_answered and reading.finish_reason != "length"

    async def _empty_response(self, reading: Reading) -> TurnStatus | None:
        turn = self._turn
        if self._empty < self._limits.empty_retries:
            self._empty += 1
            await turn.until_interrupted(turn.world.clock.sleep(self._limits.empty_retry_seconds))
            return await self._endings.interrupted() if turn.is_interrupted else None
        await turn.end_typing()
        await turn.notify(turn.world.notices.empty)
        return await self._endings.end("empty_response", stop_reason=self._reason(reading))

    def _reason(self, reading: Reading) -> str | None:
        return self._turn.answer.stop_reason or reading.finish_reason

    async def _failed(self, reading: Reading) -> TurnStatus:
        fault = reading.fault
        assert fault is not None
        turn = self._turn
        await turn.end_typing()
        await turn.notify(turn.world.notices.provider_failed(fault.type, fault.code))
        if reading.silence is not None:
            return await self._endings.end("timeout", stop_reason=reading.silence, error=fault.code)
        return await self._endings.end("error", stop_reason="provider_error", error=fault.code)

    def _fallback_words(self, reading: Reading) -> str:
        failed = [(one.model, one.fault.code) for one in self._asking.failures]
        return self._turn.world.notices.fell_back(reading.route.model, failed)


def _in_its_part(context: Sequence[ContextItem], name: str) -> list[ContextItem]:
    """Return the context with the order, behind its instructions, to speak for nobody else."""
    order = ContextItem(
        role="system", content=f"Answer as {name}, for nobody else, and put no name before it."
    )
    if order in context:
        return list(context)
    instructions = [item for item in context if item.role == "system"]
    said = [item for item in context if item.role != "system"]
    return [*instructions, order, *said]


def _shortened(context: Sequence[ContextItem], count: int) -> list[ContextItem]:
    """Return the context without its `count` oldest messages; instructions and the last stay."""
    instructions = [item for item in context if item.role == "system"]
    said = [item for item in context if item.role != "system"]
    return [*instructions, *said[min(count, len(said) - 1) :]]
