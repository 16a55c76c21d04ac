"""Discord's rate limits: buckets with the headers that tell a client of them.

Off, every request is let through under headers of a limit that nobody reaches: without any
headers a client such as hikari lets only one request of a route out at a time, and one that hangs
would hold up those of other channels.
"""

import math
import zlib

import msgspec
from msgspec import Struct

from actors.ports import Clock
from bot.loopback.discord.calls import Kind, Route
from bot.loopback.discord.faults import Answer


class Rate(Struct, frozen=True, kw_only=True):
    """How many requests in how long."""

    limit: int
    """Requests a window."""
    seconds: float
    """The window's length."""


POSTS = Rate(limit=5, seconds=5.0)
"""Posts of a channel."""
WEBHOOK = Rate(limit=5, seconds=2.0)
"""Posts through a webhook."""
GLOBAL = Rate(limit=50, seconds=1.0)
"""All requests of the bot; those with a webhook's or interaction's token don't count."""
GENEROUS = Rate(limit=10_000, seconds=1.0)
"""What the headers say where nothing is limited."""

UNLIMITED = "/interactions/"
"""Where Discord has no limits; hikari complains of headers that say otherwise."""


class _Window(Struct):
    opened: float
    used: int


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether a request is let through, and what its response tells."""

    headers: dict[str, str]
    """The bucket's headers."""
    refusal: Answer | None = None
    """The 429, where it is not let through."""


class Limits:
    """The buckets of one bot."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[tuple[str, str], _Window] = {}
        self.enforce = False
        """Whether requests beyond a limit are refused."""

    def check(self, route: Route, kind: Kind, subject: str) -> Verdict:
        """Count a request to the bucket of `route` for `subject` (a channel, a webhook)."""
        if route.path.startswith(UNLIMITED):
            return Verdict(headers={})
        bucket = f"{route.method} {route.path}"
        if not self.enforce:
            return Verdict(headers=self._headers(bucket, GENEROUS, 1, GENEROUS.seconds))
        now = self._clock.monotonic()
        if route.needs_token:
            every = self._window(("global", ""), GLOBAL, now)
            if every.used >= GLOBAL.limit:
                wait = every.opened + GLOBAL.seconds - now
                headers = {"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}
                return Verdict(headers={}, refusal=_too_many(wait, headers, is_global=True))
            every.used += 1
        rate = {"post": POSTS, "webhook": WEBHOOK}.get(kind, GENEROUS)
        window = self._window((bucket, subject), rate, now)
        wait = window.opened + rate.seconds - now
        if window.used >= rate.limit:
            headers = self._headers(bucket, rate, window.used, wait)
            refused = headers | {"X-RateLimit-Scope": "user"}
            return Verdict(headers=headers, refusal=_too_many(wait, refused, is_global=False))
        window.used += 1
        return Verdict(headers=self._headers(bucket, rate, window.used, wait))

    def _window(self, key: tuple[str, str], rate: Rate, now: float) -> _Window:
        window = self._windows.get(key)
        if window is None or now >= window.opened + rate.seconds:
            window = self._windows[key] = _Window(opened=now, used=0)
        return window

    def _headers(self, bucket: str, rate: Rate, used: int, reset_after: float) -> dict[str, str]:
        reset_at = self._clock.now().timestamp() + reset_after
        return {
            "X-RateLimit-Limit": str(rate.limit),
            "X-RateLimit-Remaining": str(rate.limit - used),
            "X-RateLimit-Reset": f"{reset_at:.3f}",
            "X-RateLimit-Reset-After": f"{reset_after:.3f}",
            "X-RateLimit-Bucket": f"{zlib.crc32(bucket.encode()):08x}",
        }


def _too_many(wait: float, headers: dict[str, str], *, is_global: bool) -> Answer:
    body = {
        "message": "You are being rate limited.",
        "retry_after": round(wait, 3),
        "global": is_global,
    }
    return Answer(
        status=429,
        body=msgspec.json.encode(body),
        headers=headers | {"Retry-After": str(math.ceil(wait))},
    )
