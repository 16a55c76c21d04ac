"""What Discord's gateway tells the bot, handed on: messages that ask for an answer, slash commands.

It only listens. Every message that the bot writes goes through the `Sender`; what this connection
writes is the command list and the private answers to commands. Listeners return at once, whatever
becomes of a trigger, since Discord closes a connection whose heartbeats fall behind.
"""

import asyncio
from contextlib import suppress
from typing import Final

import arc
import hikari
import structlog
from hikari.impl import CacheSettings, GatewayBot
from msgspec.structs import replace

from actors.delivery.past import extras_of, quote_of
from actors.errors import FailureError
from actors.transport import AiohttpTransport
from bot import notices
from bot.commands.config import include_config
from bot.commands.model import include_model
from bot.commands.persona import include_persona
from bot.commands.providers import include_providers
from bot.commands.stop import kill_command, stop_command
from bot.entrusted_keys import credentials_of
from bot.guild_settings import GuildSettings
from bot.images import ImageStore
from bot.settings import Settings
from bot.show_markdown import ShowMarkdown, Tables
from bot.triggers import MessageFacts, Triggers, trigger_of
from events.base import ChannelId, GuildId, MessageId, UserId
from events.turn import TriggerReceived

INTENTS: Final = (
    hikari.Intents.GUILDS
    | hikari.Intents.GUILD_MESSAGES
    | hikari.Intents.DM_MESSAGES
    | hikari.Intents.MESSAGE_CONTENT
)
"""What the bot hears; the last must be switched on in Discord's developer portal."""
HANDOVER_SECONDS: Final = 5.0
"""How long triggers under way may hold up the end of the bot."""

_ORDINARY: Final = (hikari.MessageType.DEFAULT, hikari.MessageType.REPLY)
_log = structlog.stdlib.get_logger(__name__)


class GatewayError(FailureError):
    """Discord's gateway can't be had, or was lost for good."""


class Gateway:
    """The bot's connection to Discord's gateway."""

    def __init__(
        self, settings: Settings, triggers: Triggers, tables: Tables, guilds: GuildSettings
    ) -> None:
        self._guilds = guilds
        self._triggers = triggers
        self._handovers: set[asyncio.Task[None]] = set()
        self._takes_triggers = True
        self._bot = GatewayBot(
            settings.discord.token.reveal(),
            rest_url=settings.discord.api_url,
            intents=INTENTS,
            banner=None,
            logs=None,
            suppress_optimization_warning=True,
            auto_chunk_members=False,
            # What a trigger needs, its event brings, but for the channel that a thread is of.
            cache_settings=CacheSettings(
                components=hikari.api.CacheComponents.ME | hikari.api.CacheComponents.GUILD_THREADS
            ),
        )
        self._bot.event_manager.subscribe(hikari.MessageCreateEvent, self._hear)
        self._bot.event_manager.subscribe(
            hikari.ComponentInteractionCreateEvent, ShowMarkdown(tables).hear
        )
        self._client = arc.GatewayClient(self._bot)
        self._client.set_error_handler(_apologize)
        self._client.include(stop_command(triggers))
        self._client.include(kill_command(triggers))
        include_config(self._client, guilds)
        images = ImageStore(settings.log.directory, settings.discord.api_url)
        personas = include_persona(self._client, guilds, images)
        offered = tuple(dict.fromkeys((settings.chat.model, *settings.chat.fallbacks)))
        include_model(self._client, guilds, offered)
        self._transport = AiohttpTransport()
        credentials = credentials_of(settings)
        providers = include_providers(self._client, guilds, credentials, self._transport)
        for forms in (personas, providers):
            self._bot.event_manager.subscribe(hikari.ModalInteractionCreateEvent, forms.submitted)

    async def start(self) -> None:
        """Connect, and return once messages are heard and the commands are registered.

        Raises:
            GatewayError: Discord refuses the bot, or can't be reached.
        """
        try:
            await self._bot.start(check_for_updates=False)
        except BaseException as error:
            with suppress(hikari.ComponentStateConflictError):
                await self._bot.close()
            reason = _explain(error)
            if reason is None:
                raise
            raise GatewayError(reason) from error

    async def until_lost(self) -> None:
        """Return once the connection is closed by `aclose`; resumed ones are not lost.

        Raises:
            GatewayError: Discord ended it for good.
        """
        try:
            await self._bot.join()
        except (hikari.HikariError, OSError) as error:
            raise GatewayError(_explain(error) or str(error)) from error

    def refuse_triggers(self) -> None:
        """Take no new trigger from here on; commands are still heard."""
        self._takes_triggers = False

    async def aclose(self) -> None:
        """Disconnect, once what was heard has been handed over."""
        self.refuse_triggers()
        with suppress(hikari.ComponentStateConflictError):
            await self._bot.close()
        await self._transport.aclose()
        if not self._handovers:
            return
        _, late = await asyncio.wait(self._handovers, timeout=HANDOVER_SECONDS)
        for handover in late:
            handover.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _hear(self, event: hikari.MessageCreateEvent) -> None:
        me = self._bot.get_me()
        if me is None or not self._takes_triggers:
            return
        facts = facts_of(event)
        trigger = trigger_of(facts, self._guilds.personas(facts.guild_id), UserId(int(me.id)))
        if trigger is None:
            return
        thread = self._bot.cache.get_thread(event.channel_id)
        if thread is not None:
            trigger = replace(trigger, parent_id=ChannelId(int(thread.parent_id)))
        handover = asyncio.create_task(self._hand_over(trigger))
        self._handovers.add(handover)
        handover.add_done_callback(self._handovers.discard)

    async def _hand_over(self, trigger: TriggerReceived) -> None:
        try:
            await self._triggers.trigger(trigger)
        except Exception:  # noqa: BLE001 - the router may fail in any way
            _log.exception(
                "trigger_lost", trigger_id=trigger.trigger_id, channel_id=trigger.channel_id
            )


def facts_of(event: hikari.MessageCreateEvent) -> MessageFacts:
    """Return what `trigger_of` judges, from the event alone."""
    message = event.message
    author = message.author
    name = message.member.display_name if message.member else _name(author)
    mentioned = message.user_mentions or {}
    replied = message.referenced_message
    replied_author = replied.author if replied else hikari.UNDEFINED
    return MessageFacts(
        message_id=MessageId(int(message.id)),
        channel_id=ChannelId(int(message.channel_id)),
        guild_id=GuildId(int(message.guild_id)) if message.guild_id is not None else None,
        author_id=UserId(int(author.id)),
        author_name=name,
        is_human=not (author.is_bot or author.is_system) and message.webhook_id is None,
        is_ordinary=message.type in _ORDINARY,
        content=message.content or "",
        mentions={int(user_id): _name(user) for user_id, user in mentioned.items()},
        replies_to=UserId(int(replied_author.id)) if replied_author else None,
        quote=quote_of(message),
        extras=extras_of(message),
    )


def _name(user: hikari.User) -> str:
    return user.global_name or user.username


async def _apologize(context: arc.GatewayContext, error: Exception) -> None:
    _log.error("command_failed", command=context.command.name, exc_info=error)
    await context.respond(notices.STOP_FAILED, flags=hikari.MessageFlag.EPHEMERAL)


def _explain(error: BaseException) -> str | None:
    match error:
        case hikari.UnauthorizedError():
            return "Discord refuses discord.token"
        case hikari.GatewayServerClosedConnectionError():
            if error.code == hikari.ShardCloseCode.DISALLOWED_INTENT:
                return (
                    "the bot may not read messages: switch on the Message Content Intent "
                    "on its page in Discord's developer portal"
                )
            return f"Discord's gateway closed the connection for good: code {error.code}"
        case hikari.HTTPResponseError():
            return f"Discord answered {int(error.status)} at the start"
        case hikari.HTTPError() | hikari.GatewayError() | OSError():
            return "Discord can't be reached at discord.api_url"
        case _:
            return None
