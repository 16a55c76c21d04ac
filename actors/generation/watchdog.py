"""Ends a response that says nothing: first for long, then for as long as a pause may be.

Only progress counts: words, thoughts, a tool call. Bytes alone do not, since many servers keep a
dead generation's connection open with comments. Works like `asyncio.timeout`, over a `Clock`.
"""

import asyncio
from types import TracebackType
from typing import Literal, Self

from actors.errors import TransportError
from actors.generation.limits import TurnLimits
from actors.ports import Clock


class Watchdog:
    """Cancels the block that it guards, which then raises `TransportError` of end `timeout`."""

    def __init__(self, clock: Clock, limits: TurnLimits) -> None:
        self._clock = clock
        self._limits = limits
        self._deadline = 0.0
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.Task[None] | None = None
        self.phase: Literal["first_token", "idle"] = "first_token"
        """What is waited for."""
        self.has_bitten = False
        """Whether it came in vain."""

    def progress(self) -> None:
        """Begin the wait anew."""
        self._deadline = self._clock.monotonic() + self._limits.idle_seconds
        if self.phase == "first_token" and self._timer is not None:
            # The timer sleeps until the first deadline, which may be later than the one of now.
            self._timer.cancel()
            self._timer = asyncio.create_task(self._watch())
        self.phase = "idle"

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        self._deadline = self._clock.monotonic() + self._limits.first_token_seconds
        self._timer = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        assert self._timer is not None
        assert self._task is not None
        self._timer.cancel()
        # The cancellation is ours only where nobody else asked for one beside it.
        if self.has_bitten and self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TransportError("timeout", self.phase)

    async def _watch(self) -> None:
        while (left := self._deadline - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        self.has_bitten = True
        assert self._task is not None
        self._task.cancel()
