"""What tools did in a turn, as the model is told of it, live and from the log alike.

An exchange is one response that called tools: the text before the calls, the calls, their results.
The text was delivered when the calls were made and stands before them in what the model is given,
so that it neither repeats itself nor forgets what it has said.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from actors.providers.adapter import ContextItem, ToolResult
from events.base import Event
from events.generation import (
    Flush,
    FunctionCall,
    ProcessedChunk,
    RequestOpened,
    ToolCalled,
    ToolOutcome,
    ToolReturned,
)

UNREPEATED: Final = frozenset(("malformed", "truncated", "oversized"))
"""Why a call's arguments are not sent back to the model that wrote them: nobody can read them."""

FAILED: Final[frozenset[ToolOutcome]] = frozenset(("failed", "refused", "timeout", "lost"))
"""What counts as a failure of the model's plan."""


class Exchange(Struct, frozen=True, kw_only=True):
    """One response that called tools."""

    request: int
    """The request that it answers."""
    text: str = ""
    """The text before its calls, as flushed."""
    calls: tuple[ToolCalled, ...] = ()
    """Its calls, in their order."""
    results: tuple[ToolReturned, ...] = ()
    """What became of them, in the same order; fewer while calls are open."""

    @property
    def open(self) -> tuple[ToolCalled, ...]:
        """Calls of which the log does not show what became."""
        closed = {one.call for one in self.results}
        return tuple(one for one in self.calls if one.call not in closed)

    @property
    def items(self) -> list[ContextItem]:
        """What the model is given of it."""
        reasons = {one.call: one.reason for one in self.results}
        calls = tuple(_repeated(one, reasons.get(one.call, "")) for one in self.calls)
        said = ContextItem(role="model", content=self.text.strip(), calls=calls)
        by_ordinal = {one.call: one for one in self.calls}
        return [said, *(_told(by_ordinal[one.call], one) for one in self.results)]


def exchanges(events: Sequence[Event]) -> list[Exchange]:
    """Return the exchanges that a turn's stream shows, oldest first."""
    found: list[Exchange] = []
    text: list[str] = []
    for event in events:
        match event:
            case RequestOpened():
                text = []
            case Flush():
                text.append(event.text)
            case ToolCalled() if found and found[-1].request == event.request:
                found[-1] = replace(found[-1], calls=(*found[-1].calls, event))
            case ToolCalled():
                found.append(Exchange(request=event.request, text="".join(text), calls=(event,)))
            case ToolReturned():
                found = [_closed(one, event) for one in found]
            case _:
                pass
    return found


def uncalled(events: Sequence[Event]) -> tuple[FunctionCall, ...]:
    """Return the calls of the last response that no `tool_called` stands for."""
    opened = [one.request for one in events if isinstance(one, RequestOpened)]
    last = opened[-1] if opened else 0
    made = [
        chunk.function_call
        for event in events
        if isinstance(event, ProcessedChunk) and event.request == last
        for chunk in event.chunks
        if chunk.function_call is not None
    ]
    called = sum(isinstance(one, ToolCalled) and one.request == last for one in events)
    return tuple(made[called:])


def _closed(exchange: Exchange, returned: ToolReturned) -> Exchange:
    if returned.call not in {one.call for one in exchange.calls}:
        return exchange
    return replace(exchange, results=(*exchange.results, returned))


def _repeated(called: ToolCalled, reason: str) -> FunctionCall:
    arguments = "{}" if reason in UNREPEATED else called.function.arguments
    return replace(called.function, arguments=arguments, call_id=_id_of(called))


def _told(called: ToolCalled, returned: ToolReturned) -> ContextItem:
    told = ToolResult(
        name=called.function.name,
        call_id=_id_of(called),
        content=returned.result,
        is_error=returned.outcome in FAILED,
    )
    return ContextItem(role="user", content="", result=told)


def _id_of(called: ToolCalled) -> str:
    """Return the id that joins a call to its result; some providers give none."""
    return called.function.call_id or f"call_{called.call}"
