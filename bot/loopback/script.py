"""What a scripted provider answers, and the bytes that makes.

An `Answer` is plain data, so that a demo's answers can stand in a JSON file. It speaks chat
completions as an OpenAI-compatible endpoint does, and can break the rules one at a time.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, field

Body = dict[str, Any]
"""A JSON object, as a request or a payload."""

_ID: Final = "chatcmpl-loopback"
_FAILURE: Final = 400


class Tokens(Struct, frozen=True, kw_only=True):
    """The usage that an answer reports."""

    input_tokens: int = 9
    """Prompt tokens."""
    output_tokens: int = 3
    """Completion tokens."""
    cached_tokens: int | None = None
    """Part of the prompt that came from a cache."""
    cost: float | None = None
    """US dollars."""


class Fault(Struct, frozen=True, kw_only=True):
    """Where an answer stops being one."""

    kind: Literal["reset", "close", "hang"]
    """A TCP reset; a close that ends the body too early; silence until the client gives up."""
    after: int | None = None
    """Payloads written before it; None: before the headers; beyond the last: before the end."""


class Answer(Struct, frozen=True, kw_only=True):
    """One scripted response."""

    pieces: tuple[str, ...] = ()
    """The text, as the deltas that carry it."""
    reasoning: tuple[str, ...] = ()
    """Reasoning deltas before the text."""
    payloads: tuple[str, ...] | None = None
    """Data payloads in place of all that `pieces` and what belongs to them would make."""
    body: bytes | None = None
    """The whole body in place of any payload; counts as one."""
    model: str = "loopback"
    """The model that it names."""
    finish_reason: str | None = "stop"
    """The finish reason; None leaves it out."""
    usage: Tokens | None = Tokens()
    """What the usage chunk reports; None leaves it out."""
    has_done: bool = True
    """Whether `[DONE]` ends the stream."""
    cut: int = 0
    """Bytes of each write, over the bounds of payloads; 0 writes payload by payload."""
    delay_seconds: float = 0.0
    """Wait before each payload."""
    gates: dict[int, asyncio.Event] = field(default_factory=dict[int, asyncio.Event])
    """Events waited for before the payload of that index; one past the last: before the end."""
    status: int = 200
    """The HTTP status."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Headers beside the content type."""
    content_type: str = ""
    """The content type; empty: an event stream, or JSON for statuses from 400 on."""
    fault: Fault | None = None
    """Where it breaks."""

    @property
    def is_failure(self) -> bool:
        """Whether its status names a failure."""
        return self.status >= _FAILURE

    @property
    def is_stream(self) -> bool:
        """Whether it is written as server-sent events."""
        return self.body is None and not self.is_failure


Responder = Callable[[Body], Answer]
"""Gives the answer to a request's body."""


def say(text: str, *, size: int = 4) -> Answer:
    """Return an answer that streams `text` in pieces of `size` characters."""
    cuts = range(0, len(text), size)
    return Answer(
        pieces=tuple(text[at : at + size] for at in cuts),
        usage=Tokens(output_tokens=max(1, len(cuts))),
    )


def refusal(
    status: int, message: str, *, code: object = None, retry_after: float | None = None
) -> Answer:
    """Return an answer that fails with `status` and an error object; `retry_after` in seconds."""
    error = {"message": message, "type": None, "param": None, "code": code}
    return Answer(
        status=status,
        body=json.dumps({"error": error}).encode(),
        headers={} if retry_after is None else {"Retry-After": f"{retry_after:g}"},
    )


def frames(answer: Answer) -> list[bytes]:
    """Return the bytes of each payload, framed; joined they are the whole body."""
    if answer.body is not None:
        return [answer.body]
    return [f"data: {payload}\n\n".encode() for payload in payloads(answer)]


def payloads(answer: Answer) -> list[str]:
    """Return the data payloads of a streamed answer, in order."""
    if answer.payloads is not None:
        return list(answer.payloads)
    made = [json.dumps(chunk, ensure_ascii=False) for chunk in _chunks(answer)]
    return [*made, "[DONE]"] if answer.has_done else made


def completion(answer: Answer) -> bytes:
    """Return the answer as the one JSON body of a request that does not stream."""
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
    return json.dumps(whole, ensure_ascii=False).encode()


def read_script(path: Path) -> list[Answer]:
    """Return the answers of a JSON file: an array of objects with the fields of `Answer`.

    Raises:
        OSError: It can't be read.
        msgspec.ValidationError: It is not of that shape.
    """
    return msgspec.json.decode(path.read_bytes(), type=list[Answer])


def _chunks(answer: Answer) -> Iterator[Body]:
    for text in answer.reasoning:
        yield _chunk(answer, delta={"reasoning_content": text})
    for text in answer.pieces:
        yield _chunk(answer, delta={"content": text})
    if answer.finish_reason is not None:
        yield _chunk(answer, delta={}, finish_reason=answer.finish_reason)
    if answer.usage is not None:
        yield {**_head(answer), "choices": [], "usage": _usage(answer.usage)}


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
