"""Where tables are, and where there are none."""

import pytest

from actors.text.table_detection import cells, find_tables, is_table_open, split_tables

TABLE = "| a | b |\n|---|:---:|\n| 1 | 2 |\n| 3 | 4 |\n"


def test_v122_a_table_is_parted_from_the_text_around_it() -> None:
    """It is rendered, and the text is not."""
    parts = split_tables(f"Intro\n{TABLE}Outro")

    assert [part.text for part in parts] == ["Intro\n", TABLE, "Outro"]
    table = parts[1].table
    assert table is not None
    assert table.header == ("a", "b")
    assert table.alignments == ("left", "center")
    assert table.rows == (("1", "2"), ("3", "4"))
    assert table.is_finished


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("| a | b |\n", True),
        ("| a | b |\n|---|---|\n", True),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", True),
        ("| a | b |\n|---|---|\n| 1 | 2 |\nx", False),
        ("x | y", False),
        ("```\n| a | b |\n", False),
        ("no table", False),
    ],
)
def test_v122_a_table_is_open_until_something_follows(text: str, is_open: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Sent too early, its later rows would stand alone."""
    assert is_table_open(text) is is_open


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x | y\n--|--\n1 | 2\n", id="one inner pipe"),
        pytest.param("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", id="three cells under two"),
        pytest.param("| a | b |\n|---|---|\n|---|---|\n", id="no body"),
        pytest.param("| | |\n|---|---|\n| 1 | 2 |\n", id="empty header"),
        pytest.param("```\n" + TABLE + "```\n", id="code"),
        pytest.param("||a|| ||b||\n|-|-|\n|1|2|\n", id="spoilers"),
    ],
)
def test_t98_what_only_looks_like_a_table_is_text(text: str) -> None:
    """Prose that is rendered as an image cannot be read on."""
    assert find_tables(text) == ()


def test_v122_an_escaped_pipe_stays_in_its_cell() -> None:
    """Code in cells is full of them."""
    assert cells(r"| a \| b | c |") == (r"a \| b", "c")


def test_v122_parts_join_to_the_text() -> None:
    """Nothing stands in no part."""
    text = f"{TABLE}\n{TABLE}x\n```\n{TABLE}```\n{TABLE}"

    assert "".join(part.text for part in split_tables(text)) == text
    assert len(find_tables(text)) == 3
