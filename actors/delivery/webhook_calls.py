"""What surrounds the posts of a webhook: finding one, making it, dressing it, taking back.

Nothing in here posts a message. Each call waits a few seconds for rate limits at most, since a
message waits for it, and answers with a `Refusal` instead of raising.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import hikari
from typing_extensions import override

from actors.delivery.outcomes import outcome_of
from actors.delivery.rate_limits import Route
from actors.delivery.rest_client import RestClient
from actors.webhook_port import Place, Refusal, Webhook, WebhookCalls
from events.base import ChannelId, MessageId

SETUP_SECONDS: Final = 5.0
"""Longest wait for rate limits of one call; an avatar that would take longer is done without."""
THREADS: Final = frozenset(
    (
        hikari.ChannelType.GUILD_NEWS_THREAD,
        hikari.ChannelType.GUILD_PUBLIC_THREAD,
        hikari.ChannelType.GUILD_PRIVATE_THREAD,
    )
)

T = TypeVar("T")


class HikariWebhooks(WebhookCalls):
    """`WebhookCalls` over hikari's REST client."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    @override
    async def place(self, channel_id: ChannelId) -> Place | Refusal:
        async def look() -> Place:
            channel = await self._client.rest.fetch_channel(hikari.Snowflake(channel_id))
            last = getattr(channel, "last_message_id", None)
            return Place(
                parent_id=_parent_of(channel),
                last_message_id=None if last is None else MessageId(int(last)),
            )

        return await self._call(("channel", channel_id), look)

    @override
    async def owned(self, channel_id: ChannelId) -> list[Webhook] | Refusal:
        async def look() -> list[Webhook]:
            own_id = (await self._client.own_user()).id
            found = await self._client.rest.fetch_channel_webhooks(hikari.Snowflake(channel_id))
            return [
                _webhook(one)
                for one in sorted(found, key=lambda one: one.id)
                if isinstance(one, hikari.IncomingWebhook)
                and one.token is not None
                and one.author is not None
                and one.author.id == own_id
            ]

        return await self._call(("webhooks", channel_id), look)

    @override
    async def create(self, channel_id: ChannelId, name: str) -> Webhook | Refusal:
        async def make() -> Webhook:
            rest = self._client.rest
            return _webhook(await rest.create_webhook(hikari.Snowflake(channel_id), name))

        return await self._call(("webhook_create", channel_id), make)

    @override
    async def dress(self, webhook: Webhook, image: bytes) -> Webhook | Refusal:
        async def change() -> Webhook:
            changed = await self._client.rest.edit_webhook(
                hikari.Snowflake(webhook.webhook_id), avatar=hikari.Bytes(image, "avatar")
            )
            return Webhook(
                webhook_id=webhook.webhook_id, token=webhook.token, avatar=changed.avatar_hash
            )

        return await self._call(("webhook_edit", webhook.webhook_id), change)

    @override
    async def own_avatar(self) -> str | Refusal:
        async def look() -> str:
            return str((await self._client.own_user()).display_avatar_url)

        return await self._call(("own_user", 0), look)

    async def _call(self, route: Route, request: Callable[[], Awaitable[T]]) -> T | Refusal:
        found: list[T] = []

        async def run() -> None:
            found.append(await request())

        waits = self._client.waits(route)
        waits.budget = SETUP_SECONDS
        while True:
            refusal = await waits.admit()
            if refusal is not None:
                return Refusal(reason=refusal.reason, is_definite=False)
            exchange = await self._client.exchange(run, waits)
            if found:
                return found[0]
            if not waits.may_repeat(exchange):
                outcome, reason = outcome_of(exchange)
                is_definite = outcome == "definite_refusal" and exchange.too_many is None
                return Refusal(reason=reason, code=exchange.code, is_definite=is_definite)


def _webhook(found: hikari.IncomingWebhook) -> Webhook:
    return Webhook(webhook_id=int(found.id), token=found.token or "", avatar=found.avatar_hash)


def _parent_of(channel: hikari.PartialChannel) -> ChannelId | None:
    if channel.type in THREADS:
        parent = getattr(channel, "parent_id", None)
        return None if parent is None else ChannelId(int(parent))
    is_text = channel.type in (hikari.ChannelType.GUILD_TEXT, hikari.ChannelType.GUILD_NEWS)
    return ChannelId(int(channel.id)) if is_text else None
