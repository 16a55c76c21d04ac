"""OpenRouter's own ways: who served, what a thought is signed with, errors in the midst of it."""

import json
from pathlib import Path

import pytest

from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition, ToolResult
from actors.providers.carried import carried
from actors.providers.openrouter import OpenRouterReader
from actors.providers.registry import provider_for
from events.generation import Chunk, FunctionCall, Usage
from tests.actors.providers.wire import (
    DONE,
    c,
    call,
    cf,
    choice,
    err,
    joined,
    last_usage,
    read_payloads,
    short,
    tc,
    thoughts,
)

WIRE = Path(__file__).parents[4] / "shared" / "fixtures" / "wire"
ROUTE = ModelRoute(
    provider="main",
    kind="openrouter",
    base_url="https://openrouter.ai/api/v1",
    api_key="k",
    model="m",
)
TOOL = ToolDefinition(name="search", description="Search.", parameters={"type": "object"})
X = '{"q":"x"}'


def read(payloads: list[str]) -> list[Chunk]:
    """Return the chunks that the payloads give."""
    return read_payloads(payloads, OpenRouterReader())


def failed(status: int, body: object) -> tuple[str, str, bool]:
    """Return what a response that is no 2xx means."""
    [chunk] = OpenRouterReader().fail(status, json.dumps(body), None)
    assert chunk.error is not None
    return (chunk.error.type, chunk.error.code, chunk.error.retryable)


def detail(text: str, index: int, **more: object) -> dict[str, object]:
    """Return an entry of reasoning."""
    return {"type": "reasoning.text", "text": text, "index": index, **more}


def details_of(chunks: list[Chunk]) -> object:
    """Return the reasoning details that the first call carries."""
    function = next(one.function_call for one in chunks if one.function_call is not None)
    return carried("openrouter", function).get("reasoning_details")


def test_pt31_the_first_one_that_served_is_named() -> None:
    """The router may change its mind; the first word is who answers for it."""
    chunks = read(
        [
            choice({"content": "a"}, provider="DeepInfra"),
            choice({"content": "b"}, provider="Together"),
            cf("stop"),
        ]
    )

    assert [one.serving_provider for one in chunks if one.serving_provider] == ["DeepInfra"]


def test_pt32_usage_brings_its_cost() -> None:
    """What was charged is what the router says, not what a table of prices would."""
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "cost": 0.00012,
        "prompt_tokens_details": {"cached_tokens": 0},
    }

    chunks = read([choice({}, "stop", usage=usage), DONE])

    assert short(chunks) == [("D", "stop")]
    assert last_usage(chunks) == Usage(
        input_tokens=10, output_tokens=4, cache_read_tokens=0, cost_pico=120_000_000
    )


def test_pt33_an_error_inside_a_200_is_the_answer_s_end() -> None:
    """B43: it must not pass for an empty answer."""
    error = {"code": "server_error", "message": "Provider disconnected"}

    chunks = read([c("Hel"), choice({"content": ""}, "error", error=error)])

    assert short(chunks) == [
        ("T", "Hel"),
        ("E", "provider_overloaded", "server_error", True),
    ]


def test_pt34_a_status_is_never_read_from_prose() -> None:
    """14000 tokens are no 400."""
    message = (
        "requires more credits, or fewer max_tokens. You requested up to 14000 tokens, "
        "but can only afford 400"
    )

    assert failed(402, {"error": {"code": 402, "message": message}}) == ("api_error", "402", False)


def test_pt35_a_moderation_is_told_from_a_missing_right() -> None:
    """Both are a 403."""
    moderated = {"error": {"code": 403, "message": "no", "metadata": {"reasons": ["violence"]}}}

    assert failed(403, moderated) == ("content_blocked", "403", False)
    assert failed(403, {"error": {"code": 403, "message": "no"}}) == ("api_error", "403", False)


def test_pt36_reasoning_details_stay_with_the_call_in_their_order() -> None:
    """The model refuses to go on without what it thought; signed or not."""
    first, second = detail("a", 0), {"type": "reasoning.encrypted", "data": "zz", "index": 1}

    chunks = read(
        [
            choice({"reasoning": "a", "reasoning_details": [first]}),
            choice({"reasoning_details": [second]}),
            tc(0, "a", "search", X),
            cf("tool_calls"),
        ]
    )

    assert details_of(chunks) == [first, second]
    assert thoughts(chunks) == "a"


def test_pt36_the_fragments_of_one_entry_are_one_entry_again() -> None:
    """A signature signs the whole text, and comes with its last fragment."""
    fragments = [detail("Let ", 0, signature=None), detail("me", 0), detail("", 0, signature="S")]

    chunks = read(
        [
            *(choice({"reasoning_details": [one]}) for one in fragments),
            choice({"reasoning_details": [detail("other", 1)]}),
            tc(0, "a", "search", X),
            cf("tool_calls"),
        ]
    )

    assert details_of(chunks) == [detail("Let me", 0, signature="S"), detail("other", 1)]
    assert thoughts(chunks) == "Let meother"


def test_reasoning_details_without_measure_are_not_kept() -> None:
    """A model that thinks for hours must not fill memory; half of it is worth nothing."""
    chunks = read(
        [
            *(choice({"reasoning_details": [detail("x" * 65_536, 0)]}) for _ in range(20)),
            tc(0, "a", "search", X),
            cf("tool_calls"),
        ]
    )

    assert details_of(chunks) is None


def test_pt37_a_call_that_the_router_could_not_read_goes_back_as_malformed() -> None:
    """The model wrote it and can write it better; nothing runs."""
    chunks = read(
        [tc(0, "a", "search", None), err("invalid_type", "expected string, received null")]
    )

    assert short(chunks) == [("F", "search", "null")]


def test_p96_a_malformed_call_without_a_name_is_no_call() -> None:
    """There is nothing to give back."""
    chunks = read([tc(0, "a", None, ""), err("invalid_type", "expected string, received null")])

    assert short(chunks) == [("D", "other:malformed_tool_call")]


def test_p96_the_same_error_without_a_call_is_an_error() -> None:
    """It is the request that was wrong then."""
    assert short(read([err("invalid_type", "expected string, received null")])) == [
        ("E", "unknown", "invalid_type", False)
    ]


def test_p49_tools_ask_for_an_endpoint_that_has_them() -> None:
    """The router would pick one that ignores them."""
    plain = json.loads(provider_for("openrouter").request(ROUTE, ()).body)
    request = provider_for("openrouter").request(ROUTE, (), (TOOL,))

    assert "provider" not in plain
    assert json.loads(request.body)["provider"] == {"require_parameters": True}
    assert request.url == "https://openrouter.ai/api/v1/chat/completions"
    assert request.headers["X-OpenRouter-Title"] == "Rejoinder"


def test_p53_what_was_captured_goes_back_as_it_came() -> None:
    """Signature on the call, details on the message, nothing of it to another format."""
    signed = {**dict(call(0, "a", "search", X)), "thought_signature": "TS"}  # type: ignore[call-overload] - an object
    chunks = read(
        [
            choice({"reasoning_details": [detail("a", 0)]}),
            choice({"tool_calls": [signed]}, "tool_calls"),
        ]
    )
    function = chunks[-1].function_call
    assert function is not None
    context = (
        ContextItem(role="model", content="", calls=(function,)),
        ContextItem(
            role="user", content="", result=ToolResult(name="search", call_id="a", content="{}")
        ),
    )

    sent = json.loads(provider_for("openrouter").request(ROUTE, context).body)["messages"][0]
    elsewhere = provider_for("openai").request(ROUTE, context).body

    assert (sent["content"], sent["reasoning_details"]) == (None, [detail("a", 0)])
    assert sent["tool_calls"][0]["thought_signature"] == "TS"
    assert "TS" not in elsewhere
    assert "reasoning" not in elsewhere


def test_p44_a_model_that_thinks_in_the_open_gets_its_reasoning_back() -> None:
    """DeepSeek refuses a call of its own that comes without."""
    chunks = read_payloads(
        [choice({"reasoning_content": one}) for one in ("so ", "be it")]
        + [tc(0, "a", "search", X), cf("tool_calls")]
    )
    function = chunks[-1].function_call
    assert function is not None
    context = (ContextItem(role="model", content="", calls=(function,)),)

    [message] = json.loads(provider_for("openai").request(ROUTE, context).body)["messages"]

    assert message["reasoning_content"] == "so be it"


@pytest.mark.parametrize("carried_text", ["", "{", "[]", '{"openrouter":7}', '{"google":{"a":1}}'])
def test_what_cannot_be_read_is_not_sent(carried_text: str) -> None:
    """A log may hold what a later version wrote."""
    assert carried("openrouter", FunctionCall(name="a", carried=carried_text)) == {}


@pytest.mark.skipif(not WIRE.is_dir(), reason=f"no recorded streams at {WIRE}")
def test_a_recorded_stream_thinks_in_secret_and_answers() -> None:
    """Encrypted reasoning is nobody's to read."""
    lines = (WIRE / "openrouter-reasoning.sse").read_text().splitlines()
    payloads = [one.removeprefix("data: ") for one in lines if one.startswith("data: ")]

    chunks = read(payloads)

    assert joined(chunks)
    assert "gAAAA" not in thoughts(chunks)
    assert chunks[0].serving_provider == "OpenAI"
    assert (last_usage(chunks) or Usage()).cost_pico is not None
