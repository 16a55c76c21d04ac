"""What a turn's text may name, read from the channel's past before the turn begins.

Whoever wrote there lately takes part, under the name shown and the unique one, and so do the bot's
other personas. It is recorded with the turn: a replay reads the same, whoever has written since.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from actors.generation.start import StartTurn
from actors.ports import HistoryMessage
from actors.text.code_mask import prose
from actors.text.names import ANY_LABEL, has_word
from events.base import UserId
from events.scene import Participant, Scene, ServerEmoji

RECENT_MESSAGES: Final = 5
"""Messages of the persona in which an emoji counts as used lately."""
MOST_LABELS: Final = 50
"""Labels of the past that are remembered, the oldest first."""

_SHORTCODE: Final = re.compile(r"(?<![\w:]):([A-Za-z0-9_]{2,32}):(?!\w*:)")
_TAG: Final = re.compile(r"<a?:(\w{2,32}):\d{1,24}>")


def scene_of(
    start: StartTurn, history: Sequence[HistoryMessage], emojis: Sequence[ServerEmoji]
) -> Scene:
    """Return the scene of a turn.

    Args:
        start: The turn.
        history: The channel's past, oldest first.
        emojis: Custom emojis of the guild.
    """
    persona = start.persona
    return Scene(
        aliases=persona.triggers,
        sprites=tuple(sprite.key for sprite in persona.sprites),
        participants=tuple(_participants(start, history)),
        emojis=tuple(emojis),
        recent_emojis=_recent_emojis(start, history),
        seen_labels=tuple(islice(dict.fromkeys(_labels(history)), MOST_LABELS)),
    )


def _participants(start: StartTurn, history: Sequence[HistoryMessage]) -> list[Participant]:
    personas = {one.name.casefold() for one in start.personas}
    own = start.persona.name.casefold()
    people: dict[int, tuple[str, ...]] = {}
    for message in history:
        if not message.is_own and message.author_name.casefold() not in personas:
            people[message.author_id] = (message.author_name, message.author_handle)
    asker = start.trigger
    known = people.get(asker.author_id, ())
    people[asker.author_id] = (asker.author_name, *known)
    members = [
        Participant(user_id=UserId(user), names=tuple(dict.fromkeys(filter(None, names))))
        for user, names in people.items()
        if any(names)
    ]
    others = [one for one in start.personas if one.name.casefold() != own]
    return members + [Participant(names=(one.name, *one.triggers)) for one in others]


def _recent_emojis(start: StartTurn, history: Sequence[HistoryMessage]) -> tuple[str, ...]:
    name = start.persona.name.casefold()
    said = [
        one.content
        for one in history
        if (one.is_own and not start.is_alter) or one.author_name.casefold() == name
    ]
    used: list[str] = []
    for content in said[-RECENT_MESSAGES:]:
        used += _TAG.findall(content)
        used += _SHORTCODE.findall(_TAG.sub(" ", content))
    return tuple(dict.fromkeys(one.lower() for one in used))


def _labels(history: Iterable[HistoryMessage]) -> Iterable[str]:
    for message in history:
        plain = _SHORTCODE.sub("", _TAG.sub("", prose(message.content)))
        for line in plain.splitlines():
            match = ANY_LABEL.match(line)
            if match is not None and has_word(match["name"]):
                yield match["name"].strip().casefold()
