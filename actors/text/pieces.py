"""A segment becomes message bodies, none above the limit, in the order of the text.

A message is cut where it hurts least: before a code block, else at a newline, a sentence's end, a
space, and only then within a word, never within a visible character. Code is cut at line ends; its
fence is closed and reopened with its language, and both are part of the limit. Blanks at either
end of a message are left out, since Discord drops them: they are the characters in no piece, as is
the closing fence of a block whose code has already been sent.
"""

import re
from bisect import bisect_left, bisect_right
from typing import Final

from msgspec import Struct

from actors.text.blocks import Block, Ending, find_blocks
from actors.text.graphemes import edge_before, fit, is_edge, units
from events.generation import Piece

_INK: Final = re.compile(r"\S")
_SPACE: Final = re.compile(r"\s")
_WIDE_STOPS: Final = r"\u3002\uff01\uff1f\uff0e\uff61"
"""The full stop of Chinese and Japanese, full-width `!`, `?` and `.`, and the half-width stop."""
_SENTENCE_END: Final = re.compile(
    r"[.!?\u2026][\"'\u201d\u2019)\]\u00bb]*(?=\s)"
    rf"|[{_WIDE_STOPS}][\u300d\u300f\u201d\u2019\uff09]*"
)
_CLAUSE_END: Final = re.compile(r"[\u3001\uff0c\uff64]")
"""Behind the commas of Chinese and Japanese."""


class Packed(Struct, frozen=True, kw_only=True):
    """What a segment gives."""

    pieces: tuple[Piece, ...]
    """The message bodies, in order."""
    blank: int
    """Characters in none of them."""
    ending: Ending
    """How the segment ends."""


def pack(text: str, *, start: int, limit: int, begin: Ending, is_last: bool) -> Packed:
    """Return the messages that `text` gives.

    Args:
        text: One segment.
        start: Its offset in the visible text.
        limit: Most UTF-16 units of a message, at least 20.
        begin: How the segment before it ended, where that was cut within a block.
        is_last: Whether nothing follows it, so that a fence which it leaves open stays open.
    """
    blocks, ending = find_blocks(text, begin, is_last=is_last)
    packer = _Packer(text, [block for block in blocks if block.fits(text, limit)], limit)
    pieces = packer.run(start)
    blank = len(text) - sum(piece.end - piece.start for piece in pieces)
    return Packed(pieces=tuple(pieces), blank=blank, ending=ending)


class _Packer:
    """Takes from the front of the text what fits into one message, until nothing is left."""

    def __init__(self, text: str, blocks: list[Block], limit: int) -> None:
        self._text = text
        self._blocks = blocks
        self._ends = [block.end for block in blocks]
        self._limit = limit

    def run(self, start: int) -> list[Piece]:
        pieces: list[Piece] = []
        at = self._next_ink(0)
        while at < len(self._text):
            cut = self._cut(at)
            content, end = self._content(at, cut)
            pieces.append(Piece(content=content, start=start + at, end=start + end))
            at = self._next_ink(cut)
        return pieces

    def _next_ink(self, at: int) -> int:
        """Return where the next message begins; at the end of the text if there is none."""
        while at < len(self._text):
            block = self._reopened(at)
            if block is None:
                ink = _INK.search(self._text, at)
                return ink.start() if ink else len(self._text)
            if _INK.search(self._text, at, block.close):
                return at
            at = block.end
        return at

    def _reopened(self, at: int) -> Block | None:
        """Return the block whose code goes on at `at`."""
        index = bisect_right(self._ends, at)
        if index < len(self._blocks) and self._blocks[index].body <= at:
            return self._blocks[index]
        return None

    def _open_at(self, cut: int) -> Block | None:
        """Return the block that is open behind `cut`."""
        index = bisect_left(self._ends, cut)
        if index == len(self._blocks):
            return None
        block = self._blocks[index]
        is_open = block.start < cut and (cut < block.end or not block.is_closed)
        return block if is_open else None

    def _content(self, at: int, cut: int) -> tuple[str, int]:
        """Return a message's body, and the end of the text it stands for."""
        reopened, left_open = self._reopened(at), self._open_at(cut)
        content = self._text[at:cut]
        if left_open is None:
            content = content.rstrip()
        end = at + len(content)
        if reopened is not None:
            content = f"{reopened.opener}\n{content}"
        if left_open is not None:
            content += left_open.closer(content)
        return content, end

    def _cut(self, at: int) -> int:
        reopened = self._reopened(at)
        room = self._limit - (units(reopened.opener) + 1 if reopened else 0)
        most = fit(self._text, at, room)
        block = self._open_at(most)
        if block is not None and most == len(self._text):
            rest = self._text[at:]
            if units(rest) + len(block.closer(rest)) <= room:
                return most
        if block is None:
            return most if most == len(self._text) else self._cut_prose(at, most)
        if block.start > at:
            return block.start
        return self._cut_code(at, block, room)

    def _cut_code(self, at: int, block: Block, room: int) -> int:
        body = max(at, block.body)
        most = fit(self._text, at, room - block.fence)
        line_end = self._text.rfind("\n", body, most) + 1
        if line_end > body and _INK.search(self._text, body, line_end):
            return line_end
        most = fit(self._text, at, room - block.fence - 1)
        return edge_before(self._text, most, body)

    def _cut_prose(self, at: int, most: int) -> int:
        """Return the best cut above `at` and up to `most`, behind any block that ends there."""
        ended = bisect_right(self._ends, most)
        least = max(at, self._ends[ended - 1]) if ended else at
        newline = self._text.rfind("\n", least, most + 1)
        if newline > at:
            return newline
        size = most - at
        for search, share in (
            (self._last_sentence_end, 4),
            (self._last_space, 10),
            (self._last_clause_end, 10),
            (self._last_space, 2),
        ):
            cut = search(max(least, most - size // share), most)
            if cut is not None and cut > at:
                return cut
        return least if least > at else edge_before(self._text, most, at)

    def _last_sentence_end(self, least: int, most: int) -> int | None:
        return self._last_end(_SENTENCE_END, least, most)

    def _last_clause_end(self, least: int, most: int) -> int | None:
        return self._last_end(_CLAUSE_END, least, most)

    def _last_end(self, pattern: re.Pattern[str], least: int, most: int) -> int | None:
        ends = [match.end() for match in pattern.finditer(self._text, least, most + 1)]
        return next((e for e in reversed(ends) if e <= most and is_edge(self._text, e)), None)

    def _last_space(self, least: int, most: int) -> int | None:
        spaces = [match.start() for match in _SPACE.finditer(self._text, least, most + 1)]
        return next((s for s in reversed(spaces) if is_edge(self._text, s + 1)), None)
