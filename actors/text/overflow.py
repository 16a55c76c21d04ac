"""Where a buffer is cut that grew too long before anything else flushed it.

Each cut is decided once the buffer holds `bound` characters, so that it never depends on how many
more came in the same chunk.
"""

import re
from typing import Final

from actors.text.graphemes import edge_before, is_edge

LINE_BOUND: Final = 1_201
"""Characters of one line: it is cut near 1000, looking 300 back and 200 forth."""
CODE_BOUND: Final = 15_001
"""Characters of one code block."""
WHOLE_BOUND: Final = 65_537
"""Characters of an answer that is to be posted at its end: more is not held in memory."""

_LINE: Final = 1_000
_BACK: Final = 300
_FORTH: Final = 200
_LINE_SEARCH: Final = 3_000
_SENTENCE_END: Final = re.compile(r"\n|[.!?\u3002\uff01\uff1f](?=\s)")  # and their wide forms
_SPACE: Final = re.compile(r"\s")


def cut_line(text: str) -> int:
    """Return where to cut a line of `LINE_BOUND` characters.

    Behind the first sentence's end from 1000 on, else behind the last one before, else behind the
    last blank before, else behind the first one from 1000 on, else within a word.
    """
    ends = _cuts(_SENTENCE_END, text)
    spaces = _cuts(_SPACE, text)
    for cuts, is_forth in ((ends, True), (ends, False), (spaces, False), (spaces, True)):
        if is_forth:
            cut = next((one for one in cuts if one >= _LINE), None)
        else:
            cut = next((one for one in reversed(cuts) if one < _LINE), None)
        if cut is not None:
            return cut
    return edge_before(text, _LINE, _LINE - _BACK)


def cut_lines(text: str, bound: int) -> int:
    """Return where to cut `bound` characters of several lines: at a line's end if one is near."""
    newline = text.rfind("\n", bound - _LINE_SEARCH, bound - 1)
    return newline + 1 or edge_before(text, bound - 1, bound - _LINE_SEARCH)


def _cuts(pattern: re.Pattern[str], text: str) -> list[int]:
    matches = pattern.finditer(text, _LINE - _BACK, _LINE + _FORTH + 1)
    cuts = (match.end() for match in matches)
    return [cut for cut in cuts if cut <= _LINE + _FORTH and is_edge(text, cut)]
