"""Gemini: the vectors by number, what is asked, and calls in both forms."""

import json
from pathlib import Path
from typing import Any

import pytest

from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition, ToolResult
from actors.providers.carried import carried
from actors.providers.google import MAX_OUTPUT_TOKENS, GoogleReader
from actors.providers.google_schema import google_schema
from actors.providers.registry import provider_for
from events.generation import Chunk, FunctionCall, Thought, Usage
from tests.actors.providers.wire import chunks_of, cut, joined, last_usage, short, sse, thoughts

WIRE = Path(__file__).parents[4] / "shared" / "fixtures" / "wire"
FILES = sorted(WIRE.glob("google-*.txt"))
ROUTE = ModelRoute(
    provider="main",
    kind="google",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    api_key="AIza1",
    model="gemini-3-pro",
)


def said(*parts: dict[str, object], fin: str = "", **more: object) -> dict[str, object]:
    """Return a response with one candidate."""
    candidate: dict[str, object] = {"content": {"parts": list(parts), "role": "model"}}
    if fin:
        candidate["finishReason"] = fin
    return {"candidates": [candidate], "responseId": "r1", **more}


def text(content: str, **more: object) -> dict[str, object]:
    """Return a part of text."""
    return {"text": content, **more}


def fc(name: str, args: dict[str, object], signature: str = "", **more: str) -> dict[str, object]:
    """Return a part with a call."""
    signed = {"thoughtSignature": signature} if signature else {}
    return {"functionCall": {"name": name, "args": args, **more}, **signed}


def read(responses: list[dict[str, object]]) -> list[Chunk]:
    """Return the chunks of the responses."""
    return chunks_of([sse([json.dumps(one) for one in responses])], reader=GoogleReader())


def visible(responses: list[dict[str, object]]) -> list[object]:
    """Return the chunks in short, without those that only bring usage or thoughts."""
    return [one for one in short(read(responses)) if one != ("T", "")]


def blocked(code: str) -> tuple[object, ...]:
    """Return the error of an answer that was kept back."""
    return ("E", "content_blocked", code, False)


FOX = "The quick brown fox"
CATS: dict[str, object] = {"q": "cats"}
VECTORS: dict[str, tuple[list[dict[str, object]], list[object]]] = {
    "PT50": (
        [said(text("Let me see", thought=True)), said(text("Hi"), fin="STOP")],
        [("T", "Hi"), ("D", "stop")],
    ),
    "PT51": (
        [said(text("Checking. "), fc("search", CATS, "CiQB"), fin="STOP")],
        [("T", "Checking. "), ("F", "search", '{"q":"cats"}')],
    ),
    "PT52": (
        [{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}],
        [blocked("PROHIBITED_CONTENT")],
    ),
    "PT53": ([said(text("Once"), fin="SAFETY")], [("T", "Once"), blocked("SAFETY")]),
    "PT54": ([said(fin="MAX_TOKENS")], [("D", "length")]),
    "PT55": (
        [said(fin="MALFORMED_FUNCTION_CALL")],
        [("E", "api_error", "MALFORMED_FUNCTION_CALL", True)],
    ),
    "PT56": (
        [said(text(FOX)), said(text("brown fox jumps"), fin="STOP")],
        [("T", FOX), ("T", " jumps"), ("D", "stop")],
    ),
    "PT57": (
        [said(text("hello there friend")), said(text("hello there friend"), fin="STOP")],
        [("T", "hello there friend"), ("D", "stop")],
    ),
    "PT58": (
        [said(text("abc")), said(text("abc"), fin="STOP")],
        [("T", "abc"), ("T", "abc"), ("D", "stop")],
    ),
    "PT60": (
        [
            said(text("Hi")),
            {
                "error": {
                    "code": 503,
                    "message": "The model is overloaded.",
                    "status": "UNAVAILABLE",
                }
            },
        ],
        [("T", "Hi"), ("E", "provider_overloaded", "503", True)],
    ),
    "P98-an-unspecified-block-is-none": (
        [{"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}}, said(fin="STOP")],
        [("D", "stop")],
    ),
    "P98-unexpected-call": (
        [said(fin="UNEXPECTED_TOOL_CALL")],
        [("E", "api_error", "UNEXPECTED_TOOL_CALL", True)],
    ),
    "P99-a-new-word": ([said(fin="NEW_WORD")], [("D", "other:new_word")]),
    "P71-snake-case-of-a-proxy": (
        [said({"function_call": {"name": "search", "args": CATS}}, fin="STOP")],
        [("F", "search", '{"q":"cats"}')],
    ),
    "P95-an-end-without-a-reason-keeps-the-call": (
        [said(fc("search", CATS))],
        [("F", "search", '{"q":"cats"}')],
    ),
    "several-calls": (
        [said(fc("a", {}, "S")), said(fc("b", {}), fin="STOP")],
        [("F", "a", "{}"), ("F", "b", "{}")],
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_gives_its_chunks(name: str) -> None:
    """Each is a shape that the API is known to send."""
    responses, expected = VECTORS[name]

    assert visible(responses) == expected


def test_pt50_thoughts_are_output_and_never_text() -> None:
    """They are paid for like an answer."""
    usage = {
        "promptTokenCount": 11,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 9,
        "cachedContentTokenCount": 3,
    }

    chunks = read(
        [said(text("Let me see", thought=True)), said(text("Hi"), fin="STOP", usageMetadata=usage)]
    )

    assert (joined(chunks), thoughts(chunks)) == ("Hi", "Let me see")
    assert last_usage(chunks) == Usage(
        input_tokens=11, output_tokens=16, cache_read_tokens=3, reasoning_tokens=9
    )


def test_pt57_usage_beside_a_text_that_was_said_already_counts() -> None:
    """The text is dropped, its price is not."""
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 2}
    twice = "hello there friend"

    chunks = read([said(text(twice)), said(text(twice), usageMetadata=usage)])

    assert (joined(chunks), last_usage(chunks)) == (twice, Usage(input_tokens=1, output_tokens=2))


def test_p98_a_summary_of_thoughts_is_known_as_one() -> None:
    """It is no reasoning, only what was made of it."""
    response = said(text("Hi"))
    candidates: Any = response["candidates"]
    candidates[0]["thoughtSummary"] = "It greeted."

    [chunk, _] = read([response])

    assert chunk.thoughts == (Thought(content="It greeted.", form="summary"),)


ERROR_429 = {
    "error": {
        "code": 429,
        "message": "Quota exceeded",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.Help"},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
        ],
    }
}


@pytest.mark.parametrize("is_wrapped", [False, True], ids=["PT59", "P71-a-message-that-is-json"])
def test_pt59_google_says_in_the_body_how_long_to_wait(is_wrapped: bool) -> None:  # noqa: FBT001 - a parameter
    """It has no header for it."""
    body: object = ERROR_429
    if is_wrapped:
        body = {"error": {"code": 429, "message": json.dumps(ERROR_429)}}

    [chunk] = GoogleReader().fail(429, json.dumps(body), None)

    assert short([chunk]) == [("E", "rate_limit", "429", True)]
    assert chunk.error is not None
    assert chunk.error.retry_after_ms == 34_000
    assert "Quota exceeded" in chunk.error.message


def calls_of(chunks: list[Chunk]) -> list[FunctionCall]:
    """Return the calls."""
    return [one.function_call for one in chunks if one.function_call is not None]


@pytest.mark.parametrize(
    "responses",
    [
        [said(fc("search", CATS, "CiQB"), fin="STOP")],
        [said(fc("search", CATS)), said(text("", thoughtSignature="CiQB"), fin="STOP")],
        [said(text("x", thoughtSignature="CiQB"), fc("search", CATS), fin="STOP")],
    ],
    ids=["on the call", "on an empty text", "on a text"],
)
def test_p98_a_call_takes_its_signature_from_wherever_it_stands(
    responses: list[dict[str, object]],
) -> None:
    """Without it the next request is refused."""
    [function] = calls_of(read(responses))

    assert carried("google", function) == {"thoughtSignature": "CiQB"}


def test_p61_a_call_goes_back_signed_and_results_are_a_turn_of_their_own() -> None:
    """With the id that the model gave, and without one that it did not."""
    given, plain = calls_of(
        read([said(fc("search", CATS, "CiQB", id="fc1"), fc("other", {}), fin="STOP")])
    )
    context = (
        ContextItem(role="user", content="Ann: find cats"),
        ContextItem(
            role="model",
            content="Wait.",
            calls=(given, FunctionCall(name=plain.name, arguments="[broken", call_id="call_2")),
        ),
        ContextItem(
            role="user",
            content="",
            result=ToolResult(name="search", call_id="fc1", content='{"found":1}'),
        ),
        ContextItem(
            role="user",
            content="",
            result=ToolResult(name="other", call_id="call_2", content="[1]"),
        ),
    )

    contents = json.loads(provider_for("google").request(ROUTE, context).body)["contents"]

    assert contents[1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "Wait."},
                {
                    "functionCall": {"name": "search", "args": {"q": "cats"}, "id": "fc1"},
                    "thoughtSignature": "CiQB",
                },
                {"functionCall": {"name": "other", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "search",
                        "response": {"found": 1},
                        "id": "fc1",
                    }
                },
                {"functionResponse": {"name": "other", "response": {"result": [1]}}},
            ],
        },
    ]


def test_p59_the_key_is_in_a_header_and_the_instructions_apart() -> None:
    """An address ends up in logs."""
    context = (
        ContextItem(role="system", content="Be kind."),
        ContextItem(role="user", content="Ann: hi"),
        ContextItem(role="user", content="Bo: so?"),
    )
    tools = (
        ToolDefinition(
            name="search",
            description="Search.",
            parameters={"type": "object", "properties": {"q": {"type": "string"}}},
        ),
        ToolDefinition(name="now", description="Time.", parameters={"type": "object"}),
    )

    request = provider_for("google").request(ROUTE, context, tools)

    assert request.url == (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro"
        ":streamGenerateContent?alt=sse"
    )
    assert request.headers["x-goog-api-key"] == "AIza1"
    assert "AIza1" not in request.body + request.url
    body = json.loads(request.body)
    assert len(body.pop("safetySettings")) == 4
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "Ann: hi\nBo: so?"}]}],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "search",
                        "description": "Search.",
                        "parameters": {
                            "type": "object",
                            "properties": {"q": {"type": "string"}},
                        },
                    },
                    {"name": "now", "description": "Time."},
                ]
            }
        ],
        "generationConfig": {"maxOutputTokens": MAX_OUTPUT_TOKENS},
    }


@pytest.mark.parametrize(
    ("model", "has_system"), [("gemma-3-27b-it", False), ("gemma-4", True), ("gemini-3", True)]
)
def test_p60_a_model_without_instructions_is_told_them_first(
    model: str,
    has_system: bool,  # noqa: FBT001 - a parameter
) -> None:
    """It refuses the field."""
    route = ModelRoute(provider="main", kind="google", base_url="http://x", api_key="", model=model)
    context = (
        ContextItem(role="system", content="Be kind."),
        ContextItem(role="user", content="Ann: hi"),
    )

    body = json.loads(provider_for("google").request(route, context).body)

    assert ("systemInstruction" in body) == has_system
    assert ("Be kind." in json.dumps(body["contents"])) != has_system


def test_p21_a_schema_is_put_in_google_s_words() -> None:
    """It refuses a schema with a word that it does not know, and the whole request with it."""
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": [],
        "properties": {
            "when": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "kind": {"const": "a"},
            "many": {"type": ["integer", "string", "null"]},
            "place": {"$ref": "#/$defs/Place"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Place"}, "maxItems": 2},
        },
        "$defs": {
            "Place": {
                "title": "Place",
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "in": {"$ref": "#/$defs/None"}},
            }
        },
    }
    place = {
        "title": "Place",
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "in": {}},
    }

    assert google_schema(schema) == {
        "type": "object",
        "properties": {
            "when": {"type": "string", "nullable": True},
            "kind": {"enum": ["a"], "type": "string"},
            "many": {"nullable": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "place": place,
            "list": {"type": "array", "items": place, "maxItems": 2},
        },
    }
    assert "$defs" in schema


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    """A tree of comments is a fair argument, and no reason to hang."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}

    assert google_schema({**node, "$defs": {"Node": node}})["type"] == "object"


def partial(path: str, **value: object) -> dict[str, object]:
    """Return a part that goes on with a call."""
    return {"functionCall": {"partialArgs": [{"jsonPath": path, **value}], "willContinue": True}}


def test_arguments_told_value_by_value_are_one_object() -> None:
    """Gemini streams them under their paths."""
    [function] = calls_of(
        read(
            [
                said({"functionCall": {"name": "plan", "willContinue": True}}),
                said(partial("$.to.city", stringValue="Bos", willContinue=True)),
                said(partial("$.to.city", stringValue="ton")),
                said(partial("$.days[1].n", numberValue=2)),
                said(partial("$['is so']", boolValue=True)),
                said(partial("$.none", nullValue="NULL_VALUE")),
                said(
                    partial("$.days[9999].n", numberValue=2), partial("$.to.city.x", numberValue=1)
                ),
                said({"functionCall": {}}, fin="STOP"),
            ]
        )
    )

    assert json.loads(function.arguments) == {
        "to": {"city": {"x": 1}},
        "days": [None, {"n": 2}],
        "is so": True,
        "none": None,
    }


def test_a_call_without_measure_ends_the_stream() -> None:
    """A model that loops inside a call must not fill memory."""
    opening = said({"functionCall": {"name": "plan", "willContinue": True}})

    chunks = read([opening, *[said(partial("$.a", stringValue="x" * 65_536))] * 5])

    assert short(chunks)[-1] == ("E", "api_error", "oversized_event", False)


@pytest.mark.skipif(not FILES, reason=f"no recorded streams at {WIRE}")
@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_a_recorded_stream_is_read_as_its_responses_say(path: Path, size: int) -> None:
    """Nobody here wrote these streams, so nobody here bent them to the code."""
    lines = path.read_text().splitlines()
    responses = [json.loads(line) for line in lines if line.strip()]
    parts = [part for one in responses for part in one["candidates"][0]["content"].get("parts", ())]
    reported = responses[-1]["usageMetadata"]

    chunks = chunks_of(cut(sse(lines), size), reader=GoogleReader())

    assert joined(chunks) == "".join(one.get("text", "") for one in parts)
    names = [one["functionCall"]["name"] for one in parts if "name" in one.get("functionCall", {})]
    calls = calls_of(chunks)
    assert [one.name for one in calls] == names
    places = [json.loads(one.arguments)["location"] for one in calls]
    assert places == {
        "google-tool-call": ["San Francisco"],
        "google-stream-tool-call-arguments": ["Boston", "San Francisco"],
    }.get(path.name.split(".")[0], [])
    assert all("thoughtSignature" in one.carried for one in calls[:1])
    usage = last_usage(chunks)
    assert usage is not None
    assert usage.input_tokens == reported["promptTokenCount"]
    assert usage.output_tokens == (
        reported["candidatesTokenCount"] + reported["thoughtsTokenCount"]
    )
    assert [one.finish_reason for one in chunks if one.finish_reason] == (
        ["tool_calls"] * len(calls) or ["stop"]
    )
