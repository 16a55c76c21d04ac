"""A stretch of text becomes message bodies that fit, in order.

A message is cut before a code block, else at the last newline, behind a sentence's end in its last
quarter, at a space in its last tenth, behind a comma of Chinese or Japanese, at a space in its last
half, and only then within a word; never within a visible character or a stretch that is kept whole.
What a cut leaves open is closed, and opened again in the next message: code with its fence and
language, emphasis and spoilers with their markers, quotations with `>`, tables with their header.
All that is added is part of the limit. Code is cut at line ends.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from actors.text.blocks import Block
from actors.text.graphemes import edge_before, fit, is_edge, units
from actors.text.wraps import Plan

_INK: Final = re.compile(r"\S")
_SPACE: Final = re.compile(r"\s")
_WIDE_STOPS: Final = r"\u3002\uff01\uff1f\uff0e\uff61"
_SENTENCE_END: Final = re.compile(
    r"[.!?\u2026][\"'\u201d\u2019)\]\u00bb]*(?=\s)"
    rf"|[{_WIDE_STOPS}][\u300d\u300f\u201d\u2019\uff09]*"
)
_CLAUSE_END: Final = re.compile(r"[\u3001\uff0c\uff64]")
_QUOTE: Final = re.compile(r"[ \t]{0,3}(?:>>> |> )(?=\S)")
_LEAST_FOR_QUOTES: Final = 40


class Cut(Struct, frozen=True, kw_only=True):
    """One message body, and what it stands for."""

    content: str
    """As it is posted."""
    start: int
    """Its first character in the text, inclusive."""
    end: int
    """Its end there, exclusive."""
    lead: int = 0
    """Characters added in front."""
    tail: int = 0
    """Characters added behind."""


class Cutter:
    """Cuts stretches of one text."""

    def __init__(self, text: str, blocks: Sequence[Block], plan: Plan, limit: int) -> None:
        self._text = text
        self._plan = plan
        self._limit = limit
        self._blocks = blocks
        self._ends = [block.end for block in blocks]
        self._line_at = 0
        self._line_seen = 0

    def run(self, start: int, stop: int) -> Iterator[Cut]:
        """Yield the messages of a stretch, in order; stretches have to be given in order."""
        at = self._next_ink(start, stop)
        while at < stop:
            prefix = self._prefix(at)
            cut = self._cut(at, stop, self._limit - units(prefix))
            one = self._content(at, cut, prefix)
            if one is not None:
                yield one
            at = self._next_ink(cut, stop)

    # -- what is open --------------------------------------------------------------------------

    def _next_ink(self, at: int, stop: int) -> int:
        """Return where the next message begins; `stop` if there is none."""
        while at < stop:
            block = self._reopened(at)
            if block is None:
                ink = _INK.search(self._text, at, stop)
                at = ink.start() if ink else stop
                closed = self._plan.closed_at(at)
                if closed is None:
                    return at
                at = closed.end
            elif _INK.search(self._text, at, block.close):
                return at
            else:
                at = block.end
        return min(at, stop)

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

    def _prefix(self, at: int) -> str:
        block = self._reopened(at)
        if block is not None:
            return f"{self._opener(block.start)}{block.opener}\n"
        return self._quote(at) + self._opener(at)

    def _opener(self, at: int) -> str:
        wrap = self._plan.wrap_around(at)
        return wrap.opener if wrap else ""

    def _closer(self, at: int) -> str:
        wrap = self._plan.wrap_around(at)
        return wrap.closer if wrap else ""

    def _quote(self, at: int) -> str:
        """Return what marks the rest of a quoted line as quoted."""
        newline = self._text.rfind("\n", self._line_seen, at)
        if newline >= 0:
            self._line_at = newline + 1
        self._line_seen = max(at, self._line_seen)
        match = _QUOTE.match(self._text, self._line_at)
        if match is None or at < match.end() or self._limit < _LEAST_FOR_QUOTES:
            return ""
        return match[0].lstrip()

    # -- one message ---------------------------------------------------------------------------

    def _content(self, at: int, cut: int, prefix: str) -> Cut | None:
        block = self._open_at(cut)
        end = cut
        if block is None:
            end = self._trimmed(at, cut)
            if end <= at:
                return None
        content = self._text[at:end]
        tail = self._closer(end) if block is None else self._closer(block.start)
        if block is not None:
            tail = block.closer(content) + tail
        return Cut(
            content=prefix + content + tail, start=at, end=end, lead=len(prefix), tail=len(tail)
        )

    def _trimmed(self, at: int, end: int) -> int:
        """Return `end` before blanks, and before markers that would open nothing."""
        while end > at:
            while end > at and self._text[end - 1].isspace():
                end -= 1
            wrap = self._plan.opened_before(end)
            if wrap is None or wrap.start < at:
                break
            end = wrap.start
        return end

    def _cut(self, at: int, stop: int, room: int) -> int:
        most = min(stop, fit(self._text, at, room))
        block = self._open_at(most)
        if most == stop and self._does_fit(at, stop, block, room):
            return stop
        if block is None or block.start > at:
            spare = self._plan.closing_cost(at, most)
            most = min(most, max(fit(self._text, at, room - spare), at + 1))
            block = self._open_at(most)
        if block is None:
            return self._cut_prose(at, most)
        if block.start > at:
            return self._before_kept(at, block.start)
        return self._cut_code(at, block, room - units(self._closer(block.start)))

    def _does_fit(self, at: int, stop: int, block: Block | None, room: int) -> bool:
        rest = self._text[at:stop]
        closer = self._closer(stop)
        if block is not None:
            closer = block.closer(rest) + self._closer(block.start)
        return units(rest) + len(closer) <= room

    def _cut_code(self, at: int, block: Block, room: int) -> int:
        body = max(at, block.body)
        most = fit(self._text, at, room - block.fence)
        line_end = self._text.rfind("\n", body, most) + 1
        if line_end > body and _INK.search(self._text, body, line_end):
            return line_end
        most = fit(self._text, at, room - block.fence - 1)
        return max(edge_before(self._text, most, body), at + 1)

    def _cut_prose(self, at: int, most: int) -> int:
        """Return the best cut above `at` and up to `most`, behind any block that ends there."""
        ended = bisect_right(self._ends, most)
        least = max(at, self._ends[ended - 1]) if ended else at
        newline = self._last_newline(least, most)
        if newline > at:
            return newline
        size = most - at
        for pattern, share, is_behind in (
            (_SENTENCE_END, 4, True),
            (_SPACE, 10, False),
            (_CLAUSE_END, 10, True),
            (_SPACE, 2, False),
        ):
            cut = self._last(pattern, max(least, most - size // share), most, is_behind=is_behind)
            if cut > at:
                return cut
        return self._cut_hard(at, least, most)

    def _cut_hard(self, at: int, least: int, most: int) -> int:
        if least > at:
            return self._before_kept(at, least)
        cut = self._before_kept(at, most)
        return cut if cut < most else max(edge_before(self._text, most, at), at + 1)

    def _before_kept(self, at: int, cut: int) -> int:
        """Return `cut`, or where a stretch begins that it would tear, if that is above `at`."""
        around = self._plan.kept_around(cut)
        return around[0] if around is not None and around[0] > at else cut

    def _last_newline(self, least: int, most: int) -> int:
        newline = self._text.rfind("\n", least, most + 1)
        while newline >= 0:
            around = self._plan.kept_at(newline)
            if around is None:
                return newline
            newline = self._text.rfind("\n", least, max(around[0], least))
        return newline

    def _last(self, pattern: re.Pattern[str], least: int, most: int, *, is_behind: bool) -> int:
        matches = pattern.finditer(self._text, least, most + 1)
        cuts = [match.end() if is_behind else match.start() for match in matches]
        for cut in reversed(cuts):
            edge = cut if is_behind else cut + 1
            if cut <= most and is_edge(self._text, edge) and not self._plan.kept_around(cut):
                return cut
        return -1
