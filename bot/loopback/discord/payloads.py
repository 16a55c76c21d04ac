"""Entities as Discord writes them in JSON, with every field that a strict client asks for."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import count

import msgspec

from bot.loopback.discord.entities import (
    BOT_PERMISSIONS,
    Attachment,
    Channel,
    ChannelKind,
    Emoji,
    Guild,
    JsonObject,
    MessageKind,
    Role,
    StoredMessage,
    User,
    Webhook,
)
from bot.loopback.discord.snowflakes import created_at
from bot.loopback.discord.world import World


def timestamp(moment: datetime) -> str:
    """Return an ISO 8601 time as Discord writes it."""
    return moment.isoformat(timespec="microseconds")


def user_json(user: User) -> JsonObject:
    """Return a user."""
    return {
        "id": str(user.id),
        "username": user.username,
        "global_name": user.display_name,
        "discriminator": "0",
        "avatar": user.avatar,
        "bot": user.is_bot,
        "public_flags": 0,
    }


def own_user_json(user: User) -> JsonObject:
    """Return the bot's user as it sees itself."""
    return user_json(user) | {"mfa_enabled": True, "verified": True, "email": None, "flags": 0}


def application_json(world: World) -> JsonObject:
    """Return the bot's application, whose id is the bot's."""
    return {
        "id": str(world.bot.id),
        "name": world.bot.display_name,
        "description": "",
        "icon": None,
        "bot_public": False,
        "bot_require_code_grant": False,
        "owner": user_json(world.owner),
        "verify_key": "00" * 32,
        "flags": 0,
        "team": None,
        "approximate_guild_count": len(world.guilds),
        "approximate_user_install_count": 0,
    }


def member_json(world: World, guild_id: int, user: User, *, with_user: bool = True) -> JsonObject:
    """Return a user's membership of a guild."""
    body: JsonObject = {
        "nick": world.nickname(guild_id, user.id),
        "roles": [],
        "joined_at": timestamp(created_at(user.id)),
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
    }
    return body | {"user": user_json(user)} if with_user else body


def role_json(role: Role, position: int = 0) -> JsonObject:
    """Return a role."""
    return {
        "id": str(role.id),
        "name": role.name,
        "color": 0,
        "hoist": False,
        "position": position,
        "permissions": str(role.permissions),
        "managed": False,
        "mentionable": True,
    }


def emoji_json(emoji: Emoji) -> JsonObject:
    """Return a custom emoji."""
    return {
        "id": str(emoji.id),
        "name": emoji.name,
        "animated": emoji.is_animated,
        "require_colons": True,
        "managed": False,
        "available": True,
        "roles": [],
    }


def channel_json(world: World, channel: Channel) -> JsonObject:
    """Return a channel of any kind."""
    last = world.last_message_id(channel.id)
    body: JsonObject = {
        "id": str(channel.id),
        "type": int(channel.kind),
        "last_message_id": None if last is None else str(last),
        "flags": 0,
    }
    if channel.recipient_id is not None:
        return body | {"recipients": [user_json(world.users[channel.recipient_id])]}
    body |= {
        "guild_id": str(channel.guild_id),
        "name": channel.name,
        "parent_id": None if channel.parent_id is None else str(channel.parent_id),
        "rate_limit_per_user": 0,
    }
    if channel.kind is ChannelKind.PUBLIC_THREAD:
        return body | _thread_json(world, channel)
    text: JsonObject = {"topic": None, "nsfw": False, "position": 0, "permission_overwrites": []}
    return body | text


def _thread_json(world: World, thread: Channel) -> JsonObject:
    return {
        "owner_id": str(world.bot.id),
        "member_count": len(world.users),
        "message_count": len(world.messages(thread.id)),
        "thread_metadata": {
            "archived": False,
            "locked": False,
            "auto_archive_duration": 1440,
            "archive_timestamp": timestamp(created_at(thread.id)),
        },
    }


def guild_json(guild: Guild) -> JsonObject:
    """Return a guild as REST gives it."""
    return {
        "id": str(guild.id),
        "name": guild.name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "banner": None,
        "description": None,
        "vanity_url_code": None,
        "owner_id": str(guild.owner_id),
        "application_id": None,
        "afk_channel_id": None,
        "system_channel_id": None,
        "rules_channel_id": None,
        "public_updates_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "nsfw_level": 0,
        "premium_tier": 0,
        "system_channel_flags": 0,
        "max_members": 500_000,
        "max_presences": None,
        "preferred_locale": "en-US",
        "features": [],
        "roles": [role_json(role, place) for place, role in enumerate(guild.roles)],
        "emojis": [emoji_json(emoji) for emoji in guild.emojis],
        "stickers": [],
    }


def guild_create_json(world: World, guild: Guild) -> JsonObject:
    """Return a guild as the gateway announces it, with all that is in it."""
    inside = world.guild_channels(guild.id)
    threads = [one for one in inside if one.kind is ChannelKind.PUBLIC_THREAD]
    channels = [one for one in inside if one.kind is not ChannelKind.PUBLIC_THREAD]
    return guild_json(guild) | {
        "joined_at": timestamp(created_at(guild.id)),
        "large": False,
        "member_count": len(world.users),
        "members": [member_json(world, guild.id, user) for user in world.users.values()],
        "channels": [channel_json(world, one) for one in channels],
        "threads": [channel_json(world, one) for one in threads],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
    }


def own_guild_json(world: World, guild: Guild) -> JsonObject:
    """Return a guild as it stands in the list of the bot's guilds."""
    return {
        "id": str(guild.id),
        "name": guild.name,
        "icon": None,
        "owner": False,
        "permissions": str(int(BOT_PERMISSIONS)),
        "features": [],
        "approximate_member_count": len(world.users),
        "approximate_presence_count": len(world.users),
    }


def attachment_json(attachment: Attachment, channel_id: int, files: str) -> JsonObject:
    """Return an attachment; `files` is the address below which the server hands them out."""
    url = f"{files}/{channel_id}/{attachment.id}/{attachment.filename}"
    return {
        "id": str(attachment.id),
        "filename": attachment.filename,
        "content_type": attachment.content_type,
        "size": len(attachment.data),
        "url": url,
        "proxy_url": url,
    }


def message_json(
    world: World, message: StoredMessage, *, files: str = "", for_gateway: bool = False
) -> JsonObject:
    """Return a message; only the gateway adds its guild and the author's membership."""
    body = _plain_message_json(world, message, files)
    if message.kind is MessageKind.REPLY and message.reply_to is not None:
        # One level deep, as Discord does: the source of the source is only referred to.
        source = world.find(message.channel_id, message.reply_to)
        body["referenced_message"] = (
            None if source is None else _plain_message_json(world, source, files)
        )
    if for_gateway and message.guild_id is not None:
        body["guild_id"] = str(message.guild_id)
        if message.webhook_id is None:
            guild_id, author = message.guild_id, message.author
            body["member"] = member_json(world, guild_id, author, with_user=False)
    return body


def _plain_message_json(world: World, message: StoredMessage, files: str) -> JsonObject:
    body: JsonObject = {
        "id": str(message.id),
        "channel_id": str(message.channel_id),
        "type": int(message.kind),
        "author": user_json(message.author),
        "content": message.content,
        "timestamp": timestamp(message.created_at),
        "edited_timestamp": None if message.edited_at is None else timestamp(message.edited_at),
        "tts": False,
        "mention_everyone": message.pings.everyone,
        "mentions": [user_json(world.users[one]) for one in message.pings.users],
        "mention_roles": [str(one) for one in message.pings.roles],
        "attachments": [
            attachment_json(one, message.channel_id, files) for one in message.attachments
        ],
        "embeds": list(message.embeds),
        "components": _numbered(message.components, count(1)),
        "pinned": False,
        "flags": message.flags,
    }
    if message.nonce is not None:
        body["nonce"] = message.nonce
    if message.webhook_id is not None:
        body["webhook_id"] = str(message.webhook_id)
        body["application_id"] = str(world.bot.id)
    if message.reply_to is not None:
        body["message_reference"] = _reference_json(message, message.reply_to)
    return body


def _numbered(components: Iterable[JsonObject], numbers: Iterator[int]) -> list[JsonObject]:
    """Return components with the ids that Discord gives to those that bring none."""
    numbered: list[JsonObject] = []
    for one in components:
        named: JsonObject = {"id": next(numbers)} | one
        inner = msgspec.convert(one.get("components", ()), tuple[JsonObject, ...])
        if inner:
            named["components"] = _numbered(inner, numbers)
        numbered.append(named)
    return numbered


def _reference_json(message: StoredMessage, reply_to: int) -> JsonObject:
    reference: JsonObject = {
        "type": 0,
        "message_id": str(reply_to),
        "channel_id": str(message.channel_id),
    }
    if message.guild_id is not None:
        reference["guild_id"] = str(message.guild_id)
    return reference


def webhook_json(world: World, webhook: Webhook) -> JsonObject:
    """Return a webhook with its token, which its maker may see."""
    return {
        "id": str(webhook.id),
        "type": 1,
        "guild_id": str(webhook.guild_id),
        "channel_id": str(webhook.channel_id),
        "application_id": str(world.bot.id),
        "name": webhook.name,
        "avatar": webhook.avatar,
        "token": webhook.token,
        "user": user_json(world.users[webhook.creator_id]),
    }
