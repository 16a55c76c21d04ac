"""The tags that mark a model's reasoning inside its text.

A tag is `<` or `</`, an optional namespace (a letter, then letters, digits, underscores, dots and
hyphens, then a colon), `think` or `reasoning`, and `>`; any letter case, no attributes, no spaces.
A namespace has at most 50 characters, so that a tag has at most 64: what grows longer is text, and
nothing is held for longer than it can still become a tag.
"""

import re
from typing import Final

from msgspec import Struct

_NAMES: Final = ("think", "reasoning")
_NAMESPACE: Final = r"[A-Za-z][\w.\-]{0,49}"


def _prefixes(word: str) -> str:
    """Return a pattern of the prefixes of `word`, the empty one included."""
    pattern = ""
    for letter in reversed(word):
        pattern = f"(?:{letter}{pattern})?"
    return pattern


_TAG: Final = re.compile(
    rf"<(?P<slash>/?)(?:{_NAMESPACE}:)?(?P<name>{'|'.join(_NAMES)})>", re.ASCII | re.IGNORECASE
)
_PARTIAL: Final = re.compile(
    rf"</?(?:{_NAMESPACE}|(?:{_NAMESPACE}:)?(?:{'|'.join(_prefixes(name) for name in _NAMES)}))",
    re.ASCII | re.IGNORECASE,
)
_CLOSERS: Final = {
    name: re.compile(rf"</(?:{_NAMESPACE}:)?{name}>", re.ASCII | re.IGNORECASE) for name in _NAMES
}
_LONGEST: Final = 64
_TELLING: Final = 2
"""Letters of a tag's name that a cut-off word must have to count as a cut-off tag."""


class Tag(Struct, frozen=True, kw_only=True):
    """A whole tag."""

    name: str
    """`think` or `reasoning`."""
    is_closer: bool
    """Whether it ends a block."""
    end: int
    """Index behind it."""


def tag_at(text: str, index: int) -> Tag | None:
    """Return the tag that begins at `text[index]`, if a whole one does."""
    match = _TAG.match(text, index)
    if match is None:
        return None
    return Tag(name=match["name"].lower(), is_closer=bool(match["slash"]), end=match.end())


def can_grow(text: str, index: int) -> bool:
    """Return whether all of `text` from `index` on could still become a tag."""
    return _PARTIAL.fullmatch(text, index) is not None


def end_of_block(text: str, index: int, name: str) -> tuple[int, bool]:
    """Look for the end of a block of `name` in `text` from `index` on.

    Returns:
        The index up to which the text belongs to the block, and whether that is its end. Without
        an end, what stands behind that index could still become the closing tag.
    """
    match = _CLOSERS[name].search(text, index)
    if match is not None:
        return match.end(), True
    last = text.rfind("<", max(index, len(text) - _LONGEST))
    if last < 0 or not can_grow(text, last) or text[last + 1 : last + 2] not in ("", "/"):
        return len(text), False
    return last, False


def is_cut_off_tag(held: str) -> bool:
    """Return whether `held`, which could have grown into a tag, is one that the stream's end cut.

    Every cut-off closing tag is, and an opening one with two letters of its name. A lone `<`
    is text: people write `I love you <3`.
    """
    if held.startswith("</"):
        return True
    word = held[1:].rpartition(":")[2].lower()
    return len(word) >= _TELLING and any(name.startswith(word) for name in _NAMES)
