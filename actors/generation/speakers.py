"""Whose words a message of the past is.

The bot's own account speaks for the main persona, and for another one where no webhook could: the
name stands before the text then, and is taken off again, lest the model learns to write it. What
an application's webhook posted under a persona's name is that persona's. The name alone would not
do: any member can take it.
"""

import re
from collections.abc import Sequence
from typing import Final

from actors.ports import HistoryMessage
from actors.voice import allowed
from events.settings import Persona

_PREFIX: Final = re.compile(r"\*\*(?P<name>[^*\n]{1,80}):\*\* ")
_DECORATED: Final = re.compile(r"(?P<shown>.+) \((?P<name>[^()]+)\)")


def speaker_of(message: HistoryMessage, personas: Sequence[Persona]) -> tuple[Persona | None, str]:
    """Return the persona that said `message` and its words; None and the text where none did.

    Args:
        message: A message of the past.
        personas: Who the bot can be there, the main persona first.
    """
    if message.is_own:
        prefix = _PREFIX.match(message.content)
        persona = None if prefix is None else _called(prefix["name"], personas)
        if prefix is None or persona is None:
            return personas[0], message.content
        return persona, message.content[prefix.end() :]
    if not message.is_persona_like:
        return None, message.content
    persona = _called(message.author_name, personas)
    if persona is None and (decorated := _DECORATED.fullmatch(message.author_name)):
        persona = _called(decorated["name"], personas)
    return persona, message.content


def _called(name: str, personas: Sequence[Persona]) -> Persona | None:
    wanted = name.strip().casefold()
    for one in personas:
        if wanted in {one.name.strip().casefold(), allowed(one.name).casefold()}:
            return one
    return None
