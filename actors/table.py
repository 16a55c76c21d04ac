"""A table of figures: what the analyst answers, and what every surface prints."""

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
