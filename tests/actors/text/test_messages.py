"""What the messages of a segment look like."""

import re

import pytest

from actors.text.graphemes import units
from tests.actors.text.streams import FAMILY, posts

LIMIT = 2_000


def unfenced(messages: list[str], opener: str) -> str:
    """Return the code of messages that are each one fenced block."""
    bodies = [re.fullmatch(rf"{opener}\n(.*)\n```", one, re.DOTALL) for one in messages]
    return "\n".join(body[1] for body in bodies if body is not None)


@pytest.mark.parametrize("live", [True, False])
def test_b01_a_long_code_block_stays_code_in_every_message(live: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """An open fence here and a stray closer there show code as prose."""
    code = "\n".join(f"v{i} = f({i})" for i in range(400))

    first, *blocks, last = posts(["Intro.\n```py\n" + code + "\n```\nEnd."], live=live, limit=LIMIT)

    if not live:
        block, _, last = last.rpartition("\n")
        blocks.append(block)
    assert (first, last) == ("Intro.", "End.")
    assert len(blocks) == 3
    assert all(len(block) <= LIMIT for block in blocks)
    assert unfenced(blocks, "```py") == code


def test_b02_the_added_fence_is_part_of_the_limit() -> None:
    """A closer that is added late makes 2002 characters, which Discord refuses."""
    messages = posts(["```\n" + "a" * 1994 + "\nb\n```"], limit=LIMIT)

    assert all(len(one) <= LIMIT for one in messages)
    assert unfenced(messages, "```").replace("\n", "") == "a" * 1994 + "b"


@pytest.mark.parametrize("live", [True, False])
def test_b06_an_astral_character_is_never_torn(live: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Half a surrogate pair is a broken character in both messages."""
    text = "x" + "😀" * 2_500

    messages = posts([text], live=live, limit=LIMIT)

    assert "".join(messages) == text
    assert all(units(one) <= LIMIT for one in messages)
    assert not any("\ud800" <= letter <= "\udfff" for one in messages for letter in one)


def test_b07_a_family_stays_together() -> None:
    """A cut between its members turns one emoji into four."""
    messages = posts(["a" * 1_996 + FAMILY + "z"], live=False, limit=LIMIT)

    assert messages == ["a" * 1_996, FAMILY + "z"]


def test_b14_a_long_answer_is_not_cut_short() -> None:
    """Text that silently ends in the middle is the worst kind of loss."""
    text = " ".join(f"Sentence number {i} is here." for i in range(200))

    messages = posts([text], live=False, limit=LIMIT)

    assert len(messages) >= 3
    assert " ".join(messages) == text


CASES = [
    pytest.param("Good morning.\n\nDid you sleep well?", 1950, None, id="V41"),
    pytest.param("See https://ex.org/a.b?c=1 for more", 1950, None, id="V72"),
    pytest.param("Intro text.\n```py\nx=1\n```\nOutro text.", 1950, None, id="V74"),
    pytest.param(
        "```js\nalpha()\nbeta()\ngamma()\ndelta()\n```",
        30,
        ["```js\nalpha()\nbeta()\n```", "```js\ngamma()\ndelta()\n```"],
        id="V76",
    ),
    pytest.param(
        "```js\n" + "z" * 60 + "\n```", 30, ["```js\n" + "z" * 20 + "\n```"] * 3, id="V77"
    ),
    pytest.param("x" * 30, 20, ["x" * 20, "x" * 10], id="V78"),
    pytest.param("aaaa bbbb cccc dddd eeee", 20, ["aaaa bbbb cccc dddd", "eeee"], id="V79"),
    pytest.param(
        "line1\nline2\nline3\nline4 ....", 20, ["line1\nline2\nline3", "line4 ...."], id="V80"
    ),
    pytest.param("字" * 18 + "、" + "字" * 11, 20, ["字" * 18 + "、", "字" * 11], id="V81"),
    pytest.param("  lead\n\n", 1950, ["lead"], id="blank-ends"),
    pytest.param("```\n  indented\n```", 1950, None, id="indentation-in-code"),
    pytest.param(" \n\t\n", 1950, [], id="blank"),
    pytest.param(
        "aaaa aaaa. bb bbbb bb cccc", 24, ["aaaa aaaa. bb bbbb bb", "cccc"], id="space-in-zone"
    ),
    pytest.param(
        "aaaaaaaaaaaaaa aa. bbbbbbbbbbbb", 22, ["aaaaaaaaaaaaaa aa.", "bbbbbbbbbbbb"], id="sentence"
    ),
    pytest.param("text\n```py\n" + "x\n" * 8 + "```", 24, None, id="block-goes-whole"),
    pytest.param("```\na\n```\n```\n" + "b" * 12 + "\n```", 22, None, id="two-blocks"),
    pytest.param("see ```py", 1950, ["see ```py\n```"], id="opener-at-the-end"),
    pytest.param("🇩🇪" * 6, 22, ["🇩🇪" * 5, "🇩🇪"], id="flags"),
    pytest.param(
        "```\nabcdefgh\n      ```\nend", 20, ["```\nabcdefgh\n```", "end"], id="spent-closer"
    ),
    pytest.param(
        "a" + "\u0301" * 30, 20, ["a" + "\u0301" * 19, "\u0301" * 11], id="cluster-above-limit"
    ),
]
EXPECTED = {
    "text\n```py\n" + "x\n" * 8 + "```": [
        "text",
        "```py\n" + "x\n" * 7 + "```",
        "```py\nx\n```",
    ],
    "```\na\n```\n```\n" + "b" * 12 + "\n```": ["```\na\n```", "```\n" + "b" * 12 + "\n```"],
}


@pytest.mark.parametrize(("text", "limit", "expected"), CASES)
def test_an_answer_is_packed_as(text: str, limit: int, expected: list[str] | None) -> None:
    """Few messages, cut where it hurts least, in the order of the text."""
    if expected is None:
        expected = EXPECTED.get(text, [text])

    assert posts([text], live=False, limit=limit) == expected
