"""Posts to Discord, each at most once: `actors.ports.Messenger` over hikari's REST client.

The client never leaves this module, for its defaults would post twice: it repeats after lost
connections and 5xx answers, and after a 429 for as long as it is told to. Here its retries are
off, redirects too (a 307 would repeat the body), and it never sees a 429 (`actors.delivery.wire`).
Its own rate limiter is replaced by one that lets everything pass: that one can't be interrupted by
a stop, does not hold requests of a yet unknown bucket back during a global limit, and its queue
would hide the waits from the budget. Every wait is therefore `Waits.admit`'s: woken by a stop,
and together at most 30 s a post, whatever limit asks for it.

A message may ping the users that its draft names and nobody else: no role, not everyone, and not
the author of the message it replies to. No nonce is sent: at-most-once rests on the log.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, cast

import hikari
import structlog
from hikari.impl import buckets, config, entity_factory, rest, special_endpoints
from typing_extensions import override

from actors.delivery.outcomes import Exchange, message_id_of
from actors.delivery.rate_limits import REQUESTS_PER_SECOND, RateLimits, Route
from actors.delivery.waits import Waits, first_of
from actors.delivery.wire import TooManyRequestsError, WatchedSession, fault_of, read_json, watching
from actors.ports import Button, Clock, Draft, HistoryMessage, NotPosted, Posted, StopSignal
from actors.text.mention_names import with_names
from events.base import ChannelId, GuildId, MessageId
from events.scene import ServerEmoji

if TYPE_CHECKING:
    from hikari import traits
    from hikari.api import entity_factory as entity_factory_api
    from hikari.api import rest as rest_api
    from hikari.internal import routes

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


class _OpenGate(buckets.RESTBucketManager):
    """hikari's rate limiter without a limit: waiting is done before it is asked."""

    @override
    def acquire_bucket(
        self, compiled_route: "routes.CompiledRoute", authentication: str | None
    ) -> contextlib.AbstractAsyncContextManager[None]:
        return contextlib.nullcontext()

    @override
    def update_rate_limits(self, *_args: Any, **_options: Any) -> None:
        """Learn nothing: `RateLimits` reads the same headers."""


class _App:
    """What hikari's models hold on to: the client they would call."""

    def __init__(self, settings: config.HTTPSettings, proxy: config.ProxySettings) -> None:
        self.http_settings = settings
        self.proxy_settings = proxy
        self.executor = None
        self.entity_factory: entity_factory_api.EntityFactory
        self.rest: rest_api.RESTClient


def _client(token: str, api_url: str, session: WatchedSession) -> rest.RESTClientImpl:
    settings = config.HTTPSettings(max_redirects=None)
    app = _App(settings, config.ProxySettings())
    app.entity_factory = entity_factory.EntityFactoryImpl(cast("traits.RESTAware", app))
    client = rest.RESTClientImpl(
        cache=None,
        entity_factory=app.entity_factory,
        executor=None,
        http_settings=settings,
        proxy_settings=app.proxy_settings,
        bucket_manager=_OpenGate(max_rate_limit=0.0),
        bucket_manager_owner=False,
        client_session=cast("Any", session),  # has what hikari calls of aiohttp's
        client_session_owner=False,
        max_retries=0,
        loads=read_json,
        token=token.strip(),
        token_type=hikari.TokenType.BOT,
        rest_url=api_url,
    )
    app.rest = client
    return client


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
        self._api_url = api_url
        self._token = token
        self._clock = clock
        self._request_seconds = request_seconds
        self._limits = RateLimits(requests_per_second)
        self._session: WatchedSession | None = None
        self._rest: rest.RESTClientImpl | None = None
        self._own_id: int | None = None

    async def start(self) -> None:
        """Open the client; nothing is written yet."""
        self._session = WatchedSession(self._request_seconds)
        self._rest = _client(self._token, self._api_url, self._session)
        self._rest.start()

    async def aclose(self) -> None:
        """Close every connection; a request in flight ends as if it had been lost."""
        client, session = self._rest, self._session
        self._rest = self._session = None
        if client is not None:
            await client.close()
        if session is not None:
            await session.close()

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

    async def ready(
        self, channel_id: ChannelId, stop: StopSignal | None = None
    ) -> float | NotPosted:
        """Wait until a post to the channel would not be refused for its rate.

        Returns:
            The milliseconds waited; or, where `stop` came first or the wait would be longer
            than 30 s, what that makes of the post.
        """
        waits = self._waits(("messages", channel_id), stop)
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
        waits = self._waits(("messages", draft.channel_id), stop)
        waits.waited = (waited_ms or 0.0) / 1000.0
        waits.has_slot = waited_ms is not None
        while True:
            refusal = await waits.admit()
            if refusal is not None:
                return refusal
            exchange = await self._exchange(lambda: self._create(draft), waits)
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
        self, channel_id: ChannelId, message_id: MessageId, buttons: tuple[Button, ...]
    ) -> str | None:
        """Put `buttons` below a message of the bot's own; return why that failed, None if not."""
        waits = self._waits(("edits", channel_id), None)
        while True:
            refusal = await waits.admit()
            if refusal is not None:
                return refusal.reason
            exchange = await self._exchange(
                lambda: self._edit_buttons(channel_id, message_id, buttons), waits
            )
            if message_id_of(exchange.body) is not None:
                return None
            if not waits.may_repeat(exchange):
                _tell("edit_failed", channel_id, exchange)
                return waits.failure(exchange).reason

    async def delete(self, channel_id: ChannelId, message_id: MessageId) -> bool:
        """Delete an own message; return whether it is gone, by whoever's hand.

        Deleting twice does no harm, so a 429 is waited out and anything else is tried once more.
        """
        waits = self._waits(("delete", channel_id), None)
        for is_last in (False, True):
            while await waits.admit() is None:
                exchange = await self._exchange(lambda: self._delete(channel_id, message_id), waits)
                if exchange.status in GONE:
                    return True
                if not waits.may_repeat(exchange):
                    break
            if is_last:
                _log.warning("delete_failed", channel_id=channel_id, message_id=message_id)
        return False

    async def typing(self, channel_id: ChannelId) -> None:
        """Show the typing indicator, if no limit holds it back; a failure is only logged."""
        waits = self._waits(("typing", channel_id), None)
        waits.budget = 0.0
        if await waits.admit() is not None:
            return
        exchange = await self._exchange(lambda: self._type(channel_id), waits)
        if exchange.status != 204:  # noqa: PLR2004 - No Content, the only good answer
            _tell("typing_failed", channel_id, exchange)

    async def history(
        self, channel_id: ChannelId, *, before: MessageId | None, limit: int
    ) -> list[HistoryMessage]:
        """Return up to `limit` messages older than `before`, oldest first; empty on failure."""
        found: list[HistoryMessage] = []
        waits = self._waits(("history", channel_id), None)
        waits.budget = HISTORY_BUDGET_SECONDS
        while limit > 0 and await waits.admit() is None:
            found.clear()
            exchange = await self._exchange(
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
        waits = self._waits(("emojis", guild_id), None)
        waits.budget = HISTORY_BUDGET_SECONDS
        while await waits.admit() is None:
            exchange = await self._exchange(lambda: self._look_up(found, guild_id), waits)
            if exchange.fault is None and exchange.too_many is None:
                return tuple(found)
            if not waits.may_repeat(exchange):
                _tell("emojis_failed", guild_id, exchange)
                break
        return None

    def _waits(self, route: Route, stop: StopSignal | None) -> Waits:
        return Waits(self._limits, self._clock, route, stop)

    async def _create(self, draft: Draft) -> None:
        assert self._rest is not None, "start first"
        reply = hikari.UNDEFINED if draft.reply_to is None else hikari.Snowflake(draft.reply_to)
        await self._rest.create_message(
            hikari.Snowflake(draft.channel_id),
            draft.content,
            attachments=[hikari.Bytes(file.data, file.name) for file in draft.files]
            or hikari.UNDEFINED,
            components=_rows(draft.buttons) or hikari.UNDEFINED,
            reply=reply,
            reply_must_exist=False,
            mentions_everyone=False,
            mentions_reply=False,
            role_mentions=False,
            user_mentions=[hikari.Snowflake(user) for user in draft.mentions[:PINGS_ALLOWED]],
        )

    async def _edit_buttons(
        self, channel_id: ChannelId, message_id: MessageId, buttons: tuple[Button, ...]
    ) -> None:
        assert self._rest is not None, "start first"
        await self._rest.edit_message(
            hikari.Snowflake(channel_id), hikari.Snowflake(message_id), components=_rows(buttons)
        )

    async def _delete(self, channel_id: ChannelId, message_id: MessageId) -> None:
        assert self._rest is not None, "start first"
        await self._rest.delete_message(hikari.Snowflake(channel_id), hikari.Snowflake(message_id))

    async def _type(self, channel_id: ChannelId) -> None:
        assert self._rest is not None, "start first"
        async with asyncio.timeout(TYPING_SECONDS):
            await self._rest.trigger_typing(hikari.Snowflake(channel_id))

    async def _look_back(
        self,
        found: list[HistoryMessage],
        channel_id: ChannelId,
        before: MessageId | None,
        limit: int,
    ) -> None:
        assert self._rest is not None, "start first"
        if self._own_id is None:
            self._own_id = int((await self._rest.fetch_my_user()).id)
        past = self._rest.fetch_messages(
            hikari.Snowflake(channel_id),
            before=hikari.UNDEFINED if before is None else hikari.Snowflake(before),
        )
        async for message in past.limit(limit):
            # One by one: what came before a message that can't be read is still good.
            found.append(_remembered(message, self._own_id))  # noqa: PERF401 - see above

    async def _look_up(self, found: list[ServerEmoji], guild_id: GuildId) -> None:
        assert self._rest is not None, "start first"
        found += [
            ServerEmoji(name=one.name, emoji_id=int(one.id), is_animated=one.is_animated)
            for one in await self._rest.fetch_guild_emojis(hikari.Snowflake(guild_id))
        ]

    async def _exchange(self, request: Callable[[], Awaitable[None]], waits: Waits) -> Exchange:
        """Write one request in a task of its own, which a stop ends while nothing has left."""
        with watching() as exchange:
            task = asyncio.create_task(_watched(request, exchange))
        try:
            if waits.stop is not None:
                await first_of(task, waits.stop)
                if not exchange.is_sent:
                    task.cancel()
            await asyncio.wait({task})
            if task.cancelled():
                exchange.fault = "connection_reset" if exchange.is_sent else "stopped"
        finally:
            task.cancel()
        waits.note(exchange)
        return exchange


async def _watched(request: Callable[[], Awaitable[None]], exchange: Exchange) -> None:
    """Run the request; what breaks is noted, not raised."""
    try:
        await request()
    except Exception as error:  # noqa: BLE001 - the outcome rests on what left, not on the class
        exchange.fault = fault_of(error)
        if isinstance(error, hikari.HTTPResponseError):
            exchange.code = int(getattr(error, "code", 0)) or None
            exchange.refuses_buttons = "components" in (getattr(error, "errors", None) or ())
        elif not isinstance(error, hikari.HTTPError | TooManyRequestsError | TimeoutError):
            _log.error("discord_call_broke", error=type(error).__name__, status=exchange.status)


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


def _remembered(message: hikari.Message, own_id: int) -> HistoryMessage:
    names = {
        int(user_id): str(user.global_name or user.username)
        for user_id, user in (message.user_mentions or {}).items()
    }
    author = message.author
    return HistoryMessage(
        message_id=MessageId(int(message.id)),
        author_id=int(author.id),
        author_name=str(author.global_name or author.username),
        author_handle=str(author.username),
        is_own=int(author.id) == own_id,
        content=with_names(message.content or "", names),
    )
