"""The log on one DuckDB file: the only module here that imports DuckDB.

A commit is BEGIN, append the rows, COMMIT, then a note in the tail mark beside the file, fsynced;
only then is it acknowledged. Checkpoints, which merge DuckDB's write-ahead log (WAL) into its file,
are made by the log itself between commits, so that the tail mark can start anew with each.

A damaged WAL never keeps the log from opening. DuckDB either drops what follows the damage without
a word, or refuses to open; then the WAL is cut where its complaint points, which keeps what was
committed before, or else set aside. Whatever the tail mark finds missing is reported in `damage`
and in a file beside the log, and the WAL as it was is kept. Positions go on from what
the file holds, so they stay contiguous; those of lost events are given again.
"""

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Callable, Collection, Generator, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast

import duckdb
import msgspec
from msgspec.structs import replace
from typing_extensions import override

from events import event_table
from events.admission import MAX_STREAMS, TurnFacts
from events.base import TurnId
from events.durable_log import DurableLog, DurableStore
from events.errors import LogLockedError, LogUnavailableError
from events.event_table import Appender, Connection, WriterConnection
from events.group_commit import MAX_GROUP
from events.row import Row
from events.subscriptions import MAX_WAITING
from events.tail_mark import (
    Comparison,
    Damage,
    Mark,
    TailMark,
    base_position,
    compare,
    mark_of,
)
from events.wal_copy import WalCopy

_T = TypeVar("_T")

Connect = Callable[[str], WriterConnection]
"""Opens the database at a path."""

CHECKPOINT_BYTES = 16 * 1024 * 1024
"""Size of the write-ahead log at which it is merged into the file: 50 to 80 ms of work."""

_UNSTORABLE = (duckdb.DataError, duckdb.InvalidInputException)
_BEYOND_USE = (duckdb.FatalException, duckdb.InternalException, duckdb.OperationalError)
_LOCKED = re.compile(r"Could not set lock on file")
_HOLDER = re.compile(r"\(PID (\d+)\)")
_BROKEN_WAL = re.compile(r"replaying (?:checkpoint )?WAL|Corrupt WAL|WAL does not match|read WAL")
_BROKEN_AT = re.compile(r"replaying WAL file .*Corrupt WAL file: .*?at byte position (\d+)")
_DISK_FAULT = re.compile(r"No space left|Permission denied|Input/output error|Too many open files")
_DAMAGED_UNSEEN = "the write-ahead log was damaged beyond what was acknowledged"
_open_paths: Final[set[Path]] = set()
_open_paths_lock: Final = threading.Lock()


def connect(path: str, memory_limit: str = "256MB") -> WriterConnection:
    """Open the database at `path` as the log wants it."""
    # The log makes the checkpoints; DuckDB's own threshold is only a backstop.
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": memory_limit,
        "wal_autocheckpoint": "1GB",
    }
    return cast("WriterConnection", duckdb.connect(path, config=config))


class DuckDBLog(DurableLog):
    """An `EventLog` on the file `path`.

    The constructor opens the file and blocks meanwhile; `open` does the same in a thread.

    Args:
        path: The database; `<path>.tail` and copies of a damaged write-ahead log lie beside it.
        connect: Opens the database.
        max_group: Most entries of one commit.
        max_waiting: Most live events that wait for one subscriber.
        checkpoint_bytes: Size of the write-ahead log at which it is merged into the file.

    Raises:
        LogLockedError: Another process, or another log of this one, has the file.
        LogUnavailableError: The file can't be opened, and not for its write-ahead log's sake.
    """

    def __init__(
        self,
        path: Path,
        *,
        connect: Connect = connect,
        max_group: int = MAX_GROUP,
        max_waiting: int = MAX_WAITING,
        checkpoint_bytes: int = CHECKPOINT_BYTES,
    ) -> None:
        path = path.resolve()
        with _open_paths_lock:
            # DuckDB's lock is the process's: within one, a second writer would be let in.
            if path in _open_paths:
                raise LogLockedError(str(path), os.getpid())
            _open_paths.add(path)
        self._database = _DuckDBStore(path, connect, checkpoint_bytes)
        super().__init__(
            self._database,
            on_end=lambda: _release(path),
            max_group=max_group,
            max_waiting=max_waiting,
        )

    @classmethod
    async def open(cls, path: Path) -> "DuckDBLog":
        """Return the log at `path`, opened without holding up the event loop."""
        return await asyncio.to_thread(cls, path)

    @property
    def damage(self) -> Damage | None:
        """What the latest opening that found acknowledged events missing said; else None."""
        return self._database.damage


def _release(path: Path) -> None:
    with _open_paths_lock:
        _open_paths.discard(path)


def _insert(connection: WriterConnection, appender: Appender, rows: Sequence[Row]) -> None:
    """Commit `rows`, or leave no transaction and nothing buffered behind."""
    try:
        connection.execute("BEGIN")
        appender.append_rows(rows)
        appender.flush()
        connection.execute("COMMIT")
    except BaseException:
        for undo in (appender.clear, lambda: connection.execute("ROLLBACK")):
            with contextlib.suppress(duckdb.Error):
                undo()
        raise


class _DuckDBStore(DurableStore):
    """The database and its tail mark."""

    def __init__(self, path: Path, connect: Connect, checkpoint_bytes: int) -> None:
        self.damage: Damage | None = None
        self._path = path
        self._wal = path.with_name(path.name + ".wal")
        self._connect = connect
        self._checkpoint_bytes = checkpoint_bytes
        self._head = 0
        self._chain = b""
        self._tried: Mark | None = None
        self._parts: tuple[WriterConnection, Appender, TailMark] | None = None
        self._cursor: WriterConnection | None = None
        self._cursor_lock = threading.Lock()

    @property
    @override
    def head(self) -> int:
        return self._head

    @property
    @override
    def is_open(self) -> bool:
        return self._parts is not None and self._cursor is not None

    @override
    def open(self) -> None:
        self.close()
        try:
            copy = WalCopy(self._path)
            tail = TailMark(self._path.with_name(self._path.name + ".tail"))
        except OSError as error:
            raise LogUnavailableError(str(error)) from error
        connection: WriterConnection | None = None
        try:
            connection, complaint = self._connect_despite_wal(copy)
            connection.execute(event_table.SCHEMA)
            rows = event_table.every_row_after(connection, base_position(tail.marks))
            found = compare(tail.marks, event_table.head(connection), rows)
            self._note_damage(found, copy, complaint)
            self._start_mark(connection, tail, found, had_wal=copy.is_needed())
            copy.drop()
            parts = connection, connection.appender(event_table.TABLE), tail
            self._cursor = connection.cursor()
        except BaseException as error:
            tail.close()
            if connection is not None:
                connection.close()
            if isinstance(error, duckdb.Error | OSError):
                raise LogUnavailableError(str(error)) from error
            raise
        self._parts, self._head, self._chain = parts, found.head, found.chain

    @override
    def close(self, *, is_final: bool = False) -> None:
        with self._cursor_lock:
            self._close_cursor()
        if self._parts is None:
            return
        connection, _, tail = self._parts
        self._parts = None
        with contextlib.suppress(duckdb.Error, OSError):
            connection.close()
            if is_final and not self._wal.exists():
                tail.restart(self._head, self._chain)
        tail.close()

    @override
    def commit(self, rows: Sequence[Row]) -> None:
        connection, appender, tail = self._opened()
        self._tried = mark = mark_of(self._chain, rows)
        try:
            _insert(connection, appender, rows)
            tail.add(mark)
        except _UNSTORABLE as error:
            raise ValueError(str(error)) from error
        except (duckdb.Error, OSError) as error:
            raise LogUnavailableError(str(error)) from error
        self._head, self._chain = mark.last, mark.chain

    @override
    def has_landed(self) -> bool:
        tried = self._tried
        return tried is not None and (self._head, self._chain) == (tried.last, tried.chain)

    @override
    def tidy(self) -> None:
        if self._parts is None:
            return
        connection, _, tail = self._parts
        try:
            if self._wal.exists() and self._wal.stat().st_size >= self._checkpoint_bytes:
                connection.execute("CHECKPOINT")
                tail.restart(self._head, self._chain)
        except (duckdb.Error, OSError) as error:
            raise LogUnavailableError(str(error)) from error

    @override
    def other_seqs(self) -> dict[str, int]:
        return self._asked(lambda one: event_table.seqs_of_all_but_turns(one, MAX_STREAMS + 1))

    @override
    def newest_turn(self) -> str:
        return self._asked(event_table.newest_turn)

    @override
    def facts(self, turn_ids: Collection[TurnId]) -> dict[TurnId, TurnFacts]:
        return self._asked(lambda one: event_table.facts(one, turn_ids))

    @override
    def seqs(self, streams: Collection[str]) -> dict[str, int]:
        return self._asked(lambda one: event_table.seqs(one, streams))

    @override
    def rows(self, stream: str, after: int, limit: int) -> list[Row]:
        return self._asked(lambda one: event_table.rows_of_stream(one, stream, after, limit))

    @override
    @contextlib.contextmanager
    def reading(self) -> Generator[Connection]:
        with self._cursor_lock:
            if self._cursor is None:
                raise LogUnavailableError("it is closed")
            try:
                yield self._cursor
            except duckdb.Error as error:
                if isinstance(error, _BEYOND_USE):
                    # Without its cursor the store counts as closed: the writer opens it again.
                    self._close_cursor()
                raise LogUnavailableError(str(error)) from error

    def _asked(self, question: Callable[[Connection], _T]) -> _T:
        try:
            return question(self._opened()[0])
        except duckdb.Error as error:
            raise LogUnavailableError(str(error)) from error

    def _opened(self) -> tuple[WriterConnection, Appender, TailMark]:
        if self._parts is None:
            raise LogUnavailableError("it is closed")
        return self._parts

    def _close_cursor(self) -> None:
        # Every connection must go: DuckDB hands a database that still has one out again.
        if self._cursor is not None:
            with contextlib.suppress(duckdb.Error):
                self._cursor.close()
        self._cursor = None

    def _connect_despite_wal(self, copy: WalCopy) -> tuple[WriterConnection, str | None]:
        """Return a connection, and DuckDB's complaint where its WAL had to be cut or set aside."""
        complaint: str | None = None
        while True:
            try:
                return self._connect(str(self._path)), complaint
            except duckdb.Error as error:
                text = str(error)
                if _LOCKED.search(text):
                    copy.drop()
                    holder = _HOLDER.search(text)
                    pid = int(holder[1]) if holder else None
                    raise LogLockedError(str(self._path), pid) from error
                if not _BROKEN_WAL.search(text) or _DISK_FAULT.search(text):
                    raise
                broken_at = _BROKEN_AT.search(text)
                if broken_at and complaint is None:
                    copy.cut(int(broken_at[1]))
                elif not copy.set_aside():
                    raise
                complaint = complaint or text

    def _note_damage(self, found: Comparison, copy: WalCopy, complaint: str | None) -> None:
        damage = found.damage
        if damage is None and complaint is not None:
            damage = Damage(reason=_DAMAGED_UNSEEN)
        if damage is None:
            return
        kept = tuple(str(path) for path in copy.keep())
        self.damage = replace(damage, kept_wal=kept, fault=complaint)
        # On disk before the mark starts anew: a crash from here on must not lose the report.
        number = 1
        while (report := self._path.with_name(f"{self._path.name}.damage-{number}.json")).exists():
            number += 1
        with report.open("xb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(self.damage)))
            file.flush()
            os.fsync(file.fileno())

    def _start_mark(
        self, connection: WriterConnection, tail: TailMark, found: Comparison, *, had_wal: bool
    ) -> None:
        """Merge the WAL, so that no commit is ever appended behind a torn one; base the mark."""
        if had_wal or self.damage is not None:
            connection.execute("CHECKPOINT")
        tail.restart(found.head, found.chain)
