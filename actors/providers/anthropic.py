"""Anthropic's messages: `POST <base>/messages`, streamed as typed blocks.

Turns alternate strictly, and the results of calls stand first in the turn behind them. What the
model thought before a call is signed; it goes back unchanged before that call, or the model refuses
to go on. A reader holds calls back until the message ends, since the usage that belongs to them
comes there.

The API insists on a bound for the answer; it is the largest that every current model takes.
"""

import logging
from typing import Final

import msgspec
from typing_extensions import override

from actors.http_port import HttpRequest
from actors.providers import errors
from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition
from actors.providers.alternation import START, Said, alternating
from actors.providers.carried import CARRIED_LIMIT, carried, carry
from actors.providers.chat_request import dialogue, system_text
from actors.providers.json_text import (
    BadPayloadError,
    JsonObject,
    dump,
    is_list,
    is_object,
    object_of,
    parse_object,
    text_of,
)
from actors.providers.reader import Reader, other_reason
from actors.providers.surrogates import clean
from actors.providers.tool_calls import CALLS_LIMIT, SLOTS_LIMIT
from actors.providers.usage import anthropic_usage
from events.generation import Chunk, FunctionCall, ProviderFault, Usage

MAX_OUTPUT_TOKENS: Final = 8_192
"""Tokens that an answer may have."""

_log: Final = logging.getLogger(__name__)

_KIND: Final = "anthropic"
_PATH: Final = "/messages"
_VERSION: Final = "2023-06-01"
_THOUGHTS: Final = "thinking_blocks"

_FINISH_REASONS: Final = {
    **dict.fromkeys(("end_turn", "stop_sequence", "pause_turn"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_REFUSAL: Final = ProviderFault(type="content_blocked", code="refusal", retryable=False)
_DELTAS: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


class Anthropic:
    """The wire format `anthropic`."""

    def request(
        self,
        route: ModelRoute,
        context: tuple[ContextItem, ...],
        tools: tuple[ToolDefinition, ...] = (),
    ) -> HttpRequest:
        """Return the request that asks `route` to continue `context`; it may call `tools`."""
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "anthropic-version": _VERSION,
        }
        if route.api_key.strip():
            headers["x-api-key"] = route.api_key.strip()
        body: JsonObject = {
            "model": route.model,
            "max_tokens": MAX_OUTPUT_TOKENS,
            "stream": True,
            "messages": _messages(context),
        }
        system = system_text(context)
        if system:
            body["system"] = system
        if tools:
            body["tools"] = [
                {"name": one.name, "description": one.description, "input_schema": one.parameters}
                for one in tools
            ]
        base = route.base_url.removesuffix("/").removesuffix(_PATH)
        return HttpRequest(
            url=base + _PATH, headers=headers, body=msgspec.json.encode(body).decode()
        )

    def reader(self) -> "AnthropicReader":
        """Return an adapter for one response."""
        return AnthropicReader()


class _Block:
    """A block that is told in pieces: a thought or a call."""

    def __init__(self, opening: JsonObject) -> None:
        self.opening = opening
        self.parts: dict[str, list[str]] = {}

    def text(self, name: str) -> str:
        return text_of(self.opening.get(name)) + "".join(self.parts.get(name, ()))

    @property
    def call(self) -> FunctionCall:
        given = self.opening.get("input")
        arguments = self.text("partial_json") or (dump(given) if is_object(given) else "{}")
        return FunctionCall(
            name=clean(text_of(self.opening.get("name"))),
            arguments=clean(arguments),
            call_id=clean(text_of(self.opening.get("id"))) or None,
        )

    @property
    def thought(self) -> JsonObject:
        if self.opening.get("type") == "redacted_thinking":
            return self.opening
        return {
            "type": "thinking",
            "thinking": self.text("thinking"),
            "signature": self.text("signature"),
        }


class AnthropicReader(Reader):
    """Reads one message."""

    def __init__(self) -> None:
        super().__init__()
        self._thinking: dict[object, _Block] = {}
        self._thinking_size = 0
        self._tools: dict[object, _Block] = {}
        self._tools_size = 0

    @override
    def _read_object(self, payload: JsonObject) -> list[Chunk]:
        match payload.get("type"):
            case "message_start":
                chunks = self._start(object_of(payload.get("message")))
            case "message":
                chunks = self._whole(payload)
            case "content_block_start":
                block = object_of(payload.get("content_block"))
                chunks = self._open(payload.get("index"), block)
            case "content_block_delta":
                chunks = self._add(payload.get("index"), object_of(payload.get("delta")))
            case "message_delta":
                reason = object_of(payload.get("delta")).get("stop_reason")
                chunks = self._end(reason, self._counted(payload.get("usage")))
            case "message_stop":
                chunks = self.finish("done")
            case kind:
                chunks = self._other(kind, payload)
        return chunks

    @override
    def _take_calls(self) -> list[FunctionCall]:
        calls = [block.call for block in self._tools.values()]
        named = [call for call in calls if call.name]
        thoughts = [block.thought for block in self._thinking.values()]
        if named and thoughts and self._thinking_size <= CARRIED_LIMIT:
            named[0] = msgspec.structs.replace(
                named[0], carried=carry(_KIND, {_THOUGHTS: thoughts})
            )
        return named

    def _start(self, message: JsonObject) -> list[Chunk]:
        self._identify(message.get("id"))
        return self._say("", (), self._counted(message.get("usage")))

    def _whole(self, message: JsonObject) -> list[Chunk]:
        """Return what a message says that came in one piece, from a server that does not stream."""
        self._identify(message.get("id"))
        content = message.get("content")
        blocks = content if is_list(content) else []
        chunks = [
            chunk for at, one in enumerate(blocks) for chunk in self._open(at, object_of(one))
        ]
        usage = self._counted(message.get("usage"))
        return chunks + self._end(message.get("stop_reason") or "end_turn", usage)

    def _open(self, index: object, block: JsonObject) -> list[Chunk]:
        index = index if isinstance(index, int) else len(self._tools) + len(self._thinking)
        kind = block.get("type")
        if kind == "text":
            return self._say(self._text.feed(text_of(block.get("text"))), (), None)
        if kind in ("thinking", "redacted_thinking"):
            self._thinking_size += len(dump(block))
            if self._thinking_size <= CARRIED_LIMIT and len(self._thinking) < SLOTS_LIMIT:
                self._thinking[index] = _Block(block)
            thought = text_of(block.get("thinking"))
            return self._say("", self._thoughts(thought), None) if thought else []
        if kind == "tool_use":
            self._tools[index] = _Block(block)
            return self._bounded(len(dump(block)))
        _log.debug("ignored a block of an unknown type")
        return []

    def _add(self, index: object, delta: JsonObject) -> list[Chunk]:
        name = _DELTAS.get(text_of(delta.get("type")), "")
        part = text_of(delta.get(name)) if name else ""
        if not part:
            return []
        if name == "text":
            return self._say(self._text.feed(part), (), None)
        if name == "partial_json":
            block = self._tools.get(index)
            if block is not None:
                block.parts.setdefault(name, []).append(part)
            return self._bounded(len(part))
        self._thinking_size += len(part)
        block = self._thinking.get(index)
        if block is not None and self._thinking_size <= CARRIED_LIMIT:
            block.parts.setdefault(name, []).append(part)
        return self._say("", self._thoughts(part), None) if name == "thinking" else []

    def _bounded(self, size: int) -> list[Chunk]:
        """Count what calls hold; return the error where it is more than is taken."""
        self._tools_size += size
        if self._tools_size <= CALLS_LIMIT and len(self._tools) <= SLOTS_LIMIT:
            return []
        last = self._failed("api_error", "oversized_event", is_retryable=False)
        return self._emit("", (), None, last)

    def _end(self, reason: object, usage: Usage | None) -> list[Chunk]:
        word = text_of(reason)
        if not word:
            return self._say("", (), usage)
        known = _FINISH_REASONS.get(word) or other_reason(word)
        last = self._conclude(known, _REFUSAL if word == "refusal" else None)
        return self._emit("", (), usage, *last)

    def _other(self, kind: object, payload: JsonObject) -> list[Chunk]:
        report = errors.error_in(payload)
        if report is not None:
            return self._emit("", (), None, self._broken(errors.of_report(report)))
        if kind not in ("ping", "content_block_stop"):
            _log.debug("ignored an event of an unknown type")
        return []

    def _counted(self, reported: object) -> Usage | None:
        return self._fresh(anthropic_usage(self._merged(reported)))


def _messages(context: tuple[ContextItem, ...]) -> list[JsonObject]:
    items = [(item, _parts(item)) for item in dialogue(context)]
    said = [
        Said(role="model" if item.role == "model" else "user", parts=parts)
        for item, parts in items
        if parts
    ]
    return [
        {"role": "assistant" if one.role == "model" else "user", "content": _content(one.parts)}
        for one in alternating(said, _text(START))
    ]


def _parts(item: ContextItem) -> tuple[JsonObject, ...]:
    if item.result is not None:
        result: JsonObject = {
            "type": "tool_result",
            "tool_use_id": item.result.call_id,
            "content": clean(item.result.content),
        }
        return ({**result, "is_error": True} if item.result.is_error else result,)
    blocks: list[JsonObject] = []
    for call in item.calls:
        thoughts = carried(_KIND, call).get(_THOUGHTS)
        blocks += [one for one in thoughts if is_object(one)] if is_list(thoughts) else []
    if item.content.strip():
        blocks.append(_text(item.content))
    return (*blocks, *(_tool_use(call) for call in item.calls))


def _content(parts: tuple[JsonObject, ...]) -> object:
    """Return one string where there is nothing but text: it costs the fewest tokens."""
    if all(one["type"] == "text" for one in parts):
        return "\n".join(text_of(one["text"]) for one in parts)
    return list(parts)


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": clean(text)}


def _tool_use(call: FunctionCall) -> JsonObject:
    try:
        arguments = parse_object(call.arguments)
    except BadPayloadError:
        arguments = {}
    return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": arguments}
