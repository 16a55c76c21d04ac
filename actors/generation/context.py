"""What the model is given: instructions, the channel's past, and the message to answer.

The persona that answers speaks without a name; everybody else stands under theirs, other personas
too, and other bots are marked as such. A reply says what it replies to, and what comes beside a
text (files, stickers, cards) follows it in brackets. The bot's own notices are no part of the
conversation: they are nobody's words, and a model that reads them writes more of them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from actors.generation.speakers import speaker_of
from actors.generation.start import StartTurn
from actors.ports import HistoryMessage
from actors.providers.adapter import ContextItem
from events.base import MessageId

_MARKUP: Final = (
    (re.compile(r"<a?:(\w{2,32}):\d{1,20}>"), r":\1:"),
    (re.compile(r"<@&\d{1,20}>"), "@role"),
    (re.compile(r"<#\d{1,20}>"), "#channel"),
    (re.compile(r"</([\w -]{1,100}):\d{1,20}>"), r"/\1"),
)


def conversation(
    start: StartTurn, history: Sequence[HistoryMessage], is_notice: Callable[[str], bool]
) -> tuple[ContextItem, ...]:
    """Return the context of a turn: the system prompt, then who said what, the trigger last.

    Messages that still wait for their own turn are left out, and so is the trigger where the
    history repeats it.

    Args:
        start: The turn.
        history: The channel's past, oldest first.
        is_notice: Whether a text of the bot's own account is one of its notices.
    """
    skipped: Collection[MessageId | None] = {*start.waiting, start.trigger.message_id}
    items = [ContextItem(role="system", content=start.instructions)]
    if start.notes:
        notes = "\n".join(f"- {note}" for note in start.notes)
        items.append(
            ContextItem(role="system", content=f"Notes you kept in this channel:\n{notes}")
        )
    past = [message for message in history if message.message_id not in skipped]
    told = (_told(message, start, is_notice) for message in past)
    items += [item for item in told if item is not None]
    items.append(_asked(start))
    return tuple(items)


def _told(
    message: HistoryMessage, start: StartTurn, is_notice: Callable[[str], bool]
) -> ContextItem | None:
    persona, words = speaker_of(message, start.personas)
    if persona is None:
        content = _with(_readable(words), message.extras)
        mark = " (bot)" if message.is_bot and not message.is_persona_like else ""
        reply = message.reply
        quote = "" if reply is None else _quoted(reply.author_name, reply.beginning)
        return _said(f"{message.author_name}{mark}{quote}", content) if content else None
    if is_notice(words) or not words.strip():
        return None
    if persona is start.persona:
        return ContextItem(role="model", content=_readable(words))
    return _said(persona.name, _readable(words))


def _asked(start: StartTurn) -> ContextItem:
    trigger = start.trigger
    quote = _quoted(trigger.quoted_author, trigger.quoted) if trigger.quoted_author else ""
    content = _with(_readable(trigger.content), trigger.extras)
    return _said(f"{trigger.author_name}{quote}", content)


def _quoted(author: str, beginning: str) -> str:
    said = f": \u201c{_readable(beginning)}\u201d" if beginning else ""
    return f" (in reply to {author}{said})"


def _with(content: str, extras: Iterable[str]) -> str:
    return "\n".join(part for part in (content, *(f"[{one}]" for one in extras)) if part.strip())


def _readable(content: str) -> str:
    """Return `content` with Discord's markup of emojis, roles, channels and commands in words."""
    for markup, words in _MARKUP:
        content = markup.sub(words, content)
    return content


def _said(name: str, content: str) -> ContextItem:
    return ContextItem(role="user", content=f"{name}: {content}")
