"""Which messages ask for an answer, and of whom; pure, so that it can be read and tested alone."""

import re
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from actors.ports import Quote
from actors.text.mention_names import USER_MENTION, with_names
from events.base import ChannelId, GuildId, MessageId, TriggerId, TurnId, UserId
from events.settings import Persona
from events.turn import StopKind, TriggerKind, TriggerReceived


class Triggers(Protocol):
    """Who is told what the gateway hears."""

    async def trigger(self, trigger: TriggerReceived) -> None:
        """Take a trigger; one whose id was seen before changes nothing."""
        ...

    async def stop(self, channel_id: ChannelId, requester: str, kind: StopKind) -> TurnId | None:
        """Stop the channel's running turn and return its id; None where nothing runs."""
        ...


class MessageFacts(Struct, frozen=True, kw_only=True):
    """What a message is judged by."""

    message_id: MessageId
    """The message."""
    channel_id: ChannelId
    """Where it stands."""
    guild_id: GuildId | None
    """The guild; None in direct messages."""
    author_id: UserId
    """Who wrote it."""
    author_name: str
    """Their display name there."""
    is_human: bool
    """Whether a person's account wrote it: no bot, webhook or system."""
    is_ordinary: bool
    """Whether it is a message or a reply, and not Discord's note of a pin, a boost or a join."""
    content: str
    """The text as Discord sent it."""
    mentions: Mapping[int, str]
    """Display names of the users it mentions, by id."""
    replies_to: UserId | None
    """The author of the message it replies to."""
    quote: Quote | None = None
    """The beginning of that message."""
    extras: tuple[str, ...] = ()
    """What comes with it beside the text, a few words each."""


def trigger_of(
    facts: MessageFacts, personas: tuple[Persona, ...], own_id: UserId
) -> TriggerReceived | None:
    """Return the trigger that a message is, None where it asks nothing of the bot.

    A trigger word picks its persona, wherever the message stands and whatever else makes it a
    trigger; where several stand in it, the first does. Without one the main persona is asked.

    Args:
        facts: The message.
        personas: Those in force where it stands, the main one first.
        own_id: The bot's user.
    """
    if not (facts.is_human and facts.is_ordinary) or facts.author_id == own_id:
        return None
    persona = _called(facts.content, personas)
    kind = _kind(facts, own_id, has_word=persona is not None)
    if kind is None:
        return None
    return TriggerReceived(
        trigger_id=TriggerId(str(facts.message_id)),
        trigger=kind,
        channel_id=facts.channel_id,
        guild_id=facts.guild_id,
        message_id=facts.message_id,
        author_id=facts.author_id,
        author_name=facts.author_name,
        content=_readable(facts, own_id),
        persona=(persona or personas[0]).name,
        quoted_author=facts.quote.author_name if facts.quote else "",
        quoted=facts.quote.beginning if facts.quote else "",
        extras=facts.extras,
    )


def _kind(facts: MessageFacts, own_id: UserId, *, has_word: bool) -> TriggerKind | None:
    if facts.guild_id is None:
        return "direct"
    # A reply that pings its author lists them among the mentions, without a word in the text; a
    # mention inside of code stands in the text, and Discord lists nobody.
    written = {int(found) for found in USER_MENTION.findall(facts.content)}
    if own_id in written and own_id in facts.mentions:
        return "mention"
    if facts.replies_to == own_id:
        return "reply"
    return "word" if has_word else None


def _called(content: str, personas: tuple[Persona, ...]) -> Persona | None:
    text = USER_MENTION.sub(" ", content)
    places: list[tuple[int, Persona]] = []
    for persona in personas:
        for word in persona.triggers:
            whole = rf"(?<!\w){re.escape(word.strip())}(?!\w)"
            found = re.search(whole, text, re.IGNORECASE)
            if found is not None:
                places.append((found.start(), persona))
    return min(places, key=lambda place: place[0])[1] if places else None


def _readable(facts: MessageFacts, own_id: UserId) -> str:
    address = re.compile(rf"^(?:\s*<@!?{own_id}>[ \t]*[,:]?)+\s*")
    text = address.sub("", facts.content)
    return with_names(text, facts.mentions).strip()
