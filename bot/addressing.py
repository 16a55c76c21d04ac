"""Whether a message that holds a trigger word speaks to the bot, or only about it.

A word such as a persona's name stands in many messages that want no answer. A decision model may be
asked before one is given; a message stays without an answer only where the model is sure by the
operator's measure. A mention, a reply and a direct message are never held up. Whatever goes wrong,
or takes too long, the message is answered.
"""

from typing import Final

import structlog

from actors.decisions.asking import Ask, DecisionWorld
from actors.decisions.calls import Decisions
from actors.decisions.models import DecisionReference, DecisionScope
from actors.decisions.questions import Question
from actors.decisions.recording import OwnerJournal
from actors.decisions.skipping import is_calibrated, may_skip
from actors.ports import LogPort
from bot.decision_settings import AddressingSettings
from events.base import GuildId
from events.turn import TriggerReceived

SLOT: Final = "addressing"
"""What the calls are recorded under."""
_QUESTION: Final = "speaks_to_it"

_log = structlog.get_logger(__name__)


class Addressing:
    """Asks a decision model about trigger words."""

    def __init__(
        self,
        settings: AddressingSettings,
        reference: DecisionReference,
        world: DecisionWorld,
        log: LogPort,
    ) -> None:
        self._settings = settings
        self._reference = reference
        self._world = world
        self._log = log
        self._thresholds = {_QUESTION: settings.below}
        self._guilds: dict[GuildId, tuple[Decisions, OwnerJournal]] = {}

    async def is_for_others(self, trigger: TriggerReceived) -> bool:
        """Return whether the message of `trigger` is surely not for the bot."""
        guild_id = trigger.guild_id
        if trigger.trigger != "word" or guild_id is None or not trigger.content:
            return False
        if not is_calibrated(self._thresholds, self._settings.calibrated):
            return False
        scope = DecisionScope(kind="server", owner_id=guild_id)
        decisions, _ = self._of(guild_id, scope)
        ask = Ask(
            scope=scope,
            reference=self._reference,
            evidence=f"{trigger.author_name}: {trigger.content}",
            questions=(_question(trigger.persona),),
            slot=SLOT,
        )
        result = await decisions.decide_by(self._settings.seconds, ask)
        is_skipped = may_skip(result, self._thresholds, self._settings.calibrated)
        if is_skipped:
            _log.info("word_not_answered", trigger_id=trigger.trigger_id, guild_id=guild_id)
        return is_skipped

    async def aclose(self) -> None:
        """Give up calls that nobody waits for, and record what is to be recorded."""
        for decisions, journal in self._guilds.values():
            await decisions.aclose()
            await journal.aclose()

    def _of(self, guild_id: GuildId, scope: DecisionScope) -> tuple[Decisions, OwnerJournal]:
        if guild_id not in self._guilds:
            journal = OwnerJournal(self._log, self._world.clock, scope)
            self._guilds[guild_id] = (Decisions(self._world, journal), journal)
        return self._guilds[guild_id]


def _question(persona: str) -> Question:
    instructions = (
        f'The author speaks to somebody called "{persona[:200]}" and expects an answer from them, '
        "rather than only mentioning that name or word."
    )
    return Question(id=_QUESTION, instructions=instructions)
