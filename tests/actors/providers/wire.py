"""Words to write provider streams in, and the way from bytes to chunks that a turn takes."""

import json
from collections.abc import Iterable, Sequence

from actors.providers.adapter import StreamAdapter
from actors.providers.framing import BodyFramer, is_success
from actors.providers.openai import ChatReader
from actors.providers.sse import OversizedError, Payload
from events.generation import Chunk, StreamEnd, Usage

DONE = "[DONE]"


def choice(delta: object, finish_reason: object = None, **more: object) -> str:
    """Return a payload with one choice."""
    one = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return json.dumps({"id": "r1", "choices": [one], **more})


def c(text: object) -> str:
    """Return a content delta."""
    return choice({"content": text})


def cf(reason: str) -> str:
    """Return an empty delta with a finish reason."""
    return choice({}, reason)


def cc(text: str, reason: str) -> str:
    """Return a content delta with a finish reason."""
    return choice({"content": text}, reason)


def rc(text: str) -> str:
    """Return a reasoning delta."""
    return choice({"reasoning_content": text})


def call(index: int | None, call_id: str | None, name: str | None, arguments: object) -> object:
    """Return one tool-call delta; None leaves a field out."""
    function = {
        key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None
    }
    fields = (("index", index), ("id", call_id))
    return {
        **{key: value for key, value in fields if value is not None},
        "type": "function",
        "function": function,
    }


def tc(index: int | None, call_id: str | None, name: str | None, arguments: object) -> str:
    """Return a payload with one tool-call delta."""
    return choice({"tool_calls": [call(index, call_id, name, arguments)]})


def us(prompt: int, completion: int) -> str:
    """Return a usage chunk without choices."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    return json.dumps({"id": "r1", "choices": [], "usage": usage})


def err(code: object, message: str) -> str:
    """Return an error object inside the stream."""
    return json.dumps({"error": {"message": message, "code": code}})


def sse(payloads: Iterable[str]) -> bytes:
    """Return the payloads as a stream of events."""
    return b"".join(f"data: {payload}\n\n".encode() for payload in payloads)


def cut(body: bytes, size: int) -> list[bytes]:
    """Return `body` in reads of `size` bytes."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def framed(
    reads: Iterable[bytes], *, status: int = 200, content_type: str = "text/event-stream"
) -> list[Payload]:
    """Return the payloads of a body that arrived in `reads`."""
    framer = BodyFramer(status, content_type)
    payloads = [payload for read in reads for payload in framer.feed(read)]
    return payloads + framer.finish()


def chunks_of(
    reads: Iterable[bytes],
    *,
    status: int = 200,
    content_type: str = "text/event-stream",
    end: StreamEnd = "eof",
    reader: StreamAdapter | None = None,
) -> list[Chunk]:
    """Return what a turn makes of a body that arrived in `reads` and then ended by `end`."""
    reader = reader or ChatReader()
    try:
        payloads = framed(reads, status=status, content_type=content_type)
    except OversizedError as error:
        payloads, end = list(error.payloads), "oversized"
    if not is_success(status):
        return reader.fail(status, payloads[0].text, None)
    return [*read_payloads([one.text for one in payloads], reader), *reader.finish(end)]


def read_payloads(payloads: Sequence[str], reader: StreamAdapter | None = None) -> list[Chunk]:
    """Return the chunks that the payloads give, read until the reader is done."""
    reader = reader or ChatReader()
    chunks: list[Chunk] = []
    for payload in payloads:
        chunks += reader.feed(payload)
        if reader.is_done:
            break
    return chunks


def short(chunks: Iterable[Chunk]) -> list[object]:
    """Return chunks in a notation that reads as the rules' vectors do."""
    return [_short(chunk) for chunk in chunks]


def joined(chunks: Iterable[Chunk]) -> str:
    """Return the text of the chunks."""
    return "".join(chunk.text for chunk in chunks)


def thoughts(chunks: Iterable[Chunk]) -> str:
    """Return the reasoning of the chunks."""
    return "".join(thought.content for chunk in chunks for thought in chunk.thoughts)


def last_usage(chunks: Iterable[Chunk]) -> Usage | None:
    """Return the usage that counts."""
    reported = [chunk.usage for chunk in chunks if chunk.usage is not None]
    return reported[-1] if reported else None


def _short(chunk: Chunk) -> object:
    if chunk.error is not None:
        return ("E", chunk.error.type, chunk.error.code, chunk.error.retryable)
    if chunk.function_call is not None:
        return ("F", chunk.function_call.name, chunk.function_call.arguments)
    if chunk.type == "done":
        return ("D", chunk.finish_reason)
    return ("T", chunk.text)
