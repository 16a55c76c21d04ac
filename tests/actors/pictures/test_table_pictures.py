"""Tables drawn: what of a source becomes pictures, and that everything in it can be seen."""

import struct
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from actors.pictures.fonts import Fonts, han_of
from actors.pictures.inline import Look, Run, runs_of
from actors.pictures.layout import BEST_WIDTH, MOST_PAGES, PAGE_HEIGHT
from actors.pictures.lines import break_lines
from actors.pictures.table_pictures import pictures_of

PLAIN = "| Name | Score |\n|---|---:|\n| Ann | 12 |\n"
NO_LETTER = "\u0378"
PROSE = "words that go on and on until no screen could hold them in one line any more " * 3


def size_of(picture: bytes) -> tuple[int, int]:
    """Return width and height of a PNG, in pixels."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def table_of(rows: int, cell: str = "word") -> str:
    """Return a table of so many rows."""
    return "| # | Word |\n|--:|---|\n" + "".join(f"| {n} | {cell} |\n" for n in range(rows))


def test_t100_equal_sources_give_equal_bytes() -> None:
    """The digest of an attempt must say the same of a picture drawn again after a crash."""
    assert pictures_of(PLAIN) == pictures_of(PLAIN)
    assert pictures_of(PLAIN) != pictures_of(PLAIN.replace("12", "13"))


def test_a_wide_table_wraps_its_cells_and_keeps_its_letters() -> None:
    """Letters that shrink with the table's width can't be read on a phone."""
    narrow, wide = pictures_of(PLAIN), pictures_of(PLAIN.replace("Ann", PROSE))

    assert size_of(narrow[0])[0] < 400
    assert BEST_WIDTH - 100 < size_of(wide[0])[0] <= BEST_WIDTH + 4
    assert size_of(wide[0])[1] > size_of(narrow[0])[1]


def test_a_long_table_becomes_pages_each_of_readable_height() -> None:
    """Discord scales a picture to the height of the window."""
    pages = pictures_of(table_of(100))

    assert len(pages) > 2
    assert all(size_of(page)[1] <= PAGE_HEIGHT + 4 for page in pages)
    assert len({size_of(page)[0] for page in pages}) == 1


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("no table", id="no table"),
        pytest.param(table_of(30 * MOST_PAGES), id="more pages than attachments"),
        pytest.param(f"{'| a ' * 80}|\n{'|---' * 80}|\n{'| b ' * 80}|\n", id="too many columns"),
    ],
)
def test_t100_what_can_not_be_read_as_pictures_gives_none(source: str) -> None:
    """Its source is posted in code blocks then."""
    assert pictures_of(source) == ()


def test_b10_what_stands_in_a_cell_is_read_as_discord_reads_it() -> None:
    """Formatting is shown, and what only looks like it is left alone."""
    assert runs_of("x_1 2* a\\|b") == (Run(text="x_1 2* a|b"),)
    assert runs_of("**b** *i* ~~s~~ `p\\|q`") == (
        Run(text="b", look=Look(is_bold=True)),
        Run(text=" "),
        Run(text="i", look=Look(is_italic=True)),
        Run(text=" "),
        Run(text="s", look=Look(is_struck=True)),
        Run(text=" "),
        Run(text="p|q", look=Look(is_code=True)),
    )
    assert runs_of("[a](https://x.y)<br>b <:smile:123456789012345678>") == (
        Run(text="a", look=Look(is_link=True)),
        Run(text="\n"),
        Run(text="b :smile:"),
    )


@pytest.mark.parametrize("letter", "Aжλ漢字かカ한→★✓😀🌶♥بกअ")
def test_every_letter_is_drawn_as_itself(letter: str) -> None:
    """Neither nothing nor the box of a missing one."""
    blank, missing, drawn = (
        pictures_of(PLAIN.replace("Ann", one))[0] for one in ("\u2003", NO_LETTER, letter)
    )

    assert ink(drawn) > ink(blank)
    assert drawn != missing


def test_a_letter_that_no_font_has_leaves_a_box() -> None:
    """A cell that seems empty lies about the table."""
    blank, missing = (pictures_of(PLAIN.replace("Ann", one))[0] for one in ("\u2003", NO_LETTER))

    assert ink(missing) > ink(blank)


def ink(picture: bytes) -> int:
    """Return how many pixels of the picture have ink."""
    image = Image.open(BytesIO(picture)).convert("L")
    return sum(image.histogram()[120:])


@pytest.mark.parametrize(
    ("text", "han"), [("漢字かな", "ja"), ("漢字 한국어", "ko"), ("汉字", "zh"), ("abc", "zh")]
)
def test_the_letters_beside_them_tell_whose_han_characters_are_meant(text: str, han: str) -> None:
    """One code has several forms; a Japanese reader sees the Chinese one as a mistake."""
    assert han_of(text) == han


def test_japanese_breaks_between_letters_but_not_before_a_closing_mark() -> None:
    """It has no blanks to break at."""
    fonts = Fonts("ja")
    width = fonts.width("あいうえ", Look())

    lines = break_lines([Run(text="あいうえ。かき")], fonts, width)

    assert ["".join(atom.text for atom in line) for line in lines] == ["あいう", "え。かき"]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([Run(text="abcdefgh" * 30)], id="one word"),
        pytest.param([Run(text=letter) for letter in "abcdefgh" * 30], id="a look a letter"),
        pytest.param([Run(text="e\u0301" * 99)], id="marks"),
        pytest.param([Run(text="(" * 99 + "漢" + "。" * 99)], id="nothing that may break"),
    ],
)
def test_a_word_wider_than_its_column_is_broken(runs: list[Run]) -> None:
    """A URL must not push the other columns out of the picture, nor its end be cut off."""
    fonts = Fonts("ja")
    width = fonts.width("abcdefgh", Look())

    lines = break_lines(runs, fonts, width)

    drawn = "".join(atom.text for line in lines for atom in line)
    assert drawn == "".join(run.text for run in runs)
    assert all(sum(atom.width for atom in line) <= width + 1 for line in lines)
    assert all(not atom.text.startswith("\u0301") for line in lines for atom in line)


def test_a_turns_process_starts_without_pillow_and_its_fonts() -> None:
    """Most turns have no table, and a new process must not keep people waiting."""
    check = (
        "import sys, actors.cluster.hosts;"
        "print([m for m in ('PIL', 'fontTools', 'markdown_it') if m in sys.modules])"
    )
    found = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", check],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout.strip() == "[]"
