"""What keeps a line back, and for how long."""

import pytest

from actors.text import core
from actors.text.closing import trimmed
from actors.text.holds import fold_lines
from tests.actors.text.streams import posts, run, withheld

CASES = [
    pytest.param(
        ["we won (barely\nsecond line)\nthird"],
        ["we won (barely\nsecond line)\n", "third"],
        id="V9",
    ),
    pytest.param(["we won (barely\nsecond line"], ["we won (barely\nsecond line"], id="V8"),
    pytest.param(["*waves\nhello*\nbye"], ["*waves\nhello*\n", "bye"], id="V10"),
    pytest.param(["line\n!\nnext"], ["line\n!", "\n", "next"], id="V13"),
    pytest.param(["line\n...\nnext"], ["line\n", "...\nnext"], id="V14-with-T31"),
    pytest.param(["-# \nsmall text\nbody"], ["-# small text\n", "body"], id="V15"),
    pytest.param(["2 * 3\nnext"], ["2 * 3\n", "next"], id="V17-star"),
    pytest.param(["Best* thing\nnext"], ["Best* thing\n", "next"], id="V17-behind-a-word"),
    pytest.param(["use `*args`\nnext"], ["use `*args`\n", "next"], id="V17-code"),
    pytest.param(
        ["| a | b |\n", "|---|---|\n", "| 1 | 2 |\n", "after\nend"],
        ["| a | b |\n|---|---|\n| 1 | 2 |\nafter\n", "end"],
        id="V19",
    ),
    pytest.param(["x<details open><summary>S</summary>body</details>y"], ["xy"], id="V25"),
    pytest.param(
        ['six" tall man\n\nnew para\nz'],
        ['six" tall man\n', "\n", "new para\n", "z"],
        id="V28",
    ),
    pytest.param(
        ["a (b\n" + "c" * 996 + "\nd\ne\nf"],
        ["a (b\n", "c" * 996 + "\n", "d\n", "e\n", "f"],
        id="T19-a-thousand-characters",
    ),
]


@pytest.mark.parametrize(("chunks", "expected"), CASES)
def test_a_live_stream_is_cut_outside_of_what_is_open(
    chunks: list[str], expected: list[str]
) -> None:
    """A parenthesis in two messages is read as a mistake; a lone one must not stop the answer."""
    assert [one.text for one in run(chunks)] == expected
    assert [one.text for one in run("".join(chunks))] == expected


SENTENCES = [
    pytest.param("One. Two. Three.", ["One.", " Two.", " Three."], id="V3"),
    pytest.param("こんにちは。", ["こんにちは。"], id="V4"),
    pytest.param("he is Mr. Hale. Yes", ["he is Mr. Hale.", " Yes"], id="V5"),
    pytest.param("price is 3.\nnext line", ["price is 3.\n", "next line"], id="V6"),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_sentences_leave_one_by_one(text: str, expected: list[str]) -> None:
    """With sentence splitting on, a person sends each sentence as it is done."""
    config = core.TextConfig(sentence_splitting=True)

    assert [one.text for one in run([text], config)] == expected
    assert [one.text for one in run(text, config)] == expected


@pytest.mark.parametrize("text", ["*open", "**kw x", "~~x", "ふん*顔", "*:･ﾟ✧ hi"])
def test_t11_emphasis_is_open(text: str) -> None:
    """Half of an emphasis shows its stars."""
    assert fold_lines(text).newest is not None


@pytest.mark.parametrize(
    "text",
    ["`**kw`", "f***", "a*b", "* item", "やだ~~w", "_x", "**b *i***", "kiss :* ok", "*_* wow"],
)
def test_t11_a_star_is_no_emphasis(text: str) -> None:
    """A text that waits for a closer that will not come stutters."""
    assert fold_lines(text).newest is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("we won B) (barely", ["we won B) (barely)"], id="V30-aside"),
        pytest.param("||Secret", ["||Secret||"], id="V30-spoiler"),
        pytest.param(
            "see (a_b\n| x | y |\n|---|---|\n| user_id | 2 |",
            ["see (a_b)", "| x | y |\n|---|---|\n| user_id | 2 |"],
            id="V31",
        ),
        pytest.param("a lone [", ["a lone ["], id="D18"),
        pytest.param("my (snake_case", ["my (snake_case)"], id="D19"),
        pytest.param("Ren: hi", ["Ren: hi"], id="no-names-no-labels"),
    ],
)
def test_t25_what_is_open_at_the_end_is_closed(text: str, expected: list[str]) -> None:
    """Only what holds, and only by what Discord renders."""
    assert posts([text]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Let me look. I will che", "Let me look."),
        ("no boundary here", "no boundary here"),
        ('Done! "Really."', 'Done! "Really."'),
        ("One\ntwo three ", "One\n "),
    ],
)
def test_v29_a_clause_is_trimmed(text: str, expected: str) -> None:
    """The model says it again behind the call."""
    start, end = trimmed(text)

    assert text[:start] + text[end:] == expected


def test_t26_half_a_clause_before_a_tool_call_is_withheld_by_name() -> None:
    """Only a tool call leaves words out; a stop says what there is."""
    text = "Let me look. I will che"

    called, stopped = run([text], how="tool_call"), run([text], how="stop")

    assert [piece.content for one in called for piece in one.pieces] == ["Let me look."]
    assert withheld(called, "clause") == len(" I will che")
    assert [piece.content for one in stopped for piece in one.pieces] == [text]


def test_t6_what_details_say_is_kept_and_not_shown() -> None:
    """It is a note for later, not a message."""
    segments = run(["x<details open><summary>S</summary>body</det", "ails>y"])

    assert [one.details for one in segments] == [("body",)]
    assert withheld(segments, "details") == len("<details open><summary>S</summary>body</details>")


@pytest.mark.parametrize("live", [True, False])
def test_t7_a_subtext_marker_takes_its_line_and_the_characters_add_up(live: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Alone, the marker would show as two characters."""
    text = "-#\n\n\nsmall"

    segments = run(text, core.TextConfig(live_streaming=live))

    assert [piece.content for one in segments for piece in one.pieces] == ["-# small"]
    assert withheld(segments, "subtext") == 2
