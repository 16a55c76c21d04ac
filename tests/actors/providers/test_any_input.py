"""Whatever a server sends, every adapter answers with chunks that can be stored and shown."""

import json
import pickle
from typing import get_args

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actors.providers.adapter import ProviderKind, StreamAdapter
from actors.providers.registry import provider_for
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
        *("prompt_tokens_details", "cached_tokens", "reasoning_details", "thought_signature"),
        *("message", "content_block", "partial_json", "stop_reason", "signature", "data", "input"),
        *("candidates", "parts", "functionCall", "args", "partialArgs", "jsonPath", "stringValue"),
        *("willContinue", "thoughtSignature", "thought", "finishReason", "usageMetadata"),
        *("promptFeedback", "blockReason", "promptTokenCount", "details", "retryDelay"),
    ]
)
JSON = st.recursive(
    LEAVES
    | st.sampled_from(
        [
            *("stop", "error", "thinking", "tool_calls", "content_filter", "text", "tool_use"),
            *("text_delta", "thinking_delta", "input_json_delta", "signature_delta", "refusal"),
            *("end_turn", "STOP", "SAFETY", "$.a", "$.a[2].b", "34s", "reasoning.text"),
        ]
    ),
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


def one_event(kind: str, more: dict[str, object]) -> dict[str, object]:
    """Return a payload that looks like an event of a message."""
    return {**more, "type": kind}


def one_response(parts: list[object], more: dict[str, object]) -> dict[str, object]:
    """Return a payload that looks like a response of Gemini's."""
    return {"candidates": [{"content": {"parts": parts}, **more}], **more}


def reader_of(kind: ProviderKind) -> StreamAdapter:
    """Return a fresh adapter."""
    return provider_for(kind).reader()


CHUNKS = st.builds(
    one_chunk,
    st.lists(st.builds(one_choice, DELTAS, JSON), max_size=2),
    st.dictionaries(st.sampled_from(["usage", "error", "id", "object", "detail"]), JSON),
)
EVENTS = st.builds(
    one_event,
    st.sampled_from(
        [
            *("message_start", "content_block_start", "content_block_delta", "message_delta"),
            *("message_stop", "message", "error", "ping"),
        ]
    ),
    st.dictionaries(KEYS, JSON, max_size=5),
)
RESPONSES = st.builds(
    one_response,
    st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=3),
    st.dictionaries(KEYS, JSON, max_size=3),
)
OBJECTS = CHUNKS | EVENTS | RESPONSES
PAYLOADS = st.one_of(
    (OBJECTS | JSON).map(json.dumps), st.text(), HALVES, st.just(DONE), st.just("[" * 100_000)
)
KINDS = st.sampled_from(get_args(ProviderKind))
ENDS = st.sampled_from(get_args(StreamEnd))


def check(chunks: list[Chunk]) -> None:
    """Fail unless the chunks can be stored, and say at most one error, as the last word."""
    stored = msgspec.json.encode(chunks)
    assert msgspec.json.decode(stored, type=list[Chunk]) == chunks
    assert [one.type for one in chunks].count("error") <= 1
    assert all(one.type != "error" for one in chunks[:-1])
    assert all(one.error is None or one.error.code != "adapter_failure" for one in chunks)


@given(kind=KINDS, payloads=st.lists(PAYLOADS, max_size=6), end=ENDS)
@example(
    kind="openai",
    payloads=[json.dumps({"error": {"code": "\ud83d", "message": "\ud83d"}})],
    end="eof",
)
@settings(max_examples=300, deadline=None)
def test_p92_no_payload_breaks_an_adapter(
    kind: ProviderKind, payloads: list[str], end: StreamEnd
) -> None:
    """A stranger's server decides what comes in, never what happens to the turn."""
    reader = reader_of(kind)

    chunks = [chunk for payload in payloads for chunk in reader.feed(payload)]
    chunks += reader.finish(end)

    check(chunks)
    assert reader.is_done


@given(kind=KINDS, status=st.integers(min_value=100, max_value=999), body=PAYLOADS)
@settings(deadline=None)
def test_p112_no_error_body_breaks_the_classifier(
    kind: ProviderKind, status: int, body: str
) -> None:
    """Error pages are the least tested code of any server."""
    check(reader_of(kind).fail(status, body, None))


@given(kind=KINDS, body=st.binary(max_size=200), size=st.integers(min_value=1, max_value=50))
@settings(deadline=None)
def test_p63_no_bytes_break_the_framing(kind: ProviderKind, body: bytes, size: int) -> None:
    """And however they are cut, they mean the same."""
    whole = chunks_of([body], content_type="", reader=reader_of(kind))

    check(whole)
    parts = chunks_of(cut(body, size), content_type="", reader=reader_of(kind))
    assert short(parts) == short(whole)


@given(
    kind=KINDS,
    payloads=st.lists(OBJECTS.map(json.dumps), max_size=5),
    size=st.sampled_from([1, 7, 4096]),
)
@settings(max_examples=60, deadline=None)
def test_p192_how_a_stream_is_cut_never_changes_its_chunks(
    kind: ProviderKind, payloads: list[str], size: int
) -> None:
    """The law that makes a recorded stream replayable."""
    body = sse([*payloads, DONE])

    parts = chunks_of(cut(body, size), reader=reader_of(kind))
    assert parts == chunks_of([body], reader=reader_of(kind))


EMPTY: dict[str, str] = {
    "chat": '{"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}',
    "anthropic": '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}',
    "google": '{"candidates":[{"content":{"parts":[{"text":""}]}}]}',
}


@pytest.mark.parametrize("kind", get_args(ProviderKind))
def test_a_hundred_thousand_empty_payloads_are_nothing_and_are_not_kept(
    kind: ProviderKind,
) -> None:
    """A server that only clears its throat must not fill memory."""
    payload = EMPTY.get(kind, EMPTY["chat"])
    reader = reader_of(kind)
    reader.feed(payload)

    before = len(pickle.dumps(reader))

    chunks = [chunk for _ in range(100_000) for chunk in reader.feed(payload)]

    assert chunks == []
    assert len(pickle.dumps(reader)) == before


@pytest.mark.parametrize("kind", get_args(ProviderKind))
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", "text/html"])
def test_a_line_of_ten_mebibytes_is_an_error_of_its_own(
    kind: ProviderKind, content_type: str
) -> None:
    """B45: it is neither read for ever nor taken for an answer."""
    body = b'data: {"text":"' + b"x" * (10 * 1024 * 1024) + b'"}\n\n'

    chunks = chunks_of(cut(body, 65_536), content_type=content_type, reader=reader_of(kind))

    assert short(chunks) == [("E", "api_error", "oversized_event", False)]


@pytest.mark.parametrize("kind", get_args(ProviderKind))
def test_a_page_that_is_no_stream_is_an_answer_without_words(kind: ProviderKind) -> None:
    """A proxy's page in place of an answer: nothing of it is posted."""
    chunks = chunks_of(
        [b"<html><body>Sign in</body></html>"], content_type="text/html", reader=reader_of(kind)
    )

    assert short(chunks) == [("D", "eof")]


@pytest.mark.parametrize("kind", get_args(ProviderKind))
@pytest.mark.parametrize("payload", ['{"choices":[{"del', '{"type":"mess', "{", "null", "[]", "7"])
def test_three_payloads_that_are_no_objects_end_the_stream(
    kind: ProviderKind, payload: str
) -> None:
    """PT8: one may be an accident; a stream of them is no answer."""
    assert short(chunks_of([sse([payload] * 3)], reader=reader_of(kind))) == [
        ("E", "api_error", "malformed_stream", True)
    ]
