"""Classification: what a failure is, and what an operator may read of it."""

import json

import pytest

from actors.providers import errors
from actors.providers.json_text import parse_object
from actors.providers.redaction import redact
from events.generation import ProviderFault


def brief(fault: ProviderFault) -> tuple[str, str, bool]:
    """Return what decides."""
    return (fault.type, fault.code, fault.retryable)


def response(status: int, message: str = "", **more: object) -> ProviderFault:
    """Return the fault of an HTTP failure with an error object."""
    return errors.of_response(status, json.dumps({"error": {"message": message, **more}}), None)


def in_stream(payload: object) -> ProviderFault:
    """Return the fault of a payload that carries an error."""
    report = errors.error_in(parse_object(json.dumps(payload)))
    assert report is not None
    return errors.of_report(report)


STATUSES = {
    400: ("api_error", "400", False),
    401: ("api_error", "401", False),
    402: ("api_error", "402", False),
    403: ("api_error", "403", False),
    404: ("api_error", "404", False),
    408: ("timeout", "408", True),
    409: ("api_error", "409", True),
    413: ("api_error", "413", False),
    418: ("api_error", "418", False),
    422: ("api_error", "422", False),
    425: ("api_error", "425", True),
    429: ("rate_limit", "429", True),
    500: ("provider_overloaded", "500", True),
    502: ("provider_overloaded", "502", True),
    503: ("provider_overloaded", "503", True),
    504: ("timeout", "504", True),
    520: ("provider_overloaded", "520", True),
    524: ("timeout", "524", True),
    529: ("provider_overloaded", "529", True),
    599: ("provider_overloaded", "599", True),
}


@pytest.mark.parametrize("status", STATUSES)
def test_p112_a_status_means_the_same_as_response_and_inside_a_stream(status: int) -> None:
    """One table, or the same failure is retried in one place and not in the other."""
    expected = STATUSES[status]

    assert brief(response(status)) == expected
    assert brief(errors.of_response(status, "<html>bad gateway</html>", None)) == expected
    assert brief(in_stream({"error": {"code": status}})) == expected
    assert brief(in_stream({"error": {"code": str(status)}})) == expected
    assert brief(in_stream({"object": "error", "code": status})) == expected


MESSAGES = {
    "PT121": (
        429,
        "Insufficient balance or no resource package. Please recharge.",
        ("api_error", "429_balance", False),
    ),
    "PT122": (429, "Rate limit reached", ("rate_limit", "429", True)),
    "PT123": (
        400,
        "maximum context length is 16384 tokens, you requested 22400",
        ("api_error", "400", False),
    ),
    "PT124": (400, "parameter timeout must be positive", ("api_error", "400", False)),
    "PT127": (
        400,
        "Unsupported model foo. Supported: a, b",
        ("model_error", "400_model", False),
    ),
    "PT128": (500, "feature is deprecated", ("provider_overloaded", "500", True)),
    "P112-plan": (
        429,
        "Your subscription plan does not yet include access to it",
        ("api_error", "429_plan_access", False),
    ),
    "P114-named": (
        404,
        "The model `gpt-9` does not exist or you do not have access to it.",
        ("model_error", "404_model", False),
    ),
    "P114-bare": (404, "model not found", ("model_error", "404_model", False)),
    "P114-colon": (404, "model: claude-9 not found", ("model_error", "404_model", False)),
    "P114-path": (
        404,
        "models/gemini-9 is not found for API version v1",
        ("model_error", "404_model", False),
    ),
    "P114-deprecated": (
        410,
        "The model foo has been deprecated",
        ("model_error", "410_model", False),
    ),
    "P114-not-a-model": (
        400,
        "temperature is not supported by this model",
        ("api_error", "400", False),
    ),
    "P114-401": (401, "invalid model key", ("api_error", "401", False)),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_prose_refines_a_status_only_where_the_rules_say(name: str) -> None:
    """Words in prose mislead: only these are believed."""
    status, message, expected = MESSAGES[name]

    assert brief(response(status, message)) == expected
    assert brief(in_stream({"error": {"code": status, "message": message}})) == expected


WORDS = {
    "authentication_error": ("api_error", False),
    "insufficient_quota": ("api_error", False),
    "rate_limit_exceeded": ("rate_limit", True),
    "RESOURCE_EXHAUSTED": ("rate_limit", True),
    "overloaded_error": ("provider_overloaded", True),
    "server_error": ("provider_overloaded", True),
    "UNAVAILABLE": ("provider_overloaded", True),
    "timeout_error": ("timeout", True),
    "content_policy_violation": ("content_blocked", False),
    "INVALID_ARGUMENT": ("api_error", False),
    "model_not_found": ("model_error", False),
    "strange_error": ("unknown", False),
}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("place", ["code", "type", "status"])
def test_p113_a_word_means_the_same_wherever_it_stands(place: str, word: str) -> None:
    """Servers put their word under `code`, `type` or `status`."""
    kind, is_retryable = WORDS[word]

    fault = in_stream({"error": {"message": "x", "code": None, place: word}})

    assert brief(fault) == (kind, word, is_retryable)


def test_p68_fastapi_and_an_empty_error_are_errors_only_where_no_answer_is() -> None:
    """A field of that name beside an answer means nothing."""
    assert in_stream({"detail": [{"msg": "too long"}]}).message == '[{"msg":"too long"}]'
    assert brief(in_stream({"error": {}})) == ("unknown", "unknown", False)
    assert errors.error_in({"detail": "x", "choices": [{}]}) is None
    assert errors.error_in({"error": None}) is None
    assert errors.error_in({"error": {}, "choices": [{}]}) is None


@pytest.mark.parametrize("code", [14000, 0, -1, True, 1e300, "4000", "Kaputt <b>", []])
def test_p118_a_code_that_is_no_status_and_no_word_is_unknown(code: object) -> None:
    """The code is shown in Discord, so only what is harmless goes there."""
    assert brief(in_stream({"error": {"code": code}})) == ("unknown", "unknown", False)


def test_words_refine_a_429_and_a_refusal_of_content() -> None:
    """OpenAI says with a word what no retry will mend."""
    assert brief(response(429, "x", code="insufficient_quota"))[1] == "429_balance"
    assert brief(response(400, "x", code="content_filter")) == ("content_blocked", "400", False)
    assert brief(response(403, "x", metadata={"reasons": ["x"]}))[0] == "content_blocked"


def test_p69_the_upstream_s_own_words_are_kept_for_operators() -> None:
    """A router says "Provider returned error"; what happened stands below it."""
    fault = response(400, "Provider returned error", metadata={"raw": "no such model"})

    assert brief(fault) == ("model_error", "400_model", False)
    assert fault.message == "Provider returned error | no such model"


def test_p115_the_type_word_opens_the_private_message() -> None:
    """An operator sees what the server called it."""
    assert in_stream({"error": {"type": "server_error", "message": "CUDA"}}).message == (
        "server_error: CUDA"
    )


@pytest.mark.parametrize(
    ("seconds", "milliseconds"),
    [(None, None), (0.0, 0), (1.5, 1500), (-1.0, None), (float("nan"), None), (1e300, None)],
)
def test_a_wait_is_kept_where_it_makes_sense(
    seconds: float | None, milliseconds: int | None
) -> None:
    """A header is a stranger's word."""
    assert errors.of_response(429, "", seconds).retry_after_ms == milliseconds


SECRETS = {
    "a key": ("Incorrect API key provided: sk-proj-abcDEF123456.", "sk-proj-abcDEF123456"),
    "a masked key": ("key sk-abcd****************wxyz is wrong", "wxyz"),
    "a bearer": ("header Authorization: Bearer abc.def-123", "abc.def-123"),
    "a quoted field": ('{"api_key": "hunter22"}', "hunter22"),
    "PT129": ("got c2stcHJvai1hYmNERUYxMjM0NTY3ODkwYWJjZGVm", "c2stcHJvai"),
    "a Google key": ("AIzaSyA1234567890abcdefg bad", "AIzaSy"),
}


@pytest.mark.parametrize("name", SECRETS)
def test_pt129_credentials_in_prose_are_masked(name: str) -> None:
    """Providers quote the key back, and errors are kept for good."""
    prose, secret = SECRETS[name]

    assert secret in prose
    assert secret not in response(401, prose).message


def test_prose_without_credentials_stays_and_is_cut() -> None:
    """An operator needs the words, and the id of the request most of all."""
    prose = "Basic authentication failed, request 6f0c6b9e-4a5f-4e2b-9a39-0d6ad6f1e0aa"

    assert redact(prose) == prose
    assert len(redact("word " * 2_000)) == 2_000
    assert redact("\ud83d") == "\ufffd"
