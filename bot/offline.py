"""Operations on files at rest, where no bot runs."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime

from typing_extensions import override

from actors.analyst import FILE
from actors.errors import RefusalError
from actors.log_owner import LOG_FILE
from actors.read_models.catch_up import catch_up
from actors.read_models.read_models import ReadModels
from actors.table import Table
from bot.operations import Operations, ReplayReport, Status, VerifyReport
from bot.reports import replay_report, verify_report
from bot.settings import Settings
from events.base import Recorded, TurnId


class OfflineOperations(Operations):
    """`Operations` over a read model that was brought up to date with the log."""

    def __init__(self, models: ReadModels) -> None:
        self._models = models

    @override
    async def turns(self, limit: int) -> Table:
        return await asyncio.to_thread(self._models.turns, limit)

    @override
    async def replay(self, turn: str) -> ReplayReport:
        return replay_report(await self._read(TurnId(turn)))

    @override
    async def verify(self, since: datetime | None) -> VerifyReport:
        turn_ids = await asyncio.to_thread(self._models.turn_ids, since)
        return await verify_report(turn_ids, self._read)

    @override
    async def usage(self, by: tuple[str, ...]) -> Table:
        return await asyncio.to_thread(self._models.usage, by)

    @override
    async def budgets(self, month: str) -> Table:
        return await asyncio.to_thread(self._models.budgets, month)

    @override
    async def sql(self, query: str) -> Table:
        return await asyncio.to_thread(self._models.sql, query)

    @override
    async def stop(self, channel_id: int, requester: str) -> str | None:
        raise RefusalError("no bot runs here")

    @override
    async def status(self) -> Status:
        raise RefusalError("no bot runs here")

    async def _read(self, turn_id: TurnId) -> list[Recorded]:
        return await asyncio.to_thread(self._models.turn_events, turn_id)


@asynccontextmanager
async def offline_operations(settings: Settings) -> AsyncGenerator[Operations]:
    """Open the read model beside the log, brought up to date.

    Raises:
        RefusalError: There is no log.
        LogLockedError: Another process has a file open.
    """
    directory = settings.log.directory
    if not await asyncio.to_thread((directory / LOG_FILE).exists):
        raise RefusalError(f"there is no event log in {directory}")
    models = await asyncio.to_thread(ReadModels, directory / FILE)
    try:
        await asyncio.to_thread(catch_up, models, directory / LOG_FILE)
        yield OfflineOperations(models)
    finally:
        await asyncio.to_thread(models.close)
