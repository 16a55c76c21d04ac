"""Reading a chat completion: the vectors by number, and the dialects."""

import json
import logging

import pytest

from actors.providers.openai import ChatReader
from events.generation import StreamEnd
from tests.actors.providers.wire import (
    DONE,
    c,
    call,
    cc,
    cf,
    choice,
    chunks_of,
    err,
    joined,
    last_usage,
    rc,
    read_payloads,
    short,
    sse,
    tc,
    thoughts,
    us,
)

SEARCH = ("F", "search", '{"q":"x"}')
X = '{"q":"x"}'

VECTORS: dict[str, tuple[list[str], list[object]]] = {
    "PT12": (
        [c("Hel"), c("lo"), cf("stop"), us(9, 3), DONE],
        [("T", "Hel"), ("T", "lo"), ("D", "stop"), ("T", "")],
    ),
    "PT13": ([cc("bye", "stop"), DONE], [("T", "bye"), ("D", "stop")]),
    "PT14": ([cc("cut", "length"), DONE], [("T", "cut"), ("D", "length")]),
    "PT15": ([cf("length"), DONE], [("D", "length")]),
    "PT16": (
        [
            tc(0, "call_a", "search", ""),
            tc(0, None, None, '{"q":'),
            tc(0, None, None, '"cats"}'),
            cf("tool_calls"),
            us(20, 8),
            DONE,
        ],
        [("F", "search", '{"q":"cats"}'), ("T", "")],
    ),
    "PT17": (
        [
            c("Looking. "),
            choice({"content": "Wait", "tool_calls": [call(0, "a", "search", X)]}),
            cf("tool_calls"),
        ],
        [("T", "Looking. "), ("T", "Wait"), SEARCH],
    ),
    "PT18": ([tc(0, "a", "search", X), cf("stop"), DONE], [SEARCH]),
    "PT19": ([tc(0, "a", "search", '{"q":"ca')], [("F", "search", '{"q":"ca')]),
    "PT20": ([tc(0, "a", "search", X), tc(0, "a", "search", None), cf("tool_calls")], [SEARCH]),
    "PT21": ([tc(1, "a", "search", X), cf("tool_calls")], [SEARCH]),
    "PT22": (
        [tc(0, "a", "search", X), tc(1, "b", "generate_image", '{"prompt":"y"}'), cf("tool_calls")],
        [SEARCH, ("F", "generate_image", '{"prompt":"y"}')],
    ),
    "PT23": ([cf("tool_calls"), DONE], [("D", "tool_calls")]),
    "PT25": ([rc("plan"), c("Hi"), cf("stop")], [("T", ""), ("T", "Hi"), ("D", "stop")]),
    "PT26": (
        ['{"choices":null,"usage":{"prompt_tokens":7,"completion_tokens":2}}', DONE],
        [("T", ""), ("D", "stop")],
    ),
    "PT27": (
        [c("I "), cf("content_filter")],
        [("T", "I "), ("E", "content_blocked", "content_filter", False)],
    ),
    "PT28": (
        [c("Hi"), err(500, "CUDA error")],
        [("T", "Hi"), ("E", "provider_overloaded", "500", True)],
    ),
    "PT29": (
        [
            json.dumps(
                {
                    "object": "error",
                    "message": "The model x does not exist.",
                    "type": "NotFoundError",
                    "param": None,
                    "code": 404,
                }
            )
        ],
        [("E", "model_error", "404_model", False)],
    ),
    "B43a": ([err(502, "busy"), DONE], [("E", "provider_overloaded", "502", True)]),
    "B43c": (['{"error":"text"}'], [("E", "unknown", "unknown", False)]),
    "B43d": (
        [c("a"), cf("error"), DONE],
        [("T", "a"), ("E", "provider_overloaded", "stream_error", True)],
    ),
    "P93-the-error-object-wins": (
        ['{"error":{"code":"server_error","message":"x"},"choices":[{"finish_reason":"error"}]}'],
        [("E", "provider_overloaded", "server_error", True)],
    ),
    "P93-text-beside-an-error-is-kept": (
        ['{"error":{"code":400},"choices":[{"delta":{"content":"end"}}]}'],
        [("T", "end"), ("E", "api_error", "400", False)],
    ),
    "P93-an-error-of-the-choice": (
        ['{"choices":[{"delta":{},"error":{"code":502,"message":"gone"}}]}'],
        [("E", "provider_overloaded", "502", True)],
    ),
    "P67-delta-null": ([choice(None), c("a"), DONE], [("T", "a"), ("D", "stop")]),
    "P67-content-null": ([c(None), c("a"), DONE], [("T", "a"), ("D", "stop")]),
    "P67-legacy-function-call": (
        [
            choice({"function_call": {"name": "search", "arguments": '{"q":'}}),
            choice({"function_call": {"arguments": '"x"}'}}),
            cf("function_call"),
        ],
        [SEARCH],
    ),
    "P67-index-missing": (
        [tc(None, "a", "search", '{"q":'), tc(None, "a", None, '"x"}'), cf("tool_calls")],
        [SEARCH],
    ),
    "P67-arguments-an-object": ([tc(0, "a", "search", {"q": "x"}), cf("tool_calls")], [SEARCH]),
    "P67-a-call-in-one-delta": (
        [choice({"tool_calls": [call(0, "a", "search", X)]}, "stop")],
        [SEARCH],
    ),
    "P67-message-for-delta": (
        ['{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}'],
        [("T", "Hi"), ("D", "stop")],
    ),
    "P94-a-new-id-opens-a-new-slot": (
        [tc(None, "a", "search", X), tc(None, "b", "other", "{}"), cf("tool_calls")],
        [SEARCH, ("F", "other", "{}")],
    ),
    "P94-a-late-name-in-parts": (
        [tc(0, "a", None, ""), tc(0, None, "sea", None), tc(0, None, "rch", X), cf("tool_calls")],
        [SEARCH],
    ),
    "P95-no-arguments": ([tc(0, "a", "search", None), cf("tool_calls")], [("F", "search", "{}")]),
    "P99-an-unknown-word": ([cf("Weird <b>"), DONE], [("D", "other:weirdb")]),
    "P99-a-model-s-own-length": ([cf("model_length")], [("D", "length")]),
    "a finish reason twice": ([cf("stop"), cf("stop"), DONE], [("D", "stop")]),
    "text after the finish reason": (
        [cf("stop"), c("more"), DONE],
        [("D", "stop"), ("T", "more")],
    ),
    "nothing is read after an error": (
        [err(500, "x"), c("more")],
        [("E", *("provider_overloaded", "500", True))],
    ),
    "a payload of a filter's verdict alone": (
        ['{"choices":[],"prompt_filter_results":[]}'],
        [("D", "eof")],
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_gives_its_chunks(name: str) -> None:
    """Each is a dialect of a real server, or a way in which text was once lost."""
    payloads, expected = VECTORS[name]

    chunks = chunks_of([sse(payloads)], end="eof")

    assert short(chunks) == expected


def test_pt12_usage_after_the_finish_reason_is_given() -> None:
    """The cost of a turn stands in the chunk after its last word."""
    chunks = read_payloads(VECTORS["PT12"][0])

    usage = last_usage(chunks)
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (9, 3)


def test_pt16_a_call_carries_its_id_and_its_usage_follows() -> None:
    """The reply to a call has to name it."""
    chunks = read_payloads(VECTORS["PT16"][0])

    assert chunks[0].function_call is not None
    assert (chunks[0].function_call.call_id, chunks[0].finish_reason) == ("call_a", "tool_calls")
    assert last_usage(chunks) is not None


def test_a_call_never_shows_as_text() -> None:
    """Somebody in a channel must not read JSON."""
    for name in ("PT16", "PT18", "PT19", "P67-legacy-function-call"):
        assert joined(read_payloads(VECTORS[name][0])) == ""


def test_pt24_content_in_parts_gives_text_and_thoughts() -> None:
    """Mistral streams its reasoning inside the content."""
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Hi"},
    ]

    [chunk] = read_payloads([c(parts)])

    assert (chunk.text, thoughts([chunk])) == ("Hi", "hm")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_pt25_reasoning_is_never_text(name: str) -> None:
    """Servers agree on having a field, not on its name; both at once say the same thing."""
    chunks = read_payloads(
        [choice({name: "plan"}), choice({"reasoning": "b", "reasoning_content": "b"})]
    )

    assert (joined(chunks), thoughts(chunks)) == ("", "planb")


def test_reasoning_beside_the_finish_reason_stands_on_the_last_chunk() -> None:
    """A thought without text needs no empty message."""
    [last] = read_payloads([choice({"reasoning": "so"}, "stop")])

    assert (last.type, thoughts([last])) == ("done", "so")


def test_p67_a_message_beside_deltas_is_not_said_twice() -> None:
    """Perplexity repeats the whole answer so far beside each delta."""
    first = {"index": 0, "delta": {"content": "Hi"}, "message": {"content": "Hi"}}
    last = {"index": 0, "delta": None, "message": {"content": "Hi"}, "finish_reason": "stop"}

    chunks = read_payloads([json.dumps({"choices": [one]}) for one in (first, last)])

    assert short(chunks) == [("T", "Hi"), ("D", "stop")]


def test_p67_a_usage_that_repeats_is_given_once_and_the_latest_counts() -> None:
    """Some servers send cumulative usage on every chunk."""
    small = {"prompt_tokens": 5, "completion_tokens": 1}
    large = {"prompt_tokens": 5, "completion_tokens": 2}

    chunks = read_payloads(
        [
            choice({"content": "a"}, usage=small),
            choice({"content": "b"}, usage=small),
            choice({"content": "c"}, usage=large),
        ]
    )

    assert [one.usage and one.usage.output_tokens for one in chunks] == [1, None, 2]


def test_the_response_and_its_server_are_named_once() -> None:
    """They are the same on every payload, and the log keeps every chunk."""
    payloads = [choice({"content": text}, provider="DeepInfra") for text in ("", "a", "b")]

    chunks = read_payloads(payloads)

    assert [(one.response_id, one.serving_provider) for one in chunks] == [
        ("r1", "DeepInfra"),
        (None, None),
    ]


def test_pt9_after_done_nothing_is_waited_for() -> None:
    """A server that keeps the socket open after its last word must not hold the turn."""
    reader = ChatReader()

    chunks = read_payloads([c("Hi"), DONE], reader)

    assert (short(chunks), reader.is_done) == ([("T", "Hi"), ("D", "stop")], True)
    assert (reader.feed(c("more")), reader.finish("eof")) == ([], [])


ENDS: list[tuple[StreamEnd, list[object]]] = [
    ("done", [("D", "stop")]),
    ("eof", [("D", "eof")]),
    ("stopped", []),
    ("connection_lost", [("E", "provider_overloaded", "connection_lost", True)]),
    ("timeout", [("E", "timeout", "read_timeout", True)]),
    ("refused", [("E", "api_error", "ECONNREFUSED", False)]),
    ("dns", [("E", "api_error", "DNS", False)]),
    ("tls", [("E", "api_error", "TLS", False)]),
    ("oversized", [("E", "api_error", "oversized_event", False)]),
]


@pytest.mark.parametrize(("end", "expected"), ENDS, ids=[f"P114-{end}" for end, _ in ENDS])
def test_the_way_a_body_ends_is_its_last_word(end: StreamEnd, expected: list[object]) -> None:
    """PT125 and PT126 among them: what may be retried is decided here."""
    reader = ChatReader()
    reader.feed(c("Hi"))

    assert short(reader.finish(end)) == expected
    assert reader.is_done


@pytest.mark.parametrize("end", [end for end, _ in ENDS])
def test_after_a_finish_reason_the_way_a_body_ends_is_no_matter(end: StreamEnd) -> None:
    """An answer that is whole must not fail because its server forgot to say goodbye."""
    reader = ChatReader()
    reader.feed(cc("Hi", "stop"))

    assert reader.finish(end) == []


def test_p95_a_lost_connection_makes_no_call() -> None:
    """Half of the arguments are no arguments; the request can be made again."""
    reader = ChatReader()
    reader.feed(tc(0, "a", "search", '{"q":'))

    assert short(reader.finish("connection_lost"))[0][0] == "E"  # type: ignore[index] - a notation


def test_a_half_character_is_joined_over_two_payloads() -> None:
    """Servers cut text at UTF-16 code units."""
    halves = [
        r'{"choices":[{"delta":{"content":"a\ud83d"}}]}',
        r'{"choices":[{"delta":{"content":"\ude00b"}}]}',
    ]

    assert short(read_payloads(halves)) == [("T", "a"), ("T", "😀b")]


def test_a_half_character_that_stays_alone_is_replaced_before_the_last_word() -> None:
    """What can't be encoded would break the log and Discord alike."""
    half = r'{"choices":[{"delta":{"content":"a\ud83d","reasoning":"\ud83d"}}]}'

    ended = read_payloads([half, cf("stop")])
    failed = read_payloads([half, err(500, "x")])
    lost = ChatReader()
    lost.feed(half)

    assert short(ended) == [("T", "a"), ("T", "\ufffd"), ("D", "stop")]
    assert thoughts(ended) == "\ufffd"
    assert short(failed)[:2] == [("T", "a"), ("T", "\ufffd")]
    assert short(lost.finish("timeout"))[0] == ("T", "\ufffd")


def test_tool_arguments_beyond_256_kib_end_the_stream() -> None:
    """A model that loops inside a call must not fill memory."""
    part = "x" * 65_536

    chunks = read_payloads([tc(0, "a", "search", part)] * 5)

    assert short(chunks) == [("E", "api_error", "oversized_event", False)]


@pytest.mark.parametrize(
    "payload",
    [
        '{"choices":7}',
        '{"choices":[7]}',
        '{"choices":[{"delta":7,"message":[],"finish_reason":{}}]}',
        '{"choices":[{"delta":{"content":{},"tool_calls":{"function":7},"function_call":[]}}]}',
        '{"choices":[{"delta":{"content":[7,{"type":"thinking","thinking":7},{"text":[]}]}}]}',
        '{"usage":[],"id":7,"provider":{},"choices":[{"usage":7}]}',
    ],
)
def test_p92_shapes_that_nobody_promised_give_nothing(payload: str) -> None:
    """A stranger's server must not be able to break a turn."""
    assert read_payloads([payload]) == []


def test_p92_a_failure_inside_the_adapter_is_an_error_chunk(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever breaks, the turn learns of it and the payload stays out of the program's log."""

    def break_down(_value: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr("actors.providers.openai.usage_of", break_down)
    reader = ChatReader()

    with caplog.at_level(logging.ERROR):
        chunks = reader.feed(us(1, 1))

    assert short(chunks) == [("E", "api_error", "adapter_failure", False)]
    assert (reader.is_done, "KeyError" in caplog.text, "secret" in caplog.text) == (
        True,
        True,
        False,
    )
