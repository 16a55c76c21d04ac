"""A bot's actors: started in order, watched over, ended in the reverse order.

On a local Ray of its own the runtime ends that Ray too; on one that was there before (a cluster, or
the one that tests share) it ends its actors only. Ray restarts a lost log, sender, router or
analyst; what a restarted router has to do first is told to it here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import ray
import structlog
from msgspec import Struct
from ray.exceptions import RayError

from actors.cluster.adapters import (
    ActorName,
    Handle,
    RayLogEndpoint,
    answered,
    is_lost,
    until_answered,
)
from actors.cluster.analyst_host import AnalystHost
from actors.cluster.hosts import RouterSpec, TurnRouterHost
from actors.cluster.local_ray import start_local_ray, stop_local_ray
from actors.cluster.sender_host import SenderHost
from actors.cluster.spawning import spawn_lasting
from actors.errors import ClusterUnreachableError
from actors.event_log import EventLogHost
from actors.guild_configurations import Changed
from actors.log_client import LogClient
from actors.log_lines import SetUpLog
from actors.log_owner import open_owned
from actors.ports import Clock
from actors.rules.configuration import Refused
from actors.rules.model_choices import GuildChange
from actors.table import Table
from actors.turn_router import Accepted, Load
from events.base import ChannelId, GuildId, MessageId, Position, Recorded, TurnId, UserId
from events.turn import StopKind, TriggerReceived
from projections.guilds import Guilds

LOG_NODE: Final = {"role": "log"}
"""Label of the node where disk and token are, on a cluster."""
REACH_SECONDS: Final = 3.0
"""Longest wait for a cluster to answer at all."""
CLOSE_SECONDS: Final = 10.0
"""Longest wait for an actor to close by itself."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class RuntimeSpec(Struct, frozen=True, kw_only=True):
    """What a bot's actors are built from."""

    directory: Path
    """The log directory."""
    address: str
    """An existing cluster's address; empty: a local Ray."""
    instance: str
    """This bot's id, by which a later one finds what this one leaves behind."""
    api_url: str
    """Root of Discord's REST API."""
    token: str
    """The bot's token; goes to the sender alone."""
    router: RouterSpec
    """What the router is built from."""
    clock: Clock
    """Time."""
    set_up_log: SetUpLog
    """Gives an actor's process its log lines, without the secrets that it is told."""
    shows_logs: bool = False
    """Whether what the actors log is shown by this process too."""


class Pids(Struct, frozen=True, kw_only=True):
    """The actors' processes."""

    log: int
    """The event log's."""
    sender: int
    """The sender's."""
    router: int
    """The router's."""
    analyst: int
    """The analyst's."""
    turns: tuple[int, ...]
    """The turn actors'."""


class Runtime:
    """Starts, watches and ends the actors of one bot."""

    def __init__(self, spec: RuntimeSpec) -> None:
        self._spec = spec
        self._owns_ray = False
        self._log: Handle = None
        self._sender: Handle = None
        self._router: Handle = None
        self._analyst: Handle = None
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start everything and return when it can take triggers.

        Raises:
            LogLockedError: Somebody else has the log's file open.
            ClusterUnreachableError: Nobody answers at the cluster's address.
        """
        spec = self._spec
        if not ray.is_initialized():
            await self._connect()
        labels = LOG_NODE if spec.address else None
        log, sender, router, analyst = (
            ActorName(name=name, namespace=spec.instance)
            for name in ("log", "sender", "router", "analyst")
        )
        open_log = partial(open_owned, spec.directory)
        self._log = spawn_lasting(EventLogHost, log, open_log, spec.set_up_log, labels=labels)
        damage = await answered(self._log.damage.remote())
        if damage is not None:
            _log.error("event_log_damaged", damage=damage)
        self._sender = spawn_lasting(
            *(SenderHost, sender, log, spec.clock, spec.api_url, spec.token, spec.set_up_log),
            labels=labels,
        )
        self._router = spawn_lasting(
            TurnRouterHost, router, log, sender, spec.router, labels=labels
        )
        self._analyst = spawn_lasting(
            *(AnalystHost, analyst, log, spec.clock, spec.directory, spec.set_up_log),
            labels=labels,
        )
        await self._sender.ready.remote()
        self._watching = asyncio.create_task(self._keep_serving())
        await self._analyst.ready.remote()

    async def _connect(self) -> None:
        spec = self._spec
        if spec.address:
            await check_reachable(spec.address)
        self._owns_ray = True
        if spec.address:
            ray.init(spec.address, log_to_driver=spec.shows_logs)
        else:
            start_local_ray(spec.directory, spec.instance, shows_logs=spec.shows_logs)

    async def _keep_serving(self) -> None:
        """Have the router recover what is open: at the start, and whenever it was lost."""
        while True:
            try:
                await self._router.serve.remote()
            except RayError as error:
                if not is_lost(error):
                    _log.exception("router_failed")
                    raise
                _log.warning("router_lost", reason=type(error).__name__)
            await self._spec.clock.sleep(0.05)

    async def trigger(self, trigger: TriggerReceived) -> Accepted:
        """Hand a trigger to the router, again until it answers: an id counts once."""
        return await self._ask(lambda: self._router.trigger.remote(trigger))

    async def stop(self, channel_id: ChannelId, requester: str, kind: StopKind) -> TurnId | None:
        """Stop the channel's running turn; return its id, None where nothing runs."""
        return await self._ask(lambda: self._router.stop.remote(channel_id, requester, kind))

    async def table_source(self, message_id: MessageId) -> str | None:
        """As `Sender.table_source`."""
        return await self._ask(lambda: self._sender.table_source.remote(message_id))

    async def configure(
        self, guild_id: GuildId, change: GuildChange, by: UserId
    ) -> Changed | Refused:
        """As `TurnRouter.configure`, asked again until it answers."""
        return await self._ask(lambda: self._router.configure.remote(guild_id, change, by))

    async def guilds(self) -> Guilds:
        """As `TurnRouter.guilds`."""
        return await self._ask(self._router.guilds.remote)

    async def drain(self, seconds: float) -> None:
        """Let running turns end for `seconds`, stop the rest, and return when all have."""
        await self._ask(lambda: self._router.drain.remote(seconds))

    async def load(self) -> Load:
        """Return how much the router has to do."""
        return await self._ask(self._router.load.remote)

    async def turns(self, limit: int) -> Table:
        """As `Analyst.turns`."""
        return await self._ask(lambda: self._analyst.turns.remote(limit))

    async def usage(self, by: tuple[str, ...]) -> Table:
        """As `Analyst.usage`."""
        return await self._ask(lambda: self._analyst.usage.remote(by))

    async def budgets(self, month: str) -> Table:
        """As `Analyst.budgets`."""
        return await self._ask(lambda: self._analyst.budgets.remote(month))

    async def sql(self, query: str) -> Table:
        """As `Analyst.sql`."""
        return await self._ask(lambda: self._analyst.sql.remote(query))

    async def turn_events(self, turn: str) -> list[Recorded]:
        """As `Analyst.turn_events`."""
        return await self._ask(lambda: self._analyst.turn_events.remote(turn))

    async def turn_ids(self, since: datetime | None) -> list[TurnId]:
        """As `Analyst.turn_ids`."""
        return await self._ask(lambda: self._analyst.turn_ids.remote(since))

    async def head(self) -> Position:
        """Return the position of the last durable event."""
        return await self._ask(self._log.head.remote)

    async def figures_at(self, position: Position) -> None:
        """Return once the figures know the event at `position`."""
        await self._ask(lambda: self._analyst.reached.remote(position))

    def log(self) -> LogClient:
        """Return a connection to the log; it needs no closing."""
        return LogClient(RayLogEndpoint(self._log), self._spec.clock)

    async def pids(self) -> Pids:
        """Return the actors' process ids."""
        return Pids(
            log=await self._ask(self._log.open.remote),
            sender=await self._ask(self._sender.ready.remote),
            router=await self._ask(self._router.pid.remote),
            analyst=await self._ask(self._analyst.ready.remote),
            turns=tuple(await self._ask(self._router.turn_pids.remote)),
        )

    async def _ask(self, call: Callable[[], Awaitable[T]]) -> T:
        return await until_answered(call, self._spec.clock)

    async def aclose(self) -> None:
        """End the actors, the log last, and the local Ray where it is the bot's own."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        for handle in (self._router, self._sender, self._analyst, self._log):
            if handle is not None:
                await _close(handle)
        if self._owns_ray:
            stop_local_ray(self._spec.directory)


async def check_reachable(address: str) -> None:
    """Return if somebody listens at `address`; Ray itself would try for minutes.

    Raises:
        ClusterUnreachableError: Nobody does, or the address is none.
    """
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(REACH_SECONDS):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterUnreachableError(address) from error
    writer.close()
    await writer.wait_closed()


async def _close(handle: Handle) -> None:
    with suppress(RayError, TimeoutError):
        await asyncio.wait_for(handle.aclose.remote(), CLOSE_SECONDS)
    ray.kill(handle)
