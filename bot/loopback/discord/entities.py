"""What Discord keeps: users, guilds, channels, messages, webhooks. Frozen; the world swaps them."""

from datetime import datetime
from enum import IntEnum, IntFlag
from typing import NewType

from msgspec import Struct

from events.base import ChannelId, GuildId, MessageId, UserId

JsonObject = dict[str, object]
"""A decoded JSON object."""
WebhookId = NewType("WebhookId", int)
"""Discord's id of a webhook."""
RoleId = NewType("RoleId", int)
"""Discord's id of a role; a guild's own id is its @everyone role."""


class Permission(IntFlag):
    """Discord's permission bits, those that the loopback looks at."""

    ADMINISTRATOR = 1 << 3
    MANAGE_GUILD = 1 << 5
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_WEBHOOKS = 1 << 29
    SEND_MESSAGES_IN_THREADS = 1 << 38


MEMBER_PERMISSIONS = (
    Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.SEND_MESSAGES_IN_THREADS
)
"""What an ordinary member may do."""

BOT_PERMISSIONS = (
    MEMBER_PERMISSIONS
    | Permission.MANAGE_MESSAGES
    | Permission.MANAGE_WEBHOOKS
    | Permission.MENTION_EVERYONE
)
"""What the bot may do in a channel unless the test says otherwise."""


class ChannelKind(IntEnum):
    """Discord's channel types, those that the loopback has."""

    GUILD_TEXT = 0
    DM = 1
    PUBLIC_THREAD = 11


class MessageKind(IntEnum):
    """Discord's message types, those that the loopback has."""

    DEFAULT = 0
    REPLY = 19
    COMMAND_RESPONSE = 20


EPHEMERAL = 1 << 6
"""The message flag of an answer that only the invoking user sees."""


class User(Struct, frozen=True, kw_only=True):
    """An account; for a webhook's message, the name and face it was posted under."""

    id: UserId
    """Its id; for a webhook's message, the webhook's."""
    username: str
    """The unique handle; for a webhook, the name shown."""
    display_name: str | None = None
    """The global name; None where there is none."""
    avatar: str | None = None
    """An avatar hash, or the URL a webhook's message was posted with."""
    is_bot: bool = False
    """Whether an application runs it."""


class Role(Struct, frozen=True, kw_only=True):
    """A role of a guild."""

    id: RoleId
    """Its id."""
    name: str
    """Its name."""
    permissions: int = int(MEMBER_PERMISSIONS)
    """What it grants, as bits of `Permission`."""


class Emoji(Struct, frozen=True, kw_only=True):
    """A custom emoji of a guild."""

    id: int
    """Its id."""
    name: str
    """Its name, without colons."""
    is_animated: bool = False
    """Whether it moves."""


class Guild(Struct, frozen=True, kw_only=True):
    """A server. Every user of the world is a member."""

    id: GuildId
    """Its id."""
    name: str
    """Its name."""
    owner_id: UserId
    """Who owns it."""
    roles: tuple[Role, ...]
    """Its roles, @everyone first."""
    emojis: tuple[Emoji, ...] = ()
    """Its custom emojis."""


class Channel(Struct, frozen=True, kw_only=True):
    """A text channel, a thread, or a direct-message channel."""

    id: ChannelId
    """Its id."""
    kind: ChannelKind
    """Which of the three."""
    name: str | None = None
    """Its name; None in direct messages."""
    guild_id: GuildId | None = None
    """Its guild; None in direct messages."""
    parent_id: ChannelId | None = None
    """A thread's channel."""
    recipient_id: UserId | None = None
    """The other side of a direct-message channel."""
    bot_permissions: int = int(BOT_PERMISSIONS)
    """What the bot may do here, as bits of `Permission`."""


class Attachment(Struct, frozen=True, kw_only=True):
    """A file of a message."""

    id: int
    """Its id."""
    filename: str
    """Its name."""
    content_type: str
    """Its media type."""
    data: bytes
    """Its bytes."""


class AllowedMentions(Struct, frozen=True, kw_only=True):
    """Whom a message may ping, as its author asked."""

    parse: tuple[str, ...] = ()
    """Kinds of mentions that are taken from the text: `users`, `roles`, `everyone`."""
    users: tuple[str, ...] = ()
    """Ids of users that may be pinged, in decimal."""
    roles: tuple[str, ...] = ()
    """Ids of roles that may be pinged, in decimal."""
    replied_user: bool = False
    """Whether the author of the message replied to is pinged."""


class Pings(Struct, frozen=True, kw_only=True):
    """Who really was notified."""

    users: tuple[UserId, ...] = ()
    """Users, in the order of the text; the replied user last."""
    roles: tuple[RoleId, ...] = ()
    """Roles, in the order of the text."""
    everyone: bool = False
    """Whether @everyone or @here rang."""


class StoredMessage(Struct, frozen=True, kw_only=True):
    """A message as Discord holds it."""

    id: MessageId
    """Its id; ids sort by creation."""
    channel_id: ChannelId
    """Where it stands."""
    guild_id: GuildId | None
    """The channel's guild; None in direct messages."""
    kind: MessageKind
    """Its type."""
    author: User
    """Who wrote it; the name and face used, for a webhook."""
    content: str
    """Its text, without whitespace at either end."""
    created_at: datetime
    """UTC."""
    edited_at: datetime | None = None
    """UTC; None while unedited."""
    reply_to: MessageId | None = None
    """The message it replies to."""
    webhook_id: WebhookId | None = None
    """The webhook that posted it."""
    allowed_mentions: AllowedMentions | None = None
    """As sent; None where the field was left out, which lets everything ping."""
    pings: Pings = Pings()
    """Whom it notified."""
    nonce: str | int | None = None
    """As sent."""
    flags: int = 0
    """Message flags."""
    embeds: tuple[JsonObject, ...] = ()
    """As sent."""
    components: tuple[JsonObject, ...] = ()
    """As sent."""
    attachments: tuple[Attachment, ...] = ()
    """Its files."""


class Webhook(Struct, frozen=True, kw_only=True):
    """An incoming webhook."""

    id: WebhookId
    """Its id."""
    token: str
    """What lets anybody post through it."""
    channel_id: ChannelId
    """Where it posts; threads of that channel too."""
    guild_id: GuildId
    """The channel's guild."""
    name: str
    """The name that posts bear unless they bring their own."""
    avatar: str | None = None
    """A hash of its image."""
    creator_id: UserId
    """Who made it."""
