"""The `<details>` block of a model's answer: a note that is kept and not shown.

A tag is written in lower case; the opening one may have attributes, up to a bound, so that nothing
is held for longer than it can still become a tag.
"""

import re
from typing import Final

CLOSER: Final = "</details>"

_OPENER: Final = re.compile(r"<details(?:\s[^<>]{0,200})?>")
_NAME: Final = "<details"
_PARTIAL: Final = re.compile(r"<details(?:\s[^<>]{0,200})?")
_SUMMARY: Final = re.compile(r"<summary>.*?</summary>", re.IGNORECASE | re.DOTALL)
_TELLING: Final = 4
"""Characters of an opening tag that the stream's end cut off; fewer are text."""


def opener_at(text: str, index: int) -> int:
    """Return where the opening tag that begins at `index` ends, or 0 where none does."""
    match = _OPENER.match(text, index)
    return match.end() if match else 0


def can_grow(text: str, index: int) -> bool:
    """Return whether all of `text` from `index` on could still become an opening tag."""
    return _NAME.startswith(text[index : index + len(_NAME)]) and (
        len(text) - index < len(_NAME) or _PARTIAL.fullmatch(text, index) is not None
    )


def is_cut_off(held: str) -> bool:
    """Return whether `held`, which could have become a tag, is one that the stream's end cut."""
    return len(held) >= _TELLING and can_grow(held, 0)


def end_of_details(text: str, index: int) -> tuple[int, bool]:
    """Return up to where `text` belongs to the open block, and whether that is its end."""
    end = text.find(CLOSER, index)
    if end >= 0:
        return end + len(CLOSER), True
    last = text.rfind("<", max(index, len(text) - len(CLOSER)))
    is_partial = last >= 0 and CLOSER.startswith(text[last:])
    return (last if is_partial else len(text)), False


def content(block: str) -> str:
    """Return what a block says: without its first summary and its closing tag, trimmed."""
    return _SUMMARY.sub("", block.removesuffix(CLOSER), count=1).strip()
