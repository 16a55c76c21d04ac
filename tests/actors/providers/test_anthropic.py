"""Anthropic's messages: the vectors by number, and what is asked of the model."""

import json
from pathlib import Path

import pytest

from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition, ToolResult
from actors.providers.alternation import START
from actors.providers.anthropic import MAX_OUTPUT_TOKENS, AnthropicReader
from actors.providers.carried import carried
from actors.providers.registry import provider_for
from events.generation import Chunk, FunctionCall, StreamEnd, Usage
from tests.actors.providers.wire import (
    chunks_of,
    cut,
    joined,
    last_usage,
    short,
    sse,
    thoughts,
)

WIRE = Path(__file__).parents[4] / "shared" / "fixtures" / "wire"
FILES = sorted(WIRE.glob("anthropic-*.txt"))
ROUTE = ModelRoute(
    provider="main",
    kind="anthropic",
    base_url="https://api.anthropic.com/v1",
    api_key=" sk-ant ",
    model="claude",
)
TOOL = ToolDefinition(name="search", description="Search.", parameters={"type": "object"})


def start(**usage: object) -> dict[str, object]:
    """Return the event that opens a message."""
    return {"type": "message_start", "message": {"id": "msg_1", "usage": usage}}


def opened(index: int, kind: str, **fields: object) -> dict[str, object]:
    """Return the event that opens a block."""
    block = {"type": kind, **fields}
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: str) -> dict[str, object]:
    """Return a piece of a block."""
    return {
        "type": "content_block_delta",
        "index": index,
        "delta": {"type": f"{kind}_delta", **fields},
    }


def text(said: str, index: int = 0) -> dict[str, object]:
    """Return a piece of text."""
    return delta(index, "text", text=said)


def end(reason: str, **usage: int) -> dict[str, object]:
    """Return the event that ends a message."""
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def error(kind: str) -> dict[str, object]:
    """Return an error inside the stream."""
    return {"type": "error", "error": {"type": kind, "message": "no"}, "request_id": "req_1"}


STOP: dict[str, object] = {"type": "message_stop"}
PING: dict[str, object] = {"type": "ping"}
CALL = opened(1, "tool_use", id="toolu_1", name="search", input={})


def read(events: list[dict[str, object]], how: StreamEnd = "eof") -> list[Chunk]:
    """Return the chunks of the events, those without anything visible left out."""
    body = sse([json.dumps(one) for one in events])
    return chunks_of([body], end=how, reader=AnthropicReader())


def visible(events: list[dict[str, object]]) -> list[object]:
    """Return the chunks in short, without those that only bring usage or thoughts."""
    return [one for one in short(read(events)) if one != ("T", "")]


VECTORS: dict[str, tuple[list[dict[str, object]], list[object]]] = {
    "PT39": (
        [
            start(
                input_tokens=25,
                cache_read_input_tokens=100,
                cache_creation_input_tokens=0,
                output_tokens=1,
            ),
            opened(0, "text", text=""),
            text("Hi"),
            end("end_turn", output_tokens=15),
            STOP,
        ],
        [("T", "Hi"), ("D", "stop")],
    ),
    "PT40": ([PING, PING], [("D", "eof")]),
    "PT42": ([CALL, end("tool_use"), STOP], [("F", "search", "{}")]),
    "PT43": (
        [CALL, delta(1, "input_json", partial_json='{"q":"ca')],
        [("F", "search", '{"q":"ca')],
    ),
    "PT44": (
        [text("Hi"), error("overloaded_error")],
        [("T", "Hi"), ("E", "provider_overloaded", "overloaded_error", True)],
    ),
    "PT45": ([error("rate_limit_error")], [("E", "rate_limit", "rate_limit_error", True)]),
    "PT46": ([end("refusal"), STOP], [("E", "content_blocked", "refusal", False)]),
    "PT48": ([{"type": "message_annotation"}, STOP], [("D", "stop")]),
    "PT49": ([opened(0, "text", text="Hey"), STOP], [("T", "Hey"), ("D", "stop")]),
    "P97-length": ([end("max_tokens"), STOP], [("D", "length")]),
    "P97-window": ([end("model_context_window_exceeded"), STOP], [("D", "length")]),
    "P97-pause": ([end("pause_turn"), STOP], [("D", "stop")]),
    "P97-a-new-word": ([end("New <word>"), STOP], [("D", "other:newword")]),
    "P70-citations-and-unknown-blocks": (
        [
            opened(0, "server_tool_use", name="web"),
            delta(0, "citations", citation="x"),
            text("a", 1),
            STOP,
        ],
        [("T", "a"), ("D", "stop")],
    ),
    "P95-two-calls-in-their-order": (
        [
            CALL,
            opened(2, "tool_use", id="toolu_2", name="other", input={"a": 1}),
            delta(1, "input_json", partial_json='{"q":1}'),
            end("tool_use"),
            STOP,
        ],
        [("F", "search", '{"q":1}'), ("F", "other", '{"a":1}')],
    ),
    "P65-a-message-in-one-piece": (
        [
            {
                "type": "message",
                "id": "m",
                "content": [{"type": "text", "text": "Hi"}],
                "stop_reason": "end_turn",
            }
        ],
        [("T", "Hi"), ("D", "stop")],
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_gives_its_chunks(name: str) -> None:
    """Each is a shape that the API is known to send."""
    events, expected = VECTORS[name]

    assert visible(events) == expected


def test_pt39_usage_is_the_sum_of_its_parts_and_output_is_the_last_word() -> None:
    """W5: what came from a cache is input too, and was read all the same."""
    chunks = read(VECTORS["PT39"][0])

    assert last_usage(chunks) == Usage(
        input_tokens=125, output_tokens=15, cache_read_tokens=100, cache_write_tokens=0
    )
    assert [one.response_id for one in chunks if one.response_id] == ["msg_1"]


def test_pt40_pings_are_nothing() -> None:
    """They keep a dead answer from looking alive."""
    reader = AnthropicReader()

    assert reader.feed(json.dumps(PING)) == []


THINKING: list[dict[str, object]] = [
    opened(0, "thinking", thinking="", signature=""),
    delta(0, "thinking", thinking="Hm"),
    delta(0, "signature", signature="S1"),
    {"type": "content_block_stop", "index": 0},
    opened(2, "redacted_thinking", data="zz"),
]
PT41: list[dict[str, object]] = [
    *THINKING,
    CALL,
    delta(1, "input_json", partial_json='{"q":"ca'),
    delta(1, "input_json", partial_json='ts"}'),
    end("tool_use"),
    STOP,
]


def call_of(chunks: list[Chunk]) -> FunctionCall:
    """Return the first call."""
    return next(one.function_call for one in chunks if one.function_call is not None)


def test_pt41_a_call_carries_the_thoughts_before_it() -> None:
    """They are signed, and the model refuses to go on without them."""
    chunks = read(PT41)

    function = call_of(chunks)
    assert (thoughts(chunks), function.call_id, function.arguments) == (
        "Hm",
        "toolu_1",
        '{"q":"cats"}',
    )
    assert carried("anthropic", function)["thinking_blocks"] == [
        {"type": "thinking", "thinking": "Hm", "signature": "S1"},
        {"type": "redacted_thinking", "data": "zz"},
    ]


def test_p55_p56_thoughts_stand_before_the_call_and_results_right_behind_it() -> None:
    """Unchanged, or the request is refused."""
    function = call_of(read(PT41))
    results = (
        ToolResult(name="search", call_id="toolu_1", content="{}"),
        ToolResult(name="search", call_id="toolu_2", content="[]", is_error=True),
    )
    second = FunctionCall(name="search", arguments="{broken", call_id="toolu_2")
    context = (
        ContextItem(role="user", content="Ann: find cats"),
        ContextItem(role="model", content="Wait.", calls=(function, second)),
        *(ContextItem(role="user", content="", result=one) for one in results),
    )

    body = json.loads(provider_for("anthropic").request(ROUTE, context, (TOOL,)).body)

    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "S1"},
                {"type": "redacted_thinking", "data": "zz"},
                {"type": "text", "text": "Wait."},
                {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "cats"}},
                {"type": "tool_use", "id": "toolu_2", "name": "search", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "{}"},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "content": "[]",
                    "is_error": True,
                },
            ],
        },
    ]
    assert body["tools"] == [
        {"name": "search", "description": "Search.", "input_schema": {"type": "object"}}
    ]


def test_p54_p30_turns_alternate_and_instructions_stand_apart() -> None:
    """Neighbours of one role are refused, and so is a model that speaks first."""
    context = (
        ContextItem(role="system", content="Be kind."),
        ContextItem(role="model", content="Hello."),
        ContextItem(role="user", content="Ann: hi"),
        ContextItem(role="user", content="  "),
        ContextItem(role="system", content="Be brief."),
        ContextItem(role="user", content="Bo: so?\ud83d"),
    )

    request = provider_for("anthropic").request(ROUTE, context)

    assert json.loads(request.body) == {
        "model": "claude",
        "max_tokens": MAX_OUTPUT_TOKENS,
        "stream": True,
        "system": "Be kind.\n\nBe brief.",
        "messages": [
            {"role": "user", "content": START},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Ann: hi\nBo: so?\ufffd"},
        ],
    }
    assert request.url == "https://api.anthropic.com/v1/messages"
    assert request.headers["x-api-key"] == "sk-ant"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "sk-ant" not in request.body + request.url


def test_pt47_an_overload_has_a_status_of_its_own() -> None:
    """529 is in no table but Anthropic's."""
    [chunk] = AnthropicReader().fail(529, json.dumps(error("overloaded_error")), 3.0)

    assert short([chunk]) == [("E", "provider_overloaded", "529", True)]
    assert chunk.error is not None
    assert chunk.error.retry_after_ms == 3_000


def test_a_call_without_measure_ends_the_stream() -> None:
    """A model that loops inside a call must not fill memory."""
    part = delta(1, "input_json", partial_json="x" * 65_536)

    assert short(read([CALL, *[part] * 5])) == [("E", "api_error", "oversized_event", False)]


def test_thoughts_without_measure_are_read_but_not_kept() -> None:
    """Half of what was signed is worth nothing."""
    part = delta(0, "thinking", thinking="x" * 65_536)

    chunks = read([THINKING[0], *[part] * 20, CALL, end("tool_use"), STOP])

    assert len(thoughts(chunks)) == 20 * 65_536
    assert call_of(chunks).carried == ""


def test_a_lost_connection_after_the_last_word_is_no_failure() -> None:
    """The answer is whole."""
    assert short(read([text("Hi"), end("end_turn")], "connection_lost")) == [
        ("T", "Hi"),
        ("D", "stop"),
    ]


@pytest.mark.skipif(not FILES, reason=f"no recorded streams at {WIRE}")
@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_a_recorded_stream_is_read_as_its_events_say(path: Path, size: int) -> None:
    """Nobody here wrote these streams, so nobody here bent them to the code."""
    lines = path.read_text().splitlines()
    events = [json.loads(line) for line in lines if line.strip()]
    deltas = [one["delta"] for one in events if one["type"] == "content_block_delta"]
    blocks = [one["content_block"] for one in events if one["type"] == "content_block_start"]
    last = next(one for one in events if one["type"] == "message_delta")

    chunks = chunks_of(cut(sse(lines), size), reader=AnthropicReader())

    assert joined(chunks) == "".join(one.get("text", "") for one in deltas)
    calls = [one.function_call for one in chunks if one.function_call is not None]
    assert [one.name for one in calls] == [
        one["name"] for one in blocks if one["type"] == "tool_use"
    ]
    parts = "".join(one.get("partial_json", "") for one in deltas)
    assert [json.loads(one.arguments) for one in calls] == (
        [json.loads(parts or "{}")] if calls else []
    )
    usage = last_usage(chunks)
    assert usage is not None
    assert usage.output_tokens == last["usage"]["output_tokens"]
    assert usage.input_tokens == last["usage"]["input_tokens"]
    refused = last["delta"]["stop_reason"] == "refusal"
    assert [one.type for one in chunks if one.finish_reason] == [
        "error" if refused else "function_call" if calls else "done"
    ]
