"""Operations on a running bot: figures from the analyst, stops from the router."""

import os
from datetime import datetime

from typing_extensions import override

from actors.cluster.runtime import Runtime
from actors.table import Table
from bot.operations import Operations, ReplayReport, Status, VerifyReport
from bot.reports import replay_report, verify_report
from bot.version import version
from events.base import ChannelId


class LiveOperations(Operations):
    """`Operations` over a running bot's actors; each answer knows all that was durable before."""

    def __init__(self, runtime: Runtime, started_at: datetime) -> None:
        self._runtime = runtime
        self._started_at = started_at

    @override
    async def turns(self, limit: int) -> Table:
        await self._caught_up()
        return await self._runtime.turns(limit)

    @override
    async def replay(self, turn: str) -> ReplayReport:
        await self._caught_up()
        return replay_report(await self._runtime.turn_events(turn))

    @override
    async def verify(self, since: datetime | None) -> VerifyReport:
        await self._caught_up()
        turn_ids = await self._runtime.turn_ids(since)
        return await verify_report(turn_ids, self._runtime.turn_events)

    @override
    async def usage(self, by: tuple[str, ...]) -> Table:
        await self._caught_up()
        return await self._runtime.usage(by)

    @override
    async def budgets(self, month: str) -> Table:
        await self._caught_up()
        return await self._runtime.budgets(month)

    @override
    async def sql(self, query: str) -> Table:
        await self._caught_up()
        return await self._runtime.sql(query)

    @override
    async def stop(self, channel_id: int, requester: str) -> str | None:
        return await self._runtime.stop(ChannelId(channel_id), requester, "operator")

    @override
    async def status(self) -> Status:
        load = await self._runtime.load()
        return Status(
            pid=os.getpid(),
            version=version(),
            started_at=self._started_at,
            running_turns=load.running,
            waiting_triggers=load.waiting,
            position=await self._runtime.head(),
        )

    async def _caught_up(self) -> None:
        await self._runtime.figures_at(await self._runtime.head())
