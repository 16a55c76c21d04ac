"""When the next request may be written: what Discord has said of its limits; pure.

Discord counts requests a route and channel (a bucket: so many until a reset), over the whole bot,
and, at its edge, over the address. It tells of the first in every response, of the others only by
refusing. A refusal is not free: too many of them within ten minutes shut the address out. So what
is known is waited out before a request is written, and the documented limit over the whole bot
(https://docs.discord.com/developers/topics/rate-limits: 50 a second) is kept without being told.

No clock in here: times are seconds of the caller's monotonic clock.
"""

from collections import deque
from collections.abc import Mapping

from actors.delivery.outcomes import TooMany, seconds_of

REQUESTS_PER_SECOND = 50
"""Discord's limit over all routes of one bot."""
BUCKETS_KEPT = 4096
"""Buckets remembered before those that have reset are dropped."""

Route = tuple[str, int]
"""What is asked for, such as `messages`, and the channel it is asked of."""


class _Bucket:
    __slots__ = ("remaining", "reset_at")

    def __init__(self, remaining: int, reset_at: float) -> None:
        self.remaining = remaining
        self.reset_at = reset_at


class RateLimits:
    """What is known of every limit of one bot."""

    def __init__(self, per_second: int = REQUESTS_PER_SECOND) -> None:
        self._buckets: dict[Route, _Bucket] = {}
        self._paused_until = 0.0
        # The last so many times that requests were let go: the next one may go a second after
        # the oldest of them. Reserving a time when asked makes waiters leave in the order they
        # came, one by one, instead of all together when a second is over.
        self._slots: deque[float] = deque(maxlen=per_second)

    def __len__(self) -> int:
        """Return how many buckets are remembered."""
        return len(self._buckets)

    def delay(self, route: Route, now: float) -> float:
        """Return the seconds until `route` may be used again, 0 where it may be used now."""
        until = self._paused_until
        bucket = self._buckets.get(route)
        if bucket is not None and bucket.remaining <= 0:
            until = max(until, bucket.reset_at)
        return max(0.0, until - now)

    def reserve(self, now: float, longest: float) -> float | None:
        """Take the next place among the requests of this second.

        Returns:
            The seconds until it, 0 for now; None, with nothing taken, where that is beyond
            `longest`.
        """
        slots = self._slots
        slot = now if len(slots) < (slots.maxlen or 1) else max(now, slots[0] + 1.0)
        if slot - now > longest:
            return None
        slots.append(slot)
        return slot - now

    def learn(self, route: Route, headers: Mapping[str, str], now: float) -> None:
        """Remember what a response says of the bucket of `route`; `now` is its arrival."""
        reset_after = seconds_of(headers, "X-RateLimit-Reset-After")
        remaining = seconds_of(headers, "X-RateLimit-Remaining")
        if reset_after is None or remaining is None:
            return
        if len(self._buckets) >= BUCKETS_KEPT:
            self._forget(now)
        self._buckets[route] = _Bucket(int(remaining), now + reset_after)

    def refused(self, route: Route, too_many: TooMany, now: float) -> None:
        """Remember a refusal: of the route alone, or of everything this process writes."""
        until = now + too_many.seconds
        if too_many.is_global or too_many.is_ban:
            self._paused_until = max(self._paused_until, until)
            return
        self._buckets[route] = _Bucket(0, until)

    def _forget(self, now: float) -> None:
        self._buckets = {
            route: bucket for route, bucket in self._buckets.items() if bucket.reset_at > now
        }
