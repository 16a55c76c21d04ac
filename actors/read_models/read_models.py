"""The log once more, for questions: fed in order, read at any time, by several threads.

Every method blocks; a host calls it in a thread. Ingest has precedence: where it runs out of memory
the people's queries give theirs up. That is the reason for a database apart from the log's, and why
a restart may simply go on from the checkpoint.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import duckdb
from duckdb import DuckDBPyConnection

from actors.errors import FailureError
from actors.read_models import ingest, queries
from actors.read_models.failures import BrokenReadModelsError
from actors.read_models.guarded import Seats, SqlLimits, answer
from actors.read_models.schema import (
    PUBLIC_MACROS,
    PUBLIC_TABLES,
    checkpoint_of,
    move_aside,
    open_database,
)
from actors.read_models.sql_gate import SqlGate
from actors.read_models.stored import SELECT_EVENTS, row_of
from actors.table import Table
from events.base import ChannelId, Position, Recorded, TurnId

_SEATS: Final = 2
"""Queries of people at the same time."""

_DEFAULT_LIMITS: Final = SqlLimits()

T = TypeVar("T")


class ReadModels:
    """The tables and views of one file; thread safe."""

    def __init__(self, path: Path, *, memory_limit: str = "512MB") -> None:
        """Open the file, or make it; a damaged or outdated one is moved aside first.

        Args:
            path: Usually `read_models.duckdb` beside the log.
            memory_limit: For the whole instance. Intermediates of one person's query get a
                quarter of it.

        Raises:
            LogLockedError: Another process has the file open.
        """
        self._path = path
        self._memory_limit = memory_limit
        self._gate = SqlGate(PUBLIC_TABLES, PUBLIC_MACROS)
        # Held while events go in: one writer, whatever threads call.
        self._writing = threading.Lock()
        # Held for an instant: makes cursors. Nothing is executed on the connection itself, so that
        # a cursor never waits for somebody's query.
        self._opening = threading.Lock()
        self._open()

    def _open(self) -> None:
        self._root = open_database(self._path, self._memory_limit)
        self._position = checkpoint_of(self._root)
        self._writer = self._root.cursor()
        self._seats = Seats([self._limited_cursor() for _ in range(_SEATS)])
        self._root.execute("SET enable_external_access = false")
        self._root.execute("SET lock_configuration = true")

    def _limited_cursor(self) -> DuckDBPyConnection:
        cursor = self._root.cursor()
        found = cursor.execute(
            "SELECT CAST(parse_formatted_bytes(current_setting('memory_limit')) // 4 AS BIGINT)"
        ).fetchone()
        assert found is not None
        cursor.execute(f"SET operator_memory_limit = '{found[0]}B'")
        return cursor

    def checkpoint(self) -> Position:
        """Return the position of the last event ingested, 0 for none."""
        return self._position

    def ingest(self, batch: Sequence[Recorded]) -> None:
        """Add `batch`, oldest first, in one transaction; what is already held is skipped.

        Raises:
            GapError: It does not join on to the checkpoint.
            BrokenReadModelsError: DuckDB gave up the instance.
        """
        with self._writing:
            fresh = ingest.unseen(batch, self._position)
            if not fresh:
                return
            self._with_precedence(lambda: self._write(fresh))
            self._position = fresh[-1].position

    def _write(self, fresh: Sequence[Recorded]) -> None:
        self._writer.execute("BEGIN TRANSACTION")
        try:
            ingest.write(self._writer, fresh)
            self._writer.execute("COMMIT")
        except BaseException:
            _roll_back(self._writer)
            raise

    def _with_precedence(self, act: Callable[[], T]) -> T:
        try:
            return self._seats.with_precedence(act)
        except (duckdb.FatalException, duckdb.InternalException) as error:
            raise BrokenReadModelsError(str(error)) from error
        except duckdb.Error as error:
            raise FailureError(f"the read models failed: {error}") from error

    @contextmanager
    def _reading(self) -> Generator[DuckDBPyConnection]:
        with self._opening:
            cursor = self._root.cursor()
        try:
            # One transaction, so that the figures and the position they know belong together.
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            yield cursor
        finally:
            _roll_back(cursor)
            cursor.close()

    def _read(self, question: Callable[[DuckDBPyConnection], T]) -> T:
        def ask() -> T:
            with self._reading() as cursor:
                return question(cursor)

        return self._with_precedence(ask)

    def turns(self, limit: int = 50, channel_id: ChannelId | None = None) -> Table:
        """Return the latest turns, of one channel or all, the newest first."""
        return self._read(lambda cursor: queries.turns(cursor, limit, channel_id))

    def usage(self, by: Sequence[str] = ("guild", "model", "day")) -> Table:
        """Return usage and cost, grouped by some of guild, model, provider and day.

        Raises:
            RefusalError: `by` holds another word.
        """
        return self._read(lambda cursor: queries.usage(cursor, by))

    def budgets(self, month: str) -> Table:
        """Return what each payer has spent and set aside in `month` (`YYYY-MM`)."""
        return self._read(lambda cursor: queries.budgets(cursor, month))

    def turn_events(self, turn: str) -> list[Recorded]:
        """Return all events that concern the turn whose id begins with `turn`, oldest first.

        Raises:
            RefusalError: No turn, or more than one, begins so.
        """
        return self._read(lambda cursor: queries.turn_events(cursor, turn))

    def turn_ids(self, since: datetime | None = None) -> list[TurnId]:
        """Return the turns that started at `since` (aware) or later, the oldest first."""
        return self._read(lambda cursor: queries.turn_ids(cursor, since))

    def sql(self, query: str, limits: SqlLimits = _DEFAULT_LIMITS) -> Table:
        """Return the answer to a person's query.

        Raises:
            SqlRefusedError: It is not allowed, failed, or ran over a limit.
            BrokenReadModelsError: DuckDB gave up the instance.
        """
        statement = self._gate.check(query)
        with self._seats.take(limits.seconds) as seat:
            return answer(seat, statement, limits)

    @property
    def queries_running(self) -> int:
        """How many queries of people run."""
        return self._seats.running

    def agrees_with(self, recorded: Recorded) -> bool:
        """Return whether the event at its position is held, and the same.

        A log that lost its end, after this model had read it, gives those positions away again.
        Whoever follows a log compares the event at the checkpoint before going on from there.
        """

        def question(cursor: DuckDBPyConnection) -> bool:
            found = cursor.execute(
                f"{SELECT_EVENTS} WHERE position = ?", [recorded.position]
            ).fetchone()
            return found is not None and found[:6] == row_of(recorded)[:6]

        return self._read(question)

    def rebuild(self) -> None:
        """Move the file aside and begin again at position 0; nobody else may call meanwhile."""
        with self._writing:
            self._close_database()
            move_aside(self._path)
            self._open()

    def close(self) -> None:
        """Interrupt people's queries and let go of the file."""
        with self._writing:
            self._close_database()
            self._gate.close()

    def _close_database(self) -> None:
        self._seats.close()
        self._writer.close()
        self._root.close()


def _roll_back(connection: DuckDBPyConnection) -> None:
    try:
        connection.execute("ROLLBACK")
    except duckdb.Error:
        return  # the failure that brought us here says more than this one
