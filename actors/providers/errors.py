"""A provider's failure, classified: by HTTP status, by word, or by how the connection broke.

One classifier serves statuses, error objects inside a stream that began with 200, and broken
connections, so that the same failure gets the same answer wherever it shows. A status is read as
a number and never searched for in prose ("maximum context length is 14000" is no 400), and the
word "timeout" in prose makes no timeout.
"""

import re
from typing import Final

from msgspec import Struct

from actors.providers.json_text import (
    BadPayloadError,
    JsonObject,
    dump,
    is_list,
    is_object,
    object_of,
    parse_object,
    text_of,
)
from actors.providers.redaction import redact
from actors.providers.surrogates import clean
from events.generation import ErrorType, ProviderFault, StreamEnd

_Class = tuple[ErrorType, bool]

_API_ERROR: Final[_Class] = ("api_error", False)
_OVERLOADED: Final[_Class] = ("provider_overloaded", True)
_TIMEOUT: Final[_Class] = ("timeout", True)
_RATE_LIMIT: Final[_Class] = ("rate_limit", True)
_BLOCKED: Final[_Class] = ("content_blocked", False)
_UNKNOWN: Final[_Class] = ("unknown", False)

_BY_STATUS: Final[dict[int, _Class]] = {
    408: _TIMEOUT,
    409: ("api_error", True),
    425: ("api_error", True),
    429: _RATE_LIMIT,
    504: _TIMEOUT,
    524: _TIMEOUT,
}
"""Statuses that are not what their hundred says: 5xx is an overload, the rest an API error."""

_BY_WORD: Final[dict[str, _Class]] = {
    **dict.fromkeys(
        (
            "authentication_error",
            "permission_error",
            "invalid_request_error",
            "not_found_error",
            "request_too_large",
            "billing_error",
            "invalid_api_key",
            "insufficient_quota",
            "PERMISSION_DENIED",
            "UNAUTHENTICATED",
            "INVALID_ARGUMENT",
            "FAILED_PRECONDITION",
            "NOT_FOUND",
        ),
        _API_ERROR,
    ),
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"), _RATE_LIMIT),
    **dict.fromkeys(
        (
            "overloaded_error",
            "api_error",
            "server_error",
            "internal_server_error",
            "UNAVAILABLE",
            "INTERNAL",
        ),
        _OVERLOADED,
    ),
    **dict.fromkeys(("timeout_error", "DEADLINE_EXCEEDED"), _TIMEOUT),
    **dict.fromkeys(("content_policy_violation", "content_filter", "PROHIBITED_CONTENT"), _BLOCKED),
    "model_not_found": ("model_error", False),
}

_BY_END: Final[dict[StreamEnd, tuple[_Class, str]]] = {
    "refused": (_API_ERROR, "ECONNREFUSED"),
    "dns": (_API_ERROR, "DNS"),
    "tls": (_API_ERROR, "TLS"),
    "oversized": (_API_ERROR, "oversized_event"),
    "timeout": (_TIMEOUT, "read_timeout"),
    "connection_lost": (_OVERLOADED, "connection_lost"),
}

_BALANCE: Final = re.compile(
    r"insufficient balance|insufficient credits|not enough credits|no resource package"
    r"|please recharge"
)
_BALANCE_WORDS: Final = frozenset({"insufficient_quota", "billing_error"})
_PLAN: Final = re.compile(r"subscription plan|does not yet include access|plan does not include")
_MODEL: Final = re.compile(
    r"\b(?:unsupported|invalid|unknown|unrecogni[sz]ed|no such) model\b"
    r"|\bmodel_not_found\b|\bnot a valid model\b"
    r"|\b(?:model\b(?: id)?:?(?: [\"'`]?[^\s\"'`]{1,128}[\"'`]?)?|models/\S{1,128})"
    r"(?: is| was| has been)?"
    r" (?:not found|does not exist|not supported|unavailable|not available|invalid|deprecated)\b"
)
_MODEL_STATUSES: Final = frozenset({400, 404, 410, 422, None})
_SAFE_WORD: Final = re.compile(r"[a-z][a-z0-9_]{0,63}|[A-Z][A-Z0-9_]{0,63}")
_DELAY: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?s")
_FIRST_FAILURE: Final = 400
_FIRST_SERVER_FAILURE: Final = 500
_LAST_FAILURE: Final = 599
_SEARCHED: Final = 8_000
_WORD_LIMIT: Final = 100
_LONGEST_WAIT_SECONDS: Final = 7 * 24 * 3600.0


class ErrorReport(Struct, frozen=True, kw_only=True):
    """What an error says of itself, in whichever dialect."""

    status: int | None = None
    """Its numeric code, 400 to 599."""
    words: tuple[str, ...] = ()
    """Its word code, then its type."""
    message: str = ""
    """Its prose."""
    is_moderated: bool = False
    """Whether it carries a router's verdict of a moderation."""
    retry_after_seconds: float | None = None
    """How long it asks to wait, where it says so itself."""


def error_in(payload: JsonObject) -> ErrorReport | None:
    """Return the error that a payload of a stream carries, None where it carries none.

    An `error` object or text, the flat shape of older vLLM, or FastAPI's `detail`.
    """
    error = payload.get("error")
    if error:
        return _report(error)
    if payload.get("choices"):
        return None
    if payload.get("object") == "error" or error in ({}, ""):
        return _report(payload)
    detail = payload.get("detail")
    return _report({"message": detail}) if detail else None


def of_report(report: ErrorReport) -> ProviderFault:
    """Return the fault that an error inside a stream means."""
    return _classify(report, report.status, report.retry_after_seconds)


def of_response(status: int, body: str, retry_after_seconds: float | None) -> ProviderFault:
    """Return the fault that a response whose status is not 2xx means."""
    try:
        payload = parse_object(body)
    except BadPayloadError:
        report = ErrorReport(message=body[:_SEARCHED])
    else:
        report = error_in(payload) or _report(payload)
    hint = report.retry_after_seconds if retry_after_seconds is None else retry_after_seconds
    return _classify(report, status, hint)


def of_end(end: StreamEnd) -> ProviderFault | None:
    """Return the fault that a broken connection means, None for the ends that are none."""
    if end not in _BY_END:
        return None
    (kind, is_retryable), code = _BY_END[end]
    return ProviderFault(type=kind, code=code, retryable=is_retryable)


def _report(error: object) -> ErrorReport:
    if not is_object(error):
        return ErrorReport(message=_prose(error))
    error = _unwrapped(error)
    code = error.get("code")
    metadata = object_of(error.get("metadata"))
    message = _prose(error.get("message") or error.get("detail"))
    upstream = _prose(metadata.get("raw"))
    if upstream and upstream not in message:
        message = f"{message} | {upstream}" if message else upstream
    statuses = (_status(one) for one in (code, error.get("status"), error.get("status_code")))
    return ErrorReport(
        status=next((status for status in statuses if status is not None), None),
        words=tuple(
            clean(word.strip()[:_WORD_LIMIT])
            for word in (text_of(code), text_of(error.get("type")), text_of(error.get("status")))
            if word and not word.strip().isdecimal()
        ),
        message=message,
        is_moderated="reasons" in metadata or "flagged_input" in metadata,
        retry_after_seconds=_retry_delay(error.get("details")),
    )


def _unwrapped(error: JsonObject) -> JsonObject:
    """Return the error that Google wraps as JSON in the message of another one, one level down."""
    message = text_of(error.get("message")).strip()
    if not message.startswith("{"):
        return error
    try:
        inner = parse_object(message[:_SEARCHED]).get("error")
    except BadPayloadError:
        return error
    return {**error, **inner} if is_object(inner) else error


def _retry_delay(details: object) -> float | None:
    """Return the seconds of Google's RetryInfo, which says them as a text such as `34s`."""
    for one in details if is_list(details) else []:
        delay = text_of(object_of(one).get("retryDelay"))
        if _DELAY.fullmatch(delay):
            return float(delay.removesuffix("s"))
    return None


def _prose(value: object) -> str:
    if isinstance(value, str):
        return value[:_SEARCHED]
    return dump(value)[:_SEARCHED] if is_object(value) or is_list(value) else ""


def _status(code: object) -> int | None:
    if isinstance(code, str) and len(code) == len("400") and code.isascii() and code.isdecimal():
        code = int(code)
    if isinstance(code, bool) or not isinstance(code, int | float):
        return None
    is_status = _FIRST_FAILURE <= code <= _LAST_FAILURE and code == int(code)
    return int(code) if is_status else None


def _classify(
    report: ErrorReport, status: int | None, retry_after_seconds: float | None
) -> ProviderFault:
    prose = report.message.lower()
    if status is None:
        (kind, is_retryable), code = _by_words(report.words)
    else:
        (kind, is_retryable), code = _by_status(status, report, prose)
    if kind in ("api_error", "unknown") and not is_retryable and status in _MODEL_STATUSES:
        searched = " ".join((*report.words, prose))
        if _MODEL.search(searched):
            kind, code = "model_error", f"{code}_model"
    return ProviderFault(
        type=kind,
        code=code,
        retryable=is_retryable,
        message=_private(report),
        retry_after_ms=_milliseconds(retry_after_seconds),
    )


def _by_status(status: int, report: ErrorReport, prose: str) -> tuple[_Class, str]:
    code = str(status)
    is_client_failure = status < _FIRST_SERVER_FAILURE
    if status == 429:  # noqa: PLR2004 - a status reads best as itself
        if _BALANCE.search(prose) or not _BALANCE_WORDS.isdisjoint(report.words):
            return _API_ERROR, "429_balance"
        if _PLAN.search(prose):
            return _API_ERROR, "429_plan_access"
    if is_client_failure and status not in _BY_STATUS:
        is_blocked = any(_BY_WORD.get(word) == _BLOCKED for word in report.words)
        is_moderated = status == 403 and report.is_moderated  # noqa: PLR2004 - as above
        return (_BLOCKED if is_blocked or is_moderated else _API_ERROR), code
    return _BY_STATUS.get(status, _OVERLOADED), code


def _by_words(words: tuple[str, ...]) -> tuple[_Class, str]:
    for word in words:
        if word in _BY_WORD:
            return _BY_WORD[word], word
    safe = next((word for word in words if _SAFE_WORD.fullmatch(word)), "unknown")
    return _UNKNOWN, safe


def _private(report: ErrorReport) -> str:
    """Return the prose for operators, opened by the error's words where it leaves them out."""
    missing = [word for word in dict.fromkeys(report.words) if word not in report.message]
    return redact(": ".join(part for part in (" ".join(missing), report.message) if part))


def _milliseconds(seconds: float | None) -> int | None:
    if seconds is None or not 0 <= seconds <= _LONGEST_WAIT_SECONDS:
        return None
    return round(seconds * 1000)
