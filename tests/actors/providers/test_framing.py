"""Which framing a body has, and the bounds of a whole one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.providers.framing import BODY_LIMIT, BodyFramer
from actors.providers.sse import OversizedError
from tests.actors.providers.wire import DONE, c, chunks_of, cut, framed, last_usage, short, sse

WHOLE = (
    b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},'
    b'"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}'
)


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("space", [b"", b"\n\n \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", ""]
)
def test_pt10_a_plain_json_body_gives_its_text_finish_and_usage(
    content_type: str, space: bytes, size: int
) -> None:
    """Some endpoints don't stream, whatever they are asked."""
    chunks = chunks_of(cut(space + WHOLE, size), content_type=content_type, end="done")

    usage = last_usage(chunks)
    assert short(chunks) == [("T", "Hi"), ("D", "stop")]
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (5, 1)


def test_p65_a_whole_body_may_carry_an_error_or_a_tool_call() -> None:
    """What is true of a stream's payload is true of the one payload of a body."""
    call = {"id": "a", "function": {"name": "search", "arguments": '{"q":"x"}'}}
    message = {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}

    failed = chunks_of([b'{"error":{"message":"busy","code":503}}'], content_type="")
    called = chunks_of([json.dumps(message).encode()], content_type="")

    assert short(failed) == [("E", "provider_overloaded", "503", True)]
    assert short(called) == [("F", "search", '{"q":"x"}')]


@pytest.mark.parametrize("content_type", ["", "application/json", "text/plain"])
def test_p65_events_are_read_as_events_whatever_type_the_server_names(content_type: str) -> None:
    """Proxies name wrong types; the first byte tells."""
    chunks = chunks_of(cut(b"\n" + sse([c("Hi"), DONE]), 1), content_type=content_type)

    assert short(chunks) == [("T", "Hi"), ("D", "stop")]


def test_a_failure_gives_one_payload_even_when_its_body_is_empty() -> None:
    """The status alone says what failed, and the log has to show that it came."""
    assert [one.text for one in framed([], status=503)] == [""]
    assert [one.text for one in framed([b"<html>", b"x"], status=502)] == ["<html>x"]
    assert short(chunks_of([], status=503)) == [("E", "provider_overloaded", "503", True)]


def test_a_failure_is_one_payload_though_it_looks_like_a_stream() -> None:
    """Only 2xx streams an answer."""
    assert len(framed([sse([c("a"), c("b")])], status=500)) == 1


@pytest.mark.parametrize(("status", "content_type"), [(200, ""), (500, ""), (500, "text/html")])
def test_a_whole_body_beyond_a_mebibyte_is_refused(status: int, content_type: str) -> None:
    """A body must end before memory does."""
    framer = BodyFramer(status, content_type)
    framer.feed(b"{" + b" " * (BODY_LIMIT - 1))

    with pytest.raises(OversizedError):
        framer.feed(b" ")


def test_space_before_a_body_may_go_on_for_ever() -> None:
    """Servers send blank lines as a sign of life while a model thinks."""
    framer = BodyFramer(200, "application/json", body_limit=200)
    for _ in range(1000):
        framer.feed(b"\n \n")
    framer.feed(WHOLE)

    assert [one.text for one in framer.finish()] == [WHOLE.decode()]


@given(
    body=st.lists(
        st.sampled_from([b" ", b"\n", b"\r", b"\xef", b"\xbb\xbf", b"{", b"data: {}", b":", b"x"]),
        max_size=8,
    ).map(b"".join),
    size=st.integers(min_value=1, max_value=4),
)
def test_how_a_body_is_cut_never_changes_which_framing_it_has(body: bytes, size: int) -> None:
    """Otherwise a replay, which sees other reads, would see another answer."""
    reads = cut(body, size)

    assert framed(reads, content_type="") == framed([body], content_type="")
