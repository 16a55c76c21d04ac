"""Fake ports that behave: what most tests run on instead of the world."""

import asyncio
from datetime import UTC, datetime, timedelta


class ManualClock:
    """A clock that stands still until it is moved; sleepers wake when it passes them."""

    def __init__(self) -> None:
        self._start = datetime(2026, 1, 1, tzinfo=UTC)
        self._seconds = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._slept = asyncio.Event()

    def now(self) -> datetime:
        """Return the wall clock, from 2026-01-01 on."""
        return self._start + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        """Return the seconds moved so far."""
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has been moved by `seconds`."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._seconds + seconds, waiter))
        self._slept.set()
        await waiter

    async def advance(self, seconds: float) -> None:
        """Move the clock and let those wake whose time has come."""
        self._seconds += seconds
        due = [waiter for until, waiter in self._sleepers if until <= self._seconds]
        self._sleepers = [one for one in self._sleepers if one[0] > self._seconds]
        for waiter in due:
            if not waiter.done():
                waiter.set_result(None)
        await asyncio.sleep(0)

    async def until_someone_sleeps(self) -> None:
        """Return once a sleeper waits."""
        while not any(not waiter.done() for _, waiter in self._sleepers):
            self._slept.clear()
            await self._slept.wait()
