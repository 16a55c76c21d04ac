"""The real clock: the one place that reads the machine's time."""

import asyncio
import time
from datetime import UTC, datetime

from msgspec import Struct


class SystemClock(Struct, frozen=True):
    """`actors.ports.Clock` on the machine's clocks."""

    def now(self) -> datetime:
        """Return the wall clock: aware, UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the clock itself

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        await asyncio.sleep(seconds)
