"""A turn from its trigger to its end, over ports: the plain class inside a `ChannelTurn` actor.

Three tasks: reading the provider, delivering, and following the stop. Whatever ends first decides
how the turn ends; each ending says what became of every character that was received.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, Final, Literal, TypeVar

import structlog

from actors.errors import LeaseLostError
from actors.generation.answer import Answer
from actors.generation.context import conversation
from actors.generation.deliverer import Deliverer
from actors.generation.journal import Journal
from actors.generation.reading import Reading
from actors.generation.start import StartTurn, TurnResult
from actors.generation.stopping import StopWatch
from actors.generation.takeover import Takeover, new_journal, take_over
from actors.generation.typing_indicator import TypingIndicator
from actors.generation.world import World
from actors.ports import Draft, SendRequest
from actors.text import core
from events.base import turn_stream
from events.errors import EventLogError, FencedError
from events.turn import RecoveryDecision, StopObserved, TurnEnded, TurnStarted, TurnStatus

QUIET_CODES: Final = {10003: "channel_deleted", 50001: "missing_access"}
"""Discord's refusals that end a turn without a word: there is nobody to tell."""

GIVEN_UP: Final[dict[RecoveryDecision, tuple[str, TurnStatus, str | None]]] = {
    "end_unconfirmed": ("unconfirmed", "unconfirmed", "sender_lost"),
    "end_refused": ("refused", "error", "send_refused"),
    "end_stopped": ("stop", "stopped_by_user", "stop"),
    "expire": ("crash", "expired", None),
    "give_up": ("crash", "given_up", None),
}
"""What a recovery that delivers nothing more ends in: the rule, the status, the reason."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Turn:
    """Runs one turn, new or taken over."""

    def __init__(self, world: World, start: StartTurn) -> None:
        self._world = world
        self._start = start
        self._stop = StopWatch(world.log, start.turn_id, start.channel_id, start.trigger_position)
        self._exits = AsyncExitStack()
        self._requests = 0
        self._journal: Journal
        self._deliverer: Deliverer
        self._answer: Answer
        self._typing: TypingIndicator | None = None

    async def run(self) -> TurnResult:
        """Run the turn to its end and return how it went.

        A turn that another process owns by now, or that the log does not hear, ends without a word.
        """
        try:
            async with self._exits:
                self._exits.push_async_callback(self._stop.aclose)
                return TurnResult(status=await self._run())
        except (EventLogError, LeaseLostError) as error:
            _log.warning("turn_gave_way", turn_id=self._start.turn_id, reason=str(error))
            return TurnResult(status="replaced")

    async def _run(self) -> TurnStatus:
        if self._start.epoch == 0:
            self._begin(
                new_journal(self._world, self._start, seq=0), core.initial(self._text_config())
            )
            self._journal.add(self._started())
            return await self._generate("first")
        found = await take_over(self._world, self._start, self._started())
        if found.ended is not None:
            return found.ended
        is_new = found.decision == "run_again"
        state = core.initial(self._text_config()) if is_new else found.state
        self._begin(found.journal, state, found)
        return await self._continue(found)

    def _begin(
        self, journal: Journal, state: core.TextState, found: Takeover | None = None
    ) -> None:
        self._journal = journal
        self._deliverer = Deliverer(
            self._world.sender, journal, self._world.clock, self._start, self._stop
        )
        self._exits.push_async_callback(journal.aclose)
        self._exits.push_async_callback(self._deliverer.aclose)
        self._answer = Answer(
            journal,
            self._deliverer,
            state,
            flushes=len(found.flushes) if found else 0,
            received=found.received if found else 0,
        )
        if found is not None:
            self._requests = found.requests
            self._answer.discarded["upgrade"] = found.lost
            self._deliverer.recall(found.flushes, found.results)

    # -- a new turn --------------------------------------------------------------------------

    async def _generate(self, attempt: Literal["first", "retry"]) -> TurnStatus:
        start = self._start
        self._typing = TypingIndicator(self._world.sender, self._world.clock, start.channel_id)
        self._exits.push_async_callback(self._end_typing)
        history = await self._until_interrupted(
            self._world.sender.history(
                start.channel_id, before=start.trigger.message_id, limit=start.history_limit
            )
        )
        if history is None or self._is_interrupted:
            await self._end_typing()
            return await self._interrupted()
        context = conversation(start, history)
        reading: Reading | None = None
        for number, route in enumerate(start.models):
            self._requests += 1
            reading = Reading(self._world, self._journal, self._answer, route, self._requests)
            run = reading.run(attempt if number == 0 else "fallback", context)
            await self._until_interrupted(run)
            if reading.fault is None or self._answer.received or self._is_interrupted:
                break
        assert reading is not None
        return await self._conclude(reading)

    async def _conclude(self, reading: Reading) -> TurnStatus:
        await self._end_typing()
        if self._is_interrupted:
            return await self._interrupted()
        if reading.fault is not None:
            self._answer.finish("error")
        elif reading.call is not None:
            self._answer.finish("tool_call")
        else:
            self._answer.finish("final")
        await self._until_interrupted(self._deliverer.settled())
        if self._is_interrupted:
            return await self._interrupted()
        return await self._finished(reading)

    async def _finished(self, reading: Reading) -> TurnStatus:
        notices = self._world.notices
        if reading.fault is not None:
            fault = reading.fault
            await self._notify(notices.provider_failed(fault.type, fault.code))
            return await self._end("error", stop_reason="provider_error", error=fault.code)
        if reading.call is not None:
            await self._notify(notices.tool_call)
            return await self._end("error", stop_reason="tool_call", error="tool_calls_unsupported")
        if not self._deliverer.has_posted:
            await self._notify(notices.empty)
            return await self._end("empty_response", stop_reason=reading.finish_reason)
        return await self._end("completed", stop_reason=reading.finish_reason)

    # -- interrupted: a stop, an end of delivery, a lost log ---------------------------------

    @property
    def _is_interrupted(self) -> bool:
        return (
            self._stop.is_set() or self._deliverer.ended.is_set() or self._journal.failed.is_set()
        )

    async def _until_interrupted(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return what `work` gives, or cancel it at a stop or at the end of delivery: None."""
        task = asyncio.create_task(work)
        watchers = [
            asyncio.ensure_future(signal)
            for signal in (
                self._stop.wait(),
                self._deliverer.ended.wait(),
                self._journal.failed.wait(),
            )
        ]
        try:
            await asyncio.wait({task, *watchers}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            unfinished = not task.done()
            for one in (task, *watchers):
                one.cancel()
            await asyncio.gather(task, *watchers, return_exceptions=True)
        return None if unfinished else task.result()

    async def _interrupted(self) -> TurnStatus:
        if self._journal.failed.is_set():
            await self._journal.barrier()
        if self._deliverer.ended.is_set():
            return await self._delivery_ended()
        return await self._stopped()

    async def _stopped(self) -> TurnStatus:
        """End by a stop: what waits is withheld; the rest is flushed where that leaves no hole."""
        stop = self._stop.stops.first
        assert stop is not None
        self._journal.add(
            StopObserved(position=stop.position, stop=stop.stop, requester=stop.requester)
        )
        await self._deliverer.settled()
        if self._deliverer.ended.is_set():
            return await self._delivery_ended()
        if self._stop.stops.is_flush_owed and not self._deliverer.withheld:
            self._answer.finish("stop")
            await self._deliverer.settled()
        else:
            self._answer.discard("stop")
        if self._deliverer.ended.is_set():
            return await self._delivery_ended()
        status = "follow_up_interrupt" if stop.stop == "follow_up" else "stopped_by_user"
        return await self._end(status, stop_reason=stop.stop)

    async def _delivery_ended(self) -> TurnStatus:
        """End after an attempt that nobody knows the outcome of, or that Discord refused."""
        ending = self._deliverer.ending
        assert ending is not None
        if ending == "fenced":
            await self._journal.barrier()
            raise FencedError(
                turn_stream(self._start.turn_id), self._start.epoch, self._start.epoch + 1
            )
        await self._deliverer.settled()
        self._answer.discard(ending)
        if ending == "unconfirmed":
            return await self._end("unconfirmed", stop_reason=self._deliverer.reason)
        quiet = QUIET_CODES.get(self._deliverer.code or 0)
        if quiet is not None:
            return await self._end("stopped_by_user", stop_reason=quiet)
        return await self._end("error", stop_reason="send_refused", error=self._deliverer.reason)

    # -- a turn taken over -------------------------------------------------------------------

    async def _continue(self, found: Takeover) -> TurnStatus:
        if found.decision == "run_again":
            return await self._generate("retry")
        if found.decision == "deliver_rest":
            return await self._deliver_rest(found)
        if found.decision == "give_up":
            await self._notify(self._world.notices.given_up)
        rule, status, stop_reason = GIVEN_UP[found.decision]
        self._answer.discard(rule)
        self._deliverer.withhold_rest(rule)
        return await self._end(status, stop_reason=stop_reason)

    async def _deliver_rest(self, found: Takeover) -> TurnStatus:
        for flush in found.flushes:
            self._deliverer.put(flush)
        self._answer.finish("final")
        await self._until_interrupted(self._deliverer.settled())
        if self._is_interrupted:
            return await self._interrupted()
        return await self._end("recovered")

    # -- shared ------------------------------------------------------------------------------

    def _text_config(self) -> core.TextConfig:
        return core.config_of(self._start.settings, self._start.seed)

    def _started(self) -> TurnStarted:
        return self._start.started(self._world.code_version, core.TEXT_VERSION)

    async def _end_typing(self) -> None:
        if self._typing is not None:
            await self._typing.end()
            self._typing = None

    async def _notify(self, words: str) -> None:
        """Say something of the bot's own, once; what becomes of it changes nothing."""
        start = self._start
        await self._journal.barrier()
        await self._world.sender.send(
            SendRequest(
                turn_id=start.turn_id,
                scope=start.scope,
                epoch=start.epoch,
                flush=0,
                piece=0,
                purpose="notice",
                draft=Draft(
                    channel_id=start.channel_id,
                    content=words,
                    reply_to=None if self._deliverer.has_posted else start.trigger.message_id,
                ),
            )
        )

    async def _end(
        self, status: TurnStatus, *, stop_reason: str | None = None, error: str | None = None
    ) -> TurnStatus:
        deliverer = self._deliverer
        withheld: dict[str, int] = {}
        for part in (deliverer.flush_withheld, deliverer.withheld, self._answer.discarded):
            for rule, count in part.items():
                withheld[rule] = withheld.get(rule, 0) + count
        self._journal.add(
            TurnEnded(
                status=status,
                stop_reason=stop_reason,
                error=error,
                delivered_text=deliverer.delivered_text,
                received=self._answer.received,
                delivered=deliverer.delivered,
                withheld={rule: count for rule, count in sorted(withheld.items()) if count},
                messages=deliverer.messages,
                requests=self._requests,
            )
        )
        await self._journal.barrier()
        return status
