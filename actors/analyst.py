"""The analyst: people's questions, answered beside the log and never by it.

It follows the whole log into a DuckDB of its own and is the only one to run people's SQL. Nobody
waits for it: while it is away, figures pause, and each answer names the last event it knows.
DuckDB works in threads, so that a long query holds up neither the following nor other questions.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from actors.errors import FailureError
from actors.ports import LogPort
from actors.read_models.read_models import ReadModels
from actors.table import Table
from events.base import Position, Recorded, TurnId

FILE: Final = "read_models.duckdb"
"""The analyst's file in the log directory."""

_log = structlog.get_logger(__name__)


class Analyst:
    """Follows the log and answers."""

    def __init__(self, log: LogPort, directory: Path) -> None:
        self._log = log
        self._path = directory / FILE
        self._models: ReadModels | None = None
        self._following: asyncio.Task[None] | None = None
        self._position = Position(0)
        self._advanced = asyncio.Condition()
        self._is_following = False

    async def start(self) -> None:
        """Open the file and follow the log from where it ends."""
        self._models = await asyncio.to_thread(ReadModels, self._path)
        self._position = await self._agreed(self._models)
        self._is_following = True
        self._following = asyncio.create_task(self._follow(self._models))

    async def aclose(self) -> None:
        """Stop following and close the file."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        if self._models is not None:
            await asyncio.to_thread(self._models.close)

    async def reached(self, position: Position) -> None:
        """Return once the figures know the event at `position`.

        Raises:
            FailureError: They will not: the analyst no longer follows the log.
        """
        async with self._advanced:
            await self._advanced.wait_for(
                lambda: self._position >= position or not self._is_following
            )
        if self._position < position:
            raise FailureError("the analyst no longer follows the log")

    async def turns(self, limit: int) -> Table:
        """Return the most recent `limit` turns, the latest first."""
        return await asyncio.to_thread(self._opened.turns, limit)

    async def usage(self, by: Sequence[str]) -> Table:
        """Return usage and cost grouped by `by`."""
        return await asyncio.to_thread(self._opened.usage, by)

    async def budgets(self, month: str) -> Table:
        """Return what each payer has spent and set aside in `month` (`YYYY-MM`)."""
        return await asyncio.to_thread(self._opened.budgets, month)

    async def sql(self, query: str) -> Table:
        """Return what one read-only SELECT gives."""
        return await asyncio.to_thread(self._opened.sql, query)

    async def turn_events(self, turn: str) -> list[Recorded]:
        """Return the events of the turn that `turn` names, by its id or a unique prefix."""
        return await asyncio.to_thread(self._opened.turn_events, turn)

    async def turn_ids(self, since: datetime | None) -> list[TurnId]:
        """Return the turns that started at or after `since` (None: all), oldest first."""
        return await asyncio.to_thread(self._opened.turn_ids, since)

    async def _agreed(self, models: ReadModels) -> Position:
        """Return where to follow from: 0 where the log's end, once read, is no longer the same."""
        last = models.checkpoint()
        if last > 0:
            held = await self._log.read_all(Position(last - 1), limit=1)
            if not held or not await asyncio.to_thread(models.agrees_with, held[0]):
                _log.warning("read_models_rebuilt", position=last)
                await asyncio.to_thread(models.rebuild)
        return models.checkpoint()

    @property
    def _opened(self) -> ReadModels:
        assert self._models is not None, "start first"
        return self._models

    async def _follow(self, models: ReadModels) -> None:
        """Follow the log; a model that does not go on is made anew from the log's beginning."""
        try:
            while True:
                try:
                    await self._follow_on(models)
                except FailureError as error:
                    _log.exception("read_models_failed", position=self._position, reason=str(error))
                    await asyncio.to_thread(models.rebuild)
                    self._position = Position(0)
        finally:
            async with self._advanced:
                self._is_following = False
                self._advanced.notify_all()

    async def _follow_on(self, models: ReadModels) -> None:
        subscription = self._log.subscribe(None, self._position)
        try:
            async for batch in subscription:
                await asyncio.to_thread(models.ingest, batch)
                async with self._advanced:
                    self._position = batch[-1].position
                    self._advanced.notify_all()
        finally:
            await subscription.aclose()
