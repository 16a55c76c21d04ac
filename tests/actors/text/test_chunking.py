"""What single segments are cut into."""

import re
import time
from collections.abc import Sequence
from importlib import metadata
from typing import get_args

import pytest

from actors.text.blocks import Ending, find_blocks
from actors.text.chunking import Mode, split, split_accounted
from actors.text.graphemes import units
from tests.actors.text.streams import FAMILY

MUG = "<:Mug:111111111111111111>"
P, A, S = "paragraph", "aggregated", "sentence"
LIMIT = 2_000

VECTORS: Sequence[tuple[str, Mode, int, str, Sequence[str]]] = [
    ("V40", P, 1950, "Good morning.\n\nDid you sleep?", ["Good morning.", "Did you sleep?"]),
    ("V41", A, 1950, "Good morning.\n\nDid you sleep?", ["Good morning.\n\nDid you sleep?"]),
    (
        "V42",
        S,
        1950,
        "Morning. Coffee is ready. See Dr. Hale at 3.30 today.",
        ["Morning", "Coffee is ready", "See Dr. Hale at 3.30 today"],
    ),
    ("V43", S, 1950, "One! Two? Three. Four", ["One! Two? Three", "Four"]),
    ("V44", S, 1950, "Hmm... maybe. Fine....", ["Hmm... maybe", "Fine...."]),
    ("V45", S, 1950, "你好。世界。再見", ["你好", "世界", "再見"]),
    ("V46", S, 1950, "first. *a. b* second", ["first", "*a. b* second"]),
    ("V47", S, 1950, "*a. b\nc. d*", ["*a. b\nc. d*"]),
    ("V48", P, 1950, "*a. b\nc. d*", ["*a. b\nc. d*"]),
    (
        "V49",
        S,
        1950,
        'He said "stop. now." and left. Then rain.',
        ['He said "stop. now." and left', "Then rain"],
    ),
    ("V50", S, 1950, "go (now. really) ok. bye", ["go (now. really) ok", "bye"]),
    ("V51", S, 1950, "((a. b) c. d", ["((a. b) c", "d"]),
    ("V52", S, 1950, "“one. two” three. four", ["“one. two” three", "four"]),
    ("V53", S, 1950, "ugh :( stop. way :)", ["ugh :( stop", "way :)"]),
    ("V54", S, 1950, "two * three. four * five", ["two * three", "four * five"]),
    ("V55", S, 1950, "word*emph. span*word", ["word*emph", "span*word"]),
    (
        "V56",
        S,
        1950,
        "see [docs](https://e.x/a_(b)) ok. bye",
        ["see [docs](https://e.x/a_(b)) ok", "bye"],
    ),
    ("V57", S, 1950, "text `a. b` more. next", ["text `a. b` more", "next"]),
    ("V58", S, 1950, "I said no. Then left.", ["I said no", "Then left"]),
    ("V59", S, 1950, "See no. 5 today. ok", ["See no. 5 today", "ok"]),
    ("V60", S, 1950, "The U.S. is big. Yes.", ["The U.S. is big", "Yes"]),
    ("V61", P, 1950, f"I love {MUG} so much, thanks", [f"I love {MUG} so much, thanks"]),
    ("V62", P, 1950, f"What a day! {MUG}", ["What a day!", MUG]),
    ("V63", P, 1950, f"{MUG} is full", [MUG, "is full"]),
    ("V64", P, 1950, f"1. {MUG}\n2. <:Cat:222>", [f"1. {MUG}", "2. <:Cat:222>"]),
    ("V65", A, 1950, f"1. {MUG}\n2. <:Cat:222>", [f"1. {MUG}\n2. <:Cat:222>"]),
    ("V66", P, 1950, "<:catA:1> <:catB:2><:dogA:3>", ["<:catA:1><:catB:2>", "<:dogA:3>"]),
    ("V67", P, 1950, "<:ab:1><:ab:2>", ["<:ab:1>", "<:ab:2>"]),
    ("V68", P, 1950, "<:Mug:1>\n\n<:Mug2:2>\nhello", ["<:Mug:1><:Mug2:2>", "hello"]),
    ("V69", P, 1950, f"Wow! {MUG}! ok then", ["Wow!", MUG, "ok then"]),
    ("V70", P, 1950, f"(nice {MUG}) wow", [f"(nice {MUG}) wow"]),
    ("V71", P, 1950, "hi <:Mug:1> <:Cat:2> there", ["hi <:Mug:1> <:Cat:2> there"]),
    (
        "V72",
        P,
        1950,
        "See https://ex.org/a.b?c=1 for more",
        ["See https://ex.org/a.b?c=1 for more"],
    ),
    ("V73", P, 1950, "see <https://e.x/a> ok", ["see <https://e.x/a> ok"]),
    ("V74", A, 1950, "Intro.\n```py\nx=1\n```\nOutro.", ["Intro.\n```py\nx=1\n```\nOutro."]),
    (
        "V75",
        S,
        1950,
        "intro\n```\ncode\n```\noutro. end",
        ["intro", "```\ncode\n```", "outro", "end"],
    ),
    (
        "V76",
        P,
        30,
        "```js\nalpha()\nbeta()\ngamma()\ndelta()\n```",
        ["```js\nalpha()\nbeta()\n```", "```js\ngamma()\ndelta()\n```"],
    ),
    ("V77", P, 30, "```js\n" + "z" * 60 + "\n```", ["```js\n" + "z" * 20 + "\n```"] * 3),
    ("V78", P, 20, "x" * 30, ["x" * 20, "x" * 10]),
    ("V79", A, 20, "aaaa bbbb cccc dddd eeee", ["aaaa bbbb cccc dddd", "eeee"]),
    ("V80", A, 12, "line1\nline2\nline3", ["line1\nline2", "line3"]),
    ("V81", A, 20, "字" * 18 + "、" + "字" * 11, ["字" * 18 + "、", "字" * 11]),
    ("V82", P, 1950, "Hi\n!!\nthere", ["Hi!!", "there"]),
    ("V83", P, 1950, "!!\nthere", ["!!there"]),
    ("T60", S, 1950, "", []),
    ("T68", P, 1950, "a\n```x\n1\n```b", ["a", "```x\n1\n```", "b"]),
    ("T74 capitals", S, 1950, "join us. I was in the US. ok", ["join us", "I was in the US. ok"]),
    ("T74 month", S, 1950, "She may. On Jan. 5 too. ok", ["She may", "On Jan. 5 too", "ok"]),
    ("T76 acronym", S, 1950, "made in the U.S.", ["made in the U.S."]),
    ("T78", S, 1950, ".", ["."]),
    ("D20", S, 1950, "so:\n```py\na. b\nc. d", ["so:", "```py\na. b\nc. d\n```"]),
    ("B10", P, 1950, "p\n\n|a|b|\n|-|-|\n|x_1|2*|\n", ["p", "|a|b|\n|-|-|\n|x_1|2*|"]),
    (
        "B10 long",
        P,
        60,
        "| a | b |\n|---|---|\n" + "| x_1 | 2* |\n" * 6,
        ["| a | b |\n|---|---|" + "\n| x_1 | 2* |" * 6],
    ),
    ("B11 blank line", P, 60, "a ||x\n\ny|| b", ["a ||x||", "||y|| b"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "limit", "text", "contents"),
    [vector[1:] for vector in VECTORS],
    ids=[vector[0] for vector in VECTORS],
)
def test_a_segment_gives_these_messages(
    mode: Mode, limit: int, text: str, contents: Sequence[str]
) -> None:
    """The vectors that the rules of chunking were agreed on."""
    assert [one.content for one in split(text, mode, limit)] == list(contents)


def test_t62_joined_characters_are_counted_where_they_are_left_out() -> None:
    """What vanishes within a message is as much accounted for as what vanishes between two."""
    result = split_accounted("Hi.\n!!\nthere. Yes", "sentence")

    assert [one.content for one in result.slices] == ["Hi!!", "there", "Yes"]
    assert result.slices[0].removed == {"period": 1, "blank": 1}
    assert result.dropped == {"blank": 2, "period": 1}


def test_b07_a_family_moves_to_the_next_message_whole() -> None:
    """Cut within, it shows as several people and a stray joiner."""
    contents = [one.content for one in split("a" * 1_996 + FAMILY + "z", "aggregated", LIMIT)]

    assert contents == ["a" * 1_996, FAMILY + "z"]


@pytest.mark.parametrize(
    ("text", "around"),
    [
        pytest.param("> " + "q " * 1_500, r"> [q ]+", id="quote"),
        pytest.param("||" + "secret " * 400 + "||", r"\|\|[^|]+\|\|", id="spoiler"),
        pytest.param("**" + "b " * 1_100 + "**", r"\*\*[^*]+\*\*", id="bold"),
    ],
)
@pytest.mark.parametrize("mode", get_args(Mode))
def test_b11_what_a_cut_leaves_open_opens_again(text: str, around: str, mode: Mode) -> None:
    """A continuation that lost its markers is another text."""
    contents = [one.content for one in split(text, mode, LIMIT)]

    assert len(contents) > 1
    assert all(re.fullmatch(around, content) for content in contents)


def test_a_code_block_that_a_segment_goes_on_with_is_reopened() -> None:
    """A stream that was cut within code goes on as code."""
    first = split_accounted("```py\na = 1\n", "paragraph", is_last=False)
    second = split_accounted("b = 2\n```\nok", "paragraph", begin=first.ending)

    assert [one.content for one in first.slices] == ["```py\na = 1\n```"]
    assert [one.content for one in second.slices] == ["```py\nb = 2\n```", "ok"]


@pytest.mark.parametrize("mode", get_args(Mode))
def test_real_markdown_is_conserved(mode: Mode) -> None:
    """Long descriptions of packages hold what people really write."""
    files = (one.read_text("METADATA") or "" for one in metadata.distributions())
    texts = [body[:40_000] for file in files if (body := file.partition("\n\n")[2]).strip()]

    assert len(texts) > 10
    for text in texts:
        result = split_accounted(text, mode, 1_950)
        inside = sum(one.end - one.start for one in result.slices)
        assert inside + sum(result.dropped.values()) == len(text)
        assert all(
            one.content and (one.is_table or units(one.content) <= 1_950) for one in result.slices
        )
        for one in result.slices:
            assert one.removed or text[one.start : one.end] in one.content
            assert not find_blocks(one.content, Ending(), is_last=False)[1].line.fence


UNITS = (
    *("(", "((a) ", '"', "**a ", "*a ", "_a_ ", "||", "|| a ", "[", "[a](", "「", "`", "`` a ` "),
    *("> a ", "<", "<:", "a.", "a. ", "http://", "https://a.b ", "\n", " ", "\\", "<:abc:1>", ","),
    *("| a | b |\n", "```\n", "```\nx\n```\n", "word ", "A-", "e\u0301", "\U0001f1e9", "Aa: "),
    *("|a|b|\n|-|-|\n|1|2|\n", "😀**a ", "||\n\n"),
)


@pytest.mark.parametrize("unit", UNITS)
def test_the_cost_of_a_character_does_not_grow_with_the_text(unit: str) -> None:
    """A model that repeats itself must not stop the bot."""
    short, long = (unit * (size // len(unit)) for size in (3_000, 48_000))

    for mode in get_args(Mode):
        assert _seconds(long, mode) < 16 * 5 * _seconds(short, mode) + 0.05


def _seconds(text: str, mode: Mode) -> float:
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        split(text, mode, 1_950)
        best = min(best, time.process_time() - start)
    return best
