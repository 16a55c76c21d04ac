"""The rules by which a message is accepted, the same on every way in: bot, webhook, interaction.

Lengths are counted in code points, as Discord does; whitespace at either end is dropped, and a
message of which nothing is left is refused.
"""

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from bot.loopback.discord.calls import Upload
from bot.loopback.discord.entities import (
    AllowedMentions,
    Attachment,
    Channel,
    JsonObject,
    MessageKind,
    StoredMessage,
    User,
    WebhookId,
)
from bot.loopback.discord.mentions import check_allowed_mentions, pings_of
from bot.loopback.discord.refusals import RefusedError, invalid
from bot.loopback.discord.snowflakes import created_at
from bot.loopback.discord.world import World
from events.base import MessageId

CONTENT_LIMIT = 2000
"""Code points of a message's content."""
EMBED_LIMIT = 10
"""Embeds of a message."""
NONCE_LIMIT = 25
"""Code points of a nonce."""


class Reference(Struct, frozen=True, kw_only=True):
    """Which message a new one replies to."""

    message_id: str
    """Its id, in decimal."""
    channel_id: str | None = None
    """Its channel; None is the new message's."""
    fail_if_not_exists: bool = True
    """Whether the post is refused where there is no such message, or goes out plain."""


class MessageBody(Struct, frozen=True, kw_only=True):
    """The body of a post or an edit; an edit leaves alone what is unset."""

    content: str | UnsetType | None = UNSET
    """The text."""
    nonce: str | int | None = None
    """A mark of the sender's."""
    enforce_nonce: bool = False
    """Whether a second message with this nonce is the first one again."""
    flags: int | None = None
    """Message flags."""
    embeds: tuple[JsonObject, ...] | UnsetType | None = UNSET
    """Embeds."""
    components: tuple[JsonObject, ...] | UnsetType | None = UNSET
    """Components."""
    sticker_ids: tuple[str, ...] | None = None
    """Stickers: they count as content, and are not kept."""
    allowed_mentions: AllowedMentions | None = None
    """Whom it may ping; None lets everything ping."""
    message_reference: Reference | None = None
    """What it replies to."""
    username: str | None = None
    """The name of a webhook's post."""
    avatar_url: str | None = None
    """The face of a webhook's post."""


class Origin(Struct, frozen=True, kw_only=True):
    """Who posts, and how."""

    author: User
    """The author as shown."""
    webhook_id: WebhookId | None = None
    """The webhook, where one posts."""
    kind: MessageKind = MessageKind.DEFAULT
    """The message's type, unless it becomes a reply."""


def compose(
    world: World, channel: Channel, origin: Origin, body: MessageBody, uploads: tuple[Upload, ...]
) -> StoredMessage:
    """Return the message that `body` makes, not stored yet.

    Raises:
        RefusedError: 50035 or 50006, it breaks a rule.
    """
    content = checked_content(body)
    embeds, components = body.embeds or (), body.components or ()
    if not (content or embeds or components or body.sticker_ids or uploads):
        raise RefusedError(400, 50006)
    source = _source(world, channel, body.message_reference)
    message_id = MessageId(world.new_id())
    return StoredMessage(
        id=message_id,
        channel_id=channel.id,
        guild_id=channel.guild_id,
        kind=origin.kind if source is None else MessageKind.REPLY,
        author=origin.author,
        content=content,
        created_at=created_at(message_id),
        reply_to=None if source is None else source.id,
        webhook_id=origin.webhook_id,
        allowed_mentions=body.allowed_mentions,
        pings=pings_of(
            content,
            body.allowed_mentions,
            users=world.users,
            guild=None if channel.guild_id is None else world.guilds[channel.guild_id],
            source=source,
        ),
        nonce=body.nonce,
        flags=body.flags or 0,
        embeds=embeds,
        components=components,
        attachments=_attachments(world, uploads),
    )


def amend(
    world: World, message: StoredMessage, body: MessageBody, uploads: tuple[Upload, ...]
) -> StoredMessage:
    """Return the message as `body` changes it, not stored yet; an edit notifies nobody anew.

    Raises:
        RefusedError: 50035 or 50006, it breaks a rule.
    """
    content = message.content if body.content is UNSET else checked_content(body)
    embeds = message.embeds if body.embeds is UNSET else body.embeds or ()
    components = message.components if body.components is UNSET else body.components or ()
    attachments = (*message.attachments, *_attachments(world, uploads))
    if not (content or embeds or components or attachments):
        raise RefusedError(400, 50006)
    return replace(
        message,
        content=content,
        embeds=embeds,
        components=components,
        attachments=attachments,
        allowed_mentions=body.allowed_mentions or message.allowed_mentions,
        flags=message.flags if body.flags is None else body.flags,
    )


def checked_content(body: MessageBody) -> str:
    """Return the content without whitespace at its ends.

    Raises:
        RefusedError: 50035, the content, embeds, nonce or allowed mentions break a limit.
    """
    content = body.content or ""
    if len(content) > CONTENT_LIMIT:
        sentence = f"Must be {CONTENT_LIMIT} or fewer in length."
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", sentence)
    if body.embeds and len(body.embeds) > EMBED_LIMIT:
        sentence = f"Must be {EMBED_LIMIT} or fewer in length."
        raise invalid("embeds", "BASE_TYPE_MAX_LENGTH", sentence)
    if isinstance(body.nonce, str) and len(body.nonce) > NONCE_LIMIT:
        raise invalid("nonce", "NONCE_TYPE_TOO_LONG", f"at most {NONCE_LIMIT} characters")
    if body.allowed_mentions is not None:
        check_allowed_mentions(body.allowed_mentions)
    return content.strip()


def _source(world: World, channel: Channel, reference: Reference | None) -> StoredMessage | None:
    if reference is None:
        return None
    here = reference.channel_id in {None, str(channel.id)}
    number = int(reference.message_id) if reference.message_id.isdigit() else 0
    source = world.find(channel.id, number) if here else None
    if source is None and reference.fail_if_not_exists:
        raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    return source


def _attachments(world: World, uploads: tuple[Upload, ...]) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(
            id=world.new_id(),
            filename=upload.filename,
            content_type=upload.content_type,
            data=upload.data,
        )
        for upload in uploads
    )
