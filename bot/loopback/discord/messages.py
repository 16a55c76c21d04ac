"""Messages by the bot: post, edit, delete, read, and the typing indicator."""

from actors.ports import Clock
from bot.loopback.discord.address import Address
from bot.loopback.discord.calls import NO_CONTENT, Call, Reply, Route
from bot.loopback.discord.entities import ChannelKind, Permission, StoredMessage
from bot.loopback.discord.payloads import channel_json, message_json
from bot.loopback.discord.posting import MessageBody, Origin, amend, compose
from bot.loopback.discord.refusals import RefusedError, forbidden, invalid
from bot.loopback.discord.world import World
from events.base import ChannelId

NONCE_SECONDS = 180.0
"""How long a nonce is remembered."""
_MOST_MESSAGES = 100


class MessageRoutes:
    """The routes below `/channels`."""

    def __init__(self, world: World, clock: Clock, address: Address) -> None:
        self._world = world
        self._clock = clock
        self._address = address
        self._nonces: dict[tuple[int, str | int], tuple[float, StoredMessage]] = {}
        self.typing: list[tuple[ChannelId, float]] = []

    def routes(self) -> list[Route]:
        """Return them."""
        messages = "/channels/{channel}/messages"
        one = "/channels/{channel}/messages/{message}"
        typing = "/channels/{channel}/typing"
        return [
            Route(method="GET", path="/channels/{channel}", kind="lookup", handler=self._channel),
            Route(method="POST", path=messages, kind="post", handler=self._post),
            Route(method="GET", path=messages, kind="history", handler=self._history),
            Route(method="GET", path=one, kind="history", handler=self._one),
            Route(method="PATCH", path=one, kind="edit", handler=self._edit),
            Route(method="DELETE", path=one, kind="delete", handler=self._delete),
            Route(method="POST", path=typing, kind="typing", handler=self._typing),
        ]

    def _channel(self, call: Call) -> Reply:
        return Reply(body=channel_json(self._world, self._world.channel(call.id("channel"))))

    def _post(self, call: Call) -> Reply:
        channel = self._world.channel(call.id("channel"))
        needed = (
            Permission.SEND_MESSAGES_IN_THREADS
            if channel.kind is ChannelKind.PUBLIC_THREAD
            else Permission.SEND_MESSAGES
        )
        if not channel.bot_permissions & needed:
            raise forbidden(50013)
        body = call.decode(MessageBody)
        has_history = channel.bot_permissions & Permission.READ_MESSAGE_HISTORY
        if body.message_reference is not None and not has_history:
            raise RefusedError(400, 160002)
        earlier = self._same_nonce(channel.id, body)
        if earlier is not None:
            return self._reply(earlier)
        origin = Origin(author=self._world.bot)
        message = self._world.store(compose(self._world, channel, origin, body, call.uploads))
        if body.nonce is not None:
            self._nonces[channel.id, body.nonce] = (self._clock.monotonic(), message)
        return self._reply(message)

    def _same_nonce(self, channel_id: ChannelId, body: MessageBody) -> StoredMessage | None:
        if not body.enforce_nonce or body.nonce is None:
            return None
        known = self._nonces.get((channel_id, body.nonce))
        if known is None or self._clock.monotonic() - known[0] > NONCE_SECONDS:
            return None
        return known[1]

    def _history(self, call: Call) -> Reply:
        channel = self._world.channel(call.id("channel"))
        limit = call.number("limit")
        limit = 50 if limit is None else limit
        if not 1 <= limit <= _MOST_MESSAGES:
            raise invalid("limit", "NUMBER_TYPE_MAX", "int value should be 1 to 100.")
        if not channel.bot_permissions & Permission.READ_MESSAGE_HISTORY:
            return Reply(body=[])
        chosen = _window(self._world.messages(channel.id), call, limit)
        return Reply(body=[self._json(message) for message in reversed(chosen)])

    def _one(self, call: Call) -> Reply:
        channel = self._world.channel(call.id("channel"))
        if not channel.bot_permissions & Permission.READ_MESSAGE_HISTORY:
            raise forbidden(50001)
        return Reply(body=self._json(self._world.message(channel.id, call.id("message"))))

    def _edit(self, call: Call) -> Reply:
        channel = self._world.channel(call.id("channel"))
        message = self._world.message(channel.id, call.id("message"))
        if message.author.id != self._world.bot.id:
            raise RefusedError(403, 50005)
        body = call.decode(MessageBody)
        edited = self._world.edit(amend(self._world, message, body, call.uploads))
        return Reply(body=self._json(edited))

    def _delete(self, call: Call) -> Reply:
        channel = self._world.channel(call.id("channel"))
        message = self._world.message(channel.id, call.id("message"))
        is_own = message.author.id == self._world.bot.id
        if not is_own and not channel.bot_permissions & Permission.MANAGE_MESSAGES:
            raise forbidden(50013)
        self._world.remove(message)
        return NO_CONTENT

    def _typing(self, call: Call) -> Reply:
        channel = self._world.channel(call.id("channel"))
        if not channel.bot_permissions & Permission.SEND_MESSAGES:
            raise forbidden(50013)
        self.typing.append((channel.id, self._clock.monotonic()))
        return NO_CONTENT

    def _json(self, message: StoredMessage) -> object:
        return message_json(self._world, message, files=self._address.files)

    def _reply(self, message: StoredMessage) -> Reply:
        return Reply(body=self._json(message), message_id=message.id)


def _window(messages: list[StoredMessage], call: Call, limit: int) -> list[StoredMessage]:
    """Return the messages a history request asks for, oldest first; bounds are exclusive."""
    around = call.number("around")
    if around is not None:
        older = [one for one in messages if one.id < around]
        rest = [one for one in messages if one.id >= around]
        half = limit // 2
        return older[len(older) - min(half, len(older)) :] + rest[: limit - half]
    before, after = call.number("before"), call.number("after")
    if before is not None:
        messages = [one for one in messages if one.id < before]
    if after is not None:
        return [one for one in messages if one.id > after][:limit]
    return messages[-limit:]
