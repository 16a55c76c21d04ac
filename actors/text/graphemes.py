"""Where text may be cut: lengths as Discord counts them, and the edges of visible characters.

Grapheme clusters are kept whole by a conservative rule on two neighbours, which sometimes forbids
a cut that the Unicode rules would allow and never the other way for what people write: combining
marks, emoji sequences, flags, keycaps, Hangul letters and conjuncts.
"""

import unicodedata
from typing import Final

_JOINER: Final = "\u200d"
_EXTENDERS: Final = frozenset("\u200c\u200d\u0e33\u0eb3\uff9e\uff9f")
_MARKS: Final = frozenset(("Mn", "Me", "Mc"))
_VIRAMA: Final = 9
_ASCII_END: Final = "\x7f"


def units(text: str) -> int:
    """Return the length of `text` in UTF-16 code units."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fit(text: str, start: int, room: int) -> int:
    """Return the largest end so that `text[start:end]` has at most `room` UTF-16 units."""
    end = min(len(text), start + max(room, 0))
    part = text[start:end]
    if part.isascii() or max(part) <= "\uffff":
        return end
    used = 0
    for index, letter in enumerate(part):
        used += 2 if letter > "\uffff" else 1
        if used > room:
            return start + index
    return end


def is_edge(text: str, index: int, since: int = 0) -> bool:
    """Return whether `text` may be cut at `index` without splitting a visible character.

    `since` is an edge at or before `index`; flags are paired from there on.
    """
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before <= _ASCII_END and after <= _ASCII_END:
        return not (before == "\r" and after == "\n")
    if before == "\n":
        return True
    if before == _JOINER or _extends(after) or unicodedata.combining(before) == _VIRAMA:
        return False
    if _is_regional(before) and _is_regional(after):
        return _regionals_before(text, index, since) % 2 == 0
    return not _are_hangul_parts(before, after) and not _is_pair(before, after)


def edge_before(text: str, index: int, least: int) -> int:
    """Return the last edge above the edge `least` and up to `index`; `index` if there is none."""
    for edge in range(index, least, -1):
        if is_edge(text, edge, least):
            return edge
    return index


def _extends(letter: str) -> bool:
    return (
        unicodedata.category(letter) in _MARKS
        or letter in _EXTENDERS
        or "\U0001f3fb" <= letter <= "\U0001f3ff"
        or "\U000e0020" <= letter <= "\U000e007f"
    )


def _is_regional(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


def _regionals_before(text: str, index: int, since: int) -> int:
    start = index
    while start > since and _is_regional(text[start - 1]):
        start -= 1
    return index - start


def _are_hangul_parts(before: str, after: str) -> bool:
    if "\u1160" <= after <= "\u11ff":
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return "\u1100" <= before <= "\u115f" and (
        "\u1100" <= after <= "\u115f" or "\uac00" <= after <= "\ud7a3"
    )


def _is_pair(before: str, after: str) -> bool:
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
