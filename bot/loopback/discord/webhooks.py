"""Webhooks: made, listed and changed by the bot, executed by whoever has the token."""

import hashlib
from collections.abc import Callable

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from bot.loopback.discord.address import Address
from bot.loopback.discord.calls import NO_CONTENT, Call, Kind, Reply, Route, snowflake
from bot.loopback.discord.entities import (
    Channel,
    ChannelKind,
    Permission,
    StoredMessage,
    User,
    Webhook,
)
from bot.loopback.discord.payloads import message_json, webhook_json
from bot.loopback.discord.posting import MessageBody, Origin, amend, compose
from bot.loopback.discord.refusals import RefusedError, forbidden, invalid, unknown
from bot.loopback.discord.world import World
from events.base import UserId

WEBHOOK_LIMIT = 15
"""Webhooks of a channel."""
NAME_LIMIT = 80
"""Code points of a webhook's name."""
RESERVED_NAMES = ("discord", "clyde")
"""Words that no webhook may have in its name (docs.discord.com, resources/webhook)."""


class WebhookBody(Struct, frozen=True, kw_only=True):
    """The body that makes or changes a webhook; a change leaves alone what is unset."""

    name: str | None = None
    """Its name."""
    avatar: str | UnsetType | None = UNSET
    """Its image as a data URI; None takes it away."""
    channel_id: str | None = None
    """The channel it moves to."""


class WebhookRoutes:
    """The routes of webhooks."""

    def __init__(self, world: World, address: Address) -> None:
        self._world = world
        self._address = address

    def routes(self) -> list[Route]:
        """Return those that need the bot's token, then those that bring the webhook's."""
        return [
            self._setup("POST", "/channels/{channel}/webhooks", self._create),
            self._setup("GET", "/channels/{channel}/webhooks", self._of_channel),
            self._setup("GET", "/guilds/{guild}/webhooks", self._of_guild),
            self._setup("GET", "/webhooks/{webhook}", self._fetch),
            self._setup("PATCH", "/webhooks/{webhook}", self._change),
            self._setup("DELETE", "/webhooks/{webhook}", self._delete),
            self._open("GET", "/webhooks/{webhook}/{token}", "webhook_setup", self._fetch),
            self._open("PATCH", "/webhooks/{webhook}/{token}", "webhook_setup", self._change),
            self._open("DELETE", "/webhooks/{webhook}/{token}", "webhook_setup", self._delete),
        ]

    def execute(self, call: Call) -> Reply:
        """Post through a webhook."""
        webhook = self._known(call)
        body = call.decode(MessageBody)
        if body.username is not None:
            check_name("username", body.username)
        # A webhook's message is its author, under the name and face it came with.
        author = User(
            id=UserId(webhook.id),
            username=body.username or webhook.name,
            avatar=body.avatar_url or webhook.avatar,
            is_bot=True,
        )
        origin = Origin(author=author, webhook_id=webhook.id)
        plain = replace(body, message_reference=None)
        destination = self._destination(webhook, call)
        message = compose(self._world, destination, origin, plain, call.uploads)
        self._world.store(message)
        if not call.flag("wait"):
            return Reply(status=204, message_id=message.id)
        return self._reply(message)

    def message(self, call: Call) -> Reply:
        """Return a message that the webhook posted."""
        return self._reply(self._own(call))

    def edit(self, call: Call) -> Reply:
        """Change a message that the webhook posted."""
        body = call.decode(MessageBody)
        return self._reply(
            self._world.edit(amend(self._world, self._own(call), body, call.uploads))
        )

    def delete(self, call: Call) -> Reply:
        """Delete a message that the webhook posted."""
        self._world.remove(self._own(call))
        return NO_CONTENT

    def _create(self, call: Call) -> Reply:
        channel = self._managed(call.id("channel"))
        if channel.kind is not ChannelKind.GUILD_TEXT:
            raise forbidden(50013)
        body = call.decode(WebhookBody)
        check_name("name", body.name or "")
        if len(self._world.channel_webhooks(channel.id)) >= WEBHOOK_LIMIT:
            raise RefusedError(400, 30007)
        avatar = _hash_of(body.avatar)
        webhook = self._world.add_webhook(channel, body.name or "", avatar)
        return Reply(body=webhook_json(self._world, webhook))

    def _of_channel(self, call: Call) -> Reply:
        channel = self._managed(call.id("channel"))
        found = self._world.channel_webhooks(channel.id)
        return Reply(body=[webhook_json(self._world, one) for one in found])

    def _of_guild(self, call: Call) -> Reply:
        guild_id = call.id("guild")
        if guild_id not in self._world.guilds:
            raise unknown(10004)
        found = [one for one in self._world.webhooks.values() if one.guild_id == guild_id]
        return Reply(body=[webhook_json(self._world, one) for one in found])

    def _fetch(self, call: Call) -> Reply:
        return Reply(body=webhook_json(self._world, self._known(call)))

    def _change(self, call: Call) -> Reply:
        webhook = self._known(call)
        body = call.decode(WebhookBody)
        if body.name is not None:
            check_name("name", body.name)
            webhook = replace(webhook, name=body.name)
        if body.avatar is not UNSET:
            webhook = replace(webhook, avatar=_hash_of(body.avatar))
        if body.channel_id is not None:
            channel = self._managed(snowflake("channel_id", body.channel_id))
            webhook = replace(webhook, channel_id=channel.id)
        self._world.webhooks[webhook.id] = webhook
        return Reply(body=webhook_json(self._world, webhook))

    def _delete(self, call: Call) -> Reply:
        del self._world.webhooks[self._known(call).id]
        return NO_CONTENT

    def _known(self, call: Call) -> Webhook:
        """Return the webhook of the path, whose token is right where one is given."""
        webhook = self._world.webhooks.get(call.id("webhook"))
        if webhook is None:
            raise unknown(10015)
        if call.params.get("token", webhook.token) != webhook.token:
            raise RefusedError(401, 50027)
        return webhook

    def _managed(self, channel_id: int) -> Channel:
        channel = self._world.channel(channel_id)
        if not channel.bot_permissions & Permission.MANAGE_WEBHOOKS:
            raise forbidden(50013)
        return channel

    def _destination(self, webhook: Webhook, call: Call) -> Channel:
        thread_id = call.number("thread_id")
        channel = self._world.channels.get(thread_id or webhook.channel_id)
        if channel is None or webhook.channel_id not in {channel.id, channel.parent_id}:
            raise RefusedError(400, 10003)
        return channel

    def _own(self, call: Call) -> StoredMessage:
        webhook = self._known(call)
        channel = self._destination(webhook, call)
        message = self._world.message(channel.id, call.id("message"))
        if message.webhook_id != webhook.id:
            raise unknown(10008)
        return message

    def _reply(self, message: StoredMessage) -> Reply:
        body = message_json(self._world, message, files=self._address.files)
        return Reply(body=body, message_id=message.id)

    def _setup(self, method: str, path: str, handler: Callable[[Call], Reply]) -> Route:
        return Route(method=method, path=path, kind="webhook_setup", handler=handler)

    def _open(self, method: str, path: str, kind: Kind, handler: Callable[[Call], Reply]) -> Route:
        return Route(method=method, path=path, kind=kind, handler=handler, needs_token=False)


def check_name(field: str, name: str) -> None:
    """Refuse a webhook's name that Discord refuses.

    Raises:
        RefusedError: 400/50035, it is empty, too long, or has a reserved word in it.
    """
    if not 1 <= len(name.strip()) <= NAME_LIMIT:
        sentence = f"Must be between 1 and {NAME_LIMIT} in length."
        raise invalid(field, "BASE_TYPE_BAD_LENGTH", sentence)
    for word in RESERVED_NAMES:
        if word in name.lower():
            raise invalid(field, "USERNAME_INVALID_CONTAINS", f'Username cannot contain "{word}"')


def _hash_of(avatar: str | UnsetType | None) -> str | None:
    return hashlib.sha256(avatar.encode()).hexdigest()[:32] if isinstance(avatar, str) else None
