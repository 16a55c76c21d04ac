"""A table of figures: what the analyst answers, and what every surface prints."""

import csv
import io
import math
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct

from events.base import Position


class Column(Struct, frozen=True, kw_only=True):
    """One column of a table."""

    name: str
    """Its name."""
    type: str
    """DuckDB's type, such as `UBIGINT`."""
    unit: str | None = None
    """The unit of its figures, such as `tokens`, `ms` or `USD`."""


class Table(Struct, frozen=True, kw_only=True):
    """Rows under named columns."""

    columns: tuple[Column, ...]
    """In order."""
    rows: tuple[tuple[Any, ...], ...]
    """Each as long as `columns`; values are JSON-able, datetimes and decimals included."""
    is_truncated: bool = False
    """Whether a row limit cut it."""
    as_of: Position = Position(0)
    """The last event that these figures know."""


def to_json(table: Table) -> dict[str, Any]:
    """Return the table as plain JSON values: its columns with their units, a dict a row.

    Decimals become numbers and times ISO 8601 in UTC. A name that several columns share is
    numbered from the second on (`count_2`), so that no figure is lost.
    """
    names = _unique([column.name for column in table.columns])
    return {
        "columns": [
            {"name": name, "type": column.type, "unit": column.unit}
            for name, column in zip(names, table.columns, strict=True)
        ],
        "rows": [
            dict(zip(names, (_json_value(cell) for cell in row), strict=True)) for row in table.rows
        ],
        "is_truncated": table.is_truncated,
        "as_of": table.as_of,
    }


def to_csv(table: Table) -> str:
    """Return the table as CSV (RFC 4180) with a line of names; None is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([column.name for column in table.columns])
    writer.writerows([_csv_value(cell) for cell in row] for row in table.rows)
    return text.getvalue()


def _unique(names: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    result: list[str] = []
    for name in names:
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken.add(free)
        result.append(free)
    return result


def _json_value(cell: Any) -> Any:  # noqa: ANN401 - a cell is any JSON-able value
    match cell:
        case datetime():
            return _iso(cell)
        case Decimal():
            return float(cell)
        case float() if not math.isfinite(cell):
            return str(cell)  # JSON has no word for it, and null would say unknown
        case _:
            return cell


def _csv_value(cell: Any) -> Any:  # noqa: ANN401 - a cell is any JSON-able value
    return _iso(cell) if isinstance(cell, datetime) else cell


def _iso(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
