"""Tables as code blocks: every row under its header, nothing lost, nothing too long."""

from hypothesis import given
from hypothesis import strategies as st

from actors.text.graphemes import units
from actors.text.table_blocks import code_blocks, fenced

HEAD = "| Name | Text |\n|---|---|\n"


def test_b10_a_table_that_fits_stands_in_one_block() -> None:
    """Pipes are readable in a font where they line up."""
    assert code_blocks(HEAD + "| a | b |\n") == (f"```\n{HEAD}| a | b |\n```",)


def test_b10_a_long_table_is_cut_between_rows_and_repeats_its_header() -> None:
    """A row without its header says nothing."""
    rows = [f"| row {n} | {'x' * 50} |" for n in range(60)]

    blocks = code_blocks(HEAD + "\n".join(rows) + "\n")

    assert len(blocks) > 1
    assert all(one.startswith(f"```\n{HEAD}") and units(one) <= 2000 for one in blocks)
    assert [row for one in blocks for row in one.split("\n")[3:-1]] == rows


def test_a_fence_in_a_cell_does_not_close_the_block() -> None:
    """What follows would stand there raw."""
    assert fenced("a ``` b").count("```") == 2


@given(
    st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=3000)),
    st.text(st.characters(codec="utf-8"), max_size=2500),
)
def test_no_table_makes_a_message_too_long(rows: list[str], header: str) -> None:
    """Discord refuses more than 2000, and the table would be lost."""
    source = f"{header}|\n---|---\n" + "\n".join(rows)

    blocks = code_blocks(source)

    assert blocks
    assert all(units(one) <= 2000 for one in blocks)
