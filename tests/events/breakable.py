"""A real database whose connections can be held up or broken at will."""

import threading
from collections.abc import Sequence

import duckdb

from events import duckdb_log
from events.event_table import Answer, Appender, WriterConnection
from events.row import Row


class Breaker:
    """Opens databases, and decides what their connections do at the next commit."""

    def __init__(self) -> None:
        self.opened = 0
        self.commits: list[int] = []
        self.refusal: duckdb.Error | None = None
        self.fatal_commits = 0
        self.lands_first = False
        self.refuses_from_then_on = False
        self.is_invalid = False
        self.gate = threading.Event()
        self.gate.set()
        self.is_committing = threading.Event()

    def connect(self, path: str) -> WriterConnection:
        """Open the database; what was invalid is valid again."""
        if self.refusal is not None:
            raise self.refusal
        self.opened += 1
        self.is_invalid = False
        return BreakableConnection(self, duckdb_log.connect(path))

    def commit(self, connection: WriterConnection) -> Answer:
        """Commit, or fail as DuckDB does: at once, or after the commit has landed."""
        self.is_committing.set()
        assert self.gate.wait(timeout=20)
        if not self.fatal_commits:
            return connection.execute("COMMIT")
        self.fatal_commits -= 1
        if self.lands_first:
            connection.execute("COMMIT")
        self.is_invalid = True
        if self.refuses_from_then_on:
            self.refusal = duckdb.IOException("IO Error: Could not write file: No space left")
        raise duckdb.FatalException("FATAL Error: something broke")


class BreakableConnection:
    """A connection under a `Breaker`."""

    def __init__(self, breaker: Breaker, inner: WriterConnection) -> None:
        self._breaker = breaker
        self._inner = inner
        self._rows = 0

    def execute(self, query: str, parameters: object = None, /) -> Answer:
        """Run one statement, if the database is valid."""
        if self._breaker.is_invalid:
            raise duckdb.FatalException("FATAL Error: the database has been invalidated")
        if query == "COMMIT":
            answer = self._breaker.commit(self._inner)
            self._breaker.commits.append(self._rows)
            self._rows = 0
            return answer
        return self._inner.execute(query, parameters)

    def appender(self, table: str, /) -> Appender:
        """Return an appender that counts its rows."""
        return _CountingAppender(self, self._inner.appender(table))

    def count(self, rows: int) -> None:
        """Note rows of the next commit."""
        self._rows = self._rows + rows if rows else 0

    def cursor(self) -> WriterConnection:
        """Return another connection under the same breaker."""
        return BreakableConnection(self._breaker, self._inner.cursor())

    def close(self) -> None:
        """Close it."""
        self._inner.close()


class _CountingAppender:
    def __init__(self, connection: BreakableConnection, inner: Appender) -> None:
        self._connection = connection
        self._inner = inner

    def append_rows(self, rows: Sequence[Row], /) -> None:
        """Buffer `rows`."""
        self._connection.count(len(rows))
        self._inner.append_rows(rows)

    def flush(self) -> None:
        """Write what is buffered."""
        self._inner.flush()

    def clear(self) -> None:
        """Drop what is buffered."""
        self._connection.count(0)
        self._inner.clear()
