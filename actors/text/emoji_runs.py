"""Which custom emojis are posted by themselves, and which of those go together.

An emoji is posted by itself, unless it belongs to its line: the line is an item of a list, or other
text stands before and behind it and the text before has not ended a sentence. Emojis that follow
each other with nothing but blanks between them share a message if their names begin alike.
"""

import re
from collections.abc import Sequence
from typing import Final

EMOJI: Final = re.compile(r"<a?:(\w{1,64}):\d{1,24}>")
"""A custom emoji as Discord writes it; the group is its name."""

_ITEM: Final = re.compile(r"\s*(?:\d+[.)]|[-*\u2022])\s")
_LETTERS: Final = re.compile(r"[^a-z0-9]")
_ENDS: Final = ".!?\u3002\uff01\uff1f"
_PREFIX: Final = 3

Range = tuple[int, int]


def standing_alone(text: str, start: int, stop: int) -> list[Range]:
    """Return the emojis of a stretch of `text` that are posted by themselves, in order."""
    alone: list[Range] = []
    line: list[Range] = []
    line_at, line_end = start, start
    for match in EMOJI.finditer(text, start, stop):
        if match.start() >= line_end:
            alone += _alone_in_line(text, (line_at, line_end), line)
            line_at = text.rfind("\n", line_end, match.start()) + 1 or line_end
            line_end = text.find("\n", match.end(), stop)
            line_end = stop if line_end < 0 else line_end
            line = []
        line.append(match.span())
    return alone + _alone_in_line(text, (line_at, line_end), line)


def are_alike(first: str, second: str) -> bool:
    """Return whether two emojis, as they are written, begin with the same name."""
    names = [
        _LETTERS.sub("", match[1].lower()) for match in map(EMOJI.match, (first, second)) if match
    ]
    starts = {name[:_PREFIX] for name in names}
    return len(names) == len("ab") and len(starts) == 1 and len(starts.pop()) == _PREFIX


def _alone_in_line(text: str, line: Range, emojis: Sequence[Range]) -> list[Range]:
    if not emojis or _ITEM.match(text, *line):
        return []
    gaps: list[Range] = []
    at = line[0]
    for start, end in emojis:
        gaps.append((at, start))
        at = end
    words = [text[start:end].strip() for start, end in (*gaps, (at, line[1]))]
    last = max((index for index, word in enumerate(words) if word), default=-1)
    alone: list[Range] = []
    before = ""
    for index, emoji in enumerate(emojis):
        before = words[index] or before
        is_inline = before != "" and before[-1] not in _ENDS and last > index
        if not is_inline:
            alone.append(emoji)
    return alone
