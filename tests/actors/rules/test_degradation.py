"""What is left out of a refused request: the vectors by number."""

import pytest

from actors.providers.adapter import ProviderKind
from actors.providers.errors import of_response
from actors.rules.degradation import MOST_ATTEMPTS, Dropped, decide_dropped
from events.generation import ProviderFault

BODY = ("model", "messages", "stream", "stream_options", "temperature", "top_p", "stop", "tools")


def refused(status: int, message: str) -> ProviderFault:
    """Return the fault of a response with an error object."""
    return of_response(status, f'{{"error":{{"message":"{message}"}}}}', None)


def steps(
    fault: ProviderFault,
    parameters: tuple[str, ...] = BODY,
    *,
    kind: ProviderKind = "openai",
    has_called: bool = False,
) -> list[Dropped]:
    """Return what the forms leave out, where each is refused in the same words."""
    tried: list[Dropped] = [()]
    while True:
        dropped = decide_dropped(kind, fault, parameters, tried, has_called=has_called)
        if dropped is None:
            return tried[1:]
        tried.append(dropped)


def test_pt108_the_ladder_leaves_out_a_little_more_each_time() -> None:
    """The least that helps is the best: a model without its tools is another model."""
    usage = "stream_options"

    assert steps(refused(400, "bad request")) == [
        (usage,),
        (usage, "top_p"),
        (usage, "temperature"),
        (usage, "stop"),
        (usage, "tools"),
        (usage, "temperature", "top_p", "stop", "tools"),
    ]


def test_pt109_what_the_error_names_is_left_out_alone() -> None:
    """The usage of an answer is worth keeping."""
    assert steps(refused(400, "Unsupported parameter: top_p"))[0] == ("top_p",)


def test_pt110_all_that_it_names_goes_at_once() -> None:
    """Each try is a request that somebody may pay for."""
    body = ("model", "messages", "stream", "min_p", "logit_bias")

    assert steps(refused(400, "min_p and logit_bias are not supported"), body)[0] == (
        "min_p",
        "logit_bias",
    )


def test_p80_the_usage_is_left_out_where_the_error_names_it() -> None:
    """The most common refusal of all: older servers know no stream_options."""
    assert steps(refused(422, "stream_options: extra fields not permitted"))[0] == (
        "stream_options",
    )


@pytest.mark.parametrize(
    ("kind", "status", "message"),
    [
        pytest.param("custom", 500, "internal server error", id="PT111"),
        pytest.param("custom", 502, "bad gateway", id="PT113"),
        pytest.param("openai", 401, "temperature of your key is too low", id="PT117"),
        pytest.param("openai", 400, "topaz_p is invalid", id="PT119"),
        pytest.param("openai", 429, "top_p", id="P83-rate-limit"),
        pytest.param("openai", 413, "max_tokens", id="P83-too-large"),
        pytest.param(
            "openai", 400, "maximum context length is 8, top_p is 1", id="P83-context-length"
        ),
        pytest.param("openai", 404, "model top_p does not exist", id="P83-model"),
        pytest.param("anthropic", 400, "bad request", id="P76-another-format"),
    ],
)
def test_a_failure_that_less_would_not_mend_is_final(
    kind: ProviderKind, status: int, message: str
) -> None:
    """Asking again would only cost."""
    assert steps(refused(status, message), kind=kind) == []


def test_pt38_a_gateway_that_fails_is_asked_again_with_less() -> None:
    """OpenRouter says so where the server behind it chokes on a parameter."""
    assert steps(refused(502, "Provider returned error"), kind="openrouter")[0] == (
        "stream_options",
    )


def test_pt118_a_conversation_with_calls_keeps_its_tools() -> None:
    """Without them its history makes no sense, and is refused for that."""
    tried = steps(refused(400, "bad request"), has_called=True)

    assert tried
    assert all("tools" not in dropped for dropped in tried)


def test_p84_it_comes_to_an_end() -> None:
    """However many parameters a body has."""
    body = (*BODY, *(f"extra_{index}" for index in range(40)))

    assert len(steps(refused(400, "bad request"), body)) == MOST_ATTEMPTS - 1
