"""A table's source as code blocks: how it is posted where it can't be a picture.

Raw pipes are unreadable in a proportional font, so the source keeps its columns in a code block.
One that does not fit a message is cut between rows, and each part repeats the header, without
which a row says nothing.
"""

from typing import Final

from actors.text.graphemes import fit, is_edge, units

MESSAGE_LIMIT: Final = 2_000
"""UTF-16 units of a message."""

_HEAD: Final = 2
_FENCE: Final = "```"
_GUARDED: Final = "`\u200b" * 3


def fenced(source: str) -> str:
    """Return `source`, trimmed, as one code block that nothing in it can close."""
    inner = source.strip().replace(_FENCE, _GUARDED)
    return f"{_FENCE}\n{inner}\n{_FENCE}"


def code_blocks(source: str, limit: int = MESSAGE_LIMIT) -> tuple[str, ...]:
    """Return `source` as code blocks of at most `limit` UTF-16 units, each under its header."""
    whole = fenced(source)
    if units(whole) <= limit:
        return (whole,)
    lines = source.strip().split("\n")
    head = "\n".join(lines[:_HEAD]) + "\n"
    if units(fenced(head)) > limit // 2:
        head = ""  # a header that leaves no room for rows stands once
    blocks: list[str] = []
    rows = ""
    for line in lines[_HEAD if head else 0 :]:
        for part in _parts(line, limit - units(fenced(head + "x"))):
            longer = f"{rows}\n{part}" if rows else part
            if rows and units(fenced(head + longer)) > limit:
                blocks.append(fenced(head + rows))
                longer = part
            rows = longer
    blocks.append(fenced(head + rows))
    return tuple(blocks)


def _parts(line: str, room: int) -> list[str]:
    """Return `line` in parts of `room` units; one that fits is left whole."""
    if units(fenced(line)) - units(fenced("")) <= room:
        return [line]
    parts: list[str] = []
    start = 0
    half = max(1, room // 2)  # what guards a run of backticks makes a part longer
    while start < len(line):
        end = fit(line, start, half)
        while end > start + 1 and not is_edge(line, end, start):
            end -= 1
        parts.append(line[start:end])
        start = end
    return parts
