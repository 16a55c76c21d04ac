"""A turn from its trigger to its end, over ports: the plain class inside a `ChannelTurn` actor.

Three tasks: reading the provider, delivering, and following the stop. Whatever ends first decides
how the turn ends; each ending says what became of every character that was received.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final, Literal

import structlog

from actors.errors import LeaseLostError
from actors.generation.answer import Answer
from actors.generation.asking import Asking
from actors.generation.context import conversation
from actors.generation.deliverer import Deliverer
from actors.generation.dialogue import Dialogue
from actors.generation.endings import Endings
from actors.generation.exchanges import Exchange
from actors.generation.journal import Journal
from actors.generation.running import Running
from actors.generation.scene import scene_of
from actors.generation.start import StartTurn, TurnResult
from actors.generation.stopping import StopWatch
from actors.generation.takeover import Takeover, new_journal, take_over
from actors.generation.tool_loop import ToolLoop
from actors.generation.typing_indicator import TypingIndicator
from actors.generation.world import World
from actors.ports import HistoryMessage
from actors.providers.adapter import ContextItem
from actors.spending.context import TurnOwner, bind_usage_context
from actors.text import core
from actors.text.config import TextConfig
from events.errors import EventLogError
from events.scene import ServerEmoji
from events.turn import RecoveryDecision, TurnStarted, TurnStatus

GIVEN_UP: Final[dict[RecoveryDecision, tuple[str, TurnStatus, str | None]]] = {
    "end_unconfirmed": ("unconfirmed", "unconfirmed", "sender_lost"),
    "end_refused": ("refused", "error", "send_refused"),
    "end_stopped": ("stop", "stopped_by_user", "stop"),
    "expire": ("crash", "expired", None),
    "give_up": ("crash", "given_up", None),
}
"""What a recovery that delivers nothing more ends in: the rule, the status, the reason."""

_log = structlog.get_logger(__name__)


class Turn:
    """Runs one turn, new or taken over."""

    def __init__(self, world: World, start: StartTurn) -> None:
        self._world = world
        self._start = start
        self._stop = StopWatch(world.log, start.turn_id, start.channel_id, start.trigger_position)
        self._exits = AsyncExitStack()
        self._turn: Running
        self._endings: Endings

    async def run(self) -> TurnResult:
        """Run the turn to its end and return how it went.

        A turn that another process owns by now, or that the log does not hear, ends without a word.
        """
        try:
            async with self._exits:
                self._exits.push_async_callback(self._stop.aclose)
                with bind_usage_context(self._owner()):
                    return await self._run()
        except (EventLogError, LeaseLostError) as error:
            _log.warning("turn_gave_way", turn_id=self._start.turn_id, reason=str(error))
            return TurnResult(status="replaced")

    def _owner(self) -> TurnOwner:
        start = self._start
        guild_id, user_id = start.trigger.guild_id, start.trigger.author_id
        return TurnOwner(start.turn_id, start.epoch, guild_id=guild_id, user_id=user_id)

    async def _run(self) -> TurnResult:
        if self._start.epoch == 0:
            self._begin(new_journal(self._world, self._start, seq=0), core.initial(TextConfig()))
            return self._result(await self._generate("first"))
        found = await take_over(self._world, self._start, self._started(()))
        if found.ended is not None:
            return TurnResult(status=found.ended)
        self._begin(found.journal, found.state, found)
        return self._result(await self._continue(found))

    def _result(self, status: TurnStatus) -> TurnResult:
        turn = self._turn
        return TurnResult(status=status, closed=tuple(turn.closed), notes=tuple(turn.notes))

    def _begin(
        self, journal: Journal, state: core.TextState, found: Takeover | None = None
    ) -> None:
        deliverer = Deliverer(
            self._world.sender, journal, self._world.clock, self._start, self._stop
        )
        self._exits.push_async_callback(journal.aclose)
        self._exits.push_async_callback(deliverer.aclose)
        answer = Answer(
            journal,
            deliverer,
            state,
            flushes=len(found.flushes) if found else 0,
            received=found.received if found else 0,
            discarded=found.discarded if found else None,
        )
        self._turn = Running(self._world, self._start, self._stop, journal, deliverer, answer)
        self._endings = Endings(self._turn)
        if found is not None:
            self._turn.requests = found.requests
            self._turn.closed += found.closed
            self._turn.notes += found.notes
            deliverer.recall(found.flushes, found.results, found.superseded)

    # -- a new turn --------------------------------------------------------------------------

    async def _generate(self, attempt: Literal["first", "retry"]) -> TurnStatus:
        seen = await self._look()
        if attempt == "first":
            history, emojis = seen or ([], ())
            beginning = self._started(history, emojis)
            self._turn.journal.add(beginning)
            self._turn.answer.begin(core.config_of(beginning))
        if seen is None or self._turn.is_interrupted:
            return await self._endings.interrupted()
        if not self._start.models:
            return await self._endings.unasked()
        return await self._dialogue(()).run(attempt, self._context(seen[0]))

    async def _look(self) -> tuple[list[HistoryMessage], tuple[ServerEmoji, ...]] | None:
        """Show that the bot is at it; return the channel's past and the guild's emojis.

        None where the turn was interrupted.
        """
        turn, start = self._turn, self._start
        turn.typing = TypingIndicator(self._world.sender, self._world.clock, start.channel_id)
        self._exits.push_async_callback(turn.end_typing)
        return await turn.until_interrupted(self._surroundings())

    async def _surroundings(self) -> tuple[list[HistoryMessage], tuple[ServerEmoji, ...]]:
        start, sender = self._start, self._world.sender
        history = await sender.history(
            start.channel_id, before=start.trigger.message_id, limit=start.history_limit
        )
        guild_id = start.trigger.guild_id
        return history, () if guild_id is None else await sender.emojis(guild_id)

    def _dialogue(self, past: Sequence[Exchange]) -> Dialogue:
        registry = self._world.tools.only(self._start.tools)
        tools = ToolLoop(self._turn, registry, past)
        return Dialogue(self._turn, self._endings, Asking(self._turn, registry.definitions), tools)

    # -- a turn taken over -------------------------------------------------------------------

    async def _continue(self, found: Takeover) -> TurnStatus:
        if found.decision == "run_again":
            self._turn.answer.finish("final")
            return await self._generate("retry")
        if found.decision == "deliver_rest":
            return await self._deliver_rest(found)
        if found.decision == "go_on":
            return await self._go_on(found)
        if found.decision == "give_up":
            await self._turn.notify(self._world.notices.given_up)
        rule, status, stop_reason = GIVEN_UP[found.decision]
        self._turn.answer.discard(rule)
        self._turn.deliverer.withhold_rest(rule)
        return await self._endings.end(status, stop_reason=stop_reason)

    async def _deliver_rest(self, found: Takeover) -> TurnStatus:
        await self._deliver(found, "final")
        if self._turn.is_interrupted:
            return await self._endings.interrupted()
        return await self._endings.end("recovered")

    async def _go_on(self, found: Takeover) -> TurnStatus:
        """Go on in the middle of a tool loop: what was said is said, what ran is not run again."""
        await self._deliver(found, "tool_call")
        seen = None if self._turn.is_interrupted else await self._look()
        if seen is None or self._turn.is_interrupted:
            return await self._endings.interrupted()
        if not self._start.models:
            return await self._endings.unasked()
        return await self._dialogue(found.exchanges).go_on(
            found.uncalled, found.first_flush, self._context(seen[0])
        )

    async def _deliver(self, found: Takeover, how: Literal["final", "tool_call"]) -> None:
        for flush in found.flushes:
            self._turn.deliverer.put(flush)
        self._turn.answer.finish(how)
        await self._turn.until_interrupted(self._turn.deliverer.settled())

    # -- shared ------------------------------------------------------------------------------

    def _context(self, history: Sequence[HistoryMessage]) -> tuple[ContextItem, ...]:
        return conversation(self._start, history, self._world.notices.is_notice)

    def _started(
        self, history: Sequence[HistoryMessage], emojis: Sequence[ServerEmoji] = ()
    ) -> TurnStarted:
        scene = scene_of(self._start, history, emojis)
        return self._start.started(self._world.code_version, core.TEXT_VERSION, scene)
