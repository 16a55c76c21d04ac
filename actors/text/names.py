"""Names before a colon: whose they are, and how they are written.

A label is a name of up to 64 characters before a colon, plain or within matching formatting, its
colon inside or outside; wide parentheses and colons count. Letter case never matters. The longest
name is tried first, so that an alias that begins another one does not eat its beginning.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from actors.text.config import TextConfig
from events.scene import Participant

COLON: Final = r"[:\uff1a]"
BLANK: Final = r"[^\S\n]*"
_ROLES: Final = frozenset(("user", "assistant", "system", "human"))
_DECORATION: Final = r"(?P<{group}>`|\*\*|__|\*|_)"
_MODIFIER: Final = (
    r"[(\uff08][^\S\n]*(?P<modifier>[^()\uff08\uff09:\uff1a\n]{1,64}?)[^\S\n]*[)\uff09]"
)
_MACRO: Final = r"\{\{?(?:bot|char|user|persona|name)\}?\}"
_LABEL_NAME: Final = r"(?P<name>[^()\uff08\uff09:\uff1a\n]{1,64}?)"
_NO_LABEL: Final = r"(?![\[<>#`~\-\u2022]|\d+[.)]|[*+][^\S\n])"

ANY_LABEL: Final = re.compile(
    rf"{BLANK}{_NO_LABEL}(?:{_DECORATION.format(group='mark')})?{_LABEL_NAME}{BLANK}"
    rf"(?:{_MODIFIER}{BLANK})?(?(mark)(?:{COLON}(?P=mark)|(?P=mark){COLON})|{COLON}){BLANK}"
)
"""A label of anybody: `name`, and `modifier` where it has one."""


class Names:
    """The names that a turn knows."""

    def __init__(self, config: TextConfig) -> None:
        own = [name for name in (config.persona, *config.aliases) if name]
        self._own = {name.casefold() for name in own}
        others = [name for one in config.participants for name in one.names if name]
        self._others = {name.casefold() for name in others} - self._own
        self._seen = {label.casefold() for label in config.seen_labels}
        one = _any_of(own)
        everybody = _any_of([*own, *others])
        plain = rf"(?:{one}){BLANK}{COLON}"
        self.head = re.compile(
            rf"\s*(?:(?:{plain}|{_decorated(one, 'head')}|{_MACRO}{BLANK}{COLON}){BLANK})+",
            re.IGNORECASE,
        )
        """A chain of labels of the speaker's own at a text's beginning."""
        chain = rf"(?:(?:{everybody}){BLANK}{COLON}{BLANK})*"
        modified = (
            rf"(?:{_DECORATION.format(group='mark')})?(?:{one}){BLANK}{_MODIFIER}{BLANK}"
            rf"(?(mark)(?:{COLON}(?P=mark)|(?P=mark){COLON})|{COLON}){BLANK}"
        )
        self.modified = re.compile(rf"\s*{chain}{modified}", re.IGNORECASE)
        """A label of the speaker's own with a modifier, behind any chain of known labels."""
        self.modified_line = re.compile(rf"(?<=\n){BLANK}{modified}", re.IGNORECASE)
        """The same without the chain, at the beginning of a later line."""
        persona = _any_of([config.persona])
        self.own_label = re.compile(
            rf"(?:{persona}){BLANK}{COLON}{BLANK}|{_decorated(one, 'own')}{BLANK}", re.IGNORECASE
        )
        """The persona's label, or a decorated one of an alias, anywhere."""

    def is_own(self, name: str) -> bool:
        """Return whether `name` is the speaker's."""
        return name.strip().casefold() in self._own

    def is_participant(self, name: str) -> bool:
        """Return whether `name` is somebody else's who takes part."""
        return name.strip().casefold() in self._others

    def speaks(self, name: str) -> bool:
        """Return whether a line that begins with `name` is somebody else's."""
        folded = name.strip().casefold()
        if not has_word(name) or folded in self._own:
            return False
        return folded in self._others or folded in _ROLES or folded in self._seen


@lru_cache(maxsize=64)
def names_of(config: TextConfig) -> Names:
    """Return the names that `config` gives, compiled once."""
    return Names(config)


def find_sprite(modifier: str, sprites: Iterable[str]) -> str:
    """Return the sprite that `modifier` names, whatever its case and spacing; empty if none."""
    return next((key for key in sprites if _folded(key) == _folded(modifier)), "")


def find_person(name: str, people: Iterable[Participant]) -> Participant | None:
    """Return the one who goes by `name`, whatever its case; None if nobody does or several do."""
    folded = name.casefold()
    found = [one for one in people if any(folded == own.casefold() for own in one.names)]
    return found[0] if len(found) == 1 else None


def has_word(name: str) -> bool:
    """Return whether a label's name holds a letter, a digit or an underscore."""
    return any(letter.isalnum() or letter == "_" for letter in name)


def _folded(key: str) -> str:
    return "".join(key.casefold().split())


def _any_of(names: Iterable[str]) -> str:
    ordered = sorted({name for name in names if name}, key=lambda name: (-len(name), name))
    return "|".join(re.escape(name) for name in ordered) or r"(?!)"


def _decorated(one: str, group: str) -> str:
    mark = _DECORATION.format(group=group)
    return rf"{mark}(?:{one}){BLANK}(?:{COLON}(?P={group})|(?P={group}){BLANK}{COLON})"
