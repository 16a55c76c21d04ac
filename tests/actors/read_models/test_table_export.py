"""Tables as JSON and CSV: what outside programs read."""

import csv
import io
import json
import math
from datetime import UTC, datetime
from decimal import Decimal

from actors.table import Column, Table, to_csv, to_json
from events.base import Position

TABLE = Table(
    columns=(
        Column(name="day", type="DATE"),
        Column(name="cost_usd", type="DECIMAL(38,12)", unit="USD"),
        Column(name="at", type="TIMESTAMP"),
        Column(name="at", type="VARCHAR"),
        Column(name="ratio", type="DOUBLE"),
    ),
    rows=(
        ("2026-03-01", Decimal("0.004230000000"), datetime(2026, 3, 1, tzinfo=UTC), 'a "b"\n', 0.5),
        (None, None, None, "ü,;", math.inf),
    ),
    is_truncated=True,
    as_of=Position(7),
)


def test_json_carries_units_and_what_the_figures_know() -> None:
    """A number without a unit, a bound or a date is no figure."""
    exported = to_json(TABLE)

    assert json.loads(json.dumps(exported, allow_nan=False)) == exported
    assert exported["columns"][1] == {"name": "cost_usd", "type": "DECIMAL(38,12)", "unit": "USD"}
    assert exported["is_truncated"] is True
    assert exported["as_of"] == 7


def test_json_rows_are_plain_and_lose_no_column() -> None:
    """Two columns of one name are ordinary in SQL, and would be one in a dict."""
    rows = to_json(TABLE)["rows"]

    assert rows == [
        {
            "day": "2026-03-01",
            "cost_usd": 0.00423,
            "at": "2026-03-01T00:00:00Z",
            "at_2": 'a "b"\n',
            "ratio": 0.5,
        },
        {"day": None, "cost_usd": None, "at": None, "at_2": "ü,;", "ratio": "inf"},
    ]


def test_csv_reads_back_as_it_was() -> None:
    """Quotes, commas and line breaks are what people write in Discord."""
    lines = list(csv.reader(io.StringIO(to_csv(TABLE), newline="")))

    assert lines == [
        ["day", "cost_usd", "at", "at", "ratio"],
        ["2026-03-01", "0.004230000000", "2026-03-01T00:00:00Z", 'a "b"\n', "0.5"],
        ["", "", "", "ü,;", "inf"],
    ]
