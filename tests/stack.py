"""The whole path of a turn in one process, without Ray.

The real text path, provider client and sender, over real sockets to a loopback Discord and a
loopback provider, on a log in memory.
"""

import asyncio
from types import TracebackType
from typing import Self

from actors.delivery.single_attempt import HikariMessenger
from actors.gate.addresses import Policy
from actors.generation.limits import TurnLimits
from actors.generation.replay import replay
from actors.generation.start import StartTurn, TurnResult
from actors.generation.turn import Turn
from actors.generation.world import Notices, World
from actors.log_client import LogClient
from actors.ports import Clock
from actors.providers.adapter import ModelRoute, ProviderKind
from actors.providers.registry import is_gated, provider_for
from actors.sender import Sender
from actors.tools.builtin import BUILTIN
from actors.tools.registry import ToolRegistry
from actors.transport import AiohttpTransport
from bot import notices
from bot.clock import SystemClock
from bot.loopback.discord.server import LoopbackDiscord
from bot.loopback.provider import LoopbackProvider
from events.base import (
    ChannelId,
    Event,
    GuildId,
    MessageId,
    Position,
    Recorded,
    Scope,
    TriggerId,
    TurnId,
    UserId,
    channel_stream,
    delivery_stream,
    turn_stream,
)
from events.codec import append_of, encode
from events.settings import Persona
from events.turn import StopKind, StopRequested, TriggerReceived, TurnEnded, TurnSettings
from projections.balance import balance
from tests.actors.log_ports import LocalEndpoint, MortalEndpoint
from tests.secrecy import API_KEY, given_away, keep

NOTICES = Notices(
    provider_failed=notices.provider_notice,
    fell_back=notices.fallback_notice,
    still_working=notices.STILL_WORKING,
    tools_failed=notices.TOOLS_FAILED,
    too_long=notices.TOO_LONG,
    too_many_tools=notices.TOO_MANY_TOOLS,
    empty=notices.EMPTY_ANSWER,
    no_model=notices.NO_MODEL,
    given_up=notices.GIVEN_UP,
    is_notice=notices.is_notice,
)


class Stack:
    """Everything that a turn touches; each part can be reached by its test."""

    def __init__(
        self,
        *,
        request_seconds: float = 30.0,
        idle_seconds: float = 30.0,
        live: bool = True,
        kind: ProviderKind = "openai",
        clock: Clock | None = None,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.kind: ProviderKind = kind
        self.discord = LoopbackDiscord()
        self.provider = LoopbackProvider()
        self.endpoint = LocalEndpoint()
        self._turn_process = MortalEndpoint(self.endpoint)
        self._sender_process = MortalEndpoint(self.endpoint)
        self.transport = AiohttpTransport(read_timeout_seconds=idle_seconds)
        self.settings = TurnSettings(live_streaming=live, paced_messages=False)
        self.personas: tuple[Persona, ...] = (Persona(name="Rejoinder"),)
        self.limits = TurnLimits(empty_retry_seconds=0)
        self.tools = ToolRegistry(BUILTIN)
        self._request_seconds = request_seconds
        self._turns = 0
        self.messenger: HikariMessenger
        self.sender: Sender
        self.channel_id: ChannelId
        self.guild_id: GuildId
        self.author_id: UserId

    async def __aenter__(self) -> Self:
        await self.discord.start()
        keep(self.discord.token)
        await self.provider.__aenter__()
        guild = self.discord.world.add_guild(name="Rejoinder HQ")
        self.guild_id = GuildId(guild.id)
        self.channel_id = ChannelId(self.discord.world.add_channel(guild.id, name="general").id)
        self.author_id = UserId(self.discord.world.add_user("Ann").id)
        await self.open_sender()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.discord.release()
        await self.close_sender()
        await self.transport.aclose()
        await self.provider.__aexit__()
        await self.discord.close()
        if kind is None:
            recorded = await self.endpoint.log.read_all(Position(0))
            assert not given_away(encode(one.event) for one in recorded)

    def log(self) -> LogClient:
        """Return a connection to the log, as each process has one."""
        return LogClient(self.endpoint, self.clock)

    async def kill_turns(self, *running: "asyncio.Task[TurnResult]") -> None:
        """Let the turns' process die: nothing of it reaches the log or the provider any more."""
        self._turn_process.die()
        self._turn_process = MortalEndpoint(self.endpoint)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def kill_sender(self) -> None:
        """Let the sender's process die, and start it anew."""
        self._sender_process.die()
        turns = self.sender._turns.values()  # pyright: ignore[reportPrivateUsage] - a crash ends its tasks
        flights = [task for turn in turns for task in turn.flights.values()]
        while not all(flight.done() for flight in flights):  # a dead process has no last words
            for flight in flights:
                flight.cancel()
            await asyncio.sleep(0)
        await self.sender.aclose()
        await self.messenger.aclose()
        self._sender_process = MortalEndpoint(self.endpoint)
        await self.open_sender()

    async def open_sender(self) -> None:
        """Start a sender; one that was there before is forgotten, as when its process died."""
        self.messenger = HikariMessenger(
            api_url=self.discord.api_url,
            token=self.discord.token,
            clock=self.clock,
            request_seconds=self._request_seconds,
        )
        await self.messenger.start()
        log = LogClient(self._sender_process, self.clock)
        self.sender = Sender(log, self.messenger, self.clock)
        self.sender.start()

    async def close_sender(self) -> None:
        """End the sender."""
        await self.messenger.aclose()
        await self.sender.aclose()

    def world(self) -> World:
        """Return what a turn actor gives to its turns."""
        return World(
            log=LogClient(self._turn_process, self.clock),
            sender=self.sender,
            transport=self.transport,
            clock=self.clock,
            notices=NOTICES,
            code_version="test",
            tools=self.tools,
            limits=self.limits,
        )

    def route(self) -> ModelRoute:
        """Return the route to the loopback provider."""
        return ModelRoute(
            provider="main",
            kind=self.kind,
            base_url=self.provider.base_url_of(self.kind),
            api_key=API_KEY,
            model="loopback",
            gate=Policy(allow_private=True) if is_gated(self.kind) else None,
        )

    async def ask(
        self,
        content: str = "Hello?",
        *,
        tools: tuple[str, ...] = (),
        persona: str = "Rejoinder",
    ) -> StartTurn:
        """Record a trigger, as the router does, and return the turn to run for it."""
        user = self.discord.world.users[self.author_id]
        message = await self.discord.say(user, self.channel_id, content)
        trigger = TriggerReceived(
            trigger_id=TriggerId(str(message.id)),
            trigger="mention",
            channel_id=self.channel_id,
            guild_id=self.guild_id,
            message_id=MessageId(message.id),
            author_id=self.author_id,
            author_name="Ann",
            content=content,
            persona=persona,
        )
        scope = Scope(channel_id=self.channel_id, guild_id=self.guild_id)
        appended = await self.log().append(
            append_of(channel_stream(self.channel_id), [(trigger, self.clock.now())], scope=scope)
        )
        self._turns += 1
        return StartTurn(
            turn_id=TurnId(f"01900000-0000-7000-8000-{self._turns:012d}"),
            epoch=0,
            trigger=trigger,
            trigger_position=appended.position,
            trigger_seq=appended.seq,
            personas=self.personas,
            system_prompt="Be kind.",
            models=(self.route(),),
            settings=self.settings,
            seed=1,
            history_limit=10,
            tools=tools,
        )

    def run(self, start: StartTurn) -> "asyncio.Task[TurnResult]":
        """Run a turn in a task; to cancel it is what a crash of its process is."""
        return asyncio.create_task(Turn(self.world(), start).run())

    async def run_to_end(self, start: StartTurn) -> TurnEnded:
        """Run a turn and return how it ended, checked as `end_of` does."""
        await self.run(start)
        return await self.end_of(start.turn_id)

    async def stop(self, start: StartTurn, kind: StopKind = "stop") -> Position:
        """Record a stop of the turn, and return its position once it is durable."""
        stop = StopRequested(turn_id=start.turn_id, requester=str(self.author_id), stop=kind)
        append = append_of(
            channel_stream(self.channel_id), [(stop, self.clock.now())], scope=start.scope
        )
        return (await self.log().append(append)).position

    async def recorded(self, turn_id: TurnId) -> list[Recorded]:
        """Return both streams of the turn, in order of position."""
        log = self.endpoint.log
        both = await log.read(turn_stream(turn_id)) + await log.read(delivery_stream(turn_id))
        return sorted(both, key=lambda one: one.position)

    async def events(self, turn_id: TurnId) -> list[Event]:
        """Return the events of both streams of the turn."""
        return [one.event for one in await self.recorded(turn_id)]

    async def until(self, turn_id: TurnId, kind: type[Event], count: int = 1) -> Recorded:
        """Return the turn's event number `count` of that kind, once it is in the log."""
        streams = (turn_stream(turn_id), delivery_stream(turn_id))
        subscription = self.endpoint.log.subscribe(streams)
        try:
            seen = 0
            async for batch in subscription:
                for one in batch:
                    seen += isinstance(one.event, kind)
                    if seen == count:
                        return one
        finally:
            await subscription.aclose()
        raise AssertionError

    def contents(self) -> list[str]:
        """Return what the bot has said in the channel, oldest first."""
        own = self.discord.bot_user.id
        messages = self.discord.messages(self.channel_id)
        return [one.content for one in messages if one.author.id == own]

    async def end_of(self, turn_id: TurnId) -> TurnEnded:
        """Return how the turn ended, having checked that its text adds up and replays."""
        recorded = await self.recorded(turn_id)
        ended = recorded[-1].event
        assert isinstance(ended, TurnEnded)
        assert balance(turn_id, recorded).problems == ()
        replayed = replay(recorded, lambda kind: provider_for(kind).reader())
        assert replayed.differences == ()
        return ended
