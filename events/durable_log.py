"""The host of a log on disk: threads, answers, reopening; knows no database.

One thread judges and writes, so the store never holds up the event loop; a second one reads, on a
connection of its own, so that a long read never holds up a commit. The writer's round: judge the
group, commit it, answer whoever waits and push the events, then whatever housekeeping the store
has to do, so that no commit waits for what it caused.

When the store fails, the writer closes it, opens it again, and applies once more what was not
acknowledged. If that fails too, the waiting appenders get `LogUnavailableError`, `fault` says why,
and the next append or read tries to open it again. A commit may have landed although it
failed; the store is asked, so that an append without `expected_seq` does not land twice.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Protocol

from typing_extensions import override

from events import event_table
from events.admission import Admission, Group, Store
from events.base import Append, AppendResult, Position, Recorded, StreamId
from events.errors import CodecError, EventLogError, LogUnavailableError
from events.event_table import Connection
from events.group_commit import MAX_GROUP, GroupCommit, Job
from events.log import EventLog, Subscription
from events.row import Prepared, Row, all_recorded, prepare
from events.subscriptions import MAX_WAITING, Hub

_TRIES = 2


class DurableStore(Store, Protocol):
    """A store of rows on disk; but for `reading` it is used by one thread."""

    @property
    def head(self) -> int:
        """Position of the last durable row."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether commits can be tried; False once anything of it has failed beyond use."""
        ...

    def open(self) -> None:
        """Open it, or open it anew; raises EventLogError where that is impossible."""
        ...

    def close(self, *, is_final: bool = False) -> None:
        """Close what is open; raises nothing."""
        ...

    def commit(self, rows: Sequence[Row]) -> None:
        """Make `rows` durable.

        Raises:
            ValueError: The rows are not storable; nothing has changed.
            LogUnavailableError: The store failed; they may or may not have landed.
        """
        ...

    def has_landed(self) -> bool:
        """Return whether the store, since reopened, ends with the commit that last failed."""
        ...

    def tidy(self) -> None:
        """Do the housekeeping that is due; raises LogUnavailableError where the store fails."""
        ...

    def other_seqs(self) -> dict[str, int]:
        """Return where the streams end that are not a turn's, as many as memory may hold."""
        ...

    def newest_turn(self) -> str:
        """Return the highest turn id of any row, empty where there is none."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """Give a connection for reading to one thread at a time."""
        ...


class DurableLog(EventLog):
    """An `EventLog` on a store; belongs to the event loop that first uses it.

    Args:
        store: Where the events are kept; opened here.
        on_end: Called once the log is closed, or could not be opened.
        max_group: Most entries of one commit.
        max_waiting: Most live events that wait for one subscriber.
    """

    def __init__(
        self,
        store: DurableStore,
        *,
        on_end: Callable[[], None],
        max_group: int = MAX_GROUP,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._store = store
        self._on_end = on_end
        self._admission = Admission(store)
        self._doubtful: Group | None = None
        self._fault: str | None = None
        try:
            self._open_store()
        except BaseException:
            on_end()
            raise
        self._hub = Hub(self._select, Position(store.head), max_waiting=max_waiting)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="event-log-reader")
        self._commits = GroupCommit(self._work, self._end, max_group=max_group)

    @property
    def fault(self) -> str | None:
        """Why nothing can be appended at present; None while all is well."""
        return self._fault

    @override
    async def append(self, batch: Sequence[Append]) -> list[AppendResult]:
        return await self._commits.submit(batch)

    @override
    async def read(self, stream: StreamId, after: int = 0) -> list[Recorded]:
        return await self._ask(lambda one: event_table.rows_of_stream(one, stream, after))

    @override
    async def read_all(
        self, after: Position, *, kinds: Collection[str] = (), limit: int = 10_000
    ) -> list[Recorded]:
        return await self._ask(lambda one: event_table.rows_after(one, after, limit, kinds=kinds))

    @override
    async def head(self) -> Position:
        return self._hub.head

    @override
    def subscribe(
        self, streams: Collection[StreamId] | None, after: Position = Position(0)
    ) -> Subscription:
        return self._hub.subscribe(streams, after)

    @override
    async def aclose(self) -> None:
        self._hub.close()
        await self._commits.aclose()
        await asyncio.to_thread(self._reader.shutdown)

    async def _select(
        self, streams: Collection[StreamId] | None, after: Position, limit: int
    ) -> list[Recorded]:
        return await self._ask(
            lambda one: event_table.rows_after(one, after, limit, streams=streams)
        )

    async def _ask(self, question: Callable[[Connection], list[Row]]) -> list[Recorded]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._reader, self._answer, question)
        except LogUnavailableError:
            # An empty batch makes the writer open the store again, if it can be opened.
            await self._commits.submit(())
            return await loop.run_in_executor(self._reader, self._answer, question)

    def _answer(self, question: Callable[[Connection], list[Row]]) -> list[Recorded]:
        with self._store.reading() as connection:
            rows = question(connection)
        return all_recorded(rows)

    # What follows, but for `_acknowledge`, runs in the writer's thread.

    def _work(self, jobs: list[Job]) -> None:
        events: list[Recorded] = []
        try:
            events = self._land(jobs)
        except Exception as error:  # noqa: BLE001 - nobody may be left waiting for ever
            self._fail(error)
            for job in jobs:
                job.error = LogUnavailableError(repr(error))
        # A loop that has ended has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            loop = jobs[0].done.get_loop()
            loop.call_soon_threadsafe(self._acknowledge, jobs, events, Position(self._store.head))
        try:
            self._store.tidy()
        except Exception as error:  # noqa: BLE001 - the thread must outlive whatever fails
            self._fail(error)

    def _acknowledge(self, jobs: list[Job], events: list[Recorded], head: Position) -> None:
        for job in jobs:
            job.settle()
        self._hub.publish(events)
        if self._hub.head != head:
            self._hub.resync(head)

    def _land(self, jobs: list[Job]) -> list[Recorded]:
        groups, landed = [jobs], list[Recorded]()
        while groups:
            group = groups.pop(0)
            try:
                landed += self._land_group(group)
            except ValueError as error:
                # What can't be stored spoils its whole commit: each alone shows whose it is.
                if len(group) > 1:
                    groups = [[job] for job in group] + groups
                else:
                    first = group[0].batch[0].entries[0]
                    group[0].error = CodecError(first.kind, first.version, str(error))
        return landed

    def _land_group(self, jobs: list[Job]) -> list[Recorded]:
        self._doubtful = None
        for _ in range(_TRIES):
            try:
                if not self._store.is_open:
                    self._open_store()
                    if self._doubtful is not None and self._store.has_landed():
                        self._admission.keep(self._doubtful)
                        return self._doubtful.recorded
                return self._attempt(jobs)
            except EventLogError as error:
                self._fail(error)
        for job in jobs:
            job.error = LogUnavailableError(self._fault or "it is closed")
        return []

    def _attempt(self, jobs: list[Job]) -> list[Recorded]:
        group = self._admission.group(Position(self._store.head))
        ready: list[tuple[Job, list[Prepared]]] = []
        for job in jobs:
            try:
                ready.append((job, [prepare(one) for one in job.batch]))
            except (CodecError, ValueError) as error:
                job.error = error
        group.load(one for _, batch in ready for one in batch)
        for job, batch in ready:
            job.results = group.judge(batch)
        if group.rows:
            self._doubtful = group
            self._store.commit(group.rows)
        self._admission.keep(group)
        return group.recorded

    def _open_store(self) -> None:
        self._store.open()
        self._admission.forget()
        self._admission.know_all_streams(self._store.other_seqs())
        self._admission.know_newest_turn(self._store.newest_turn())
        self._fault = None

    def _fail(self, error: Exception) -> None:
        self._fault = str(error)
        self._store.close()

    def _end(self) -> None:
        self._store.close(is_final=True)
        self._on_end()
