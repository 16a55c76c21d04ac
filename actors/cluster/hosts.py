"""The actors' outsides: each builds its plain class over Ray handles at the first call.

A restarted actor is constructed again with the same arguments and so rebuilds itself; what it knew
stands in the log.
"""

import asyncio
import os

from msgspec import Struct

from actors.cluster.adapters import ActorName, RayLogEndpoint, RaySender
from actors.cluster.spawning import RaySpawner
from actors.extensions.loading import ExtensionSpec, registrations_of
from actors.generation.limits import TurnLimits
from actors.generation.start import StartTurn, TurnResult
from actors.generation.turn import Turn
from actors.generation.world import Notices, World
from actors.guild_configurations import Changed
from actors.log_client import LogClient
from actors.log_lines import SetUpLog
from actors.ports import Clock
from actors.router_settings import Identities, RouterSettings
from actors.rules.configuration import Refused
from actors.rules.model_choices import GuildChange
from actors.tools.builtin import BUILTIN
from actors.tools.registry import ToolRegistry
from actors.transport import AiohttpTransport
from actors.turn_router import Accepted, Load, TurnRouter
from actors.warm_pool import PoolLimits, WarmPool
from events.base import ChannelId, GuildId, TurnId, UserId
from events.turn import StopKind, TriggerReceived
from projections.guilds import Guilds


class TurnSpec(Struct, frozen=True, kw_only=True):
    """What a turn actor is built from."""

    clock: Clock
    """Time."""
    notices: Notices
    """The bot's own words."""
    code_version: str
    """Version of the code at hand."""
    set_up_log: SetUpLog
    """Gives the process its log lines, without the secrets it is told."""
    keys: tuple[str, ...] = ()
    """The providers' keys, which no log line may show."""
    limits: TurnLimits = TurnLimits()
    """Patience of turns."""
    extensions: tuple[ExtensionSpec, ...] = ()
    """The extensions to load, in order."""


class ChannelTurnHost:
    """Runs turns; imports neither hikari nor duckdb."""

    def __init__(self, log: ActorName, sender: ActorName, spec: TurnSpec) -> None:
        spec.set_up_log(spec.keys)
        self._log, self._sender = log.handle(), sender.handle()
        self._spec = spec
        self._world: World | None = None

    async def ready(self) -> int:
        """Build what turns share; return this process's id."""
        if self._world is None:
            spec = self._spec
            log = LogClient(RayLogEndpoint(self._log), spec.clock)
            self._world = World(
                log=log,
                sender=RaySender(self._sender, spec.clock),
                transport=AiohttpTransport(),
                clock=spec.clock,
                notices=spec.notices,
                code_version=spec.code_version,
                tools=ToolRegistry(BUILTIN),
                limits=spec.limits,
                registrations=registrations_of(spec.extensions, log, spec.clock),
            )
        return os.getpid()

    async def run(self, start: StartTurn) -> TurnResult:
        """Run a turn to its end."""
        await self.ready()
        assert self._world is not None
        return await Turn(self._world, start).run()

    async def aclose(self) -> None:
        """Return when reporters of usage have finished what they were told of."""
        if self._world is not None:
            await self._world.registrations.drain()


class RouterSpec(Struct, frozen=True, kw_only=True):
    """What the router is built from."""

    settings: RouterSettings
    """What it gives to turns."""
    limits: PoolLimits
    """How many turn actors there are."""
    turns: TurnSpec
    """What they are built from."""
    identities: Identities
    """Where ids and seeds come from."""


class TurnRouterHost:
    """Hosts the router and owns its turn actors."""

    def __init__(self, log: ActorName, sender: ActorName, spec: RouterSpec) -> None:
        spec.turns.set_up_log(spec.turns.keys)
        self._log = log
        self._log_handle = log.handle()
        self._sender = sender
        self._spec = spec
        self._router: TurnRouter | None = None
        self._spawner: RaySpawner | None = None

    async def serve(self) -> None:
        """Recover what is open, then stay: the call fails when the router is lost."""
        await self._opened().start()
        await asyncio.Event().wait()

    async def trigger(self, trigger: TriggerReceived) -> Accepted:
        """As `TurnRouter.trigger`."""
        return await self._opened().trigger(trigger)

    async def stop(self, channel_id: ChannelId, requester: str, kind: StopKind) -> TurnId | None:
        """As `TurnRouter.stop`."""
        return await self._opened().stop(channel_id, requester, kind)

    async def configure(
        self, guild_id: GuildId, change: GuildChange, by: UserId
    ) -> Changed | Refused:
        """As `TurnRouter.configure`."""
        return await self._opened().configure(guild_id, change, by)

    async def guilds(self) -> Guilds:
        """As `TurnRouter.guilds`."""
        return await self._opened().guilds()

    async def drain(self, seconds: float) -> None:
        """As `TurnRouter.drain`."""
        await self._opened().drain(seconds)

    async def load(self) -> Load:
        """As `TurnRouter.load`."""
        return await self._opened().load()

    async def aclose(self) -> None:
        """As `TurnRouter.aclose`."""
        await self._opened().aclose()

    async def pid(self) -> int:
        """Return this process's id."""
        return os.getpid()

    async def turn_pids(self) -> list[int]:
        """Return the process ids of the turn actors that are ready."""
        self._opened()
        assert self._spawner is not None
        return await self._spawner.pids()

    def _opened(self) -> TurnRouter:
        if self._router is None:
            spec = self._spec
            self._spawner = RaySpawner(ChannelTurnHost, (self._log, self._sender, spec.turns))
            self._router = TurnRouter(
                LogClient(RayLogEndpoint(self._log_handle), spec.turns.clock),
                WarmPool(self._spawner, spec.limits),
                spec.turns.clock,
                spec.settings,
                spec.identities,
            )
        return self._router
