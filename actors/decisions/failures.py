"""What an HTTP status means for a decision, and what little of an error's body may be told.

Of the body nothing is kept but a limit that is on a closed list, the one balance that it may
demand, and words that are codes: prose quotes requests, and may quote keys.

Pure.
"""

import math
import re
from typing import Final

from msgspec import Struct

from actors.errors import LimitReachedError
from actors.providers.json_text import (
    BadPayloadError,
    JsonObject,
    object_of,
    parse_object,
    text_of,
)
from events.decisions import DecisionFailure

LIMIT_SOURCES: Final = frozenset(
    {
        "openrouter_credits",
        "openrouter_key_limit",
        "openrouter_in_flight_budget",
        "openrouter_guardrail_budget",
        "openrouter_workspace_budget",
    }
)
"""Limits by OpenRouter's names (its error reference); another name is no limit to us."""
MEDIA_MINIMUM_KEYS: Final = ("media_minimum_usd",)
"""Where an error says which balance it demands for media; the reference does not name it."""

_BY_STATUS: Final[dict[int, DecisionFailure]] = {
    401: "authentication",
    402: "payment_required",
    403: "authentication",
    404: "model_unavailable",
    408: "upstream",
    410: "model_unavailable",
    429: "throttled",
}
_FORBIDDEN: Final = 403
_SERVER_FAILURES: Final = range(500, 600)
_LIMITED: Final = frozenset({402, 403, 429})
_FAILURES: Final = range(400, 600)
_CODE: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,63}")


class HttpFailure(Struct, frozen=True, kw_only=True):
    """What a response that is no answer means."""

    category: DecisionFailure
    """What went wrong."""
    cause: LimitReachedError | None = None
    """The limit that was reached."""
    codes: tuple[str, ...] = ()
    """The error's own words for it, such as `invalid_request_error`; for the log."""


def failure_of(status: int, body: bytes) -> HttpFailure:
    """Return what a response of `status`, no 2xx, means; its body may be cut or anything else."""
    try:
        error = object_of(parse_object(body.decode(errors="replace")).get("error"))
    except BadPayloadError:
        error = {}
    return _classified(status, error)


def error_within(payload: JsonObject) -> HttpFailure | None:
    """Return what an error object means that came with status 200, None where there is none."""
    error = object_of(payload.get("error"))
    if not error or "answers" in payload:
        return None
    code = error.get("code")
    if isinstance(code, bool) or not isinstance(code, int) or code not in _FAILURES:
        return HttpFailure(category="malformed_response", codes=_codes(error))
    return _classified(code, error)


def _classified(status: int, error: JsonObject) -> HttpFailure:
    cause = _limit(error) if status in _LIMITED else None
    category = _BY_STATUS.get(status, "malformed_request")
    if status in _SERVER_FAILURES:
        category = "upstream"
    if status == _FORBIDDEN and cause is not None:
        category = "payment_required"
    return HttpFailure(category=category, cause=cause, codes=_codes(error))


def _limit(error: JsonObject) -> LimitReachedError | None:
    metadata = object_of(error.get("metadata"))
    source = text_of(metadata.get("limit_source"))
    if source not in LIMIT_SOURCES:
        return None
    minimums = [_amount(metadata.get(key)) for key in MEDIA_MINIMUM_KEYS]
    return LimitReachedError(source, next((one for one in minimums if one is not None), None))


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < math.inf else None


def _codes(error: JsonObject) -> tuple[str, ...]:
    words = (text_of(error.get(name)) for name in ("code", "type"))
    return tuple(word for word in words if _CODE.fullmatch(word))
