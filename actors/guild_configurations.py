"""What guilds have set, as the router holds it: read at its start, changed by nobody else.

The router is the only writer of the guilds' streams, so a change is judged, written and known
before it is acknowledged, one after another, and holds for the next trigger; another router reads
the same from the log. The alternative, a subscription, would leave a moment between a change that
a member was told of and its effect.
"""

import asyncio

from msgspec import Struct

from actors.guild_routes import GuildRoutes
from actors.ports import Clock, LogPort
from actors.rules.configuration import Decision, Refused, decide_change
from actors.rules.model_choices import (
    ChooseFallbacks,
    ChooseModel,
    GuildChange,
    ModelDecision,
    RemoveProvider,
    SaveProvider,
    Standing,
    decide_model_change,
)
from actors.whole_log import fold_log
from events.base import GuildId, Position, Scope, UserId, guild_stream
from events.codec import append_of
from events.settings import Persona
from projections import guilds
from projections.fold import fold
from projections.guilds import Guild, Guilds, personas_of


class Changed(Struct, frozen=True, kw_only=True, tag=True):
    """A change that is durable and in force."""

    position: Position
    """Its place in the log."""
    before: Guild
    """What the guild had set."""
    after: Guild
    """What it has set from here on."""


class GuildConfigurations:
    """What every guild has set, and the way to change it."""

    def __init__(
        self, log: LogPort, clock: Clock, file: tuple[Persona, ...], routes: GuildRoutes
    ) -> None:
        self._log = log
        self._clock = clock
        self._file = file
        self._routes = routes
        self._guilds: Guilds = guilds.initial()
        self._turn = asyncio.Lock()

    async def load(self) -> None:
        """Read what the log holds."""
        self._guilds = await fold_log(self._log, guilds.evolve, guilds.initial(), guilds.KINDS)
        await self._routes.load(self._guilds)

    @property
    def all(self) -> Guilds:
        """What every guild has set."""
        return self._guilds

    def of(self, guild_id: GuildId | None) -> Guild:
        """Return what a guild has set; nothing in direct messages."""
        return self._guilds.get(guild_id, Guild()) if guild_id is not None else Guild()

    async def as_of(self, guild_id: GuildId | None, position: Position) -> Guild:
        """Return what a guild had set before the event at `position`."""
        if guild_id is None:
            return Guild()
        past = await self._log.read(guild_stream(guild_id))
        earlier = (one for one in past if one.position < position)
        return fold(guilds.evolve, guilds.initial(), earlier).get(guild_id, Guild())

    async def change(self, guild_id: GuildId, change: GuildChange, by: UserId) -> Changed | Refused:
        """Judge a change, and return once it is durable and in force."""
        async with self._turn:
            before = self.of(guild_id)
            decision = self._decide(change, before, by)
            if isinstance(decision, Refused):
                return decision
            stream, scope = guild_stream(guild_id), Scope(guild_id=guild_id)
            append = append_of(stream, [(decision, self._clock.now())], scope=scope)
            appended = await self._log.append(append)
            after = guilds.changed(before, decision)
            await self._routes.learn(guild_id, after)
            self._guilds = {**self._guilds, guild_id: after}
            return Changed(position=appended.position, before=before, after=after)

    def _decide(
        self, change: GuildChange, guild: Guild, by: UserId
    ) -> Decision | ModelDecision | Refused:
        personas = personas_of(guild, self._file)
        if isinstance(change, SaveProvider | RemoveProvider | ChooseModel | ChooseFallbacks):
            standing = Standing(
                models=guild.models, personas=personas, offered=self._routes.offered
            )
            return decide_model_change(change, standing, by)
        return decide_change(change, personas, by)
