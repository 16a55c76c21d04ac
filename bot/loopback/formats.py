"""A scripted answer in the words of each wire format, and the bytes of them."""

import json
from collections.abc import Iterator
from typing import Final

from actors.providers.adapter import ProviderKind
from bot.loopback.script import Answer, Body, Tokens

SIGNATURE: Final = "bG9vcGJhY2s="
"""What formats that sign a model's reasoning sign it with."""

_ID: Final = "chatcmpl-loopback"


def frames(answer: Answer, kind: ProviderKind = "openai") -> list[bytes]:
    """Return the bytes of each payload, framed; joined they are the whole body."""
    if answer.body is not None:
        return [answer.body]
    return [f"data: {payload}\n\n".encode() for payload in payloads(answer, kind)]


def payloads(answer: Answer, kind: ProviderKind = "openai") -> list[str]:
    """Return the data payloads of a streamed answer, in order."""
    if answer.payloads is not None:
        return list(answer.payloads)
    if kind == "anthropic":
        return [_dumped(event) for event in _events(answer)]
    if kind == "google":
        return [_dumped(response) for response in _responses(answer)]
    made = [_dumped(chunk) for chunk in _chunks(answer, kind)]
    return [*made, "[DONE]"] if answer.has_done else made


def completion(answer: Answer) -> bytes:
    """Return the answer as the one JSON body of a chat completion that is not streamed."""
    message: Body = {"role": "assistant", "content": "".join(answer.pieces)}
    if answer.reasoning:
        message["reasoning_content"] = "".join(answer.reasoning)
    choice: Body = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    whole: Body = {
        "id": _ID,
        "object": "chat.completion",
        "created": 1,
        "model": answer.model,
        "choices": [choice],
    }
    if answer.usage is not None:
        whole["usage"] = _usage(answer.usage)
    return _dumped(whole).encode()


def _dumped(value: Body) -> str:
    return json.dumps(value, ensure_ascii=False)


def _chunks(answer: Answer, kind: ProviderKind) -> Iterator[Body]:
    """Yield chat completion chunks."""
    for text in answer.reasoning:
        yield _chunk(answer, delta=_reasoning(text, kind))
    for text in answer.pieces:
        yield _chunk(answer, delta={"content": text})
    for index, call in enumerate(answer.calls):
        half = len(call.arguments) // 2
        function = {"name": call.name, "arguments": call.arguments[:half]}
        first = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
        rest = {"index": index, "function": {"arguments": call.arguments[half:]}}
        yield _chunk(answer, delta={"tool_calls": [first]})
        yield _chunk(answer, delta={"tool_calls": [rest]})
    if answer.error:
        yield {**_head(answer), "error": {"code": 503, "message": answer.error}}
        return
    if answer.finish_reason is not None:
        yield _chunk(answer, delta={}, finish_reason=_finish_reason(answer))
    if answer.usage is not None:
        yield {**_head(answer), "choices": [], "usage": _usage(answer.usage)}


def _events(answer: Answer) -> Iterator[Body]:
    """Yield the events of a message of Anthropic's."""
    tokens = answer.usage or Tokens(input_tokens=0, output_tokens=0)
    cached = tokens.cached_tokens
    usage: Body = {"input_tokens": tokens.input_tokens - (cached or 0), "output_tokens": 1}
    if cached is not None:
        usage["cache_read_input_tokens"] = cached
    start: Body = {"id": _ID, "type": "message", "role": "assistant", "model": answer.model}
    yield {"type": "message_start", "message": {**start, "content": [], "usage": usage}}
    for index, (block, deltas) in enumerate(_blocks(answer)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    if answer.error:
        error = {"type": "overloaded_error", "message": answer.error}
        yield {"type": "error", "error": error}
        return
    reason = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}.get(
        _finish_reason(answer) or "", answer.finish_reason
    )
    spent = {"output_tokens": tokens.output_tokens}
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": spent}
    if answer.has_done:
        yield {"type": "message_stop"}


def _blocks(answer: Answer) -> Iterator[tuple[Body, list[Body]]]:
    """Yield each block of a message, as it opens and what is added to it."""
    if answer.reasoning:
        thoughts = [{"type": "thinking_delta", "thinking": one} for one in answer.reasoning]
        signed = {"type": "signature_delta", "signature": SIGNATURE}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed]
    if answer.pieces:
        texts: list[Body] = [{"type": "text_delta", "text": one} for one in answer.pieces]
        yield {"type": "text", "text": ""}, texts
    for index, call in enumerate(answer.calls):
        half = len(call.arguments) // 2
        parts: list[Body] = [
            {"type": "input_json_delta", "partial_json": part}
            for part in (call.arguments[:half], call.arguments[half:])
        ]
        opening: Body = {"type": "tool_use", "id": f"toolu_{index}", "name": call.name, "input": {}}
        yield opening, parts


def _responses(answer: Answer) -> Iterator[Body]:
    """Yield the responses of Gemini's stream."""
    for text in answer.reasoning:
        yield _response(answer, [{"text": text, "thought": True}])
    for text in answer.pieces:
        yield _response(answer, [{"text": text}])
    for index, call in enumerate(answer.calls):
        function = {"name": call.name, "args": json.loads(call.arguments)}
        signed = {} if index else {"thoughtSignature": SIGNATURE}
        yield _response(answer, [{"functionCall": function, **signed}])
    if answer.error:
        yield {"error": {"code": 503, "message": answer.error, "status": "UNAVAILABLE"}}
        return
    reason = {"stop": "STOP", "length": "MAX_TOKENS"}.get(
        answer.finish_reason or "", answer.finish_reason
    )
    last = _response(answer, [{"text": ""}], reason)
    if answer.usage is not None:
        last["usageMetadata"] = {
            "promptTokenCount": answer.usage.input_tokens,
            "candidatesTokenCount": answer.usage.output_tokens,
        }
        if answer.usage.cached_tokens is not None:
            last["usageMetadata"]["cachedContentTokenCount"] = answer.usage.cached_tokens
    yield last


def _response(answer: Answer, parts: list[Body], reason: str | None = None) -> Body:
    candidate: Body = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "modelVersion": answer.model, "responseId": _ID}


def _finish_reason(answer: Answer) -> str | None:
    return "tool_calls" if answer.calls and answer.finish_reason == "stop" else answer.finish_reason


def _reasoning(text: str, kind: ProviderKind) -> Body:
    if kind != "openrouter":
        return {"reasoning_content": text}
    detail = {"type": "reasoning.text", "text": text, "index": 0, "signature": SIGNATURE}
    return {"reasoning": text, "reasoning_details": [detail]}


def _chunk(answer: Answer, *, delta: Body, finish_reason: str | None = None) -> Body:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**_head(answer), "choices": [choice]}


def _head(answer: Answer) -> Body:
    return {"id": _ID, "object": "chat.completion.chunk", "created": 1, "model": answer.model}


def _usage(tokens: Tokens) -> Body:
    usage: Body = {
        "prompt_tokens": tokens.input_tokens,
        "completion_tokens": tokens.output_tokens,
        "total_tokens": tokens.input_tokens + tokens.output_tokens,
    }
    if tokens.cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": tokens.cached_tokens}
    if tokens.cost is not None:
        usage["cost"] = tokens.cost
    return usage
