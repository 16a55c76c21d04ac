"""Who may speak in a channel now: one turn at a time, the rest in a queue, all of it in the log.

A plain class over ports; `actors.cluster` makes it an actor. Every fact that it decides on is in
the log, so a restarted router goes on where the lost one stood: open turns are taken over at the
next epoch, triggers without a turn are queued again. A trigger's id is accepted once, whatever the
gateway delivers.
"""

import asyncio
from collections import deque
from typing import Final, Literal

import msgspec
import structlog
from msgspec import Struct

from actors.channel_turns import Channel, Running
from actors.generation.start import StartTurn
from actors.guild_configurations import Changed, GuildConfigurations
from actors.guild_routes import GuildRoutes, Route
from actors.ports import Clock, LogPort
from actors.router_memory import Memory, learn, scan
from actors.router_settings import Identities, RouterSettings
from actors.rules.configuration import Refused, named
from actors.rules.model_choices import GuildChange
from actors.warm_pool import HostLostError, WarmPool
from events.base import (
    Appended,
    ChannelId,
    Event,
    GuildId,
    Scope,
    TriggerId,
    TurnId,
    UserId,
    channel_stream,
    turn_stream,
)
from events.codec import append_of
from events.generation import ToolCalled
from events.turn import (
    StopKind,
    StopRequested,
    TriggerDropped,
    TriggerReceived,
    TurnStatus,
)
from projections.guilds import Guild, Guilds, personas_of, settings_of
from projections.open_turns import OpenTurn
from projections.waiting import Waiting

QUEUE_LIMIT: Final = 25
"""Triggers that may wait in one channel."""
TAKEOVERS: Final = 5
"""How often a turn is taken over before it is left to the next start of the router."""
SEEN_LIMIT: Final = 50_000
"""Trigger ids kept to tell a repeat; the gateway repeats within minutes."""

Accepted = Literal["started", "queued", "duplicate", "queue_full", "draining"]
"""What became of a trigger."""

_log = structlog.get_logger(__name__)


class Load(Struct, frozen=True, kw_only=True):
    """How much a router has to do."""

    running: int
    """Turns that have not ended."""
    waiting: int
    """Triggers that wait for their channel."""


class TurnRouter:
    """Locks, queues, stops and recovery of every channel."""

    def __init__(
        self,
        log: LogPort,
        pool: WarmPool,
        clock: Clock,
        settings: RouterSettings,
        identities: Identities,
    ) -> None:
        self._log = log
        self._pool = pool
        self._clock = clock
        self._settings = settings
        self._identities = identities
        route = Route(models=settings.models, is_shuffled=settings.is_shuffled)
        self._routes = GuildRoutes(settings.credentials, route)
        self._guilds = GuildConfigurations(log, clock, settings.personas, self._routes)
        self._channels: dict[ChannelId, Channel] = {}
        self._seen: dict[TriggerId, None] = {}
        self._memory = Memory()
        self._ready = asyncio.Event()
        self._draining = False
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self) -> None:
        """Take up what the log leaves open; triggers wait until this is done."""
        await self._pool.warm()
        await self._guilds.load()
        left, self._memory = await scan(self._log)
        for number in sorted(int(one) for part in left.seen.parts for one in part)[-SEEN_LIMIT:]:
            self._remember(TriggerId(str(number)))
        for turn in left.turns.values():
            await self._take_over(turn)
        for waiting in left.waiting.values():
            await self._requeue(waiting)
        self._ready.set()

    async def trigger(self, trigger: TriggerReceived) -> Accepted:
        """Record a trigger and start its turn, or queue it; a repeat changes nothing."""
        await self._ready.wait()
        if self._draining:
            return "draining"
        if trigger.trigger_id in self._seen:
            _log.info("duplicate_inbound", trigger_id=trigger.trigger_id)
            return "duplicate"
        self._remember(trigger.trigger_id)
        appended = await self._append(trigger.channel_id, trigger.guild_id, trigger)
        queued = Waiting(
            trigger=trigger,
            position=appended.position,
            seq=appended.seq,
            received_at=self._clock.now(),
        )
        return await self._admit(queued)

    async def stop(self, channel_id: ChannelId, requester: str, kind: StopKind) -> TurnId | None:
        """Stop the channel's running turn; return its id, None where nothing runs.

        A `kill` empties the channel's queue too.
        """
        await self._ready.wait()
        channel = self._channels.get(channel_id)
        if channel is None or channel.running is None:
            return None
        turn_id = channel.running.start.turn_id
        waiting = list(channel.queue) if kind == "kill" else []
        for one in waiting:
            channel.queue.remove(one)
        await self._request_stop(channel.running, requester, kind)
        for one in waiting:
            await self._drop(one.trigger, "killed")
        return turn_id

    async def configure(
        self, guild_id: GuildId, change: GuildChange, by: UserId
    ) -> Changed | Refused:
        """Change what a guild has set, and return once it holds for every turn that starts."""
        await self._ready.wait()
        return await self._guilds.change(guild_id, change, by)

    async def guilds(self) -> Guilds:
        """Return what every guild has set."""
        await self._ready.wait()
        return self._guilds.all

    async def load(self) -> Load:
        """Return how much there is to do, once all that was left open is taken up."""
        await self._ready.wait()
        channels = self._channels.values()
        return Load(
            running=sum(one.running is not None for one in channels),
            waiting=sum(len(one.queue) for one in channels),
        )

    async def drain(self, seconds: float) -> None:
        """Take no new trigger, let turns end for `seconds`, stop the rest, return when all have.

        What waits in queues stays in the log for the next start.
        """
        self._draining = True
        await self._wait_idle(seconds)
        for channel in self._channels.values():
            if channel.running is not None:
                await self._request_stop(channel.running, "system", "shutdown")
        await self._idle.wait()

    async def aclose(self) -> None:
        """End the pool's actors; what ran or waited is taken up at the next start."""
        self._closing = True
        tasks = [c.running.task for c in self._channels.values() if c.running and c.running.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._pool.aclose()

    # -- admission -----------------------------------------------------------------------------

    async def _admit(self, queued: Waiting) -> Accepted:
        channel = self._channel(queued.trigger.channel_id)
        if channel.running is None:
            self._begin(channel, queued)
            return "started"
        if channel.is_follow_up(queued.trigger):
            await self._interrupt(channel, queued)
            return "queued"
        if len(channel.queue) >= QUEUE_LIMIT:
            await self._drop(queued.trigger, "queue_full")
            return "queue_full"
        channel.queue.append(queued)
        return "queued"

    async def _interrupt(self, channel: Channel, queued: Waiting) -> None:
        """Let the newest message of the asker go next, in place of their earlier ones."""
        author = queued.trigger.author_id
        superseded = [one for one in channel.queue if one.trigger.author_id == author]
        channel.queue = deque(one for one in channel.queue if one not in superseded)
        channel.queue.appendleft(queued)
        running = channel.running
        assert running is not None
        if not await self._uses_tools(running) and "follow_up" not in running.stops:
            channel.follow_ups += 1
            await self._request_stop(running, str(author), "follow_up")
        for one in superseded:
            await self._drop(one.trigger, "superseded")

    async def _uses_tools(self, running: Running) -> bool:
        """Return whether the turn has called tools: what they did is not thrown away."""
        stream = await self._log.read(turn_stream(running.start.turn_id))
        return any(isinstance(one.event, ToolCalled) for one in stream)

    async def _drop(
        self,
        trigger: TriggerReceived,
        reason: Literal["expired", "queue_full", "superseded", "killed"],
    ) -> None:
        dropped = TriggerDropped(trigger_id=trigger.trigger_id, reason=reason)
        await self._append(trigger.channel_id, trigger.guild_id, dropped)

    async def _request_stop(self, running: Running, requester: str, kind: StopKind) -> None:
        if kind in running.stops:
            return
        running.stops.add(kind)
        start = running.start
        stop = StopRequested(turn_id=start.turn_id, requester=requester, stop=kind)
        await self._append(start.channel_id, start.trigger.guild_id, stop, start.turn_id)

    # -- running -------------------------------------------------------------------------------

    def _begin(self, channel: Channel, queued: Waiting) -> None:
        guild = self._guilds.of(queued.trigger.guild_id)
        self._run(channel, self._start_of(channel, queued, self._identities.turn_id(), guild))

    def _start_of(
        self, channel: Channel, queued: Waiting, turn_id: TurnId, guild: Guild
    ) -> StartTurn:
        settings, trigger = self._settings, queued.trigger
        personas = personas_of(guild, settings.personas)
        speaker = named(personas, trigger.persona) or personas[0]
        route = self._routes.of(trigger, speaker.name, guild)
        return StartTurn(
            turn_id=turn_id,
            epoch=0,
            trigger=trigger,
            trigger_position=queued.position,
            trigger_seq=queued.seq,
            personas=personas,
            system_prompt=settings.system_prompt,
            models=route.models,
            settings=settings_of(guild, settings.turn_settings, speaker.name),
            seed=self._identities.seed(),
            history_limit=settings.history_limit,
            is_shuffled=route.is_shuffled,
            tools=settings.tools,
            keys=self._memory.keys,
            notes=self._memory.notes.of(trigger.channel_id),
            waiting=tuple(
                one.trigger.message_id
                for one in channel.queue
                if one.trigger.message_id is not None
            ),
            recover_within_seconds=settings.recover_within_seconds,
        )

    def _run(self, channel: Channel, start: StartTurn) -> None:
        running = Running(start=start, stops=set())
        channel.running = running
        self._idle.clear()
        running.task = asyncio.create_task(self._see_through(channel, running))

    async def _see_through(self, channel: Channel, running: Running) -> None:
        """Run a turn to its end, taking it over when its actor is lost, `TAKEOVERS` times."""
        last_epoch = running.start.epoch + TAKEOVERS
        try:
            while True:
                status = await self._run_once(running.start)
                if status != "replaced":
                    break
                if running.start.epoch == last_epoch:
                    _log.error("turn_left_open", turn_id=running.start.turn_id)
                    break
                start = running.start
                running.start = msgspec.structs.replace(start, epoch=start.epoch + 1)
            if status != "follow_up_interrupt":
                channel.follow_ups = 0
        finally:
            self._next(channel)

    async def _run_once(self, start: StartTurn) -> TurnStatus | Literal["replaced"]:
        host = await self._pool.acquire()
        try:
            result = await host.run(start)
        except HostLostError as lost:
            _log.warning("turn_actor_lost", turn_id=start.turn_id, reason=str(lost))
            await self._pool.forget(host)
            return "replaced"
        await self._pool.release(host)
        self._memory = learn(self._memory, start.channel_id, result)
        return result.status

    def _next(self, channel: Channel) -> None:
        channel.running = None
        if self._closing:
            return
        if channel.takeovers:
            self._run(channel, channel.takeovers.popleft())
        elif channel.queue and not self._draining:
            self._begin(channel, channel.queue.popleft())
        elif all(one.running is None for one in self._channels.values()):
            self._idle.set()
        self._forget_idle()

    def _forget_idle(self) -> None:
        idle = [i for i, one in self._channels.items() if not one.running and not one.queue]
        for channel_id in idle:
            del self._channels[channel_id]

    # -- recovery ------------------------------------------------------------------------------

    async def _take_over(self, turn: OpenTurn) -> None:
        if turn.received is None:
            _log.error("turn_without_trigger", turn_id=turn.turn_id)
            return
        channel = self._channel(turn.channel_id)
        began = turn.started
        # The turn goes on as it began, whatever its guild has changed since.
        guild = await self._guilds.as_of(began.guild_id, turn.position)
        start = msgspec.structs.replace(
            self._start_of(channel, turn.received, turn.turn_id, guild),
            epoch=turn.epoch + 1,
            settings=began.settings,
            seed=began.seed,
        )
        _log.info("turn_taken_over", turn_id=turn.turn_id, epoch=start.epoch)
        if channel.running is None:
            self._run(channel, start)
        else:
            channel.takeovers.append(start)

    async def _requeue(self, waiting: Waiting) -> None:
        age = (self._clock.now() - waiting.received_at).total_seconds()
        if age > self._settings.recover_within_seconds:
            await self._drop(waiting.trigger, "expired")
            return
        channel = self._channel(waiting.trigger.channel_id)
        if channel.running is None:
            self._begin(channel, waiting)
        else:
            channel.queue.append(waiting)

    # -- shared --------------------------------------------------------------------------------

    def _channel(self, channel_id: ChannelId) -> Channel:
        return self._channels.setdefault(channel_id, Channel(queue=deque(), takeovers=deque()))

    def _remember(self, trigger_id: TriggerId) -> None:
        self._seen[trigger_id] = None
        if len(self._seen) > SEEN_LIMIT:
            del self._seen[next(iter(self._seen))]

    async def _append(
        self,
        channel_id: ChannelId,
        guild_id: GuildId | None,
        event: Event,
        turn_id: TurnId | None = None,
    ) -> Appended:
        scope = Scope(turn_id=turn_id, channel_id=channel_id, guild_id=guild_id)
        stream = channel_stream(channel_id)
        return await self._log.append(append_of(stream, [(event, self._clock.now())], scope=scope))

    async def _wait_idle(self, seconds: float) -> None:
        patience = asyncio.ensure_future(self._clock.sleep(seconds))
        idle = asyncio.ensure_future(self._idle.wait())
        await asyncio.wait({patience, idle}, return_when=asyncio.FIRST_COMPLETED)
        for task in (patience, idle):
            task.cancel()
