"""The reference implementation of a log: lists in memory, lost with the process.

What most tests run on. It judges appends by the same rules as the log on disk, so a test that
passes here holds there, but for what a disk can do.
"""

import asyncio
from collections.abc import Collection, Sequence
from itertools import islice

from typing_extensions import override

from events.admission import Admission, Store, TurnFacts
from events.base import Append, AppendResult, Position, Recorded, StreamId, TurnId
from events.errors import LogUnavailableError
from events.log import EventLog, Subscription
from events.row import (
    DELIVERY_PREFIX,
    TURN_PREFIX,
    Row,
    all_recorded,
    prepare,
    recorded,
)
from events.subscriptions import MAX_WAITING, Hub
from events.turn import TurnRecovered


class MemoryLog(EventLog):
    """An `EventLog` in memory."""

    def __init__(self, *, max_waiting: int = MAX_WAITING) -> None:
        self._shelf = _Shelf()
        self._admission = Admission(self._shelf)
        self._hub = Hub(self._select, Position(0), max_waiting=max_waiting)
        self._is_closed = False

    @override
    async def append(self, batch: Sequence[Append]) -> list[AppendResult]:
        self._check_open()
        group = self._admission.group(Position(len(self._shelf.all_rows)))
        results = group.judge([prepare(one) for one in batch])
        self._shelf.add(group.rows)
        self._admission.keep(group)
        # A log on disk takes its time too: others run while an append is under way, and a caller
        # that is cancelled meanwhile must not keep what landed from the subscribers.
        asyncio.get_running_loop().call_soon(self._hub.publish, group.recorded)
        await asyncio.sleep(0)
        return results

    @override
    async def read(self, stream: StreamId, after: int = 0) -> list[Recorded]:
        self._check_open()
        return all_recorded(self._shelf.rows(stream, after, len(self._shelf.all_rows)))

    @override
    async def read_all(
        self, after: Position, *, kinds: Collection[str] = (), limit: int = 10_000
    ) -> list[Recorded]:
        self._check_open()
        rows = islice(self._shelf.all_rows, after, None)
        wanted = (row for row in rows if not kinds or row.kind in kinds)
        return all_recorded(list(islice(wanted, limit)))

    @override
    async def head(self) -> Position:
        return Position(len(self._shelf.all_rows))

    @override
    def subscribe(
        self, streams: Collection[StreamId] | None, after: Position = Position(0)
    ) -> Subscription:
        return self._hub.subscribe(streams, after)

    @override
    async def aclose(self) -> None:
        self._is_closed = True
        self._hub.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise LogUnavailableError("it is closed")

    async def _select(
        self, streams: Collection[StreamId] | None, after: Position, limit: int
    ) -> list[Recorded]:
        await asyncio.sleep(0)
        rows = islice(self._shelf.all_rows, after, None)
        wanted = (row for row in rows if streams is None or row.stream in streams)
        return all_recorded(list(islice(wanted, limit)))


class _Shelf(Store):
    """All rows, and where each stream's and each turn's lie."""

    def __init__(self) -> None:
        self.all_rows: list[Row] = []
        self._by_stream: dict[str, list[Row]] = {}
        self._stops: dict[str, int] = {}

    def add(self, rows: Sequence[Row]) -> None:
        """Take in the rows of a group."""
        self.all_rows += rows
        for row in rows:
            self._by_stream.setdefault(row.stream, []).append(row)
            if row.kind == "stop_requested" and row.turn_id is not None:
                self._stops.setdefault(row.turn_id, row.position)

    @override
    def facts(self, turn_ids: Collection[TurnId]) -> dict[TurnId, TurnFacts]:
        return {one: self._facts_of(one) for one in turn_ids}

    @override
    def seqs(self, streams: Collection[str]) -> dict[str, int]:
        return {one: len(self._by_stream.get(one, ())) for one in streams}

    @override
    def rows(self, stream: str, after: int, limit: int) -> list[Row]:
        return self._by_stream.get(stream, [])[after : after + limit]

    def _facts_of(self, turn_id: TurnId) -> TurnFacts:
        turn = self._by_stream.get(TURN_PREFIX + turn_id, [])
        recoveries = [recorded(row).event for row in turn if row.kind == "turn_recovered"]
        epochs = [one.epoch for one in recoveries if isinstance(one, TurnRecovered)]
        return TurnFacts(
            turn_seq=len(turn),
            delivery_seq=len(self._by_stream.get(DELIVERY_PREFIX + turn_id, ())),
            epoch=max(epochs, default=0),
            stop=self._stops.get(turn_id, 0),
        )
