"""Chat completions, as OpenAI made them and dozens of servers speak them.

`OpenAI.request` builds the streaming request, `ChatReader` reads one response. The reader takes
every dialect that was seen in the wild: `choices` null or missing, `delta` null or a whole
`message` in its place, content as a list of typed parts, reasoning under two names, usage on any
chunk (each one replaces the last), errors inside a stream that began with 200, finish reasons
late, twice or never. Text always leaves before the word that ends it.

A reader is done after `[DONE]` or an error. A finish reason does not end it: usage may follow, and
where a server goes on with text, so does the reader.
"""

import logging
import re
from typing import Final

import msgspec
from msgspec.structs import replace

from actors.http_port import HttpRequest
from actors.providers import errors
from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition
from actors.providers.json_text import (
    BadPayloadError,
    JsonObject,
    is_list,
    is_object,
    object_of,
    parse_object,
    text_of,
)
from actors.providers.surrogates import Joiner, clean
from actors.providers.tool_calls import ToolCalls
from actors.providers.usage import usage_of
from events.generation import Chunk, ErrorType, ProviderFault, StreamEnd, Thought, Usage

_log: Final = logging.getLogger(__name__)

_PATH: Final = "/chat/completions"
_ROLES: Final = {"model": "assistant", "user": "user"}
_BAD_PAYLOADS_LIMIT: Final = 3
_ID_LIMIT: Final = 200
_WORD_LIMIT: Final = 64

_FINISH_REASONS: Final = {
    **{word: word for word in ("stop", "length", "tool_calls", "content_filter", "error")},
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "max_tokens": "length",
    "model_length": "length",
}
_FINISH_FAULTS: Final[dict[str, tuple[ErrorType, str, bool]]] = {
    "content_filter": ("content_blocked", "content_filter", False),
    "error": ("provider_overloaded", "stream_error", True),
}
_UNSAFE: Final = re.compile(r"[^a-z0-9_.-]")


class OpenAI:
    """The wire format `openai`: `POST <base>/chat/completions`, streamed."""

    def request(
        self,
        route: ModelRoute,
        context: tuple[ContextItem, ...],
        tools: tuple[ToolDefinition, ...] = (),
    ) -> HttpRequest:
        """Return the request that asks `route` to continue `context`; it may call `tools`.

        All system items are one message at the front; items without text are left out.
        """
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        key = route.api_key.strip()
        if key:
            headers["Authorization"] = f"Bearer {key}"
        body: JsonObject = {
            "model": route.model,
            "messages": _messages(context),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            body["tools"] = [_tool(one) for one in tools]
        return HttpRequest(
            url=_url(route.base_url), headers=headers, body=msgspec.json.encode(body).decode()
        )

    def reader(self) -> "ChatReader":
        """Return an adapter for one response."""
        return ChatReader()


class ChatReader:
    """Reads one response; its state is never shared with another's."""

    def __init__(self) -> None:
        self._is_done = False
        self._is_concluded = False
        self._has_deltas = False
        self._bad_payloads = 0
        self._text = Joiner()
        self._reasoning = Joiner()
        self._calls = ToolCalls()
        self._usage: Usage | None = None
        self._response_id: str | None = None
        self._serving_provider: str | None = None
        self._is_id_given = False
        self._is_server_given = False

    @property
    def is_done(self) -> bool:
        """Whether the stream said its last word: stop reading and close."""
        return self._is_done

    def feed(self, payload: str) -> list[Chunk]:
        """Return the chunks that one data payload of a 2xx response gives; never raises."""
        if self._is_done:
            return []
        try:
            return self._read(payload)
        except Exception as error:  # noqa: BLE001 - a payload never ends more than its own stream
            # Its name only: a message or traceback could quote the payload.
            _log.error("an adapter failed on a payload: %s", type(error).__name__)
            return [self._fault("api_error", "adapter_failure", is_retryable=False)]

    def fail(self, status: int, body: str, retry_after_seconds: float | None) -> list[Chunk]:
        """Return the error chunk of a response whose status is not 2xx."""
        if self._is_done:
            return []
        self._is_done = True
        return [Chunk(type="error", error=errors.of_response(status, body, retry_after_seconds))]

    def finish(self, end: StreamEnd) -> list[Chunk]:
        """Return what was held back, then `done` or the error that `end` means.

        Once a finish reason came the answer is whole, and how the connection ended is no matter.
        """
        if self._is_done:
            return []
        self._is_done = True
        if end == "stopped":
            return []
        fault = None if self._is_concluded else errors.of_end(end)
        if fault is not None:
            return self._emit("", (), None, Chunk(type="error", error=fault))
        return self._emit("", (), None, *self._conclude("eof" if end == "eof" else "stop"))

    def _read(self, payload: str) -> list[Chunk]:
        payload = payload.strip()
        if not payload:
            return []
        if payload == "[DONE]":
            return self.finish("done")
        try:
            chunk = parse_object(payload)
        except BadPayloadError:
            return self._skip(len(payload))
        self._bad_payloads = 0
        return self._read_chunk(chunk)

    def _skip(self, size: int) -> list[Chunk]:
        self._bad_payloads += 1
        _log.warning("skipped a payload of %d characters that is no JSON object", size)
        if self._bad_payloads < _BAD_PAYLOADS_LIMIT:
            return []
        last = self._fault("api_error", "malformed_stream", is_retryable=True)
        return self._emit("", (), None, last)

    def _read_chunk(self, chunk: JsonObject) -> list[Chunk]:
        self._identify(chunk)
        choice = _first_choice(chunk)
        delta = self._delta(choice)
        text, thoughts = self._content(delta)
        if "tool_calls" in delta or "function_call" in delta:
            self._calls.feed(delta)
        usage = self._fresh_usage(chunk.get("usage") or choice.get("usage"))
        report = errors.error_in(chunk) or (errors.error_in(choice) if choice else None)
        reason = _finish_reason(choice.get("finish_reason"))
        if report is not None:
            self._is_done = True
            last = Chunk(type="error", error=errors.of_report(report), finish_reason=reason)
            return self._emit(text, thoughts, usage, last)
        if self._calls.is_oversized:
            last = self._fault("api_error", "oversized_event", is_retryable=False)
            return self._emit(text, thoughts, usage, last)
        if reason is not None:
            return self._emit(text, thoughts, usage, *self._conclude(reason))
        if text or thoughts or usage is not None:
            return self._introduce([Chunk(type="text", text=text, thoughts=thoughts, usage=usage)])
        return []

    def _emit(
        self, text: str, thoughts: tuple[Thought, ...], usage: Usage | None, *last: Chunk
    ) -> list[Chunk]:
        """Return the text, with what halves were held, and then the last words.

        Thoughts stand with the text where there is one; usage always stands last.
        """
        text += self._text.flush()
        lost = self._reasoning.flush()
        if lost:
            thoughts = (*thoughts, Thought(content=lost))
        chunks: list[Chunk] = []
        if text or (not last and (thoughts or usage is not None)):
            chunks.append(Chunk(type="text", text=text, thoughts=thoughts))
            thoughts = ()
        for one in last:
            chunks.append(replace(one, thoughts=thoughts))
            thoughts = ()
        if usage is not None:
            chunks[-1] = replace(chunks[-1], usage=usage)
        return self._introduce(chunks)

    def _conclude(self, reason: str) -> list[Chunk]:
        """Return what a finish reason means; nothing where the answer had its last word already."""
        if self._is_concluded:
            return []
        self._is_concluded = True
        if reason in _FINISH_FAULTS:
            kind, code, is_retryable = _FINISH_FAULTS[reason]
            fault = self._fault(kind, code, is_retryable=is_retryable)
            return [replace(fault, finish_reason=reason)]
        calls = [
            Chunk(type="function_call", function_call=call, finish_reason=reason)
            for call in self._calls.take()
        ]
        return calls or [Chunk(type="done", finish_reason=reason)]

    def _fault(self, kind: ErrorType, code: str, *, is_retryable: bool) -> Chunk:
        self._is_done = True
        return Chunk(
            type="error", error=ProviderFault(type=kind, code=code, retryable=is_retryable)
        )

    def _delta(self, choice: JsonObject) -> JsonObject:
        delta = choice.get("delta")
        if is_object(delta):
            self._has_deltas = True
            return delta
        # A message beside deltas repeats what they said, so it counts only where there are none.
        return {} if self._has_deltas else object_of(choice.get("message"))

    def _content(self, delta: JsonObject) -> tuple[str, tuple[Thought, ...]]:
        content = delta.get("content")
        reasoning = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
        if is_list(content):
            content, inner = _parts(content)
            reasoning += inner
        text = self._text.feed(content) if isinstance(content, str) and content else ""
        if reasoning:
            reasoning = self._reasoning.feed(reasoning)
        return text, (Thought(content=reasoning),) if reasoning else ()

    def _fresh_usage(self, value: object) -> Usage | None:
        """Return a usage that differs from the last: some servers repeat it on every chunk."""
        usage = usage_of(value) if value else None
        if usage is None or usage == self._usage:
            return None
        self._usage = usage
        return usage

    def _identify(self, chunk: JsonObject) -> None:
        if self._response_id is None:
            self._response_id = clean(text_of(chunk.get("id")))[:_ID_LIMIT] or None
        if self._serving_provider is None:
            self._serving_provider = clean(text_of(chunk.get("provider")))[:_ID_LIMIT] or None

    def _introduce(self, chunks: list[Chunk]) -> list[Chunk]:
        """Name the response and who served it on the first chunk since they are known, once."""
        response_id = None if self._is_id_given else self._response_id
        serving_provider = None if self._is_server_given else self._serving_provider
        if chunks and (response_id is not None or serving_provider is not None):
            self._is_id_given = self._is_id_given or response_id is not None
            self._is_server_given = self._is_server_given or serving_provider is not None
            chunks[0] = replace(
                chunks[0], response_id=response_id, serving_provider=serving_provider
            )
        return chunks


def _url(base_url: str) -> str:
    address, mark, query = base_url.partition("?")
    if not address.endswith(_PATH):
        address = address.removesuffix("/") + _PATH
    return address + mark + query


def _tool(tool: ToolDefinition) -> JsonObject:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def _message(item: ContextItem) -> JsonObject:
    if item.result is not None:
        result = item.result
        return {"role": "tool", "tool_call_id": result.call_id, "content": clean(result.content)}
    message: JsonObject = {"role": _ROLES[item.role], "content": clean(item.content)}
    if item.calls:
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in item.calls
        ]
    return message


def _messages(context: tuple[ContextItem, ...]) -> list[JsonObject]:
    system = [item.content for item in context if item.role == "system" and item.content]
    messages: list[JsonObject] = []
    if system:
        messages.append({"role": "system", "content": clean("\n\n".join(system))})
    messages.extend(
        _message(item)
        for item in context
        if item.role != "system" and (item.content or item.calls or item.result is not None)
    )
    return messages


def _first_choice(chunk: JsonObject) -> JsonObject:
    choices = chunk.get("choices")
    return object_of(choices[0]) if is_list(choices) and choices else {}


def _finish_reason(value: object) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    word = value.lower()
    return _FINISH_REASONS.get(word) or f"other:{_UNSAFE.sub('', word)[:_WORD_LIMIT] or 'unknown'}"


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
