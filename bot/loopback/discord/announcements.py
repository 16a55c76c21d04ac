"""What the gateway says of each happening: the event's name, its payload, and who may hear it."""

from typing import assert_never

from msgspec import Struct

from bot.loopback.discord.entities import Channel, ChannelKind, JsonObject, StoredMessage
from bot.loopback.discord.payloads import (
    channel_json,
    guild_create_json,
    guild_json,
    message_json,
)
from bot.loopback.discord.world import (
    ChannelAdded,
    ChannelRemoved,
    GuildAdded,
    GuildChanged,
    Happening,
    MessageEdited,
    MessageRemoved,
    MessageStored,
    World,
)

GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
"""Intents: what a session asks to hear (docs.discord.com, topics/gateway)."""


class Announcement(Struct, frozen=True, kw_only=True):
    """An event for every session that asked for its kind."""

    name: str
    """The event's name."""
    body: JsonObject
    """Its payload."""
    intent: int = 0
    """The intent a session must have; 0 is none."""
    hidden: JsonObject | None = None
    """The payload for sessions without MESSAGE_CONTENT; None where it is the same."""

    def body_for(self, intents: int) -> JsonObject | None:
        """Return what a session with `intents` hears; None where it hears nothing."""
        if self.intent and not self.intent & intents:
            return None
        if self.hidden is not None and not intents & MESSAGE_CONTENT:
            return self.hidden
        return self.body


def announce(world: World, happening: Happening, files: str) -> Announcement | None:
    """Return what the gateway says of a happening; direct-message channels come up in silence."""
    match happening:
        case MessageStored() | MessageEdited() | MessageRemoved():
            return _of_message(world, happening, files)
        case GuildAdded(guild=guild):
            name, body = "GUILD_CREATE", guild_create_json(world, guild)
        case GuildChanged(guild=guild):
            name, body = "GUILD_UPDATE", guild_json(guild)
        case ChannelAdded(channel=channel) | ChannelRemoved(channel=channel) if (
            channel.kind is ChannelKind.DM
        ):
            return None
        case ChannelAdded(channel=channel):
            name, body = f"{_noun(channel)}_CREATE", channel_json(world, channel)
        case ChannelRemoved(channel=channel):
            name, body = f"{_noun(channel)}_DELETE", channel_json(world, channel)
        case _:
            assert_never(happening)
    return Announcement(name=name, body=body, intent=GUILDS)


def _of_message(
    world: World, happening: MessageStored | MessageEdited | MessageRemoved, files: str
) -> Announcement:
    message = happening.message
    match happening:
        case MessageStored():
            return message_announcement(world, "MESSAGE_CREATE", message, files)
        case MessageEdited():
            return message_announcement(world, "MESSAGE_UPDATE", message, files)
        case MessageRemoved():
            body: JsonObject = {"id": str(message.id), "channel_id": str(message.channel_id)}
            if message.guild_id is not None:
                body["guild_id"] = str(message.guild_id)
            return Announcement(name="MESSAGE_DELETE", body=body, intent=_intent(message))
        case _:
            assert_never(happening)


def message_announcement(
    world: World, name: str, message: StoredMessage, files: str
) -> Announcement:
    """Return the event of a message.

    Without the intent for it, a bot sees the text only of its own messages, of direct ones, and
    of those that mention it.
    """
    body = message_json(world, message, files=files, for_gateway=True)
    is_open = (
        message.guild_id is None
        or message.author.id == world.bot.id
        or world.bot.id in message.pings.users
    )
    empty: JsonObject = {"content": "", "embeds": [], "attachments": [], "components": []}
    hidden = None if is_open else body | empty
    return Announcement(name=name, body=body, intent=_intent(message), hidden=hidden)


def _intent(message: StoredMessage) -> int:
    return DIRECT_MESSAGES if message.guild_id is None else GUILD_MESSAGES


def _noun(channel: Channel) -> str:
    return "THREAD" if channel.kind is ChannelKind.PUBLIC_THREAD else "CHANNEL"
