"""How a text ends that its model did not finish: what is open is closed, a half clause is left out.

Only what holds a line back is closed, and only by what Discord renders: an inch mark that a blank
line followed, a lone `[` and the `_` of a name get nothing. In a text with tables the closers stand
behind the last of its prose, not in a cell. Code is no prose.
"""

import re
from collections.abc import Sequence
from string import whitespace
from typing import Final

from actors.text.blocks import Block
from actors.text.holds import Holds, fold_lines
from actors.text.spans import CODE, QUOTES
from actors.text.table_detection import find_tables

_END: Final = r"[.!?\u2026\u3002\uff01\uff1f]"
_QUOTED_END: Final = re.compile(_END + r"[\"')\]\u201d\u2019\u300d\u300f\u00bb\u203a\uff09]*")
_LAST_END: Final = re.compile(rf"{_END}|\n")


def closers(text: str, blocks: Sequence[Block]) -> tuple[int, str]:
    """Return what closes `text`, and where it is to be inserted."""
    solid = [(block.start, block.end) for block in blocks]
    solid += [(table.start, table.end) for table in find_tables(text, blocks)]
    prose = _blanked(text, sorted(solid))
    at = len(prose.rstrip(CODE + whitespace))
    return at, _closing(fold_lines(prose)) if at else ""


def trimmed(text: str) -> tuple[int, int]:
    """Return the range of the incomplete clause at the end of `text`; empty if there is none.

    The blanks behind it are no part of it, and a text without any end of a clause is kept.
    """
    end = len(text.rstrip())
    if any(match.end() == end for match in _QUOTED_END.finditer(text, 0, end)):
        return end, end
    last = 0
    for match in _LAST_END.finditer(text, 0, end):
        last = match.end()
    return (last, end) if last else (end, end)


def _blanked(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """Return `text` with a letter that is no prose for all of `ranges` but their newlines."""
    parts: list[str] = []
    at = 0
    for start, end in ranges:
        parts.append(text[at:start])
        parts.append("\n".join(CODE * len(line) for line in text[start:end].split("\n")))
        at = end
    parts.append(text[at:])
    return "".join(parts)


def _closing(holds: Holds) -> str:
    sizes = dict.fromkeys(("(", '"', *QUOTES, "*", "~~", "||"), 0)
    for one in holds.openers:
        if one.mark in sizes:
            sizes[one.mark] += one.size
    closing = ")" * sizes["("] + '"' * sizes['"']
    closing += "".join(closer * sizes[opener] for opener, closer in QUOTES.items())
    return closing + "*" * sizes["*"] + "~~" * sizes["~~"] + "||" * sizes["||"]
