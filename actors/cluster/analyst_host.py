"""The analyst's outside: an actor at the lowest priority that is of any use."""

import asyncio
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from actors.analyst import Analyst
from actors.cluster.adapters import ActorName, RayLogEndpoint
from actors.log_client import LogClient
from actors.log_lines import SetUpLog
from actors.ports import Clock
from actors.table import Table
from events.base import Position, Recorded, TurnId

NICE: Final = 10
"""Figures must not take the processor from answers."""


class AnalystHost:
    """Hosts an `Analyst`; a restarted one follows from its checkpoint."""

    def __init__(self, log: ActorName, clock: Clock, directory: Path, set_up_log: SetUpLog) -> None:
        set_up_log(())
        self._analyst = Analyst(LogClient(RayLogEndpoint(log.handle()), clock), directory)
        self._is_started = False
        self._starting = asyncio.Lock()
        os.nice(NICE)

    async def ready(self) -> int:
        """Start following; return this process's id."""
        await self._started()
        return os.getpid()

    async def reached(self, position: Position) -> None:
        """As `Analyst.reached`."""
        await (await self._started()).reached(position)

    async def turns(self, limit: int) -> Table:
        """As `Analyst.turns`."""
        return await (await self._started()).turns(limit)

    async def usage(self, by: Sequence[str]) -> Table:
        """As `Analyst.usage`."""
        return await (await self._started()).usage(by)

    async def budgets(self, month: str) -> Table:
        """As `Analyst.budgets`."""
        return await (await self._started()).budgets(month)

    async def sql(self, query: str) -> Table:
        """As `Analyst.sql`."""
        return await (await self._started()).sql(query)

    async def turn_events(self, turn: str) -> list[Recorded]:
        """As `Analyst.turn_events`."""
        return await (await self._started()).turn_events(turn)

    async def turn_ids(self, since: datetime | None) -> list[TurnId]:
        """As `Analyst.turn_ids`."""
        return await (await self._started()).turn_ids(since)

    async def aclose(self) -> None:
        """As `Analyst.aclose`."""
        if self._is_started:
            await self._analyst.aclose()

    async def _started(self) -> Analyst:
        async with self._starting:
            if not self._is_started:
                await self._analyst.start()
                self._is_started = True
        return self._analyst
