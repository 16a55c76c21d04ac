"""Rows for tests that stand below a log."""

from datetime import datetime

from events.codec import encode
from events.row import Row
from tests.events.samples import note


def row(position: int, stream: str = "channel/1", seq: int | None = None) -> Row:
    """Return a row that carries its position as its number."""
    return Row(
        position,
        stream,
        position if seq is None else seq,
        "stop_observed",
        1,
        datetime(2026, 5, 4),  # noqa: DTZ001 - stored without a time zone, meant as UTC
        None,
        None,
        None,
        encode(note(position)),
    )


def rows(first: int, last: int, stream: str = "channel/1") -> list[Row]:
    """Return the rows of the positions `first` to `last`, both inclusive."""
    return [row(position, stream) for position in range(first, last + 1)]
