"""All that Discord holds, in memory: who is there and what was said. Checks nothing but existence.

Whoever wants to know what happens listens; everything goes through the methods, so that nothing
changes unnoticed.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from actors.ports import Clock
from bot.loopback.discord.credentials import BOT_ID
from bot.loopback.discord.entities import (
    Channel,
    ChannelKind,
    Emoji,
    Guild,
    Permission,
    Role,
    RoleId,
    StoredMessage,
    User,
    Webhook,
    WebhookId,
)
from bot.loopback.discord.refusals import forbidden, unknown
from bot.loopback.discord.snowflakes import Snowflakes
from events.base import ChannelId, GuildId, MessageId, UserId


class GuildAdded(Struct, frozen=True, kw_only=True):
    """The bot was put into a guild."""

    guild: Guild
    """The guild."""


class GuildChanged(Struct, frozen=True, kw_only=True):
    """A guild has another role or emoji."""

    guild: Guild
    """As it is."""


class ChannelAdded(Struct, frozen=True, kw_only=True):
    """A channel or thread came up."""

    channel: Channel
    """The channel."""


class ChannelRemoved(Struct, frozen=True, kw_only=True):
    """A channel or thread is gone, and its messages with it."""

    channel: Channel
    """As it was."""


class MessageStored(Struct, frozen=True, kw_only=True):
    """A message was accepted."""

    message: StoredMessage
    """The message."""


class MessageEdited(Struct, frozen=True, kw_only=True):
    """A message was changed."""

    message: StoredMessage
    """As it is."""


class MessageRemoved(Struct, frozen=True, kw_only=True):
    """A message was deleted."""

    message: StoredMessage
    """As it was."""


Happening = (
    GuildAdded
    | GuildChanged
    | ChannelAdded
    | ChannelRemoved
    | MessageStored
    | MessageEdited
    | MessageRemoved
)
"""What listeners hear."""


class World:
    """Guilds, channels, users, messages and webhooks."""

    def __init__(self, clock: Clock, bot_id: int = BOT_ID) -> None:
        self._clock = clock
        self._ids = Snowflakes(clock)
        self._listeners: list[Callable[[Happening], None]] = []
        self._nicknames: dict[tuple[int, int], str] = {}
        self._history: dict[int, dict[int, StoredMessage]] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.users: dict[int, User] = {}
        self.webhooks: dict[int, Webhook] = {}
        self.bot = User(
            id=UserId(bot_id), username="rejoinder", display_name="Rejoinder", is_bot=True
        )
        self.users[self.bot.id] = self.bot
        self.owner = self.add_user("Owner")

    def listen(self, listener: Callable[[Happening], None]) -> None:
        """Call `listener` after each change."""
        self._listeners.append(listener)

    def new_id(self) -> int:
        """Return an id greater than all before."""
        return self._ids.next()

    def add_user(self, name: str, *, is_bot: bool = False) -> User:
        """Add somebody, who is a member of every guild."""
        handle = "".join(letter for letter in name.lower() if letter.isalnum()) or "user"
        user = User(id=UserId(self.new_id()), username=handle, display_name=name, is_bot=is_bot)
        self.users[user.id] = user
        return user

    def set_nickname(self, guild_id: int, user_id: int, nickname: str) -> None:
        """Call a user by another name in a guild."""
        self._nicknames[guild_id, user_id] = nickname

    def nickname(self, guild_id: int | None, user_id: int) -> str | None:
        """Return the name a user goes by in a guild; None where it is their own."""
        return None if guild_id is None else self._nicknames.get((guild_id, user_id))

    def add_guild(self, name: str) -> Guild:
        """Add a guild and put the bot into it."""
        guild_id = GuildId(self.new_id())
        everyone = Role(id=RoleId(guild_id), name="@everyone")
        guild = Guild(id=guild_id, name=name, owner_id=self.owner.id, roles=(everyone,))
        self.guilds[guild_id] = guild
        self._tell(GuildAdded(guild=guild))
        return guild

    def add_role(self, guild_id: int, name: str, *, permissions: int = 0) -> Role:
        """Add a role to a guild."""
        role = Role(id=RoleId(self.new_id()), name=name, permissions=permissions)
        guild = self.guilds[guild_id]
        self._change_guild(replace(guild, roles=(*guild.roles, role)))
        return role

    def add_emoji(self, guild_id: int, name: str, *, is_animated: bool = False) -> Emoji:
        """Add a custom emoji to a guild."""
        emoji = Emoji(id=self.new_id(), name=name, is_animated=is_animated)
        guild = self.guilds[guild_id]
        self._change_guild(replace(guild, emojis=(*guild.emojis, emoji)))
        return emoji

    def add_channel(self, guild_id: int, name: str) -> Channel:
        """Add a text channel to a guild."""
        return self._add_channel(
            Channel(
                id=ChannelId(self.new_id()),
                kind=ChannelKind.GUILD_TEXT,
                name=name,
                guild_id=self.guilds[guild_id].id,
            )
        )

    def add_thread(self, parent_id: int, name: str) -> Channel:
        """Add a public thread to a channel."""
        parent = self.channels[parent_id]
        return self._add_channel(
            Channel(
                id=ChannelId(self.new_id()),
                kind=ChannelKind.PUBLIC_THREAD,
                name=name,
                guild_id=parent.guild_id,
                parent_id=parent.id,
                bot_permissions=parent.bot_permissions,
            )
        )

    def add_dm(self, user: User) -> Channel:
        """Return the direct-message channel of the bot and `user`, made at need."""
        for channel in self.channels.values():
            if channel.recipient_id == user.id:
                return channel
        return self._add_channel(
            Channel(id=ChannelId(self.new_id()), kind=ChannelKind.DM, recipient_id=user.id)
        )

    def set_bot_permissions(self, channel_id: int, permissions: int) -> None:
        """Say what the bot may do in a channel; without VIEW_CHANNEL it has no access at all."""
        channel = replace(self.channels[channel_id], bot_permissions=int(permissions))
        self.channels[channel_id] = channel

    def remove_channel(self, channel_id: int) -> None:
        """Delete a channel with its messages, threads and webhooks."""
        channel = self.channels.pop(channel_id)
        for webhook in self.channel_webhooks(channel_id):
            del self.webhooks[webhook.id]
        for thread in [one for one in self.channels.values() if one.parent_id == channel_id]:
            self.remove_channel(thread.id)
        del self._history[channel_id]
        self._tell(ChannelRemoved(channel=channel))

    def channel(self, channel_id: int) -> Channel:
        """Return a channel that the bot can see.

        Raises:
            RefusedError: 10003, there is none; 50001, the bot may not see it.
        """
        channel = self.channels.get(channel_id)
        if channel is None:
            raise unknown(10003)
        if not channel.bot_permissions & Permission.VIEW_CHANNEL:
            raise forbidden(50001)
        return channel

    def store(self, message: StoredMessage) -> StoredMessage:
        """Keep a message."""
        self._history[message.channel_id][message.id] = message
        self._tell(MessageStored(message=message))
        return message

    def edit(self, message: StoredMessage) -> StoredMessage:
        """Keep a message in place of the one with its id, stamped as edited."""
        edited = replace(message, edited_at=self._clock.now())
        self._history[message.channel_id][message.id] = edited
        self._tell(MessageEdited(message=edited))
        return edited

    def remove(self, message: StoredMessage) -> None:
        """Delete a message."""
        del self._history[message.channel_id][message.id]
        self._tell(MessageRemoved(message=message))

    def posted(self, message_id: int) -> StoredMessage:
        """Return a message, wherever it stands.

        Raises:
            LookupError: There is none.
        """
        for messages in self._history.values():
            if message_id in messages:
                return messages[MessageId(message_id)]
        raise LookupError(f"no message {message_id}")

    def find(self, channel_id: int, message_id: int) -> StoredMessage | None:
        """Return a message of a channel, if it is there."""
        return self._history.get(channel_id, {}).get(message_id)

    def message(self, channel_id: int, message_id: int) -> StoredMessage:
        """Return a message of a channel.

        Raises:
            RefusedError: 10008, there is none.
        """
        found = self.find(channel_id, message_id)
        if found is None:
            raise unknown(10008)
        return found

    def messages(self, channel_id: int) -> list[StoredMessage]:
        """Return the messages of a channel, oldest first; empty where there is no such channel."""
        return list(self._history.get(channel_id, {}).values())

    def last_message_id(self, channel_id: int) -> MessageId | None:
        """Return the id of a channel's newest message."""
        history = self._history.get(channel_id)
        return history[next(reversed(history))].id if history else None

    def add_webhook(self, channel: Channel, name: str, avatar: str | None) -> Webhook:
        """Add a webhook of the bot to a guild's channel."""
        assert channel.guild_id is not None, "direct messages have no webhooks"
        webhook_id = WebhookId(self.new_id())
        webhook = Webhook(
            id=webhook_id,
            token=f"hook-{webhook_id:x}",
            channel_id=channel.id,
            guild_id=channel.guild_id,
            name=name,
            avatar=avatar,
            creator_id=self.bot.id,
        )
        self.webhooks[webhook_id] = webhook
        return webhook

    def channel_webhooks(self, channel_id: int) -> list[Webhook]:
        """Return the webhooks of a channel, oldest first."""
        return [one for one in self.webhooks.values() if one.channel_id == channel_id]

    def guild_channels(self, guild_id: int) -> list[Channel]:
        """Return the channels and threads of a guild, oldest first."""
        return [one for one in self.channels.values() if one.guild_id == guild_id]

    def _change_guild(self, guild: Guild) -> None:
        self.guilds[guild.id] = guild
        self._tell(GuildChanged(guild=guild))

    def _add_channel(self, channel: Channel) -> Channel:
        self.channels[channel.id] = channel
        self._history[channel.id] = {}
        self._tell(ChannelAdded(channel=channel))
        return channel

    def _tell(self, happening: Happening) -> None:
        for listener in self._listeners:
            listener(happening)
