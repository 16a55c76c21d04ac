"""What goes wrong on purpose: a queue of faults, each for some requests, in the order they came."""

import math
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bot.loopback.discord.calls import Kind
from bot.loopback.discord.entities import JsonObject
from bot.loopback.discord.refusals import MESSAGES, invalid

_TOO_MANY = 429
_GARBAGE = b"<!doctype html><title>discord</title>"
_HTML = b"<!doctype html><title>Access denied</title><p>error code: 1015</p>"


When = Literal["before", "after", "unread"]
"""Before the request has any effect; after it has; before its body was read."""


class Fault(Struct, frozen=True, kw_only=True):
    """One way in which Discord fails, for the next requests that fit."""

    route: Kind | Literal["any"] = "post"
    """Which requests; `webhook` executes one, `any` is every request, look-ups at start too."""
    action: Literal["status", "reset", "hang", "slow", "garbage"] = "status"
    """Answer `status`; reset the connection (TCP RST); hold the request until it is released,
    then go on as if nothing had been; go on after `seconds`; answer 200 with what is no JSON."""
    when: When = "before"
    """At which point of the request it strikes."""
    status: int = 500
    """HTTP status of `status`."""
    code: int | None = None
    """Discord's error code in the body of `status`; None writes 0."""
    field: str | None = None
    """The part of the form that a 400 of `status` complains of, such as `components`."""
    retry_after: float | None = None
    """Seconds, of a 429: in the body as they are, in the header rounded up."""
    is_global: bool = False
    """Whether a 429 is for the whole bot."""
    shared: bool = False
    """Whether a 429 is of a resource's shared limit (X-RateLimit-Scope)."""
    html: bool = False
    """Whether `status` comes with an HTML page, as from the network in front of Discord."""
    body: bytes | None = None
    """What `garbage` says; None is an HTML page."""
    seconds: float = 0.0
    """How long `slow` waits."""
    times: int | None = 1
    """How many requests it meets; None is all."""
    channel_id: int | None = None
    """Only requests to this channel or thread; None is every one."""


class Answer(Struct, frozen=True, kw_only=True):
    """A response as bytes."""

    status: int
    """HTTP status."""
    body: bytes
    """The body."""
    content_type: str = "application/json"
    """Its media type."""
    headers: Mapping[str, str] = {}
    """Further headers."""


class Faults:
    """The faults still to come."""

    def __init__(self) -> None:
        self._queue: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Queue a fault."""
        self._queue.append(fault)

    def clear(self) -> None:
        """Forget the faults that are still queued."""
        self._queue.clear()

    def take(self, kind: Kind, channel_id: int | None) -> Fault | None:
        """Return the fault that this request meets, and count it."""
        for index, fault in enumerate(self._queue):
            fits_kind = fault.route in {"any", kind}
            if fits_kind and fault.channel_id in {None, channel_id}:
                self._count(index, fault)
                return fault
        return None

    def _count(self, index: int, fault: Fault) -> None:
        if fault.times is None:
            return
        if fault.times > 1:
            self._queue[index] = replace(fault, times=fault.times - 1)
        else:
            del self._queue[index]


def answer_of(fault: Fault) -> Answer:
    """Return what a fault of action `status` or `garbage` answers."""
    if fault.action == "garbage":
        garbage = _GARBAGE if fault.body is None else fault.body
        return Answer(status=200, body=garbage, content_type="text/html")
    headers = limit_headers(fault) if fault.status == _TOO_MANY else {}
    if fault.html:
        return Answer(status=fault.status, body=_HTML, content_type="text/html", headers=headers)
    if fault.field is not None:
        refusal = invalid(fault.field, "LOOPBACK_FAULT", "Refused on purpose.")
        return Answer(status=refusal.status, body=msgspec.json.encode(refusal.body()))
    code = fault.code or 0
    body: JsonObject = {"message": MESSAGES.get(code, "Loopback fault"), "code": code}
    if fault.status == _TOO_MANY:
        body |= {"message": "You are being rate limited.", "global": fault.is_global}
        body["retry_after"] = fault.retry_after or 0.0
    return Answer(status=fault.status, body=msgspec.json.encode(body), headers=headers)


def limit_headers(fault: Fault) -> dict[str, str]:
    """Return the headers of a 429; without a bucket's, so that the body decides the wait."""
    headers: dict[str, str] = {}
    if fault.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(fault.retry_after))
    if fault.is_global:
        headers["X-RateLimit-Global"] = "true"
        headers["X-RateLimit-Scope"] = "global"
    elif not fault.html:
        headers["X-RateLimit-Scope"] = "shared" if fault.shared else "user"
    return headers
