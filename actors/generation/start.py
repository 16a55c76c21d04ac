"""What a turn is given to run on, and what it answers when it is over."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from actors.providers.adapter import ModelRoute
from events.base import ChannelId, MessageId, Position, Scope, TurnId
from events.generation import RequestClosed
from events.notes import NotePinned
from events.scene import Scene
from events.settings import Persona
from events.turn import TriggerReceived, TurnSettings, TurnStarted, TurnStatus
from projections.keys import Keys


class StartTurn(Struct, frozen=True, kw_only=True):
    """A turn to run, or (at an epoch above 0) to take over."""

    turn_id: TurnId
    """Its id."""
    epoch: int
    """How often it was recovered; 0 for a new one."""
    trigger: TriggerReceived
    """What it answers."""
    trigger_position: Position
    """The trigger's place in the log; stops of this turn stand behind it."""
    trigger_seq: int
    """The trigger's place in its channel's stream."""
    personas: tuple[Persona, ...]
    """Who the bot can be in that place, at least one; the first is the main persona."""
    system_prompt: str
    """What every persona's model is told first."""
    models: tuple[ModelRoute, ...]
    """The models to ask, the first tried first."""
    settings: TurnSettings
    """Settings in force."""
    seed: int
    """Seed of the turn's random choices, 0 to 2**63 - 1."""
    history_limit: int
    """Most messages of the channel's past to give to the model."""
    waiting: tuple[MessageId, ...] = ()
    """Messages that still wait in the queue: no part of the history."""
    is_shuffled: bool = False
    """Whether one of the models, drawn by the seed, is asked first."""
    tools: tuple[str, ...] = ()
    """The tools that the model may call, by name."""
    keys: Keys = Keys()
    """What is known of the providers' keys."""
    notes: tuple[str, ...] = ()
    """Notes that the channel's models have kept, oldest first."""
    recover_within_seconds: float = 300.0
    """Oldest a turn without any chunk may be to be run again."""

    @property
    def persona(self) -> Persona:
        """Who answers: the persona that is asked, the main one where there is none of that name."""
        asked = self.trigger.persona.casefold()
        found = (one for one in self.personas if one.name.casefold() == asked)
        return next(found, self.personas[0])

    @property
    def instructions(self) -> str:
        """The system prompt in force, persona included."""
        persona = self.persona
        parts = (self.system_prompt, f"You are {persona.name}.", persona.prompt)
        return "\n\n".join(part.strip() for part in parts if part.strip())

    @property
    def is_alter(self) -> bool:
        """Whether another persona than the main one answers."""
        return self.persona is not self.personas[0]

    @property
    def channel_id(self) -> ChannelId:
        """Where it answers."""
        return self.trigger.channel_id

    @property
    def scope(self) -> Scope:
        """Whom its events concern."""
        return Scope(
            turn_id=self.turn_id,
            channel_id=self.trigger.channel_id,
            guild_id=self.trigger.guild_id,
        )

    def started(self, code_version: str, text_version: int, scene: Scene) -> TurnStarted:
        """Return the event that begins the turn, as run by that code and that text core."""
        trigger = self.trigger
        return TurnStarted(
            trigger_id=trigger.trigger_id,
            channel_id=trigger.channel_id,
            guild_id=trigger.guild_id,
            message_id=trigger.message_id,
            author_id=trigger.author_id,
            author_name=trigger.author_name,
            prompt=trigger.content,
            persona=self.persona.name,
            system_prompt=self.instructions,
            models=tuple(f"{route.provider}/{route.model}" for route in self.models),
            settings=self.settings,
            seed=self.seed,
            code_version=code_version,
            text_version=text_version,
            scene=scene,
        )


class Closed(Struct, frozen=True, kw_only=True):
    """A request that is over."""

    request: RequestClosed
    """How it ended, as recorded."""
    at: datetime
    """When, aware UTC."""


class TurnResult(Struct, frozen=True, kw_only=True):
    """How a turn went, for the router."""

    status: TurnStatus | Literal["replaced"]
    """Its status; `replaced` where this process was fenced off and another one owns the turn."""
    closed: tuple[Closed, ...] = ()
    """The requests that it closed: what the state of the keys is folded from."""
    notes: tuple[NotePinned, ...] = ()
    """The notes that it kept."""
