"""What a cut may not tear, and what it has to close and open again.

A span that fits into one message is kept whole. One that does not is cut like other text; if it is
emphasis or a spoiler, its marker is closed at the end of the message and opened again in the next,
so that hidden text is never shown. A table that does not fit repeats its header. What this adds is
at most an eighth of the limit; deeper markers are left as they are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from actors.text.blocks import Block
from actors.text.graphemes import units
from actors.text.spans import WRAPS, Span, find_spans, has_blank_line
from actors.text.table_detection import Table, find_tables

_SHARE: Final = 8
_TABLE_SHARE: Final = 2


class Wrap(Struct, frozen=True, kw_only=True):
    """What is closed and opened again at a cut between `start` and `end`."""

    start: int
    """Where it begins, marker included."""
    inner: int
    """Where its content begins."""
    inner_end: int
    """Where its content ends."""
    end: int
    """Where it ends, marker included."""
    opener: str
    """What opens it and all around it, outermost first."""
    closer: str
    """What closes it and all around it, innermost first."""
    around: "Wrap | None" = None
    """The one that it stands in."""


class Plan:
    """The spans of one text, as cuts have to respect them."""

    def __init__(
        self, text: str, blocks: Sequence[Block], limit: int, *, is_aggregated: bool
    ) -> None:
        self._text = text
        self._limit = limit
        self._is_aggregated = is_aggregated
        self.tables = find_tables(text, blocks)
        solid = [(block.start, block.end) for block in blocks]
        solid += [(table.start, table.end) for table in self.tables]
        solid.sort()
        self._kept: list[tuple[int, int]] = []
        self._wraps: list[Wrap] = []
        self._starts: list[int] = []
        self._read(find_spans(text, solid))
        self._wrap_starts = [wrap.start for wrap in self._wraps]
        for block in blocks:
            if self._fits(block.start, block.end):
                self._kept.append((block.start, block.end))
        for table in self.tables:
            self._read_table(table)
        self._wraps.sort(key=lambda wrap: wrap.start)
        self._wrap_starts = [wrap.start for wrap in self._wraps]
        self._inner_ends = {
            wrap.inner_end: wrap for wrap in self._wraps if wrap.end > wrap.inner_end
        }
        self._inners = {wrap.inner: wrap for wrap in self._wraps if wrap.inner > wrap.start}
        self._settle()

    def kept_around(self, index: int) -> tuple[int, int] | None:
        """Return the stretch that a cut at `index` would tear."""
        at = bisect_left(self._starts, index) - 1
        if at >= 0 and self._kept[at][1] > index:
            return self._kept[at]
        return None

    def kept_at(self, index: int) -> tuple[int, int] | None:
        """Return the stretch that holds the character at `index`."""
        at = bisect_right(self._starts, index) - 1
        if at >= 0 and self._kept[at][1] > index:
            return self._kept[at]
        return None

    def wrap_around(self, index: int) -> Wrap | None:
        """Return the innermost one that is open at `index`."""
        at = bisect_left(self._wrap_starts, index) - 1
        wrap = self._wraps[at] if at >= 0 else None
        while wrap is not None and wrap.end <= index:
            wrap = wrap.around
        return wrap

    def closed_at(self, index: int) -> Wrap | None:
        """Return the one whose closing marker begins at `index`."""
        return self._inner_ends.get(index)

    def opened_before(self, index: int) -> Wrap | None:
        """Return the one whose opening marker ends at `index`."""
        return self._inners.get(index)

    def closing_cost(self, start: int, end: int) -> int:
        """Return the most UTF-16 units that closing at a cut above `start` and up to `end` adds."""
        first = bisect_left(self._wrap_starts, start)
        last = bisect_left(self._wrap_starts, end)
        around = (self.wrap_around(start), self.wrap_around(end), *self._wraps[first:last])
        return max((len(wrap.closer) for wrap in around if wrap), default=0)

    def _fits(self, start: int, end: int, spent: int = 0) -> bool:
        room = self._limit - spent
        return end - start <= room and units(self._text[start:end]) <= room

    def _settle(self) -> None:
        """Keep the outermost stretches, and each marker with the character on its inner side."""
        kept: list[tuple[int, int]] = []
        for start, end in sorted(self._kept, key=lambda one: (one[0], -one[1])):
            if not kept or start >= kept[-1][1]:
                kept.append((start, end))
        self._kept, self._starts = kept, [start for start, _ in kept]
        joined: list[tuple[int, int]] = []
        for start, end in sorted(
            [*kept, *(one for wrap in self._wraps for one in self._guards(wrap))]
        ):
            if joined and start < joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        self._kept, self._starts = joined, [start for start, _ in joined]

    def _guards(self, wrap: Wrap) -> list[tuple[int, int]]:
        inner = wrap.inner if self.kept_at(wrap.inner) else wrap.inner + 1
        inner_end = wrap.inner_end if self.kept_at(wrap.inner_end - 1) else wrap.inner_end - 1
        guards = ((wrap.start, inner), (inner_end, wrap.end))
        return [guard for guard in guards if guard[0] < guard[1]]

    def _read(self, spans: Sequence[Span]) -> None:
        kept_end = 0
        around: Wrap | None = None
        for span in spans:
            if span.start < kept_end:
                continue
            while around is not None and around.end <= span.start:
                around = around.around
            if self._is_kept(span, around):
                self._kept.append((span.start, span.end))
                kept_end = span.end
            elif span.marker in WRAPS:
                around = self._wrap(span, around) or around

    def _is_kept(self, span: Span, around: Wrap | None) -> bool:
        spent = len(around.opener) + len(around.closer) if around else 0
        if not self._fits(span.start, span.end, spent):
            return False
        return self._is_aggregated or not has_blank_line(self._text, span.start, span.end)

    def _wrap(self, span: Span, around: Wrap | None) -> Wrap | None:
        marker = span.marker
        opener = (around.opener if around else "") + marker
        closer = marker + (around.closer if around else "")
        if len(opener) + len(closer) > self._limit // _SHARE:
            return None
        inner, inner_end = span.start + len(marker), span.end - len(marker)
        wrap = Wrap(
            start=span.start,
            inner=inner,
            inner_end=inner_end,
            end=span.end,
            opener=opener,
            closer=closer,
            around=around,
        )
        self._wraps.append(wrap)
        return wrap

    def _read_table(self, table: Table) -> None:
        end = table.end - (self._text[table.end - 1] == "\n")
        if self._fits(table.start, end):
            self._kept.append((table.start, end))
            return
        header = self._text[table.start : table.body]
        if units(header) > self._limit // _TABLE_SHARE:
            return
        around = self.wrap_around(table.start)
        wrap = Wrap(
            start=table.start,
            inner=table.body,
            inner_end=end,
            end=end,
            opener=(around.opener if around else "") + header,
            closer=around.closer if around else "",
            around=around,
        )
        self._wraps.append(wrap)
