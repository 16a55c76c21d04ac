"""The waits of one request to Discord, against their budget.

Every wait for a rate limit happens here, so that a stop can end it at once and all waits of one
post are counted together. A wait that does not fit into what is left is not begun: waiting most
of a minute to be refused helps nobody.
"""

import asyncio
from typing import Final

import structlog

from actors.delivery.outcomes import Exchange, failure
from actors.delivery.rate_limits import RateLimits, Route
from actors.ports import Clock, NotPosted, StopSignal
from events.delivery import Outcome

WAIT_BUDGET_SECONDS: Final = 30.0
"""Longest time that one post waits for rate limits, all of them together."""

_log = structlog.get_logger(__name__)


class Waits:
    """The waits and tries of one message."""

    def __init__(
        self, limits: RateLimits, clock: Clock, route: Route, stop: StopSignal | None
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._route = route
        self._began = clock.monotonic()
        self.stop = stop
        """Ends every wait."""
        self.budget = WAIT_BUDGET_SECONDS
        """Longest time to wait in all, in seconds."""
        self.waited = 0.0
        """Seconds waited so far."""
        self.tries = 0
        """Requests written."""
        self.has_slot = False
        """Whether a place among this second's requests is taken and not yet used."""

    @property
    def ms(self) -> float:
        """Milliseconds since the first of it."""
        return (self._clock.monotonic() - self._began) * 1000.0

    async def admit(self) -> NotPosted | None:
        """Return None once a request may be written, or what ends the post before it."""
        while True:
            if self.stop is not None and self.stop.is_set():
                return self._gave_up("pre_dispatch", "stopped")
            left = self.budget - self.waited
            seconds = self._seconds_to_wait(left)
            if seconds <= 0:
                return None
            if seconds > left:
                return self._gave_up("definite_refusal", "rate_limited")
            await self._wait(seconds)

    def note(self, exchange: Exchange) -> None:
        """Count a try and learn from its answer."""
        self.has_slot = False
        self.tries += exchange.is_sent
        now = self._clock.monotonic()
        self._limits.learn(self._route, exchange.headers, now)
        if exchange.too_many is not None:
            self._limits.refused(self._route, exchange.too_many, now)
            if exchange.too_many.is_ban:
                seconds = exchange.too_many.seconds
                _log.error("discord_edge_refuses_this_address", paused_seconds=seconds)

    def may_repeat(self, exchange: Exchange) -> bool:
        """Return whether nothing but a rate limit stood in the way."""
        return exchange.too_many is not None and not exchange.too_many.is_ban

    def failure(self, exchange: Exchange) -> NotPosted:
        """Return what `exchange`, the last one, makes of the post."""
        return failure(exchange, tries=self.tries, ms=self.ms)

    def _seconds_to_wait(self, left: float) -> float:
        now = self._clock.monotonic()
        seconds = self._limits.delay(self._route, now)
        if seconds > 0:
            # A limit that holds this back holds others back as well: whoever waited for it takes
            # a new place, so that they do not all leave in the moment it ends.
            self.has_slot = False
            return seconds
        if self.has_slot:
            return 0.0
        slot = self._limits.reserve(now, left)
        self.has_slot = slot is not None
        return left + 1.0 if slot is None else slot

    def _gave_up(self, outcome: Outcome, reason: str) -> NotPosted:
        return NotPosted(
            outcome=outcome,
            reason=reason,
            http_status=429 if self.tries else None,
            tries=self.tries,
            ms=self.ms,
        )

    async def _wait(self, seconds: float) -> None:
        began = self._clock.monotonic()
        sleeper = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            if self.stop is None:
                await sleeper
            else:
                await first_of(sleeper, self.stop)
        finally:
            sleeper.cancel()
            self.waited += self._clock.monotonic() - began


async def first_of(task: asyncio.Future[None], stop: StopSignal) -> None:
    """Return once `task` is done or `stop` is set."""
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
