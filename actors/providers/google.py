"""Google's Gemini: `POST <base>/models/<model>:streamGenerateContent?alt=sse`.

Asked over plain HTTP, so that leaving closes the connection. The key stands in a header, never in
the address. Turns alternate; the results of calls are a turn of their own. Gemini signs its calls
and refuses one that comes back without the signature.

A stream has no last word of its own: it just ends. Calls are held until its finish reason, and text
that a part repeats from the end of the one before is said once.
"""

import re
from typing import Final
from urllib.parse import quote

import msgspec
from typing_extensions import override

from actors.http_port import HttpRequest
from actors.providers import errors
from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition, ToolResult
from actors.providers.alternation import START, Said, alternating
from actors.providers.carried import carried
from actors.providers.chat_request import dialogue, system_text, told_as_user
from actors.providers.google_calls import KIND, SIGNATURE, GoogleCalls
from actors.providers.google_schema import google_schema
from actors.providers.json_text import (
    BadPayloadError,
    JsonObject,
    is_list,
    is_object,
    object_of,
    parse_object,
    text_of,
)
from actors.providers.overlap import Overlap
from actors.providers.reader import Reader, other_reason
from actors.providers.surrogates import clean
from actors.providers.usage import google_usage
from events.generation import Chunk, FunctionCall, ProviderFault, Thought

MAX_OUTPUT_TOKENS: Final = 8_192
"""Tokens that an answer may have, what the model thinks included."""

_SAFETY: Final = [
    {"category": f"HARM_CATEGORY_{one}", "threshold": "BLOCK_NONE"}
    for one in ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
]
_WITHOUT_SYSTEM: Final = re.compile(r"(?:models/)?gemma-?[123](?![0-9])")
_BLOCKING: Final = frozenset(
    [
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
        *("OTHER", "LANGUAGE"),
    ]
)
_BROKEN: Final = frozenset(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"))
_FINISH_REASONS: Final = {"STOP": "stop", "MAX_TOKENS": "length"}
_NO_REASON: Final = frozenset(("", "BLOCK_REASON_UNSPECIFIED", "FINISH_REASON_UNSPECIFIED"))
_SAFE_WORD: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


class Google:
    """The wire format `google`."""

    def request(
        self,
        route: ModelRoute,
        context: tuple[ContextItem, ...],
        tools: tuple[ToolDefinition, ...] = (),
    ) -> HttpRequest:
        """Return the request that asks `route` to continue `context`; it may call `tools`."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if route.api_key.strip():
            headers["x-goog-api-key"] = route.api_key.strip()
        system = system_text(context)
        said = _said(context)
        body: JsonObject = {}
        if system and _WITHOUT_SYSTEM.match(route.model):
            said.insert(0, Said(role="user", parts=(_text(told_as_user(system)),)))
        elif system:
            body["systemInstruction"] = {"parts": [_text(system)]}
        body["contents"] = [
            {"role": one.role, "parts": _joined(one.parts)}
            for one in alternating(said, _text(START))
        ]
        if tools:
            body["tools"] = [{"functionDeclarations": [_declaration(one) for one in tools]}]
        body["safetySettings"] = _SAFETY
        body["generationConfig"] = {"maxOutputTokens": MAX_OUTPUT_TOKENS}
        model = quote(route.model.removeprefix("models/"), safe="/")
        url = f"{route.base_url.removesuffix('/')}/models/{model}:streamGenerateContent?alt=sse"
        return HttpRequest(url=url, headers=headers, body=msgspec.json.encode(body).decode())

    def reader(self) -> "GoogleReader":
        """Return an adapter for one response."""
        return GoogleReader()


class GoogleReader(Reader):
    """Reads one response."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = GoogleCalls()
        self._overlap = Overlap()

    @override
    def _read_object(self, payload: JsonObject) -> list[Chunk]:
        self._identify(payload.get("responseId"))
        usage = self._fresh(google_usage(self._merged(payload.get("usageMetadata"))))
        candidates = payload.get("candidates")
        candidate = object_of(candidates[0]) if is_list(candidates) and candidates else {}
        text, thoughts = self._content(candidate)
        report = errors.error_in(payload)
        word = text_of(candidate.get("finishReason"))
        blocked = text_of(object_of(payload.get("promptFeedback")).get("blockReason"))
        if report is not None:
            return self._emit(text, thoughts, usage, self._broken(errors.of_report(report)))
        if self._calls.is_oversized:
            last = self._failed("api_error", "oversized_event", is_retryable=False)
            return self._emit(text, thoughts, usage, last)
        if blocked not in _NO_REASON:
            fault = _fault(blocked, is_blocked=True)
            return self._emit(text, thoughts, usage, *self._conclude("content_filter", fault))
        if word not in _NO_REASON:
            return self._emit(text, thoughts, usage, *self._ended(word))
        return self._say(text, thoughts, usage)

    @override
    def _take_calls(self) -> list[FunctionCall]:
        return self._calls.take()

    def _ended(self, word: str) -> list[Chunk]:
        if word in _BLOCKING:
            return self._conclude("content_filter", _fault(word, is_blocked=True))
        if word in _BROKEN:
            return self._conclude("error", _fault(word, is_blocked=False))
        reason = _FINISH_REASONS.get(word) or other_reason(word)
        return self._conclude("tool_calls" if reason == "stop" and self._calls.is_open else reason)

    def _content(self, candidate: JsonObject) -> tuple[str, tuple[Thought, ...]]:
        parts = object_of(candidate.get("content")).get("parts")
        text: list[str] = []
        reasoning: list[str] = []
        for part in parts if is_list(parts) else []:
            if not is_object(part):
                continue
            told = text_of(part.get("text"))
            (reasoning if part.get("thought") is True else text).append(told)
            self._calls.feed(part)
        said = self._overlap.feed(self._text.feed("".join(text)))
        summary = clean(text_of(candidate.get("thoughtSummary")))
        thoughts = self._thoughts("".join(reasoning))
        return said, (*thoughts, Thought(content=summary, form="summary")) if summary else thoughts


def _fault(word: str, *, is_blocked: bool) -> ProviderFault:
    code = word if _SAFE_WORD.fullmatch(word) else "unknown"
    kind = "content_blocked" if is_blocked else "api_error"
    return ProviderFault(type=kind, code=code, retryable=not is_blocked)


def _said(context: tuple[ContextItem, ...]) -> list[Said]:
    given = {call.call_id for item in context for call in item.calls if "id" in carried(KIND, call)}
    said: list[Said] = []
    for item in dialogue(context):
        if item.result is not None:
            has_id = item.result.call_id in given
            said.append(Said(role="user", parts=(_response(item.result, has_id=has_id),)))
            continue
        parts = [_text(item.content)] if item.content.strip() else []
        parts += [_call(one) for one in item.calls]
        if parts:
            said.append(Said(role="model" if item.role == "model" else "user", parts=tuple(parts)))
    return said


def _joined(parts: tuple[JsonObject, ...]) -> list[JsonObject]:
    """Return the parts of a turn: what several people say in a row, a line each."""
    if all("text" in one for one in parts):
        return [_text("\n".join(text_of(one["text"]) for one in parts))]
    return list(parts)


def _text(text: str) -> JsonObject:
    return {"text": clean(text)}


def _call(call: FunctionCall) -> JsonObject:
    try:
        arguments = parse_object(call.arguments)
    except BadPayloadError:
        arguments = {}
    fields = carried(KIND, call)
    function: JsonObject = {"name": call.name, "args": arguments}
    if "id" in fields:
        function["id"] = fields["id"]
    signed = {SIGNATURE: fields[SIGNATURE]} if SIGNATURE in fields else {}
    return {"functionCall": function, **signed}


def _response(result: ToolResult, *, has_id: bool) -> JsonObject:
    """Return a result, which Google takes as an object alone."""
    try:
        wrapped = parse_object(f'{{"result":{clean(result.content)}}}')
    except BadPayloadError:
        wrapped = {"result": clean(result.content)}
    told = wrapped["result"]
    response: JsonObject = {"name": result.name, "response": told if is_object(told) else wrapped}
    if has_id:
        response["id"] = result.call_id
    return {"functionResponse": response}


def _declaration(tool: ToolDefinition) -> JsonObject:
    declared: JsonObject = {"name": tool.name, "description": tool.description}
    if tool.parameters.get("properties"):
        # An object without properties is refused; no schema says the same.
        declared["parameters"] = google_schema(tool.parameters)
    return declared
