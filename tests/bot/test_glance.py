"""A list of turns on terminals of any width."""

from datetime import UTC, datetime

import pytest

from actors.table import Column, Table
from bot.glance import SHORT_ID, TURNS, USAGE, at_a_glance

ID = "01a22ec0-942d-77cb-ad3f-d1bcc4315a22"
LISTED = Table(
    columns=(
        Column(name="turn_id", type="UUID"),
        Column(name="started_at", type="TIMESTAMP"),
        Column(name="ended_at", type="TIMESTAMP"),
        Column(name="channel_id", type="UBIGINT"),
        Column(name="persona", type="VARCHAR"),
        Column(name="model", type="VARCHAR"),
        Column(name="status", type="VARCHAR"),
        Column(name="messages", type="UBIGINT", unit="messages"),
        Column(name="duration_ms", type="DOUBLE", unit="ms"),
    ),
    rows=(
        (
            *(ID, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None, 1577101412162560000),
            *("Rejoinder", "loopback/scripted", "completed", 3, 964.4),
        ),
    ),
)


def names(table: Table) -> list[str]:
    """Return the headings."""
    return [column.name for column in table.columns]


def test_where_no_terminal_is_nothing_is_cut() -> None:
    """Another program reads it."""
    shown = at_a_glance(LISTED, TURNS, None)

    assert shown.rows[0][:4] == (ID, "01-02 03:04:05", 1577101412162560000, "Rejoinder")
    assert shown.rows[0][4:] == ("loopback/scripted", "completed", 3, 964)


@pytest.mark.parametrize(
    ("width", "missing"),
    [(200, set[str]()), (100, {"channel"}), (70, {"channel", "persona", "model"})],
)
def test_a_terminal_shows_whole_lines_without_what_does_not_fit(
    width: int, missing: set[str]
) -> None:
    """A folded id helps nobody."""
    shown = at_a_glance(LISTED, TURNS, width)

    assert set(names(at_a_glance(LISTED, TURNS, None))) - set(names(shown)) == missing
    assert shown.rows[0][0] == ID[:SHORT_ID]


def test_a_list_without_turns_is_a_line_of_headings() -> None:
    """The first thing that somebody with a new bot asks for."""
    assert names(at_a_glance(Table(columns=LISTED.columns, rows=()), TURNS, 200))[0] == "turn"


def test_an_unknown_figure_stays_unknown() -> None:
    """Not 0, and not a word."""
    table = Table(
        columns=(
            Column(name="model", type="VARCHAR"),
            Column(name="cost_usd", type="DECIMAL(38,12)", unit="USD"),
        ),
        rows=(("m", None),),
    )

    assert at_a_glance(table, USAGE, None).rows == (("m", None),)
