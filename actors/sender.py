"""The sender: all that is written to Discord for one bot token, each message at most once.

A message is posted in three steps. Its attempt is recorded, and durable before anything leaves;
one request is written; what became of it is recorded. So after any crash the log shows which
messages may stand in the channel, and those are never written again.

Before the attempt the sender makes sure that it still has something to do: that the turn was not
taken over (a newer epoch speaks for it), that nothing it posted is unconfirmed (the first such
message is its last), and that nobody stopped it. The last is asked of the log in the very append
of the attempt, since only the log knows every stop; what is pushed in between ends waits.

In a channel messages leave one at a time, in the order they were asked for. Whoever asks may go
away: a message that was begun is brought to its outcome all the same.

Knows no hikari and no Ray: Discord is a `Messenger`, the log a `LogPort`.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Final

import structlog
from msgspec.structs import replace

from actors.delivery.attempts import Attempts, key_of, outcome_of, unattempted
from actors.delivery.guild_emojis import GuildEmojis
from actors.delivery.lanes import ChannelLane, TurnLane
from actors.delivery.retraction import withdraw
from actors.delivery.stops import StopWatch
from actors.delivery.table_messages import TableMessages
from actors.ports import (
    Clock,
    HistoryMessage,
    LogPort,
    Messenger,
    NotPosted,
    SendRequest,
    SendResult,
)
from events.base import (
    Appended,
    ChannelId,
    Event,
    GuildId,
    MessageId,
    Scope,
    TurnId,
    channel_stream,
    delivery_stream,
)
from events.codec import append_of
from events.delivery import Receipt, SendAttempt, SendFailed
from events.errors import ConcurrencyError, FencedError, StoppedError
from events.scene import ServerEmoji
from events.turn import StopRequested

TURNS_KEPT: Final = 4096
"""Turns remembered; of others the log tells again."""
TYPING_GRACE_SECONDS: Final = 0.5
"""Longest time that a message waits for a typing indicator under way in its channel."""

_log = structlog.get_logger(__name__)


class Sender:
    """`actors.ports.SenderPort` over a messenger and the log."""

    def __init__(
        self, log: LogPort, messenger: Messenger, clock: Clock, *, life: str | None = None
    ) -> None:
        self._log = log
        self._messenger = messenger
        self._clock = clock
        # Two lives of the sender can overlap, and the log takes an equal append twice as one:
        # without a mark of its own in each attempt both would post.
        self._life = life or secrets.token_hex(6)
        self._turns: OrderedDict[TurnId, TurnLane] = OrderedDict()
        self._lanes: dict[ChannelId, ChannelLane] = {}
        self._typing: dict[ChannelId, asyncio.Task[None]] = {}
        self._stops = StopWatch(log, clock, self._heard)
        self._tables = TableMessages(log, messenger, clock)
        self._emojis = GuildEmojis(messenger, clock)
        self._is_closing = False

    def start(self) -> None:
        """Take up what earlier senders left: buttons that are to be disabled."""
        self._tables.start()

    async def send(self, request: SendRequest) -> SendResult:
        """Record an attempt, post once, record its outcome, return it.

        A message that was attempted before, by whatever life of the sender, is not posted again:
        its outcome is returned, once it is known. Cancelling the call does not cancel the post.
        """
        if self._is_closing:
            return unattempted(request, "stopped", "shutdown")
        turn = self._turn(request.turn_id)
        turn.epoch = max(turn.epoch, request.epoch)
        name = (request.epoch, key_of(request))
        flight = turn.flights.get(name)
        if flight is None:
            flight = asyncio.create_task(self._deliver(turn, request), name=f"post {turn.turn_id}")
            turn.flights[name] = flight
            flight.add_done_callback(lambda _: turn.flights.pop(name, None))
        return await asyncio.shield(flight)

    async def settle(self, turn_id: TurnId, scope: Scope, epoch: int) -> list[SendResult]:
        """Give every attempt of the turn an outcome and return them all, oldest first.

        Attempts in flight are waited for; those that nobody has in flight are recorded as
        unconfirmed. From here on requests of an epoch below `epoch` are refused.
        """
        turn = self._turn(turn_id)
        turn.epoch = max(turn.epoch, epoch)
        async with turn.lock:
            attempts = await self._load(turn, scope)
            await self._withdraw(turn, scope, attempts.retracting)
            return attempts.results

    async def retract(
        self, turn_id: TurnId, scope: Scope, epoch: int, attempts: tuple[int, ...]
    ) -> list[SendResult]:
        """Delete the messages of `attempts`, newest first, and return what all are by now."""
        turn = self._turn(turn_id)
        turn.epoch = max(turn.epoch, epoch)
        async with turn.lock:
            known = turn.attempts or await self._load(turn, scope)
            if epoch == turn.epoch and not known.is_unconfirmed:
                await self._withdraw(turn, scope, attempts)
            return known.results

    async def typing(self, channel_id: ChannelId) -> None:
        """Show the typing indicator, unless a message is just going out: that would outlive it."""
        lane = self._lanes.get(channel_id)
        if channel_id in self._typing or self._is_closing or (lane and lane.is_posting):
            return
        task = asyncio.create_task(self._messenger.typing(channel_id))
        self._typing[channel_id] = task
        task.add_done_callback(lambda _: self._typing.pop(channel_id, None))
        await asyncio.wait({task})

    async def history(
        self, channel_id: ChannelId, *, before: MessageId | None, limit: int
    ) -> list[HistoryMessage]:
        """Return up to `limit` messages older than `before`, oldest first; empty on failure."""
        past = await self._messenger.history(channel_id, before=before, limit=limit)
        return await self._tables.readable(past)

    async def table_source(self, message_id: MessageId) -> str | None:
        """Return the Markdown of the table in a message; None where it shows none any more."""
        return await self._tables.source(message_id)

    async def emojis(self, guild_id: GuildId) -> tuple[ServerEmoji, ...]:
        """Return the custom emojis of a guild, as they were lately; none on failure."""
        return await self._emojis.of(guild_id)

    async def aclose(self) -> None:
        """Take no more messages, and return once those under way have their outcomes."""
        self._is_closing = True
        flights = [task for turn in self._turns.values() for task in turn.flights.values()]
        await asyncio.gather(*flights, *self._typing.values(), return_exceptions=True)
        await self._stops.aclose()
        await self._tables.aclose()

    def _turn(self, turn_id: TurnId) -> TurnLane:
        turn = self._turns.get(turn_id)
        if turn is None:
            turn = self._turns[turn_id] = TurnLane(turn_id)
            self._forget_oldest()
        self._turns.move_to_end(turn_id)
        return turn

    def _forget_oldest(self) -> None:
        for turn_id in list(islice(self._turns, max(0, len(self._turns) - TURNS_KEPT))):
            turn = self._turns[turn_id]
            if not turn.flights and not turn.lock.locked():
                del self._turns[turn_id]

    def _heard(self, stop: StopRequested) -> None:
        self._turn(stop.turn_id).stop(stop)

    async def _deliver(self, turn: TurnLane, request: SendRequest) -> SendResult:
        channel_id = request.draft.channel_id
        lane = self._lanes.setdefault(channel_id, ChannelLane())
        lane.users += 1
        began = self._clock.monotonic()
        try:
            async with lane.lock:
                lock_ms = (self._clock.monotonic() - began) * 1000.0
                return await self._deliver_next(turn, request, lane, lock_ms)
        finally:
            lane.is_posting = False
            lane.users -= 1
            if lane.users == 0:
                del self._lanes[channel_id]

    async def _deliver_next(
        self, turn: TurnLane, request: SendRequest, lane: ChannelLane, lock_ms: float
    ) -> SendResult:
        await self._stops.watch(_home_of(request))
        async with turn.lock:
            refusal = await self._refusal(turn, request)
        if refusal is not None:
            return refusal
        ready = await self._messenger.ready(request.draft.channel_id, turn.signal(request))
        lane.is_posting = True
        await self._await_typing(request.draft.channel_id)
        async with turn.lock:
            # Looked at anew: the turn may have been settled while the rate limit was waited for.
            refusal = await self._refusal(turn, request)
            if refusal is not None:
                return refusal
            if turn.attempts and turn.attempts.lost_buttons(key_of(request)):
                request = _without_buttons(request)
            result = await self._attempt(turn, request, lock_ms, ready)
            if not (turn.attempts and turn.attempts.lost_buttons(key_of(request))):
                return result
            ready = await self._messenger.ready(request.draft.channel_id, turn.signal(request))
            return await self._attempt(turn, _without_buttons(request), lock_ms, ready)

    async def _refusal(self, turn: TurnLane, request: SendRequest) -> SendResult | None:
        """Return what makes an attempt needless or forbidden, None where it may be made."""
        attempts = turn.attempts or await self._load(turn, request.scope)
        if request.owed and not turn.stopped.is_set():
            await self._learn_stops(turn, request)
        if request.epoch < turn.epoch:
            return unattempted(request, "fenced", "epoch")
        recorded = attempts.final(key_of(request))
        if recorded is not None:
            return recorded
        if attempts.is_unconfirmed:
            return unattempted(request, "stopped", "unconfirmed")
        if turn.signal(request).is_set():
            return unattempted(request, "stopped", "stopped")
        return None

    async def _attempt(
        self, turn: TurnLane, request: SendRequest, lock_ms: float, ready: float | NotPosted
    ) -> SendResult:
        """Record the attempt, post, record the outcome. The turn's lock is held."""
        attempts = turn.attempts
        assert attempts is not None
        if isinstance(ready, NotPosted) and ready.outcome == "pre_dispatch":
            return unattempted(request, "stopped", ready.reason)
        attempt = self._send_attempt(request, attempts.next_attempt, lock_ms, ready)
        failed = outcome_of(attempt, ready) if isinstance(ready, NotPosted) else None
        try:
            await self._append(
                turn,
                request.scope,
                [attempt, failed] if failed else [attempt],
                unless_stopped=not request.owed,
            )
        except StoppedError:
            turn.stopped.set()
            return unattempted(request, "stopped", "stopped")
        except FencedError as error:
            turn.epoch = max(turn.epoch, error.current_epoch)
            return unattempted(request, "fenced", "epoch")
        except ConcurrencyError:
            turn.attempts = None
            return unattempted(request, "fenced", "another_sender")
        if not isinstance(ready, NotPosted):
            await self._stops.watch(_home_of(request))
            await self._post(turn, request, attempt, ready)
        result = turn.attempts.result(attempt.attempt) if turn.attempts else None
        assert result is not None
        return result

    async def _post(
        self, turn: TurnLane, request: SendRequest, attempt: SendAttempt, waited_ms: float
    ) -> None:
        record = partial(self._record, turn, request.scope, attempt.attempt)
        try:
            outcome = await self._messenger.post(
                request.draft, turn.signal(request), waited_ms=waited_ms
            )
        except asyncio.CancelledError:
            await record(outcome_of(attempt, NotPosted(outcome="unconfirmed", reason="cancelled")))
            raise
        except Exception:  # noqa: BLE001 - no attempt stays without outcome
            _log.exception("post_broke", turn_id=turn.turn_id, attempt=attempt.attempt)
            outcome = NotPosted(outcome="unconfirmed", reason="client_error")
        receipt = outcome_of(attempt, outcome)
        await record(receipt)
        if attempt.buttons and isinstance(receipt, Receipt):
            self._tables.add(turn.turn_id, request, receipt)

    async def _withdraw(self, turn: TurnLane, scope: Scope, attempts: Sequence[int]) -> None:
        assert turn.attempts is not None
        assert scope.channel_id is not None
        await withdraw(
            turn.attempts,
            attempts,
            append=partial(self._append, turn, scope),
            delete=partial(self._messenger.delete, scope.channel_id),
        )

    async def _record(
        self, turn: TurnLane, scope: Scope, attempt: int, outcome: Receipt | SendFailed
    ) -> None:
        """Record the one outcome of an attempt, unless another sender has recorded one.

        An outcome is a fact whatever epoch the turn is at: a recovery that came meanwhile
        forbids to speak, not to tell what was said. That there is one alone is kept by the seq.
        """
        while turn.attempts is None or turn.attempts.result(attempt) is None:
            try:
                await self._append(turn, scope, [outcome])
            except FencedError as error:
                turn.epoch = max(turn.epoch, error.current_epoch)
            except ConcurrencyError:
                stream = await self._log.read(delivery_stream(turn.turn_id))
                turn.attempts = Attempts(stream)

    async def _append(
        self, turn: TurnLane, scope: Scope, events: Sequence[Event], *, unless_stopped: bool = False
    ) -> None:
        attempts = turn.attempts
        assert attempts is not None
        now = self._clock.now()
        appended: Appended = await self._log.append(
            append_of(
                delivery_stream(turn.turn_id),
                [(event, now) for event in events],
                scope=scope,
                expected_seq=attempts.seq,
                epoch=turn.epoch,
                unless_stopped=unless_stopped,
            )
        )
        self._stops.saw(appended.position)
        for event in events:
            attempts.take(event)

    async def _load(self, turn: TurnLane, scope: Scope) -> Attempts:
        """Read what the log knows of the turn, and close what no sender has in flight."""
        turn.attempts = Attempts(await self._log.read(delivery_stream(turn.turn_id)))
        for attempt in turn.attempts.open:
            lost = SendFailed(attempt=attempt, outcome="unconfirmed", reason="sender_lost")
            await self._record(turn, scope, attempt, lost)
        return turn.attempts

    async def _learn_stops(self, turn: TurnLane, request: SendRequest) -> None:
        # What is owed is owed under a stop. One that was never pushed here is read, for its
        # kind decides: nothing is owed after a follow-up.
        for recorded in await self._log.read(channel_stream(_home_of(request))):
            event = recorded.event
            if isinstance(event, StopRequested) and event.turn_id == turn.turn_id:
                turn.stop(event)

    async def _await_typing(self, channel_id: ChannelId) -> None:
        """Let a typing indicator under way arrive before the message does, or give it up."""
        typing = self._typing.get(channel_id)
        if typing is None:
            return
        grace = asyncio.ensure_future(self._clock.sleep(TYPING_GRACE_SECONDS))
        await asyncio.wait({typing, grace}, return_when=asyncio.FIRST_COMPLETED)
        grace.cancel()
        typing.cancel()

    def _send_attempt(
        self, request: SendRequest, ordinal: int, lock_ms: float, ready: float | NotPosted
    ) -> SendAttempt:
        return SendAttempt(
            attempt=ordinal,
            flush=request.flush,
            piece=request.piece,
            part=request.part,
            purpose=request.purpose,
            channel_id=request.draft.channel_id,
            content=request.draft.content,
            reply_to=request.draft.reply_to,
            attachments=tuple(sha256(file.data).hexdigest() for file in request.draft.files),
            buttons=tuple(button.custom_id for button in request.draft.buttons),
            pacing_ms=request.pacing_ms,
            lock_ms=lock_ms,
            rate_limit_ms=ready.ms if isinstance(ready, NotPosted) else ready,
            sender=self._life,
        )


def _without_buttons(request: SendRequest) -> SendRequest:
    return replace(request, draft=replace(request.draft, buttons=()))


def _home_of(request: SendRequest) -> ChannelId:
    """Return the channel whose stream holds the turn's stops."""
    return request.scope.channel_id or request.draft.channel_id
