"""Figures and timelines on paper: a terminal's table, plain columns, JSON, CSV.

What is printed was written by models and strangers: nothing of it may steer the terminal.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, TextIO

import msgspec

from actors.table import Column, Table
from bot.operations import Difference, ReplayReport, TimelineLine

_STEERING: Final = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NUMERIC: Final = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|REAL")
_json: Final = msgspec.json.Encoder(decimal_format="number", order="deterministic")
_plain_json: Final = msgspec.json.Encoder(decimal_format="number")


def printable(text: str) -> str:
    """Return `text` on one line, with all that would steer a terminal spelled out."""
    return _STEERING.sub(lambda found: repr(found.group())[1:-1], text)


def as_json(table: Table) -> str:
    """Return the rows as a JSON array of objects, an object a line."""
    names = [column.name for column in table.columns]
    lines = [
        _plain_json.encode(dict(zip(names, row, strict=True))).decode() for row in _values(table)
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def as_csv(table: Table) -> str:
    """Return the rows as CSV under a line of names."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([_text(value) for value in row] for row in _values(table))
    return page.getvalue()


def print_table(table: Table, page: TextIO) -> None:
    """Write the rows for people: drawn on a terminal, in plain columns elsewhere."""
    heads = [_head(column) for column in table.columns]
    rows = [[printable(_text(value)) for value in row] for row in _values(table)]
    right = [_is_number(column) for column in table.columns]
    if page.isatty():
        _draw(heads, rows, right, page)
    else:
        page.writelines(f"{line}\n" for line in _columns(heads, rows, right))
    if table.is_truncated:
        page.write(f"… cut after {len(rows)} rows\n")


def print_replay(report: ReplayReport, page: TextIO) -> None:
    """Write a turn's timeline, and where its text went."""
    page.write(f"turn {printable(report.turn_id)}, {printable(report.status)}\n")
    width = max((len(entry.kind) for entry in report.entries), default=0)
    for entry in report.entries:
        page.writelines(f"{line}\n" for line in _timeline(entry, width))
    if report.balance is not None:
        balance = report.balance
        rules = sorted(balance.withheld.items())
        parts = [f"{balance.delivered} delivered", *(f"{count} {rule}" for rule, count in rules)]
        page.write(f"{balance.received} characters received = {' + '.join(parts)}\n")
        if balance.problem:
            page.write(f"does not balance: {printable(balance.problem)}\n")


def print_difference(difference: Difference | None, page: TextIO) -> None:
    """Write where today's code parts from the record, if it does."""
    if difference is None:
        page.write("today's code gives what is on record\n")
        return
    page.write(f"today's code differs at {printable(difference.where)}\n")
    page.writelines(f"  {printable(line)}\n" for line in difference.context)
    page.write(f"- {printable(difference.recorded)}\n+ {printable(difference.computed)}\n")


def report_json(report: ReplayReport) -> str:
    """Return a replay as one JSON object."""
    return msgspec.json.format(_json.encode(report), indent=2).decode() + "\n"


def _timeline(entry: TimelineLine, width: int) -> Iterator[str]:
    clock = entry.at.strftime("%H:%M:%S.%f")[:-3]
    head = f"{clock} {entry.offset_ms:>+10.0f} ms  {entry.kind:<{width}}"
    yield f"{head}  {printable(entry.summary)}".rstrip()


def _values(table: Table) -> Iterator[list[Any]]:
    # Over the socket a time or a decimal comes as text, from a file as itself: both become text,
    # and what the column calls a decimal becomes a number again.
    decimals = [column.type.startswith("DECIMAL") for column in table.columns]
    for row in table.rows:
        plain = [msgspec.to_builtins(value, enc_hook=str) for value in row]
        yield [
            Decimal(value) if is_decimal and isinstance(value, str) else value
            for value, is_decimal in zip(plain, decimals, strict=True)
        ]


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool() | list() | dict():
            return _plain_json.encode(value).decode()
        case Decimal():
            return f"{value:f}"  # str() writes a zero of twelve places as 0E-12
        case _:
            return str(value)


def _head(column: Column) -> str:
    return printable(column.name if column.unit is None else f"{column.name} ({column.unit})")


def _is_number(column: Column) -> bool:
    return _NUMERIC.fullmatch(column.type) is not None


def _columns(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
) -> Iterator[str]:
    from rich.cells import cell_len  # noqa: PLC0415 - most commands print no table

    lines = [heads, *rows]
    widths = [max(cell_len(line[index]) for line in lines) for index in range(len(heads))]
    for line in lines:
        padded = [
            " " * (width - cell_len(cell)) + cell
            if to_right
            else cell + " " * (width - cell_len(cell))
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ]
        yield "  ".join(padded).rstrip()


def _draw(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], page: TextIO
) -> None:
    from rich import box  # noqa: PLC0415 - takes longer to import than most commands to answer
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as Drawing  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    drawing = Drawing(box=box.SIMPLE_HEAD)
    for head, to_right in zip(heads, right, strict=True):
        drawing.add_column(Text(head), justify="right" if to_right else "left", overflow="fold")
    for row in rows:
        drawing.add_row(*(Text(cell) for cell in row))
    Console(file=page).print(drawing)
