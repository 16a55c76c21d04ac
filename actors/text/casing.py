"""Lowercase, as people in a hurry write, in any script and without a locale.

A word is a letter and the letters, marks, apostrophes and hyphens behind it, unless it touches a
digit or an underscore. It stays as it is if it is written in capitals, is a single letter, or is
one of the abbreviations that people write either way.
"""

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"(?<!\w)[^\W\d_](?:[^\W\d_]|['\u2019-])*(?!\w)")
_INNER: Final = "'\u2019-"
_ABBREVIATIONS: Final = (
    "lol rofl lmao lmfao wtf btw omg iirc afaik tbh imo imho fyi idk brb afk ttyl rn smh tysm"
)
_AS_WRITTEN: Final = frozenset(_ABBREVIATIONS.split())


def lowered(text: str, masked: str) -> str:
    """Return `text`, of the same length, with its words in lowercase.

    `masked` is the text with what is to stay as it is replaced by characters that are no letters.
    """
    parts: list[str] = []
    at = 0
    for match in _WORD.finditer(_without_marks(masked)):
        parts += (text[at : match.start()], _word(text[match.start() : match.end()]))
        at = match.end()
    parts.append(text[at:])
    return "".join(parts)


def _without_marks(text: str) -> str:
    """Return `text` with a letter in the place of each combining mark."""
    if text.isascii():
        return text
    return "".join("a" if unicodedata.category(letter)[0] == "M" else letter for letter in text)


def _word(word: str) -> str:
    if len(word) == 1 or word.lower() in _AS_WRITTEN or _is_capitals(word):
        return word
    lower = word.lower()
    if len(lower) == len(word):
        return lower
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in word)


def _is_capitals(word: str) -> bool:
    letters = [one for one in word if one.isalpha()]
    return word[-1] not in _INNER and bool(letters) and all(one.isupper() for one in letters)
