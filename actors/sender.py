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
from itertools import islice
from typing import Final

import structlog
from msgspec.structs import replace

from actors.delivery.attempts import INVALID_WEBHOOK_CODES, QUIET_CODES, key_of, unattempted
from actors.delivery.guild_emojis import GuildEmojis
from actors.delivery.lanes import ChannelLane, TurnLane
from actors.delivery.ledger import Ledger
from actors.delivery.records import attempt_of, outcome_event
from actors.delivery.retraction import withdraw
from actors.delivery.routes import Routes
from actors.delivery.stops import StopWatch
from actors.delivery.table_messages import TableMessages
from actors.delivery.typing_calls import TypingCalls
from actors.ports import (
    Clock,
    Draft,
    HistoryMessage,
    LogPort,
    Messenger,
    NotPosted,
    SendRequest,
    SendResult,
    Sent,
)
from events.base import (
    ChannelId,
    GuildId,
    MessageId,
    Scope,
    TurnId,
    channel_stream,
)
from events.delivery import Receipt, SendAttempt
from events.errors import ConcurrencyError, FencedError, StoppedError
from events.scene import ServerEmoji
from events.turn import StopRequested

TURNS_KEPT: Final = 4096
"""Turns remembered; of others the log tells again."""

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
        self._typing = TypingCalls(messenger, clock)
        self._stops = StopWatch(log, clock, self._heard)
        self._ledger = Ledger(log, clock, self._stops.saw)
        self._routes = Routes(messenger, log, clock)
        self._tables = TableMessages(log, self._routes.edit_buttons, clock)
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
            attempts = await self._ledger.load(turn, scope)
            await self._withdraw(turn, scope, attempts.retracting)
            return attempts.results

    async def retract(
        self, turn_id: TurnId, scope: Scope, epoch: int, attempts: tuple[int, ...]
    ) -> list[SendResult]:
        """Delete the messages of `attempts`, newest first, and return what all are by now."""
        turn = self._turn(turn_id)
        turn.epoch = max(turn.epoch, epoch)
        async with turn.lock:
            known = turn.attempts or await self._ledger.load(turn, scope)
            if epoch == turn.epoch and not known.is_unconfirmed:
                await self._withdraw(turn, scope, attempts)
            return known.results

    async def typing(self, channel_id: ChannelId) -> None:
        """Show the typing indicator, unless a message is just going out: that would outlive it."""
        lane = self._lanes.get(channel_id)
        if not (self._is_closing or (lane and lane.is_posting)):
            await self._typing.show(channel_id)

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
        await asyncio.gather(*flights, return_exceptions=True)
        await self._typing.aclose()
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
        request = await self._routes.appearances.worn(request)
        began = self._clock.monotonic()
        async with self._routes.held(request):
            lock_ms += (self._clock.monotonic() - began) * 1000.0
            while True:
                second = turn.attempts.second(key_of(request)) if turn.attempts else None
                routed = await self._routes.routed(request, second)
                result = await self._announce(turn, routed, lane)
                result = result or await self._post_once(turn, routed, lane, lock_ms)
                if not await self._may_post_again(turn, request, result):
                    return result

    async def _announce(
        self, turn: TurnLane, request: SendRequest, lane: ChannelLane
    ) -> SendResult | None:
        """Say which message is answered, where a webhook can't reply and nothing has said it.

        Returns:
            What the message itself comes to, where it can't follow; else None.
        """
        card, voice, hook = request.reply_card, request.voice, request.draft.hook
        if card is None or voice is None or hook is None or voice.kind == "copied":
            return None
        if turn.attempts is None or not turn.attempts.needs_reply_notice:
            return None
        draft = Draft(channel_id=request.draft.channel_id, content="", card=card, hook=hook)
        notice = replace(
            request,
            flush=0,
            piece=0,
            part=0,
            purpose="reply_notice",
            draft=draft,
            pacing_ms=0.0,
        )
        result = await self._post_once(turn, notice, lane, 0.0)
        if isinstance(result, Sent):
            return None
        _log.warning("reply_notice_missing", turn_id=turn.turn_id, reason=result.reason)
        if result.outcome == "unconfirmed" or result.code in QUIET_CODES:
            return replace(result, flush=request.flush, piece=request.piece)
        return None

    async def _post_once(
        self, turn: TurnLane, request: SendRequest, lane: ChannelLane, lock_ms: float
    ) -> SendResult:
        """Post by the way that the draft names; without its buttons, where those are refused."""
        key = key_of(request)
        while True:
            ready = await self._messenger.ready(request.draft, turn.signal(request))
            lane.is_posting = True
            await self._typing.make_way(request.draft.channel_id)
            async with turn.lock:
                # Looked at anew: the turn may have been settled while the limit was waited for.
                refusal = await self._refusal(turn, request)
                if refusal is not None:
                    return refusal
                if turn.attempts and turn.attempts.goes_without_buttons(key):
                    request = replace(request, draft=replace(request.draft, buttons=()))
                result = await self._attempt(turn, request, lock_ms, ready)
                if not (turn.attempts and turn.attempts.lost_buttons(key)):
                    return result

    async def _may_post_again(
        self, turn: TurnLane, request: SendRequest, result: SendResult
    ) -> bool:
        """Return whether the refusal of a webhook permits another post, and make way for it."""
        if isinstance(result, Sent):
            self._routes.pool.worked(request.draft.channel_id)
            return False
        attempts, key = turn.attempts, key_of(request)
        if attempts is None or result.attempt is None or attempts.second(key) is None:
            return False
        webhook_id = attempts.webhook_of(key)
        _log.warning("webhook_refused", webhook_id=webhook_id, code=result.code)
        if webhook_id is not None and result.code in INVALID_WEBHOOK_CODES:
            self._routes.pool.forget(webhook_id)
        if attempts.second(key) == "bot":
            async with turn.lock:
                await self._withdraw(turn, request.scope, attempts.reply_notices())
        return True

    async def _withdraw(self, turn: TurnLane, scope: Scope, attempts: Sequence[int]) -> None:
        """Delete messages, and record it. The turn's lock is held."""
        assert turn.attempts is not None
        await withdraw(
            turn.attempts,
            attempts,
            append=partial(self._ledger.append, turn, scope),
            delete=self._routes.take_back,
        )

    async def _refusal(self, turn: TurnLane, request: SendRequest) -> SendResult | None:
        """Return what makes an attempt needless or forbidden, None where it may be made."""
        attempts = turn.attempts or await self._ledger.load(turn, request.scope)
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
        attempt = attempt_of(
            request, attempts.next_attempt, lock_ms=lock_ms, ready=ready, sender=self._life
        )
        failed = outcome_event(request, attempt, ready) if isinstance(ready, NotPosted) else None
        try:
            await self._ledger.append(
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
        record = partial(self._ledger.record, turn, request.scope, attempt.attempt)
        try:
            outcome = await self._messenger.post(
                request.draft, turn.signal(request), waited_ms=waited_ms
            )
        except asyncio.CancelledError:
            await record(
                outcome_event(
                    request, attempt, NotPosted(outcome="unconfirmed", reason="cancelled")
                )
            )
            raise
        except Exception:  # noqa: BLE001 - no attempt stays without outcome
            _log.exception("post_broke", turn_id=turn.turn_id, attempt=attempt.attempt)
            outcome = NotPosted(outcome="unconfirmed", reason="client_error")
        event = outcome_event(request, attempt, outcome)
        await record(event)
        if not isinstance(event, Receipt):
            return
        self._routes.appearances.take(event)
        if attempt.buttons:
            self._tables.add(turn.turn_id, request, event)

    async def _learn_stops(self, turn: TurnLane, request: SendRequest) -> None:
        # What is owed is owed under a stop. One that was never pushed here is read, for its
        # kind decides: nothing is owed after a follow-up.
        for recorded in await self._log.read(channel_stream(_home_of(request))):
            event = recorded.event
            if isinstance(event, StopRequested) and event.turn_id == turn.turn_id:
                turn.stop(event)


def _home_of(request: SendRequest) -> ChannelId:
    """Return the channel whose stream holds the turn's stops."""
    return request.scope.channel_id or request.draft.channel_id
