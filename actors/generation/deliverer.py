"""A turn's messages, handed to the sender one by one, and the account of what became of them.

Reading and delivering are two tasks joined by this queue, so that a slow Discord never holds up the
provider. The first outcome that nobody knows, and the first refusal, end delivery: what waits is
withheld by name. A stop leaves no hole either: pieces that waited are withheld, and the flush that
a graceful stop owes is posted only where nothing before it was.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from random import Random
from typing import Final, Literal

import structlog
from msgspec import Struct
from msgspec.structs import replace

from actors.errors import LeaseLostError
from actors.generation.journal import Journal
from actors.generation.replying import reply_card
from actors.generation.start import StartTurn
from actors.generation.tables import table_drafts
from actors.ports import (
    Clock,
    Draft,
    NotSent,
    SenderPort,
    SendRequest,
    SendResult,
    Sent,
    StopSignal,
)
from actors.text.pacing import delay_seconds, pause_seconds
from actors.voice import voice_of
from events.errors import EventLogError
from events.generation import Flush

BACKOFF_SECONDS: Final = (1.0, 2.0, 4.0)
"""Pauses before an attempt of which nothing left this machine is made again."""

Ending = Literal["unconfirmed", "refused", "fenced"]
"""Why nothing more may be posted by this turn."""

_log = structlog.get_logger(__name__)


class _Errand(Struct, frozen=True, kw_only=True):
    flush: Flush
    piece: int
    owed: bool


class Deliverer:
    """Posts the pieces of flushes in order."""

    def __init__(
        self,
        sender: SenderPort,
        journal: Journal,
        clock: Clock,
        start: StartTurn,
        stop: StopSignal,
    ) -> None:
        self._sender = sender
        self._journal = journal
        self._clock = clock
        self._start = start
        self._queue: asyncio.Queue[_Errand] = asyncio.Queue()
        self._idle = asyncio.Event()
        self._idle.set()
        self._stop = stop
        self._pauses = Random(f"{start.seed}/pauses")  # noqa: S311 - style, not secrets
        self._posted_at: float | None = None
        settings = start.settings
        # Whoever waited through a crash has waited long enough.
        self._is_paced = settings.paced_messages and settings.live_streaming and start.epoch == 0
        self._flushes: dict[int, Flush] = {}
        self._delivered: dict[tuple[int, int], int] = {}
        self._sent: dict[int, int] = {}
        self._superseded: set[int] = set()
        self._task: asyncio.Task[None] | None = None
        self.withheld: dict[str, int] = {}
        """Characters of pieces that were not confirmed, by rule."""
        self.ending: Ending | None = None
        """Set once nothing more may be posted."""
        self.reason: str | None = None
        """The sender's word for it."""
        self.code: int | None = None
        """Discord's code for it."""
        self.ended = asyncio.Event()
        """Set with `ending`."""

    def put(self, flush: Flush, *, owed: bool = False) -> None:
        """Queue the pieces of `flush` that are not yet delivered."""
        self._flushes[flush.flush] = flush
        if flush.flush in self._superseded:
            return
        for piece in range(len(flush.pieces)):
            if (flush.flush, piece) not in self._delivered:
                self._idle.clear()
                self._queue.put_nowait(_Errand(flush=flush, piece=piece, owed=owed))
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def recall(
        self,
        flushes: Iterable[Flush],
        results: Sequence[SendResult],
        superseded: Collection[int] = (),
    ) -> None:
        """Take up a turn where its log leaves it.

        Args:
            flushes: What it flushed.
            results: What was confirmed of it, among others.
            superseded: The flushes of requests that others were made in place of.
        """
        self._flushes = {flush.flush: flush for flush in flushes}
        self._superseded = set(superseded)
        for result in results:
            if isinstance(result, Sent) and result.flush in self._flushes:
                self._sent[result.attempt] = result.flush
                if not result.part:
                    self._delivered[result.flush, result.piece] = result.attempt
        for number in superseded:
            self._withhold_missing(self._flushes[number], "superseded")

    async def supersede(self, flushes: Collection[int]) -> bool:
        """Withdraw what `flushes` have posted, and post no more of them.

        Returns:
            Whether nothing of them stands; else the turn must not let another model speak.
        """
        self._superseded.update(flushes)
        await self.settled()
        attempts = tuple(one for one, flush in self._sent.items() if flush in flushes)
        if self.ending is not None or not attempts:
            return self.ending is None
        start = self._start
        results = await self._sender.retract(start.turn_id, start.scope, start.epoch, attempts)
        gone = {one.attempt for one in results if isinstance(one, NotSent)}
        for place, attempt in list(self._delivered.items()):
            if attempt in gone:
                del self._delivered[place]
                self._withhold(self._flushes[place[0]], place[1], "superseded")
        return gone.issuperset(attempts)

    def withhold_rest(self, rule: str) -> None:
        """Account for every recalled piece that is not delivered as withheld by `rule`."""
        for flush in self._flushes.values():
            if flush.flush not in self._superseded:
                self._withhold_missing(flush, rule)

    def text_of(self, flushes: Iterable[int]) -> str:
        """Return the visible text of `flushes`."""
        return "".join(self._flushes[number].text for number in flushes)

    async def settled(self) -> None:
        """Return once nothing waits and nothing is under way."""
        await self._idle.wait()

    async def aclose(self) -> None:
        """End the task; an attempt under way keeps its outcome in the sender's log."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def has_posted(self) -> bool:
        """Whether any message of the turn is confirmed."""
        return bool(self._delivered)

    @property
    def messages(self) -> int:
        """Confirmed messages."""
        return len(self._delivered)

    @property
    def delivered(self) -> int:
        """Characters of the visible text in confirmed messages."""
        return sum(self._flushes[flush].pieces[piece].size for flush, piece in self._delivered)

    @property
    def delivered_text(self) -> str:
        """The visible text of confirmed messages, blanks between them included."""
        parts: list[str] = []
        for number, flush in sorted(self._flushes.items()):
            confirmed = [i for i in range(len(flush.pieces)) if (number, i) in self._delivered]
            if len(confirmed) == len(flush.pieces):
                parts.append(flush.text)
            else:
                pieces = (flush.pieces[i] for i in confirmed)
                parts += [flush.text[p.start - flush.start : p.end - flush.start] for p in pieces]
        return "".join(parts).strip() if self._delivered else ""

    @property
    def flush_withheld(self) -> dict[str, int]:
        """Characters that the text path withheld in what was flushed, by rule."""
        total: dict[str, int] = {}
        for flush in self._flushes.values():
            for rule, count in flush.withheld.items():
                total[rule] = total.get(rule, 0) + count
        return total

    async def _run(self) -> None:
        while True:
            await self._deliver(await self._queue.get())
            if self._queue.empty():
                self._idle.set()

    async def _deliver(self, errand: _Errand) -> None:
        if self.ending is not None:
            self._withhold(errand.flush, errand.piece, self.ending)
        elif errand.flush.flush in self._superseded:
            self._withhold(errand.flush, errand.piece, "superseded")
        else:
            self._account(errand, await self._recorded_and_sent(errand))

    async def _recorded_and_sent(self, errand: _Errand) -> SendResult:
        """Send what the log holds: the flush and its chunks are durable before the attempt."""
        try:
            await self._journal.barrier()
        except (EventLogError, LeaseLostError) as error:
            return NotSent(
                flush=errand.flush.flush,
                piece=errand.piece,
                attempt=None,
                outcome="fenced",
                reason=type(error).__name__,
            )
        return await self._send(errand, await self._pace(errand))

    async def _pace(self, errand: _Errand) -> float:
        """Wait as long as a typist would take for a follow-up message; a stop ends the wait.

        Returns:
            The milliseconds waited.
        """
        if not self._is_paced or errand.owed or self._posted_at is None:
            return 0.0
        began = self._clock.monotonic()
        content = errand.flush.pieces[errand.piece].content
        pause = pause_seconds(self._pauses) if errand.piece > 1 else 0.0
        await self._unless_stopped(delay_seconds(content, began - self._posted_at) + pause)
        return round((self._clock.monotonic() - began) * 1_000, 3)

    async def _unless_stopped(self, seconds: float) -> None:
        waits = [
            asyncio.ensure_future(self._clock.sleep(seconds)),
            asyncio.ensure_future(self._stop.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    async def _send(self, errand: _Errand, pacing_ms: float) -> SendResult:
        """Send the messages of a piece; it is delivered once the last of them is."""
        *before, last = await self._drafts(errand)
        for part, draft in enumerate(before, start=1):
            result = await self._send_draft(errand, draft, pacing_ms, part=part)
            if not isinstance(result, Sent):
                return result
            pacing_ms = 0.0
        return await self._send_draft(errand, last, pacing_ms)

    async def _drafts(self, errand: _Errand) -> tuple[Draft, ...]:
        piece = errand.flush.pieces[errand.piece]
        channel_id = self._start.channel_id
        if piece.is_table:
            first, *others = await table_drafts(piece.content, channel_id, self._clock.now())
        else:
            first, *others = (
                Draft(channel_id=channel_id, content=piece.content, mentions=piece.mentions),
            )
        if not self._delivered:
            first = replace(first, reply_to=self._start.trigger.message_id)
        return (first, *others)

    async def _send_draft(
        self, errand: _Errand, draft: Draft, pacing_ms: float, *, part: int = 0
    ) -> SendResult:
        request = self._request(errand, draft, pacing_ms, part)
        for pause in (*BACKOFF_SECONDS, None):
            result = await self._sender.send(request)
            if isinstance(result, Sent):
                self._sent[result.attempt] = result.flush
                return result
            if result.outcome != "pre_dispatch" or result.reason == "stopped" or pause is None:
                return result
            _log.warning("send_not_dispatched", reason=result.reason, again_in=pause)
            await self._unless_stopped(pause)
        raise AssertionError

    def _request(self, errand: _Errand, draft: Draft, pacing_ms: float, part: int) -> SendRequest:
        start = self._start
        return SendRequest(
            turn_id=start.turn_id,
            scope=start.scope,
            epoch=start.epoch,
            flush=errand.flush.flush,
            piece=errand.piece,
            part=part,
            draft=draft,
            voice=voice_of(
                start.personas,
                start.persona,
                errand.flush.modifier,
                is_copied=errand.flush.is_copied,
            ),
            reply_card=None if self._delivered else reply_card(start.trigger),
            owed=errand.owed,
            pacing_ms=pacing_ms,
        )

    def _account(self, errand: _Errand, result: SendResult) -> None:
        if isinstance(result, Sent):
            self._delivered[errand.flush.flush, errand.piece] = result.attempt
            self._posted_at = self._clock.monotonic()
            return
        if result.outcome == "stopped" or result.reason == "stopped":
            self._withhold(errand.flush, errand.piece, "stop")
            return
        if result.outcome == "retracted":
            self._withhold(errand.flush, errand.piece, "superseded")
            return
        self._end(result)
        assert self.ending is not None
        self._withhold(errand.flush, errand.piece, self.ending)

    def _end(self, result: NotSent) -> None:
        match result.outcome:
            case "unconfirmed" | "fenced":
                self.ending = result.outcome
            case _:
                self.ending = "refused"
        self.reason, self.code = result.reason, result.code
        self.ended.set()

    def _withhold_missing(self, flush: Flush, rule: str) -> None:
        for piece in range(len(flush.pieces)):
            if (flush.flush, piece) not in self._delivered:
                self._withhold(flush, piece, rule)

    def _withhold(self, flush: Flush, piece: int, rule: str) -> None:
        self.withheld[rule] = self.withheld.get(rule, 0) + flush.pieces[piece].size
