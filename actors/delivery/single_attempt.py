"""Posts to Discord, each at most once: `actors.ports.Messenger` over hikari's REST client.

Nothing but a 429 is repeated (`actors.delivery.rest_client`), whichever way a message takes: the
bot's own account, or a webhook, whose `wait` makes Discord answer with the message. Every wait is
woken by a stop, and all of a post together last at most 30 s, whatever limit asks for them.

A message may ping the users that its draft names and nobody else: no role, not everyone, and not
the author of the message it replies to. No nonce is sent: at-most-once rests on the log.
"""

import asyncio
from types import TracebackType
from typing import Final, Self

import hikari
import structlog
from hikari.impl import special_endpoints

from actors.delivery.attempts import INVALID_WEBHOOK_CODES
from actors.delivery.outcomes import Exchange, message_id_of
from actors.delivery.past import remembered
from actors.delivery.rate_limits import REQUESTS_PER_SECOND, Route
from actors.delivery.rest_client import RestClient
from actors.delivery.webhook_calls import HikariWebhooks
from actors.ports import Button, Clock, Draft, HistoryMessage, NotPosted, Posted, StopSignal
from actors.voice import Hook
from actors.webhook_port import Card
from events.base import ChannelId, GuildId, MessageId
from events.scene import ServerEmoji

HISTORY_BUDGET_SECONDS: Final = 5.0
"""Longest wait for rate limits of a look into the past, which somebody waits for."""
REQUEST_SECONDS: Final = 30.0
"""Longest time of one request; its message is unconfirmed after that."""
TYPING_SECONDS: Final = 5.0
"""Longest time of a typing indicator, which is of no use later."""
GONE: Final = (204, 404)
"""What Discord answers where a message is deleted, and where it was before."""
PINGS_ALLOWED: Final = 100
"""Most users that Discord takes in one message's allowed mentions."""

_log = structlog.get_logger(__name__)


class HikariMessenger:
    """Discord's REST for one bot token. Open it with `async with`, or `start` and `aclose`."""

    def __init__(
        self,
        *,
        api_url: str,
        token: str,
        clock: Clock,
        request_seconds: float = REQUEST_SECONDS,
        requests_per_second: int = REQUESTS_PER_SECOND,
    ) -> None:
        self._client = RestClient(
            api_url=api_url,
            token=token,
            clock=clock,
            request_seconds=request_seconds,
            requests_per_second=requests_per_second,
        )
        self._webhooks = HikariWebhooks(self._client)

    @property
    def webhooks(self) -> HikariWebhooks:
        """Return what the bot's webhooks are set up through."""
        return self._webhooks

    async def start(self) -> None:
        """Open the client; nothing is written yet."""
        await self._client.start()

    async def aclose(self) -> None:
        """Close every connection; a request in flight ends as if it had been lost."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def ready(self, draft: Draft, stop: StopSignal | None = None) -> float | NotPosted:
        """Wait until a post of `draft` would not be refused for its rate.

        Returns:
            The milliseconds waited; or, where `stop` came first or the wait would be longer
            than 30 s, what that makes of the post.
        """
        waits = self._client.waits(_route_of(draft), stop)
        return await waits.admit() or waits.waited * 1000.0

    async def post(
        self, draft: Draft, stop: StopSignal | None = None, *, waited_ms: float | None = None
    ) -> Posted | NotPosted:
        """Write one POST and return its one outcome; never raises for what Discord does.

        Only a 429 is repeated, as long as all waits fit into 30 s and `stop` is not set. A stop
        that comes before the first byte has left also ends an attempt to connect.

        Args:
            draft: The message.
            stop: Checked last thing before the request is written.
            waited_ms: What `ready` returned; None where it was not asked.
        """
        waits = self._client.waits(_route_of(draft), stop)
        waits.waited = (waited_ms or 0.0) / 1000.0
        waits.has_slot = waited_ms is not None
        while True:
            refusal = await waits.admit()
            if refusal is not None:
                return refusal
            exchange = await self._client.exchange(lambda: self._create(draft), waits)
            message_id = message_id_of(exchange.body)
            if message_id is not None:
                return Posted(
                    message_id=MessageId(message_id),
                    channel_id=draft.channel_id,
                    tries=waits.tries,
                    ms=waits.ms,
                )
            if not waits.may_repeat(exchange):
                return waits.failure(exchange)

    async def edit_buttons(
        self,
        channel_id: ChannelId,
        message_id: MessageId,
        buttons: tuple[Button, ...],
        hook: Hook | None = None,
    ) -> str | None:
        """Put `buttons` below an own message; return why that failed, None if it did not."""
        route: Route = ("edits", channel_id) if hook is None else ("webhook_edits", hook.webhook_id)
        waits = self._client.waits(route)
        while True:
            refusal = await waits.admit()
            if refusal is not None:
                return refusal.reason
            exchange = await self._client.exchange(
                lambda: self._edit_buttons(channel_id, message_id, buttons, hook), waits
            )
            if message_id_of(exchange.body) is not None:
                return None
            if not waits.may_repeat(exchange):
                _tell("edit_failed", channel_id, exchange)
                return waits.failure(exchange).reason

    async def delete(
        self, channel_id: ChannelId, message_id: MessageId, hook: Hook | None = None
    ) -> bool:
        """Delete a message, as the bot or through a webhook; return whether it is gone.

        Deleting twice does no harm, so a 429 is waited out and anything else is tried once more.
        A webhook that is no more tells nothing of the message.
        """
        route: Route = (
            ("delete", channel_id) if hook is None else ("webhook_delete", hook.webhook_id)
        )
        waits = self._client.waits(route)
        for is_last in (False, True):
            while await waits.admit() is None:
                exchange = await self._client.exchange(
                    lambda: self._delete(channel_id, message_id, hook), waits
                )
                if exchange.status in GONE and exchange.code not in INVALID_WEBHOOK_CODES:
                    return True
                if not waits.may_repeat(exchange):
                    break
            if is_last:
                _log.warning("delete_failed", channel_id=channel_id, message_id=message_id)
        return False

    async def typing(self, channel_id: ChannelId) -> None:
        """Show the typing indicator, if no limit holds it back; a failure is only logged."""
        waits = self._client.waits(("typing", channel_id))
        waits.budget = 0.0
        if await waits.admit() is not None:
            return
        exchange = await self._client.exchange(lambda: self._type(channel_id), waits)
        if exchange.status != 204:  # noqa: PLR2004 - No Content, the only good answer
            _tell("typing_failed", channel_id, exchange)

    async def history(
        self, channel_id: ChannelId, *, before: MessageId | None, limit: int
    ) -> list[HistoryMessage]:
        """Return up to `limit` messages older than `before`, oldest first; empty on failure."""
        found: list[HistoryMessage] = []
        waits = self._client.waits(("history", channel_id))
        waits.budget = HISTORY_BUDGET_SECONDS
        while limit > 0 and await waits.admit() is None:
            found.clear()
            exchange = await self._client.exchange(
                lambda: self._look_back(found, channel_id, before, limit), waits
            )
            if exchange.fault is None and exchange.too_many is None:
                break
            if not waits.may_repeat(exchange):
                _tell("history_failed", channel_id, exchange)
                break
        return found[::-1]

    async def emojis(self, guild_id: GuildId) -> tuple[ServerEmoji, ...] | None:
        """Return the custom emojis of a guild; None on failure."""
        found: list[ServerEmoji] = []
        waits = self._client.waits(("emojis", guild_id))
        waits.budget = HISTORY_BUDGET_SECONDS
        while await waits.admit() is None:
            exchange = await self._client.exchange(lambda: self._look_up(found, guild_id), waits)
            if exchange.fault is None and exchange.too_many is None:
                return tuple(found)
            if not waits.may_repeat(exchange):
                _tell("emojis_failed", guild_id, exchange)
                break
        return None

    async def _create(self, draft: Draft) -> None:
        if draft.hook is not None:
            await self._execute(draft, draft.hook)
            return
        reply = hikari.UNDEFINED if draft.reply_to is None else hikari.Snowflake(draft.reply_to)
        await self._client.rest.create_message(
            hikari.Snowflake(draft.channel_id),
            draft.content,
            attachments=_files(draft) or hikari.UNDEFINED,
            components=_rows(draft.buttons) or hikari.UNDEFINED,
            reply=reply,
            reply_must_exist=False,
            mentions_everyone=False,
            mentions_reply=False,
            role_mentions=False,
            user_mentions=_pinged(draft),
        )

    async def _execute(self, draft: Draft, hook: Hook) -> None:
        await self._client.rest.execute_webhook(
            hikari.Snowflake(hook.webhook_id),
            hook.token,
            draft.content or hikari.UNDEFINED,
            attachments=_files(draft) or hikari.UNDEFINED,
            components=_rows(draft.buttons) or hikari.UNDEFINED,
            embeds=[_embed(draft.card)] if draft.card else hikari.UNDEFINED,
            thread=_thread_of(draft.channel_id, hook),
            username=hook.name,
            avatar_url=hook.avatar_url or hikari.UNDEFINED,
            mentions_everyone=False,
            role_mentions=False,
            user_mentions=_pinged(draft),
        )

    async def _edit_buttons(
        self,
        channel_id: ChannelId,
        message_id: MessageId,
        buttons: tuple[Button, ...],
        hook: Hook | None,
    ) -> None:
        message, rows = hikari.Snowflake(message_id), _rows(buttons)
        if hook is None:
            await self._client.rest.edit_message(
                hikari.Snowflake(channel_id), message, components=rows
            )
            return
        await self._client.rest.edit_webhook_message(
            hikari.Snowflake(hook.webhook_id),
            hook.token,
            message,
            components=rows,
            thread=_thread_of(channel_id, hook),
        )

    async def _delete(
        self, channel_id: ChannelId, message_id: MessageId, hook: Hook | None
    ) -> None:
        message = hikari.Snowflake(message_id)
        if hook is None:
            await self._client.rest.delete_message(hikari.Snowflake(channel_id), message)
            return
        await self._client.rest.delete_webhook_message(
            hikari.Snowflake(hook.webhook_id),
            hook.token,
            message,
            thread=_thread_of(channel_id, hook),
        )

    async def _type(self, channel_id: ChannelId) -> None:
        async with asyncio.timeout(TYPING_SECONDS):
            await self._client.rest.trigger_typing(hikari.Snowflake(channel_id))

    async def _look_back(
        self,
        found: list[HistoryMessage],
        channel_id: ChannelId,
        before: MessageId | None,
        limit: int,
    ) -> None:
        own_id = int((await self._client.own_user()).id)
        past = self._client.rest.fetch_messages(
            hikari.Snowflake(channel_id),
            before=hikari.UNDEFINED if before is None else hikari.Snowflake(before),
        )
        async for message in past.limit(limit):
            # One by one: what came before a message that can't be read is still good.
            found.append(remembered(message, own_id))  # noqa: PERF401 - see above

    async def _look_up(self, found: list[ServerEmoji], guild_id: GuildId) -> None:
        found += [
            ServerEmoji(name=one.name, emoji_id=int(one.id), is_animated=one.is_animated)
            for one in await self._client.rest.fetch_guild_emojis(hikari.Snowflake(guild_id))
        ]


def _route_of(draft: Draft) -> Route:
    hook = draft.hook
    return ("messages", draft.channel_id) if hook is None else ("webhook", hook.webhook_id)


def _thread_of(channel_id: ChannelId, hook: Hook) -> hikari.UndefinedOr[hikari.Snowflake]:
    return hikari.Snowflake(channel_id) if hook.is_thread else hikari.UNDEFINED


def _files(draft: Draft) -> list[hikari.Bytes]:
    return [hikari.Bytes(file.data, file.name) for file in draft.files]


def _pinged(draft: Draft) -> list[hikari.Snowflake]:
    return [hikari.Snowflake(user) for user in draft.mentions[:PINGS_ALLOWED]]


def _embed(card: Card) -> hikari.Embed:
    return hikari.Embed().set_author(name=card.text, url=card.url)


def _rows(buttons: tuple[Button, ...]) -> list[special_endpoints.MessageActionRowBuilder]:
    """Return the rows of components that `buttons` make: one, or none."""
    if not buttons:
        return []
    row = special_endpoints.MessageActionRowBuilder()
    for button in buttons:
        row.add_interactive_button(
            hikari.ButtonStyle.SECONDARY,
            button.custom_id,
            label=button.label,
            is_disabled=button.is_disabled,
        )
    return [row]


def _tell(event: str, place: ChannelId | GuildId, exchange: Exchange) -> None:
    _log.warning(event, place=place, status=exchange.status, code=exchange.code, why=exchange.fault)
