"""Caps that hold for all processes at once: the log's own check of an append decides over them.

Turns run in several processes, so a counter in any of them would be wrong, and an actor that
counts would be one more that can be lost. Instead the holds of a payer and month stand in a stream
of their own, and a hold is appended with the `expected_seq` of the state that it was judged on:
where another process came first the log refuses it, and it is judged again on what is there then.
So two holds are never granted on the same state. Within a process requests of one payer wait for
each other, so that only processes compete. After a crash there is nothing to restore: the stream
is the exposure.

A hold is durable before its request leaves, and counts for the month that it was opened in. Those
that nobody is left to settle are settled, as spent, by whoever next opens one: exposure stays as
it is.
"""

import asyncio
from datetime import date, datetime, timedelta
from typing import Final
from weakref import WeakValueDictionary

import structlog
from msgspec import Struct

from actors.errors import RefusalError
from actors.ports import Clock, LogPort
from events.base import Event, Scope, StreamId, budget_stream
from events.codec import append_of
from events.errors import ConcurrencyError, EventLogError
from events.spending import Basis, HoldOpened, HoldSettled
from projections import holds
from projections.fold import fold
from projections.holds import Exposure

ORPHAN_AGE: Final = timedelta(hours=1)
"""Longest a request can take; a hold that is older has lost its process."""

_log = structlog.get_logger(__name__)


class CapReachedError(RefusalError):
    """A payer's spending and open holds leave no room for another hold."""

    def __init__(self, payer: str, cap_pico: int) -> None:
        super().__init__(payer, cap_pico)
        self.payer = payer
        self.cap_pico = cap_pico


class Wanted(Struct, frozen=True, kw_only=True):
    """A hold that somebody wants."""

    payer: str
    """Who pays: `guild/<id>` or `user/<id>`."""
    cap_pico: int
    """The most that the payer may spend in a month, in 10**-12 US dollars."""
    opening: HoldOpened
    """The hold."""
    scope: Scope
    """Whom its events concern."""
    epoch: int
    """The epoch of the turn; a process that was believed dead opens nothing."""


class LedgerHold:
    """An open hold in the log."""

    def __init__(self, ledger: "Ledger", stream: StreamId, wanted: Wanted) -> None:
        self._ledger = ledger
        self._stream = stream
        self._wanted = wanted
        self.estimate_pico = wanted.opening.estimate_pico

    async def release(self, spent_pico: int, basis: Basis) -> None:
        """Settle it; where the log refuses, it stays open and is settled as an orphan."""
        hold_id = self._wanted.opening.hold_id
        settled = HoldSettled(hold_id=hold_id, spent_pico=spent_pico, basis=basis)
        await self._ledger.settle(self._stream, settled, self._wanted)


class Ledger:
    """Opens and settles holds."""

    def __init__(self, log: LogPort, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._states: dict[str, tuple[StreamId, Exposure]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def open(self, wanted: Wanted) -> LedgerHold:
        """Return the hold once it is durable.

        Raises:
            CapReachedError: It would lead above the cap.
            FencedError: The turn was recovered elsewhere.
        """
        lock = self._locks.setdefault(wanted.payer, asyncio.Lock())
        async with lock:
            while True:
                now = self._clock.now()
                stream = budget_stream(wanted.payer, now.date())
                state = await self._caught_up(wanted.payer, stream)
                if state.total_pico + wanted.opening.estimate_pico > wanted.cap_pico:
                    raise CapReachedError(wanted.payer, wanted.cap_pico)
                entries: list[tuple[Event, datetime]] = [
                    (
                        HoldSettled(hold_id=name, spent_pico=one.estimate_pico, basis="abandoned"),
                        now,
                    )
                    for name, one in state.orphans(now, ORPHAN_AGE).items()
                ]
                append = append_of(
                    stream,
                    [*entries, (wanted.opening, now)],
                    scope=wanted.scope,
                    expected_seq=state.seq,
                    epoch=wanted.epoch,
                )
                try:
                    await self._log.append(append)
                except ConcurrencyError:
                    continue
                return LedgerHold(self, stream, wanted)

    async def settle(self, stream: StreamId, settled: HoldSettled, wanted: Wanted) -> None:
        """Append the settlement of a hold."""
        append = append_of(
            stream, [(settled, self._clock.now())], scope=wanted.scope, epoch=wanted.epoch
        )
        try:
            await self._log.append(append)
        except EventLogError as error:
            _log.warning("hold_stays_open", hold_id=settled.hold_id, reason=str(error))

    async def exposure(self, payer: str, month: date) -> Exposure:
        """Return what `payer` has spent and set aside in the month of that day."""
        return fold(
            holds.evolve, holds.initial(), await self._log.read(budget_stream(payer, month))
        )

    async def _caught_up(self, payer: str, stream: StreamId) -> Exposure:
        known, state = self._states.get(payer, (stream, holds.initial()))
        if known != stream:
            state = holds.initial()
        state = fold(holds.evolve, state, await self._log.read(stream, after=state.seq))
        self._states[payer] = (stream, state)
        return state
