"""Where Markdown tables stand in a text.

A table is a header line, a separator line and at least one body row, all with the same number of
cells. The header has two cells or more, of which one is not empty, and it starts or ends with a
pipe or holds two. Escaped pipes belong to their cell; the pipes of a `||spoiler||` make no header.
Lines of fenced code are never part of a table. The table ends behind the newline of its last row.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from actors.text.blocks import Block, Ending, find_blocks

Alignment = Literal["left", "center", "right"]
"""How the cells of a column stand."""

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_DELIMITER: Final = re.compile(r":?-+:?")
_SPOILER: Final = re.compile(r"\|\|[^|\n]+\|\|")
_LEAST_CELLS: Final = 2


class Table(Struct, frozen=True, kw_only=True):
    """One table; indices into the text it was found in."""

    start: int
    """Where its header begins."""
    body: int
    """Where its first body row begins."""
    end: int
    """Where it ends, behind the newline of its last row."""
    header: tuple[str, ...]
    """The cells of its header, trimmed."""
    alignments: tuple[Alignment, ...]
    """How each column is aligned."""
    rows: tuple[tuple[str, ...], ...]
    """The cells of its body rows, trimmed."""
    is_finished: bool
    """Whether something follows, so that no further row can come."""


class Part(Struct, frozen=True, kw_only=True):
    """A stretch of a text: a table, or what stands between tables."""

    text: str
    """As it stands in the text."""
    table: Table | None = None
    """The table that it is."""


def find_tables(text: str, blocks: Sequence[Block] | None = None) -> tuple[Table, ...]:
    """Return the tables of `text`, in order, outside the code of `blocks` (its own by default)."""
    if "|" not in text:
        return ()
    if blocks is None:
        blocks, _ = find_blocks(text, Ending(), is_last=True)
    return tuple(_Reader(text, blocks).tables())


def split_tables(text: str) -> tuple[Part, ...]:
    """Return `text` as parts that join to it."""
    parts: list[Part] = []
    at = 0
    for table in find_tables(text):
        if table.start > at:
            parts.append(Part(text=text[at : table.start]))
        parts.append(Part(text=text[table.start : table.end], table=table))
        at = table.end
    if at < len(text):
        parts.append(Part(text=text[at:]))
    return tuple(parts)


def is_table_open(text: str) -> bool:
    """Return whether `text` ends in what may still be, or become, a table that goes on."""
    blocks, ending = find_blocks(text, Ending(), is_last=False)
    if ending.line.fence or "|" not in text:
        return False
    tables = find_tables(text, blocks)
    if tables and not tables[-1].is_finished:
        return True
    lines = text.splitlines()[-2:]
    if len(lines) > 1 and _is_start(lines[0], lines[1]):
        return True
    return bool(lines) and _is_header(cells(lines[-1]), lines[-1])


def cells(line: str) -> tuple[str, ...]:
    """Return the cells of a line, trimmed; none if it holds no pipe."""
    line = line.strip()
    found: list[str] = []
    cell: list[str] = []
    is_escaped = False
    for letter in line:
        if letter == "|" and not is_escaped:
            found.append("".join(cell).strip())
            cell = []
        else:
            cell.append(letter)
        is_escaped = letter == "\\" and not is_escaped
    if not found:
        return ()
    last = "".join(cell).strip()
    if last:
        found.append(last)
    return tuple(found[1:] if line.startswith("|") else found)


class _Reader:
    """Reads a text line by line."""

    def __init__(self, text: str, blocks: Sequence[Block]) -> None:
        self._text = text
        spans = [match.span() for match in _LINE.finditer(text)]
        self._lines = list(_outside(spans, blocks))

    def tables(self) -> list[Table]:
        tables: list[Table] = []
        index = 0
        while index + 2 < len(self._lines):
            table, index = self._table(index)
            if table is not None:
                tables.append(table)
        return tables

    def _line(self, index: int) -> str:
        span = self._lines[index]
        return "" if span is None else self._text[span[0] : span[1]]

    def _table(self, index: int) -> tuple[Table | None, int]:
        first, body, header = self._lines[index], self._lines[index + 2], self._line(index)
        if first is None or body is None or not _is_start(header, self._line(index + 1)):
            return None, index + 1
        names = cells(header)
        rows, after = self._rows(index + 2, len(names))
        last = self._lines[after - 1]
        if not rows or last is None:
            return None, index + 1
        table = Table(
            start=first[0],
            body=body[0],
            end=last[1],
            header=names,
            alignments=tuple(_alignment(cell) for cell in cells(self._line(index + 1))),
            rows=tuple(rows),
            is_finished=after < len(self._lines),
        )
        return table, after

    def _rows(self, index: int, width: int) -> tuple[list[tuple[str, ...]], int]:
        rows: list[tuple[str, ...]] = []
        while index < len(self._lines):
            row = cells(self._line(index))
            if len(row) != width or _is_separator(row):
                break
            rows.append(row)
            index += 1
        return rows, index


def _outside(
    spans: Sequence[tuple[int, int]], blocks: Sequence[Block]
) -> list[tuple[int, int] | None]:
    """Return the lines, and nothing in the place of those that touch code."""
    kept: list[tuple[int, int] | None] = []
    index = 0
    for start, end in spans:
        while index < len(blocks) and blocks[index].end <= start:
            index += 1
        is_code = index < len(blocks) and blocks[index].start < end
        kept.append(None if is_code else (start, end))
    return kept


def _is_start(header: str, separator: str) -> bool:
    row = cells(separator)
    if not row or not _is_separator(row):
        return False
    names = cells(header)
    return len(names) == len(row) and _is_header(names, header)


def _is_header(names: Sequence[str], line: str) -> bool:
    if len(names) < _LEAST_CELLS or not any(names):
        return False
    plain = _SPOILER.sub("", line).strip()
    pipes = plain.count("|") - plain.count("\\|")
    return pipes >= _LEAST_CELLS or (pipes > 0 and (plain[0] == "|" or plain[-1] == "|"))


def _is_separator(row: Sequence[str]) -> bool:
    return all(_DELIMITER.fullmatch(cell) for cell in row)


def _alignment(cell: str) -> Alignment:
    if not cell.endswith(":"):
        return "left"
    return "center" if cell.startswith(":") else "right"
