"""What one exchange with Discord means for the message it carried; pure.

A post ends in exactly one of four outcomes: it was sent, or

- `pre_dispatch`: nothing left this process, or a stop came while Discord only ever said "later";
- `definite_refusal`: Discord answered that it took nothing;
- `unconfirmed`: the request may have been taken, nobody knows. It is never written again.

The question that decides is not which error came, but whether the request had begun to leave: a
connection that could not be opened has carried nothing, a reset after the first byte may have
carried everything. In doubt it is `unconfirmed`, for a lost message can be asked for again and a
doubled one can't be taken back.
"""

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Literal

import msgspec
from msgspec import Struct

from actors.ports import NotPosted
from events.delivery import COMPONENTS_REFUSED, Outcome

LEAST_SECONDS = 0.25
"""Least wait after a 429, so that one that says 0 over and over uses up its budget too."""
BAN_SECONDS = 60.0
"""Least pause after a refusal by the network edge, which seldom says how long it lasts."""


Fault = Literal[
    "stopped",
    "dns",
    "tls",
    "connection_refused",
    "connect_timeout",
    "connect_failed",
    "connection_reset",
    "timeout",
    "client_error",
]
"""What broke an exchange; `client_error` where it is none of the others."""


class Exchange:
    """One HTTP request to Discord, filled in while it happens."""

    __slots__ = (
        "body",
        "code",
        "fault",
        "headers",
        "is_sent",
        "refuses_buttons",
        "status",
        "too_many",
    )

    def __init__(self) -> None:
        self.is_sent = False
        """Whether the request may have begun to leave."""
        self.status: int | None = None
        """The response's status, once its headers came."""
        self.headers: Mapping[str, str] = {}
        """The response's headers."""
        self.body: object = None
        """The JSON of a 2xx response, once it was read."""
        self.code: int | None = None
        """Discord's error code, where the response carried one."""
        self.refuses_buttons = False
        """Whether Discord's complaint is about the message's components."""
        self.fault: Fault | None = None
        """What broke; None where a good response was read whole."""
        self.too_many: TooMany | None = None
        """The rate limit that a 429 announced."""


class TooMany(Struct, frozen=True, kw_only=True):
    """A 429: nothing was taken, and when to come back."""

    seconds: float
    """How long to wait: the larger of what header and body say."""
    is_global: bool = False
    """Whether every request of this bot has to wait, not only this route's."""
    is_ban: bool = False
    """Whether the network edge refused, not Discord: every request of this address has to wait."""


class _LimitBody(Struct):
    retry_after: float
    is_global: bool = msgspec.field(default=False, name="global")


_limit_decoder = msgspec.json.Decoder(_LimitBody, strict=False)


def seconds_of(headers: Mapping[str, str], name: str) -> float | None:
    """Return the header's seconds; None where it is absent or no finite number of seconds."""
    try:
        seconds = float(headers[name])
    except (KeyError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def read_too_many(headers: Mapping[str, str], body: bytes) -> TooMany:
    """Return what a 429 says.

    A body without `retry_after` is no answer of Discord's API but of what stands before it, which
    shuts out addresses that kept knocking: going on would only prolong it.
    """
    announced = [
        seconds_of(headers, "Retry-After") or 0.0,
        (seconds_of(headers, "X-RateLimit-Reset-After") or 0.0) if _is_spent(headers) else 0.0,
    ]
    try:
        said = _limit_decoder.decode(body)
    except msgspec.MsgspecError:
        return TooMany(seconds=max(*announced, BAN_SECONDS), is_ban=True)
    is_global = said.is_global or "X-RateLimit-Global" in headers
    return TooMany(seconds=max(*announced, said.retry_after, LEAST_SECONDS), is_global=is_global)


def _is_spent(headers: Mapping[str, str]) -> bool:
    # A shared limit is refused with a bucket of our own that has requests left: its reset is
    # then about something else.
    return headers.get("X-RateLimit-Remaining") == "0"


def outcome_of(exchange: Exchange) -> tuple[Outcome, str]:
    """Return outcome and reason of an exchange that gave no message."""
    status = exchange.status
    if status is None:
        outcome: Outcome = "unconfirmed" if exchange.is_sent else "pre_dispatch"
        return outcome, exchange.fault or "client_error"
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        is_cut = exchange.fault in {"timeout", "connection_reset"}
        return "unconfirmed", str(exchange.fault) if is_cut else "no_message"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        is_ban = exchange.too_many is not None and exchange.too_many.is_ban
        return "definite_refusal", "banned" if is_ban else "rate_limited"
    is_refusal = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    if exchange.refuses_buttons:
        return "definite_refusal", COMPONENTS_REFUSED
    if is_refusal and status != HTTPStatus.REQUEST_TIMEOUT:
        return "definite_refusal", f"http_{status}"
    return "unconfirmed", f"http_{status}"


def message_id_of(body: object) -> int | None:
    """Return the id of the message that a 2xx body holds, None where it holds none.

    Reading the id alone is on purpose: a message of a shape that the library can't build yet
    stands in the channel all the same.
    """
    if not isinstance(body, dict):
        return None
    raw: Any = body.get("id")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - JSON
    if isinstance(raw, str) and raw.isascii() and raw.isdecimal():
        return int(raw)
    return None


def failure(exchange: Exchange, *, tries: int, ms: float) -> NotPosted:
    """Return what an exchange without a message means for the post it ends."""
    outcome, reason = outcome_of(exchange)
    return NotPosted(
        outcome=outcome,
        reason=reason,
        code=exchange.code,
        http_status=exchange.status,
        tries=tries,
        ms=ms,
    )
