"""Whatever a server sends, the adapter answers with chunks that can be stored and shown."""

import json
from typing import get_args

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actors.providers.openai import ChatReader
from events.generation import Chunk, StreamEnd
from tests.actors.providers.wire import DONE, chunks_of, cut, short, sse

HALVES = st.sampled_from(["\ud83d", "\ude00", "a", "é", ""])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | HALVES | st.text(max_size=5)
KEYS = st.sampled_from(
    [
        *("choices", "delta", "message", "content", "text", "type", "thinking", "reasoning"),
        *("reasoning_content", "tool_calls", "function_call", "function", "name", "arguments"),
        *("index", "id", "finish_reason", "usage", "prompt_tokens", "completion_tokens", "cost"),
        *("error", "code", "detail", "object", "metadata", "raw", "provider", "status"),
        *("prompt_tokens_details", "cached_tokens"),
    ]
)
JSON = st.recursive(
    LEAVES | st.sampled_from(["stop", "error", "thinking", "tool_calls", "content_filter"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
DELTAS = st.dictionaries(KEYS, JSON, max_size=5)


def one_choice(delta: dict[str, object], reason: object) -> dict[str, object]:
    """Return a choice."""
    return {"delta": delta, "finish_reason": reason}


def one_chunk(choices: list[object], more: dict[str, object]) -> dict[str, object]:
    """Return a payload that looks like a chunk."""
    return {"choices": choices, **more}


CHUNKS = st.builds(
    one_chunk,
    st.lists(st.builds(one_choice, DELTAS, JSON), max_size=2),
    st.dictionaries(st.sampled_from(["usage", "error", "id", "object", "detail"]), JSON),
)
PAYLOADS = st.one_of(
    (CHUNKS | JSON).map(json.dumps), st.text(), HALVES, st.just(DONE), st.just("[" * 100_000)
)
ENDS = st.sampled_from(get_args(StreamEnd))


def check(chunks: list[Chunk]) -> None:
    """Fail unless the chunks can be stored, and say at most one error, as the last word."""
    stored = msgspec.json.encode(chunks)
    assert msgspec.json.decode(stored, type=list[Chunk]) == chunks
    assert [one.type for one in chunks].count("error") <= 1
    assert all(one.type != "error" for one in chunks[:-1])
    assert all(one.error is None or one.error.code != "adapter_failure" for one in chunks)


@given(payloads=st.lists(PAYLOADS, max_size=6), end=ENDS)
@example(payloads=[json.dumps({"error": {"code": "\ud83d", "message": "\ud83d"}})], end="eof")
@settings(max_examples=400, deadline=None)
def test_p92_no_payload_breaks_the_adapter(payloads: list[str], end: StreamEnd) -> None:
    """A stranger's server decides what comes in, never what happens to the turn."""
    reader = ChatReader()

    chunks = [chunk for payload in payloads for chunk in reader.feed(payload)]
    chunks += reader.finish(end)

    check(chunks)
    assert reader.is_done


@given(status=st.integers(min_value=100, max_value=999), body=PAYLOADS)
@settings(deadline=None)
def test_p112_no_error_body_breaks_the_classifier(status: int, body: str) -> None:
    """Error pages are the least tested code of any server."""
    check(ChatReader().fail(status, body, None))


@given(body=st.binary(max_size=200), size=st.integers(min_value=1, max_value=50))
@settings(deadline=None)
def test_p63_no_bytes_break_the_framing(body: bytes, size: int) -> None:
    """And however they are cut, they mean the same."""
    whole = chunks_of([body], content_type="")

    check(whole)
    assert short(chunks_of(cut(body, size), content_type="")) == short(whole)


@given(payloads=st.lists(CHUNKS.map(json.dumps), max_size=5), size=st.sampled_from([1, 7, 4096]))
@settings(deadline=None)
def test_p192_how_a_stream_is_cut_never_changes_its_chunks(payloads: list[str], size: int) -> None:
    """The law that makes a recorded stream replayable."""
    body = sse([*payloads, DONE])

    assert chunks_of(cut(body, size)) == chunks_of([body])
