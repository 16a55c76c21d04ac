"""Messages of a channel's past, in the words that a model is given of them.

Discord hands out a message as it was last edited. What a reader sees beside its text (files,
stickers, cards, what was forwarded) is put into a few words each: a model that is told of a file
asks for it, one that is told nothing invents it. Contents of files are not fetched here.
"""

from collections.abc import Iterable
from typing import Final

import hikari

from actors.ports import HistoryMessage, Quote
from actors.text.mention_names import with_names
from events.base import MessageId

QUOTE_CHARACTERS: Final = 80
"""Longest beginning of a message that another one replies to."""
EMBED_CHARACTERS: Final = 200
"""Longest beginning of what a card says, or of what was forwarded."""

_KIB: Final = 1024


def remembered(message: hikari.Message, own_id: int) -> HistoryMessage:
    """Return a message as context, `own_id` being the bot's user."""
    author = message.author
    return HistoryMessage(
        message_id=MessageId(int(message.id)),
        author_id=int(author.id),
        author_name=_name(author),
        author_handle=str(author.username),
        is_own=int(author.id) == own_id,
        is_bot=bool(author.is_bot),
        is_persona_like=message.webhook_id is not None and message.application_id is not None,
        content=_resolved(message),
        reply=quote_of(message),
        extras=extras_of(message),
    )


def quote_of(message: hikari.Message) -> Quote | None:
    """Return the beginning of what a message replies to, None where that is nothing, or gone."""
    source = message.referenced_message
    if source is None or message.type is not hikari.MessageType.REPLY or not source.author:
        return None
    return Quote(
        author_name=_name(source.author), beginning=_beginning(_resolved(source), QUOTE_CHARACTERS)
    )


def extras_of(message: hikari.Message) -> tuple[str, ...]:
    """Return what comes with a message beside its text, a few words each, in Discord's order."""
    found = [*_files(message.attachments)]
    found += [f"sticker: {one.name}" for one in message.stickers]
    found += [words for one in message.embeds if (words := _card(one))]
    for one in message.message_snapshots:
        found.append(f"forwarded: {_beginning(one.content or '', EMBED_CHARACTERS)}".rstrip())
        found += _files(one.attachments)
    return tuple(found)


def _files(attachments: Iterable[hikari.Attachment]) -> list[str]:
    return [
        f"attachment: {one.filename}, {one.media_type or 'unknown type'}, {_size(one.size)}"
        for one in attachments
    ]


def _size(count: int) -> str:
    return f"{count} bytes" if count < _KIB else f"{count / _KIB:.0f} KiB"


def _card(embed: hikari.Embed) -> str:
    parts = (embed.author and embed.author.name, embed.title, embed.description)
    words = _beginning(" \u2013 ".join(part for part in parts if part), EMBED_CHARACTERS)
    return f"embed: {words}" if words else ""


def _beginning(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}\u2026"


def _resolved(message: hikari.PartialMessage) -> str:
    mentioned = message.user_mentions or {}
    names = {int(user_id): _name(user) for user_id, user in mentioned.items()}
    return with_names(message.content or "", names)


def _name(user: hikari.User) -> str:
    return str(user.global_name or user.username)
