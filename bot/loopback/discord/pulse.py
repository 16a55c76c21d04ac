"""Waiting for something to come true without asking again and again."""

import asyncio
from collections.abc import Callable


class Pulse:
    """Beats at every change; whoever waits looks again at each beat."""

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    def beat(self) -> None:
        """Wake all who wait."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def until(self, predicate: Callable[[], bool], timeout: float | None) -> None:
        """Return once `predicate` holds.

        Raises:
            TimeoutError: It does not within `timeout` seconds; None waits for ever.
        """
        async with asyncio.timeout(timeout):
            while not predicate():
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.append(waiter)
                await waiter
