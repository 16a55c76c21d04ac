"""Where everything of a table stands: widths of columns, heights of rows, rows of pages.

Columns get what they need while the table fits. Where it does not, the widest are narrowed until
it does, each no further than its longest word, and cells wrap. A long table becomes several pages,
each under the header; letters never shrink.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

from msgspec import Struct

from actors.pictures.fonts import SIZE, Fonts
from actors.pictures.inline import Look, Run, runs_of
from actors.pictures.lines import Line, break_lines, least_width, natural_width
from actors.text.table_detection import Alignment, Table

LINE_HEIGHT: Final = round(SIZE * 1.45)
"""From one base line to the next, in pixels."""
PAD_X: Final = 20
"""Beside a cell's text."""
PAD_Y: Final = 11
"""Above and below a cell's text."""
BEST_WIDTH: Final = 1_400
"""Pixels that a table may be wide before its cells wrap."""
MOST_WIDTH: Final = 4_000
"""Pixels that no table is wider than: Discord shows it too small to read."""
LEAST_COLUMN: Final = 60
"""Narrowest text of a column, in pixels."""
MOST_WORD: Final = 320
"""A longer word than this many pixels is broken rather than waited for."""
PAGE_HEIGHT: Final = 1_800
"""Pixels of a page, unless a single row needs more."""
MOST_HEIGHT: Final = 6_000
"""Pixels that no page is higher than."""
MOST_PAGES: Final = 10
"""Files of one Discord message."""
_BOLD: Final = Look(is_bold=True)


class Row(Struct, frozen=True, kw_only=True):
    """A row, laid out."""

    cells: tuple[tuple[Line, ...], ...]
    """The lines of each cell."""
    height: int
    """Pixels, its paddings included."""
    is_shaded: bool = False
    """Whether it has the second of the two alternating grounds."""


class Page(Struct, frozen=True, kw_only=True):
    """One picture."""

    header: Row
    """The header."""
    rows: tuple[Row, ...]
    """The rows below it."""


class Layout(Struct, frozen=True, kw_only=True):
    """A table, laid out."""

    widths: tuple[int, ...]
    """Pixels of each column, its paddings included."""
    alignments: tuple[Alignment, ...]
    """How the cells of each column stand."""
    pages: tuple[Page, ...]
    """Its pictures."""


def lay_out(table: Table, fonts: Fonts) -> Layout | None:
    """Return the layout of `table`; None where it can't be read as pictures."""
    header = tuple(runs_of(cell, _BOLD) for cell in table.header)
    body = [tuple(runs_of(cell) for cell in row) for row in table.rows]
    texts = _text_widths([header, *body], fonts)
    widths = tuple(width + 2 * PAD_X for width in texts)
    if sum(widths) > MOST_WIDTH:
        return None
    top = _row(header, texts, fonts)
    rows = [_row(one, texts, fonts, is_shaded=n % 2 == 1) for n, one in enumerate(body)]
    pages = _pages(top, rows)
    if len(pages) > MOST_PAGES or max(map(height_of, pages)) > MOST_HEIGHT:
        return None
    return Layout(widths=widths, alignments=table.alignments, pages=pages)


def _row(
    cells: Sequence[Sequence[Run]], texts: Sequence[int], fonts: Fonts, *, is_shaded: bool = False
) -> Row:
    lines = tuple(break_lines(runs, fonts, width) for runs, width in zip(cells, texts, strict=True))
    height = max(map(len, lines)) * LINE_HEIGHT + 2 * PAD_Y
    return Row(cells=lines, height=height, is_shaded=is_shaded)


def _text_widths(rows: Sequence[Sequence[Sequence[Run]]], fonts: Fonts) -> tuple[int, ...]:
    columns = list(zip(*rows, strict=True))
    natural = [_whole(natural_width(cell, fonts) for cell in column) for column in columns]
    room = BEST_WIDTH - 2 * PAD_X * len(columns)
    if sum(natural) <= room:
        return tuple(natural)
    least = [
        min(width, MOST_WORD, _whole(least_width(cell, fonts) for cell in column))
        for column, width in zip(columns, natural, strict=True)
    ]
    return _narrowed(natural, least, room)


def _whole(widths: Iterable[float]) -> int:
    return max(LEAST_COLUMN, ceil(max(widths)))


def _narrowed(natural: Sequence[int], least: Sequence[int], room: int) -> tuple[int, ...]:
    """Return widths that fit `room`: the widest are cut to one measure, none below `least`."""
    low, high = 0, max(natural)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_cut(natural, least, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return _cut(natural, least, low)


def _cut(natural: Sequence[int], least: Sequence[int], measure: int) -> tuple[int, ...]:
    return tuple(max(low, min(width, measure)) for width, low in zip(natural, least, strict=True))


def _pages(header: Row, rows: Sequence[Row]) -> tuple[Page, ...]:
    pages: list[Page] = []
    page: list[Row] = []
    height = header.height
    for row in rows:
        if page and height + row.height > PAGE_HEIGHT:
            pages.append(Page(header=header, rows=tuple(page)))
            page, height = [], header.height
        page.append(row)
        height += row.height
    pages.append(Page(header=header, rows=tuple(page)))
    return tuple(pages)


def height_of(page: Page) -> int:
    """Return how high a page is, in pixels."""
    return page.header.height + sum(row.height for row in page.rows)
