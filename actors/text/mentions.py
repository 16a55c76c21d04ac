"""Mentions as Discord writes them, and whom a message may ping.

A model writes `@Ann`, `@{Ann}`, `@(Ann)`, `@[Ann]` or `@Ann|<id>`. A name that exactly one member
of the conversation goes by becomes their mention; another persona's stays, since it asks that
persona; any other loses its `@`. An id counts only if it is a member's. `@everyone` and `@here` are
left as they are, and ping nobody: a message may ping the members that stand in it, nobody else.

Code is left alone, and so is what is no handle though it is not marked as code: a package, a call
or an address that begins with `@`, one that is escaped, and the words that programs put behind one.
"""

import re
from functools import lru_cache
from typing import Final

from actors.text.code_mask import prose
from actors.text.config import TextConfig
from actors.text.names import find_person
from actors.text.tape import Edit, Tape

_MENTION: Final = re.compile(
    r"(?<![\w<@\\])@(?:\{(?P<curly>[^{}\n]{1,64})\}|\((?P<round>[^()\n]{1,64})\)"
    r"|\[(?P<square>[^\[\]\n]{1,64})\]|(?P<bare>[\w-]{1,32})(?![\w-])(?:\|(?P<id>\d{17,20}))?)"
)
_WRITTEN: Final = re.compile(r"<@!?(\d{1,24})>")
_GOES_ON: Final = re.compile(r"[/\\.:=@][\w-]|\(")
"""What follows a name that is part of something else."""
_CODE_WORDS: Final = re.compile(
    r"media|import|charset|supports|keyframes|font-face|layer|container|page|namespace|apply"
    r"|property|staticmethod|classmethod|dataclass|override|overload|abstractmethod"
    r"|contextmanager|cached_property|cache|lru_cache|wraps|pytest|nullable|nonnull|autowired"
    r"|entity|test|suppresswarnings|functionalinterface|component|injectable|input|output"
    r"|mainactor|state|published|objc|escaping|available|deprecated"
    r"|params?|returns?|throws|type|typedef|example|see|since|todo",
    re.IGNORECASE,
)
"""At-words of style sheets, decorators, annotations and comments."""
_EVERYBODY: Final = frozenset(("everyone", "here"))


def write_mentions(tape: Tape, config: TextConfig) -> None:
    """Write handles as mentions."""
    if "@" not in tape.text:
        return
    edits: list[Edit] = []
    for match in _MENTION.finditer(prose(tape.text)):
        handle = match["curly"] or match["round"] or match["square"] or match["bare"]
        written = _written(handle.strip(), match["id"], config)
        if written is None and match["bare"] and _is_code(match):
            continue
        if handle.casefold() not in _EVERYBODY:
            edits.append((*match.span(), handle.strip() if written is None else written))
    tape.edit(edits, "mention")


def mentioned(content: str, config: TextConfig) -> tuple[int, ...]:
    """Return the members whom a message mentions, in order, each once."""
    if "<@" not in content:
        return ()
    known = _members(config)
    found = (int(one) for one in _WRITTEN.findall(prose(content)))
    return tuple(dict.fromkeys(one for one in found if one in known))


def _is_code(match: re.Match[str]) -> bool:
    is_part = _GOES_ON.match(match.string, match.end()) is not None
    return is_part or _CODE_WORDS.fullmatch(match["bare"]) is not None


def _written(handle: str, user_id: str | None, config: TextConfig) -> str | None:
    """Return whom a handle stands for, as Discord is told; None for nobody who is known."""
    if user_id is not None and int(user_id) in _members(config):
        return f"<@{user_id}>"
    person = find_person(handle, config.participants)
    if person is None:
        return None
    return f"@{person.names[0]}" if person.user_id is None else f"<@{person.user_id}>"


@lru_cache(maxsize=64)
def _members(config: TextConfig) -> frozenset[int]:
    return frozenset(one.user_id for one in config.participants if one.user_id is not None)
