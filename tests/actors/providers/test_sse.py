"""Framing: whatever the transport does to the bytes, the payloads are the same."""

import base64
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.providers.framing import BodyFramer
from actors.providers.sse import OversizedError, Payload, SseDecoder, text_of_recorded
from tests.actors.providers.wire import DONE, c, chunks_of, cut, framed, joined, short, sse

HI = b'{"choices":[{"index":0,"delta":{"content":"Hi"}}]}'

VECTORS = {
    "PT1": (
        b": OPENROUTER PROCESSING\n\n: keep-alive\n\ndata: " + HI + b"\n\ndata: [DONE]\n\n",
        [("T", "Hi"), ("D", "stop")],
    ),
    "PT2": (b"data: " + HI + b"\r\n\r\n", [("T", "Hi"), ("D", "eof")]),
    "PT2-lone-CR": (b"data: " + HI + b"\r\rdata: [DONE]\r\r", [("T", "Hi"), ("D", "stop")]),
    "PT3": (
        b'data: {"choices":[{"index":0,\ndata: "delta":{"content":"Hi"}}]}\n\n',
        [("T", "Hi"), ("D", "eof")],
    ),
    "PT4": (b"data: " + HI, [("T", "Hi"), ("D", "eof")]),
    "PT5": (
        'data: {"choices":[{"delta":{"content":"é那🌍"}}]}\n\n'.encode(),
        [("T", "é那🌍"), ("D", "eof")],
    ),
    "PT6": (b"data:" + HI + b"\n\n", [("T", "Hi"), ("D", "eof")]),
    "PT7": (
        b"data: {bad\n\n" + sse([c("ok"), DONE]),
        [("T", "ok"), ("D", "stop")],
    ),
    "PT8": (
        sse(["{bad", "{bad", "{bad", c("never read")]),
        [("E", "api_error", "malformed_stream", True)],
    ),
    "PT11": (
        b'event: error\ndata: {"error":{"message":"Model unloaded","code":500}}\n\n',
        [("E", "provider_overloaded", "500", True)],
    ),
    "P63-byte-order-mark": (b"\xef\xbb\xbfdata: " + HI + b"\n\n", [("T", "Hi"), ("D", "eof")]),
    "P63-unknown-fields": (
        b"id: 7\nretry: 10\nnonsense\nevent: x\ndata: " + HI + b"\n\n",
        [("T", "Hi"), ("D", "eof")],
    ),
    "P64-empty-data": (b"data\n\ndata:\n\ndata: \n\n" + sse([c("x")]), [("T", "x"), ("D", "eof")]),
    "B39": (b": wait\n\n:\n\ndata: " + HI + b"\n\n", [("T", "Hi"), ("D", "eof")]),
}


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_gives_the_same_whatever_byte_it_is_cut_at(name: str) -> None:
    """A transport cuts where it likes; a cut must never show in an answer."""
    body, expected = VECTORS[name]

    outcomes = [short(chunks_of([body[:at], body[at:]])) for at in range(len(body) + 1)]
    outcomes += [short(chunks_of(cut(body, size))) for size in (1, 2, 3)]

    assert outcomes == [expected] * len(outcomes)


def test_pt1_comments_are_counted_and_give_no_payload() -> None:
    """A keep-alive is a sign of life and nothing else."""
    framer = BodyFramer(200, "text/event-stream")

    payloads = framer.feed(VECTORS["PT1"][0])

    assert (framer.comments, [one.text for one in payloads]) == (2, [HI.decode(), "[DONE]"])


def test_pt7_a_bad_payload_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """A skipped payload is lost text: an operator has to be able to see it."""
    chunks = chunks_of([VECTORS["PT7"][0]])

    assert joined(chunks) == "ok"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "bad" not in caplog.text


def test_pt8_a_good_payload_starts_the_count_anew() -> None:
    """Three bad payloads over an hour's stream are no reason to give it up."""
    chunks = chunks_of([sse(["{bad", "{bad", c("a"), "{bad", "{bad", c("b"), DONE])])

    assert short(chunks) == [("T", "a"), ("T", "b"), ("D", "stop")]


def test_bytes_that_are_no_utf8_are_recorded_in_base64_and_read_with_replacement() -> None:
    """The log must give back the very bytes, and the adapter must see the same text again."""
    data = b'{"choices":[{"delta":{"content":"\xff\xc3"}}]}'

    [payload] = framed([b"data: " + data + b"\n\n"])

    assert payload.is_base64
    assert base64.b64decode(payload.recorded) == data
    assert payload.text == text_of_recorded(payload.recorded, is_base64=True)
    assert short(chunks_of([b"data: " + data + b"\n\n"]))[0] == ("T", "\ufffd\ufffd")


def test_escapes_are_recorded_as_they_came() -> None:
    """A half character lives only in its escape; decoding it for the log would lose it."""
    [payload] = framed([sse([r'{"a":"\ud83d"}'])])

    assert payload == Payload(text=r'{"a":"\ud83d"}', recorded=r'{"a":"\ud83d"}')


def test_b45_a_line_of_600_000_bytes_is_read() -> None:
    """Models send long lines, and aiohttp's reader of lines fails on them."""
    text = "x" * 600_000

    assert joined(chunks_of(cut(sse([c(text), DONE]), 65_536))) == text


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize(
    "flood",
    [b"data: " + b"x" * 100, b": " + b"x" * 100, b"data: 0123456789\n" * 8, b"x" * 100 + b"\n"],
    ids=["line", "comment", "event of many lines", "unknown field"],
)
def test_a_line_or_event_beyond_the_limit_is_refused_with_what_came_before(
    flood: bytes, size: int
) -> None:
    """An endless line must end before memory does, and not take good text with it."""
    decoder = SseDecoder(limit=64)
    payloads: list[Payload] = []

    def feed_all() -> None:
        for read in cut(b"data: a\n\ndata: b\n\n" + flood + b"\n\n", size):
            payloads.extend(decoder.feed(read))

    with pytest.raises(OversizedError) as caught:
        feed_all()

    assert [one.text for one in (*payloads, *caught.value.payloads)] == ["a", "b"]


def test_an_oversized_error_survives_pickling() -> None:
    """It may cross from an actor to the driver."""
    error = OversizedError(64, (Payload(text="a", recorded="a"),))

    copy = pickle.loads(pickle.dumps(error))

    assert (copy.limit, copy.payloads, str(copy)) == (64, error.payloads, str(error))


@given(
    lines=st.lists(
        st.sampled_from(
            [b"data: a", b"data:b", b"data", b"", b"", b": c", b"id: 1", b"data: \xe9", b"\xff:"]
        )
    ),
    ends=st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=1),
    cuts=st.lists(st.integers(min_value=1, max_value=9), min_size=1),
)
def test_p63_how_a_stream_is_cut_never_changes_its_payloads(
    lines: list[bytes], ends: list[bytes], cuts: list[int]
) -> None:
    """The law behind the vectors: for any lines, any line ends, any reads."""
    body = b"".join(line + ends[at % len(ends)] for at, line in enumerate(lines))
    reads: list[bytes] = []
    rest = body
    while rest:
        size = cuts[len(reads) % len(cuts)]
        reads.append(rest[:size])
        rest = rest[size:]

    assert framed(reads) == framed([body])
