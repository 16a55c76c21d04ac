"""Bringing a read model up to date from a log at rest, where no bot runs.

The log's file is opened read only and for as long as that takes; while a bot runs it can't be
opened at all, and the bot is to be asked instead.
"""

from pathlib import Path
from typing import Final

import duckdb
from duckdb import DuckDBPyConnection

from actors.errors import FailureError, RefusalError
from actors.read_models.lock_holder import locked_by_another
from actors.read_models.read_models import ReadModels
from actors.read_models.stored import SELECT_EVENTS, recorded_of
from events.base import Position, Recorded

_BATCH: Final = 10_000


def catch_up(models: ReadModels, source: Path) -> Position:
    """Ingest what `models` lacks of the log at `source`, and return its last position.

    A model that does not agree with the log is built again from its beginning.

    Raises:
        RefusalError: There is no log at `source`.
        LogLockedError: Another process has it open; the error names it.
        CodecError: It holds an event that the code at hand can't decode.
    """
    if not source.exists():
        raise RefusalError(f"there is no event log at {source}")
    try:
        with duckdb.connect(
            str(source), read_only=True, config={"threads": "1", "memory_limit": "256MB"}
        ) as log:
            _follow(models, log)
    except duckdb.Error as error:
        locked = locked_by_another(source, error)
        if locked is not None:
            raise locked from error
        raise FailureError(f"the event log at {source} can't be read: {error}") from error
    return models.checkpoint()


def _follow(models: ReadModels, log: DuckDBPyConnection) -> None:
    last = models.checkpoint()
    if last > 0:
        tail = _between(log, last - 1, last)
        if not tail or not models.agrees_with(tail[0]):
            models.rebuild()
    while batch := _between(log, models.checkpoint(), models.checkpoint() + _BATCH):
        models.ingest(batch)


def _between(log: DuckDBPyConnection, after: int, last: int) -> list[Recorded]:
    # A range of positions, not a LIMIT: DuckDB then reads the row groups it names and no others.
    rows = log.execute(
        f"{SELECT_EVENTS} WHERE position > ? AND position <= ? ORDER BY position",
        [after, last],
    ).fetchall()
    return [recorded_of(row) for row in rows]
