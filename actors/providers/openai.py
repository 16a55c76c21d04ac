"""Chat completions, as OpenAI made them and dozens of servers speak them.

`OpenAI.request` builds the streaming request, `ChatReader` reads one response. The reader takes
every dialect that was seen in the wild: `choices` null or missing, `delta` null or a whole
`message` in its place, content as a list of typed parts, reasoning under three names, usage on any
chunk (each one replaces the last), errors inside a stream that began with 200, finish reasons
late, twice or never.

What a model wants back with its calls is kept with them: DeepSeek its reasoning, Google behind
this format the signature of a call, a router the details of the reasoning.
"""

from typing import Final

import msgspec
from typing_extensions import override

from actors.http_port import HttpRequest
from actors.providers import errors
from actors.providers.adapter import ContextItem, ModelRoute, ProviderKind, ToolDefinition
from actors.providers.chat_request import (
    chat_headers,
    chat_messages,
    chat_tools,
    chat_url,
    dialogue,
    system_text,
)
from actors.providers.json_text import JsonObject, is_list, is_object, object_of, text_of
from actors.providers.reader import Reader, other_reason
from actors.providers.reasoning_details import ReasoningDetails
from actors.providers.tool_calls import ToolCalls
from actors.providers.usage import usage_of
from events.generation import Chunk, FunctionCall, ProviderFault, Thought

_REASONING_LIMIT: Final = 512 * 1024

_FINISH_REASONS: Final = {
    **{word: word for word in ("stop", "length", "tool_calls", "content_filter", "error")},
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "max_tokens": "length",
    "model_length": "length",
}
_FINISH_FAULTS: Final = {
    "content_filter": ProviderFault(type="content_blocked", code="content_filter", retryable=False),
    "error": ProviderFault(type="provider_overloaded", code="stream_error", retryable=True),
}


class OpenAI:
    """The wire format `openai`: `POST <base>/chat/completions`, streamed."""

    def __init__(self, kind: ProviderKind = "openai") -> None:
        self._kind: ProviderKind = kind

    def request(
        self,
        route: ModelRoute,
        context: tuple[ContextItem, ...],
        tools: tuple[ToolDefinition, ...] = (),
    ) -> HttpRequest:
        """Return the request that asks `route` to continue `context`; it may call `tools`.

        All system items are one message at the front; items without text are left out.
        """
        body: JsonObject = {
            "model": route.model,
            "messages": self._messages(route, context),
            "stream": True,
            "stream_options": {"include_usage": True},
            **chat_tools(tools),
        }
        return HttpRequest(
            url=chat_url(route.base_url),
            headers=chat_headers(route),
            body=msgspec.json.encode(body).decode(),
        )

    def reader(self) -> "ChatReader":
        """Return an adapter for one response."""
        return ChatReader(self._kind)

    def _messages(self, _route: ModelRoute, context: tuple[ContextItem, ...]) -> list[JsonObject]:
        system = system_text(context)
        first: list[JsonObject] = [{"role": "system", "content": system}] if system else []
        return first + chat_messages(self._kind, dialogue(context))


class ChatReader(Reader):
    """Reads one chat completion."""

    def __init__(self, kind: ProviderKind = "openai") -> None:
        super().__init__()
        self._kind = kind
        self._has_deltas = False
        self._calls = ToolCalls()
        self._details = ReasoningDetails()
        self._reasoning_content: list[str] = []
        self._reasoning_size = 0

    @override
    def _read_object(self, payload: JsonObject) -> list[Chunk]:
        self._identify(payload.get("id"), payload.get("provider"))
        choice = _first_choice(payload)
        delta = self._delta(choice)
        text, thoughts = self._content(delta)
        if "tool_calls" in delta or "function_call" in delta:
            self._calls.feed(delta)
        reported = payload.get("usage") or choice.get("usage")
        usage = self._fresh(usage_of(reported)) if reported else None
        report = errors.error_in(payload) or (errors.error_in(choice) if choice else None)
        reason = _finish_reason(choice.get("finish_reason"))
        if report is not None:
            return self._emit(text, thoughts, usage, *self._failure(report, reason))
        if self._calls.is_oversized:
            last = self._failed("api_error", "oversized_event", is_retryable=False)
            return self._emit(text, thoughts, usage, last)
        if reason is not None:
            last = self._conclude(reason, _FINISH_FAULTS.get(reason))
            return self._emit(text, thoughts, usage, *last)
        return self._say(text, thoughts, usage)

    @override
    def _take_calls(self) -> list[FunctionCall]:
        of_message: JsonObject = {}
        details = self._details.take()
        if details:
            of_message["reasoning_details"] = details
        if self._reasoning_content and self._reasoning_size <= _REASONING_LIMIT:
            of_message["reasoning_content"] = "".join(self._reasoning_content)
        return self._calls.take(self._kind, of_message)

    def _failure(self, report: errors.ErrorReport, reason: str | None) -> list[Chunk]:
        """Return what an error object inside the stream means."""
        self._is_done = True
        return [Chunk(type="error", error=errors.of_report(report), finish_reason=reason)]

    def _delta(self, choice: JsonObject) -> JsonObject:
        delta = choice.get("delta")
        if is_object(delta):
            self._has_deltas = True
            return delta
        # A message beside deltas repeats what they said, so it counts only where there are none.
        return {} if self._has_deltas else object_of(choice.get("message"))

    def _content(self, delta: JsonObject) -> tuple[str, tuple[Thought, ...]]:
        content = delta.get("content")
        detailed = self._details.feed(delta.get("reasoning_details"))
        reasoning = text_of(delta.get("reasoning_content"))
        if reasoning:
            self._keep(reasoning)
        reasoning = reasoning or text_of(delta.get("reasoning")) or detailed
        if is_list(content):
            content, inner = _parts(content)
            reasoning += inner
        text = self._text.feed(content) if isinstance(content, str) and content else ""
        return text, self._thoughts(reasoning)

    def _keep(self, reasoning: str) -> None:
        self._reasoning_size += len(reasoning)
        if self._reasoning_size <= _REASONING_LIMIT:
            self._reasoning_content.append(reasoning)


def _first_choice(chunk: JsonObject) -> JsonObject:
    choices = chunk.get("choices")
    return object_of(choices[0]) if is_list(choices) and choices else {}


def _finish_reason(value: object) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    word = value.lower()
    return _FINISH_REASONS.get(word) or other_reason(word)


def _parts(parts: list[object]) -> tuple[str, str]:
    """Return the text and the reasoning of a content that is a list of typed parts."""
    text: list[str] = []
    reasoning: list[str] = []
    for part in parts:
        if isinstance(part, str):
            text.append(part)
        elif is_object(part):
            if part.get("type") in ("thinking", "reasoning"):
                reasoning.append(_thinking(part))
            else:
                text.append(text_of(part.get("text")))
    return "".join(text), "".join(reasoning)


def _thinking(part: JsonObject) -> str:
    inner = part.get("thinking") or part.get("reasoning") or part.get("text")
    return _parts(inner)[0] if is_list(inner) else text_of(inner)
