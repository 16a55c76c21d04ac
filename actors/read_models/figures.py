"""DuckDB's results as the values that a `Table` holds, and the units of its columns."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, cast
from uuid import UUID

import msgspec

from actors.table import Column

_UNITS: Final = {
    "tokens": "tokens",
    "input": "tokens",
    "unknown": "requests",
    "requests": "requests",
    "measured": "requests",
    "estimated": "requests",
    "messages": "messages",
    "unconfirmed": "attempts",
    "usd": "USD",
    "pico": "1e-12 USD",
    "ms": "ms",
    "seconds": "s",
    "ratio": "of 1",
}
"""By the last word of a column's name."""


def unit_of(name: str) -> str | None:
    """Return the unit that a column's name implies."""
    return _UNITS.get(name.rpartition("_")[2].lower())


def columns_of(description: Sequence[Any] | None) -> tuple[Column, ...]:
    """Return the columns of a result, from the cursor's description."""
    return tuple(
        Column(name=column[0], type=str(column[1]), unit=_unit(column[0], str(column[1])))
        for column in description or ()
    )


def _unit(name: str, kind: str) -> str | None:
    is_number = kind.endswith("INT") or kind.startswith(("DECIMAL", "DOUBLE", "FLOAT"))
    return unit_of(name) if is_number else None


def plain_row(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the row in ints, floats, strings, decimals, aware UTC times and None."""
    return tuple(plain(cell) for cell in row)


def plain(cell: Any) -> Any:  # noqa: ANN401 - whatever DuckDB gives
    """Return one value; what is nested becomes JSON, what has no better form its text."""
    match cell:
        case None | bool() | int() | float() | str() | Decimal():
            return cell
        case datetime():
            return cell.replace(tzinfo=UTC) if cell.tzinfo is None else cell.astimezone(UTC)
        case date() | time():
            return cell.isoformat()
        case bytes():
            return cell.hex()
        case UUID() | timedelta():
            return str(cell)
        case _:
            return msgspec.json.encode(_nested(cell)).decode()


def _nested(cell: Any) -> Any:  # noqa: ANN401 - whatever DuckDB gives
    if isinstance(cell, dict):
        entries = cast("dict[Any, Any]", cell)
        return {str(key): _nested(value) for key, value in entries.items()}
    if isinstance(cell, list | tuple):
        return [_nested(value) for value in cast("Sequence[Any]", cell)]
    return float(cell) if isinstance(cell, Decimal) else plain(cell)
