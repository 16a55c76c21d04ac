"""Where everything is wired: settings become actors, a gateway and a control socket."""

import asyncio
import os
import signal
import sys
from typing import Final

import structlog

from actors.cluster.hosts import RouterSpec, TurnSpec
from actors.cluster.runtime import Runtime, RuntimeSpec
from actors.decisions.asking import DecisionWorld
from actors.errors import ActorError
from actors.extensions.loading import ExtensionSpec, registrations_of
from actors.gate.addresses import Policy
from actors.gate.fetching import Fetcher
from actors.generation.world import Notices
from actors.providers.adapter import ModelRoute
from actors.providers.registry import is_gated
from actors.router_settings import Identities, RouterSettings
from actors.spending.registrations import Registrations
from actors.transport import AiohttpTransport
from actors.warm_pool import PoolLimits
from bot import journal_format, notices
from bot.addressing import Addressing
from bot.clock import SystemClock
from bot.control import ControlServer
from bot.decision_models import ConfiguredModels
from bot.entrusted_keys import credentials_of, tidy
from bot.gateway import Gateway
from bot.guild_settings import GuildSettings
from bot.identities import fresh_correlation, fresh_instance, fresh_seed, fresh_turn_id
from bot.instance import AlreadyRunningError, BotLock
from bot.live import LiveOperations
from bot.secret import Secret
from bot.settings import Settings
from bot.version import version
from events.base import ChannelId, TurnId
from events.errors import EventLogError
from events.turn import StopKind, TriggerReceived
from projections.guild_models import part_model

NOT_STARTED: Final = 1
"""Exit code where the bot could not start for a reason outside its configuration."""

_log = structlog.get_logger(__name__)


class Bot:
    """One running bot; also what the gateway hands its triggers and stops to."""

    def __init__(self, settings: Settings, *, shows_actor_logs: bool = False) -> None:
        self._settings = settings
        self._lock = BotLock(settings.log.directory)
        self._clock = SystemClock()
        spec = runtime_spec(settings, self._clock, shows_logs=shows_actor_logs)
        self.runtime = Runtime(spec)
        """The actors."""
        file = spec.router.settings
        self._guilds = GuildSettings(self.runtime, file.personas, file.turn_settings)
        self._control = ControlServer(
            settings.log.directory,
            LiveOperations(self.runtime, self._clock.now()),
        )
        self._gateway = Gateway(settings, self, self.runtime, self._guilds)
        self._transport = AiohttpTransport()
        self._registrations = Registrations()
        self._addressing: Addressing | None = None

    async def start(self) -> None:
        """Start all of it and return when messages are answered.

        Raises:
            AlreadyRunningError: Another bot runs on the log directory.
            LogLockedError: Something else has the log's file open.
            ExtensionError: A required extension can't be loaded.
        """
        self._lock.acquire()
        await self.runtime.start()
        # Turns load them where they run; loading them here tells the operator before any turn.
        specs = extension_specs(self._settings)
        self._registrations = registrations_of(specs, self.runtime.log(), self._clock)
        self._addressing = self._weighing()
        await self._control.start()
        await self._guilds.start()
        await tidy(credentials_of(self._settings), self._guilds.credentials)
        await self._gateway.start()
        _log.info("bot_started", directory=str(self._settings.log.directory))

    async def trigger(self, trigger: TriggerReceived) -> None:
        """Hand a trigger to the router, unless its word is surely not meant for the bot."""
        if self._addressing is None or not await self._addressing.is_for_others(trigger):
            await self.runtime.trigger(trigger)

    async def stop(self, channel_id: ChannelId, requester: str, kind: StopKind) -> TurnId | None:
        """Stop the channel's running turn; return its id, None where nothing runs."""
        return await self.runtime.stop(channel_id, requester, kind)

    async def until_lost(self) -> None:
        """Return, or raise why, once the gateway is lost for good."""
        await self._gateway.until_lost()

    async def drain(self) -> None:
        """Take no new trigger, let turns end within `chat.drain_seconds`, stop the rest."""
        self._gateway.refuse_triggers()
        await self.runtime.drain(self._settings.chat.drain_seconds)

    async def aclose(self) -> None:
        """End all of it: the gateway first, the log last."""
        await self._gateway.aclose()
        if self._addressing is not None:
            await self._addressing.aclose()
        await self._registrations.drain()
        await self._transport.aclose()
        await self._control.aclose()
        await self.runtime.aclose()
        self._lock.release()

    def _weighing(self) -> Addressing | None:
        settings = self._settings
        if not settings.addressing.model:
            return None
        catalog = ConfiguredModels(settings.decisions, Fetcher())
        world = DecisionWorld(
            catalog=catalog,
            transport=self._transport,
            clock=self._clock,
            fresh_id=fresh_correlation,
            registrations=self._registrations,
        )
        reference = catalog.reference(settings.addressing.model)
        return Addressing(settings.addressing, reference, world, self.runtime.log())


def runtime_spec(
    settings: Settings, clock: SystemClock, *, shows_logs: bool = False
) -> RuntimeSpec:
    """Return what the actors are built from."""
    chat = settings.chat
    return RuntimeSpec(
        directory=settings.log.directory,
        address=settings.ray.address,
        instance=fresh_instance(),
        api_url=settings.discord.api_url,
        token=settings.discord.token.reveal(),
        router=RouterSpec(
            settings=RouterSettings(
                models=tuple(_route(settings, name) for name in (chat.model, *chat.fallbacks)),
                system_prompt=chat.system_prompt,
                personas=tuple(one.persona() for one in settings.personas),
                turn_settings=chat.turn_settings(),
                credentials=credentials_of(settings),
                is_shuffled=chat.shuffle_models,
                tools=chat.tools,
                history_limit=chat.history_messages,
                recover_within_seconds=chat.recover_within,
            ),
            limits=PoolLimits(
                warm_actors=chat.warm_actors,
                max_actors=chat.max_actors,
                turns_per_actor=chat.turns_per_actor,
            ),
            turns=TurnSpec(
                clock=clock,
                notices=_notices(),
                code_version=version(),
                set_up_log=journal_format.set_up_actor,
                keys=tuple(key.reveal() for key in _keys(settings)),
                extensions=extension_specs(settings),
            ),
            identities=Identities(turn_id=fresh_turn_id, seed=fresh_seed),
        ),
        clock=clock,
        set_up_log=journal_format.set_up_actor,
        shows_logs=shows_logs,
    )


def extension_specs(settings: Settings) -> tuple[ExtensionSpec, ...]:
    """Return the extensions to load, in the order of the file."""
    return tuple(
        ExtensionSpec(name=name, required=one.required, options=one.options)
        for name, one in settings.extensions.items()
    )


def _route(settings: Settings, name: str) -> ModelRoute:
    provider_name, model = part_model(name)
    provider = settings.providers[provider_name]
    keys = tuple(key.reveal() for key in provider.api_keys)
    return ModelRoute(
        provider=provider_name,
        kind=provider.kind,
        base_url=provider.base_url,
        api_key=keys[0] if keys else "",
        model=model,
        gate=Policy(allow_private=provider.allow_private) if is_gated(provider.kind) else None,
        keys=keys,
        context_tokens=provider.context_tokens,
    )


def _notices() -> Notices:
    return Notices(
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


async def run(settings: Settings) -> int:
    """Run the bot until SIGTERM or SIGINT, then drain it; return the exit code."""
    journal_format.set_up(_secrets(settings))
    bot = Bot(settings, shows_actor_logs=True)
    try:
        try:
            await bot.start()
        except (AlreadyRunningError, EventLogError, ActorError, OSError) as error:
            sys.stderr.write(f"rejoinder: {error}\n")
            return NOT_STARTED
        return await _until_ended(bot)
    finally:
        await bot.aclose()


async def _until_ended(bot: Bot) -> int:
    """Wait for a signal, or for a gateway that is lost for good; then drain."""
    loop = asyncio.get_running_loop()
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    lost = asyncio.create_task(bot.until_lost())
    signalled = asyncio.create_task(ending.wait())
    try:
        await asyncio.wait({lost, signalled}, return_when=asyncio.FIRST_COMPLETED)
        await bot.drain()
        if lost.done() and (error := lost.exception()) is not None:
            sys.stderr.write(f"rejoinder: {error}\n")
            return NOT_STARTED
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
        for task in (lost, signalled):
            task.cancel()
        await asyncio.gather(lost, signalled, return_exceptions=True)
    return os.EX_OK


def _secrets(settings: Settings) -> list[Secret]:
    judges = [one.api_key for one in settings.decisions.values() if one.api_key]
    keys = [*_keys(settings), *judges]
    return [settings.discord.token, *settings.credentials.secret_keys, *keys]


def _keys(settings: Settings) -> list[Secret]:
    return [key for provider in settings.providers.values() for key in provider.api_keys]
