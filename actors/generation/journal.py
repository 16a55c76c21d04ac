"""A turn's writer: its events in order, one append in flight, the rest is the next one.

Payloads that arrive while an append is in flight share one `raw_chunk` and one `processed_chunk`,
so a fast stream costs few rows. Only a barrier waits for the disk. A turn that the log does not
hear for `LEASE_SECONDS` must not go on: a cut-off process cannot know that it was replaced.
"""

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from actors.errors import LeaseLostError
from actors.ports import Clock, LogPort
from actors.providers.framing import Payload
from events.base import Appended, Event, Scope, TurnId, turn_stream
from events.codec import append_of
from events.errors import EventLogError
from events.generation import Chunk, Flush, ProcessedChunk, RawChunk, StreamEnd

LEASE_SECONDS: Final = 10.0
"""Longest wait for the log before the turn ends itself."""


class Arrival(Struct, frozen=True, kw_only=True):
    """What one step of a response brought: a payload, its end, or both."""

    request: int
    """The request it answers."""
    payload: Payload | None
    """The payload, where one came."""
    ms: float
    """Milliseconds since `request_opened`."""
    chunks: tuple[Chunk, ...]
    """What it means."""
    http_status: int = 200
    """The response's status."""
    retry_after_seconds: float | None = None
    """The response's Retry-After."""
    end: StreamEnd | None = None
    """How the body ended, where this is its end."""


_Item = tuple[Event | Arrival, datetime]


class Journal:
    """Appends a turn's events to `turn/<turn_id>`, as its only writer."""

    def __init__(
        self, log: LogPort, clock: Clock, turn_id: TurnId, scope: Scope, *, epoch: int, seq: int
    ) -> None:
        self._log = log
        self._clock = clock
        self._stream = turn_stream(turn_id)
        self.scope = scope
        """Whom the turn's events concern."""
        self._epoch = epoch
        self._seq = seq
        self._items: list[_Item] = []
        self._added = 0
        self._durable = 0
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._pump: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self.failed = asyncio.Event()
        """Set when the turn may write no more; `barrier` then raises why."""

    def add(self, item: Event | Arrival) -> None:
        """Take an event or an arrival, to be appended in the order taken."""
        self._items.append((item, self._clock.now()))
        self._added += 1
        if self._failure is None and (self._pump is None or self._pump.done()):
            self._pump = asyncio.create_task(self._append_all())

    async def barrier(self) -> None:
        """Return when all that was added so far is durable.

        Raises:
            FencedError: The turn was recovered elsewhere.
            ConcurrencyError: Somebody else wrote to the turn.
            LeaseLostError: The log did not answer for `LEASE_SECONDS`.
        """
        if self._failure is not None:
            raise self._failure
        if self._durable >= self._added:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append((self._added, waiter))
        await waiter

    async def aclose(self) -> None:
        """Stop appending; what is not durable is given up."""
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)

    async def _append_all(self) -> None:
        while self._items:
            items, self._items = self._items, []
            merged = _merge(items)
            append = append_of(
                self._stream,
                merged,
                scope=self.scope,
                expected_seq=self._seq,
                epoch=self._epoch,
            )
            try:
                await self._within_lease(self._log.append(append))
            except (EventLogError, LeaseLostError) as error:
                self._fail(error)
                return
            self._seq += len(merged)
            self._durable += len(items)
            self._wake()

    async def _within_lease(self, appending: Coroutine[Any, Any, Appended]) -> None:
        call = asyncio.create_task(appending)
        lease = asyncio.ensure_future(self._clock.sleep(LEASE_SECONDS))
        try:
            await asyncio.wait({call, lease}, return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                raise LeaseLostError(LEASE_SECONDS)
            await call
        finally:
            lease.cancel()
            call.cancel()

    def _wake(self) -> None:
        reached = [waiter for upto, waiter in self._waiters if upto <= self._durable]
        self._waiters = [one for one in self._waiters if one[0] > self._durable]
        for waiter in reached:
            if not waiter.done():
                waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        self._failure = error
        for _, waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(error)
        self._waiters = []
        self.failed.set()


def _merge(items: list[_Item]) -> list[tuple[Event, datetime]]:
    """Return the events to append: neighbouring arrivals joined, their flushes behind them."""
    merged: list[tuple[Event, datetime]] = []
    arrivals: list[tuple[Arrival, datetime]] = []
    flushes: list[tuple[Event, datetime]] = []
    for item, at in items:
        if isinstance(item, Arrival):
            if arrivals and not _can_join(arrivals[-1][0], item):
                merged += _joined(arrivals) + flushes
                arrivals, flushes = [], []
            arrivals.append((item, at))
        elif isinstance(item, Flush) and arrivals:
            flushes.append((item, at))
        else:
            merged += [*_joined(arrivals), *flushes, (item, at)]
            arrivals, flushes = [], []
    return [*merged, *_joined(arrivals), *flushes]


def _can_join(last: Arrival, following: Arrival) -> bool:
    return last.request == following.request and last.end is None


def _joined(arrivals: list[tuple[Arrival, datetime]]) -> list[tuple[Event, datetime]]:
    if not arrivals:
        return []
    last, at = arrivals[-1]
    payloads = [(one.payload, one.ms) for one, _ in arrivals if one.payload is not None]
    raw = RawChunk(
        request=last.request,
        payloads=tuple(payload.recorded for payload, _ in payloads),
        arrived_ms=tuple(round(ms, 3) for _, ms in payloads),
        base64=tuple(i for i, (payload, _) in enumerate(payloads) if payload.is_base64),
        http_status=last.http_status,
        retry_after_seconds=last.retry_after_seconds,
        end=last.end,
    )
    chunks = tuple(chunk for one, _ in arrivals for chunk in one.chunks)
    events: list[tuple[Event, datetime]] = [(raw, at)]
    if chunks:
        events.append((ProcessedChunk(request=last.request, chunks=chunks), at))
    return events
