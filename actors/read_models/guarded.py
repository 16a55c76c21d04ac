"""Running a query that the gate let through: read only, limited, never in the way of ingest.

A few connections are made for this before the configuration is locked, since only then can each be
given its memory limit. One query sits at each; who finds none idle waits.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self, TypeVar

import duckdb
from duckdb import DuckDBPyConnection
from msgspec import Struct

from actors.errors import SqlRefusedError
from actors.read_models.failures import BrokenReadModelsError
from actors.read_models.figures import columns_of, plain_row
from actors.read_models.schema import checkpoint_of
from actors.table import Table

_ROWS_A_FETCH: Final = 16
"""Few, since one row may hold 4 MiB of a provider's payload."""
_INSIST_SECONDS: Final = 0.05
"""An interrupt that comes between two steps of a query is lost, so it is repeated this often."""


T = TypeVar("T")


class SqlLimits(Struct, frozen=True, kw_only=True):
    """How far one query of a person may go."""

    rows: int = 10_000
    """Most rows returned; what is over is cut off and said so."""
    seconds: float = 10.0
    """Longest run, after which it is interrupted; also the longest wait for a free connection."""
    result_bytes: int = 64 * 2**20
    """Most characters of text in the result; what is over is cut off and said so."""


class Seat:
    """A connection on which one query at a time runs."""

    def __init__(self, cursor: DuckDBPyConnection) -> None:
        self.cursor = cursor
        self.is_preempted = False
        """Whether the running query was interrupted to make room."""


class Seats:
    """All connections for people's SQL."""

    def __init__(self, cursors: Sequence[DuckDBPyConnection]) -> None:
        self._idle = [Seat(cursor) for cursor in cursors]
        self._busy: set[Seat] = set()
        self._reserved = 0
        self._changed = threading.Condition()

    @contextmanager
    def take(self, seconds: float) -> Generator[Seat]:
        """Hold a seat.

        Raises:
            SqlRefusedError: None was free for `seconds`.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._idle and not self._reserved, seconds):
                raise SqlRefusedError(
                    f"other queries are running and none ended within {seconds:g} s"
                )
            seat = self._idle.pop()
            seat.is_preempted = False
            self._busy.add(seat)
        try:
            yield seat
        finally:
            with self._changed:
                self._busy.discard(seat)
                self._idle.append(seat)
                self._changed.notify_all()

    @contextmanager
    def cleared(self) -> Generator[None]:
        """Interrupt every running query, and let none begin until the block is left."""
        with self._changed:
            self._reserved += 1
            while self._busy:
                for seat in self._busy:
                    seat.is_preempted = True
                    seat.cursor.interrupt()
                self._changed.wait(_INSIST_SECONDS)
        try:
            yield
        finally:
            with self._changed:
                self._reserved -= 1
                self._changed.notify_all()

    def with_precedence(self, act: Callable[[], T]) -> T:
        """Return what `act` gives; on lack of memory, once more with every query ended."""
        try:
            return act()
        except duckdb.OutOfMemoryException:
            with self.cleared():
                return act()

    @property
    def running(self) -> int:
        """How many are taken."""
        return len(self._busy)

    def close(self) -> None:
        """Interrupt what runs and close all."""
        with self.cleared():
            for seat in self._idle:
                seat.cursor.close()


class Deadline:
    """Interrupts a connection once its time is over, and goes on until the query has noticed."""

    def __init__(self, cursor: DuckDBPyConnection, seconds: float) -> None:
        self._cursor = cursor
        self._seconds = seconds
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._insist, name="sql deadline", daemon=True)
        self.is_over = False
        """Whether the time has come."""

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watch.join()

    def _insist(self) -> None:
        if self._ended.wait(self._seconds):
            return
        self.is_over = True
        while not self._ended.wait(_INSIST_SECONDS):
            self._cursor.interrupt()


def answer(seat: Seat, statement: str, limits: SqlLimits) -> Table:
    """Return what `statement`, which the gate let through, gives within `limits`.

    Raises:
        SqlRefusedError: It failed, or ran over the limits of time or memory.
        BrokenReadModelsError: DuckDB gave up the instance.
    """
    cursor = seat.cursor
    deadline = Deadline(cursor, limits.seconds)
    try:
        with deadline:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            as_of = checkpoint_of(cursor)
            cursor.execute(statement)
            columns = columns_of(cursor.description)
            rows, is_truncated = _fetch(cursor, limits, deadline)
    except (duckdb.FatalException, duckdb.InternalException) as error:
        raise BrokenReadModelsError(_first_line(error)) from error
    except duckdb.Error as error:
        raise SqlRefusedError(_why_stopped(seat, error, limits)) from error
    finally:
        _roll_back(cursor)
    return Table(columns=columns, rows=rows, is_truncated=is_truncated, as_of=as_of)


def _fetch(
    cursor: DuckDBPyConnection, limits: SqlLimits, deadline: Deadline
) -> tuple[tuple[tuple[Any, ...], ...], bool]:
    rows: list[tuple[Any, ...]] = []
    size = 0
    while len(rows) <= limits.rows and size <= limits.result_bytes:
        some = cursor.fetchmany(_ROWS_A_FETCH)
        if not some:
            return tuple(rows), False
        for row in some:
            rows.append(plain_row(row))
            size += sum(len(cell) for cell in rows[-1] if isinstance(cell, str))
        if deadline.is_over:
            raise duckdb.InterruptException
    # One row more than the limit is enough to know that something is cut off.
    return tuple(rows[: limits.rows]), True


def _roll_back(cursor: DuckDBPyConnection) -> None:
    for _ in range(2):
        try:
            cursor.execute("ROLLBACK")
        except duckdb.InterruptException:
            continue  # the deadline's last word, meant for the query before
        except duckdb.Error:
            return  # no transaction is open, or the instance is gone
        return


def _why_stopped(seat: Seat, error: duckdb.Error, limits: SqlLimits) -> str:
    if isinstance(error, duckdb.InterruptException):
        if seat.is_preempted:
            return "the query was stopped, since the bot itself needed the room"
        return f"the query was stopped after {limits.seconds:g} s, at most {limits.seconds:g} s"
    if isinstance(error, duckdb.OutOfMemoryException):
        return "the query needs more memory than one query may use; ask for fewer rows or groups"
    return _first_line(error)


def _first_line(error: duckdb.Error) -> str:
    return str(error).strip().partition("\n")[0]
