"""Emojis, mentions, stage directions: what a model writes, and what is posted of it."""

import pytest
from msgspec.structs import replace

from actors.text import core
from events.base import UserId
from events.generation import Piece
from events.scene import Participant, ServerEmoji
from tests.actors.text.streams import run

MUG = "<:mug:111111111111111111>"
ANN = 123456789012345678
CONFIG = core.TextConfig(
    live_streaming=False,
    persona="Ren",
    participants=(
        Participant(user_id=UserId(ANN), names=("Ann", "ann_1")),
        Participant(user_id=UserId(2), names=("Sam", "sam")),
        Participant(user_id=UserId(3), names=("sam",)),
        Participant(names=("Mio", "mi")),
    ),
    emojis=(ServerEmoji(name="mug", emoji_id=111111111111111111),),
)


def said(text: str, config: core.TextConfig = CONFIG) -> list[Piece]:
    """Return the messages of a text, having checked that its characters add up."""
    segments = run([text], config)
    pieces = [piece for one in segments for piece in one.pieces]
    withheld = sum(sum(one.withheld.values()) for one in segments)
    assert sum(piece.size for piece in pieces) + withheld == len(text)
    assert run(text, config) == segments
    return pieces


CASES = [
    pytest.param("hi :mug: there", f"hi {MUG} there", id="V110-code"),
    pytest.param("hi :mug there", f"hi {MUG} there", id="V110-half"),
    pytest.param("hi <:mug:999> x", f"hi {MUG} x", id="V110-id"),
    pytest.param("hi :MUG: :nope: x", f"hi {MUG} x", id="V110-unknown"),
    pytest.param("std::vector::x and `:nope:`", "std::vector::x and `:nope:`", id="D13"),
    pytest.param("a\n\n\n\nb", "a\n\nb", id="V111-gap"),
    pytest.param("ok [system: do x] fine", "ok  fine", id="V111-direction"),
    pytest.param("ok [system: do x", "ok", id="T39b-without-an-end"),
    pytest.param("at 10:30:45 ok", "at 10:30:45 ok", id="V111-time"),
    pytest.param("bye<|im_end|>", "bye", id="T39d-token"),
    pytest.param("oh **<grin>** ok", "oh <grin> ok", id="T39d-stars"),
    pytest.param("write <b>bold</b> text", "write <b>bold</b> text", id="V116-D13"),
    pytest.param("so\nMio:", "so", id="T39i"),
    pytest.param(
        "hi @Ann and @sam and `@Ann` @everyone a@ann",
        f"hi <@{ANN}> and sam and `@Ann` @everyone a@ann",
        id="V113",
    ),
    pytest.param(f"@{{Ann}} @(ann_1) @[Mi] @x|{ANN}", f"<@{ANN}> <@{ANN}> @Mio <@{ANN}>", id="T42"),
    pytest.param("Hello @stranger!", "Hello stranger!", id="T42-nobody"),
    pytest.param(
        "Put @app.route('/') and @cache(2) under @types/node, not a@b.c or @a.b:",
        "Put @app.route('/') and @cache(2) under @types/node, not a@b.c or @a.b:",
        id="D13-part-of-something-else",
    ),
    pytest.param(
        "Use @property, @Override and @media; \\@Ann, @@ann.",
        "Use @property, @Override and @media; \\@Ann, @@ann.",
        id="D13-words-of-programs",
    ),
    pytest.param("@" + "a" * 40, "@" + "a" * 40, id="T42-too-long"),
    pytest.param("See :ref:`x`.", "See :ref:`x`.", id="T40-before-code"),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_what_is_posted_is_what_a_person_would_have_written(text: str, expected: str) -> None:
    """What only a model writes shows as clutter."""
    assert [piece.content for piece in said(text)] == [expected]


def test_t42_a_piece_may_ping_the_members_that_it_names_and_nobody_else() -> None:
    """A model must not wake up a whole server, nor somebody who has no part in it."""
    pieces = said("hi @Ann, <@2>, <@99>, @everyone and `<@3>`")

    assert [piece.mentions for piece in pieces] == [(ANN, 2)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("so :mug: it is", ["so it is"]), (":mug:!", [f"{MUG}!"]), (":mug:", [])],
)
def test_t38_an_emoji_that_was_used_lately_is_left_out(text: str, expected: list[str]) -> None:
    """The same face under each line reads like a tic."""
    pieces = said(text, replace(CONFIG, worn_emojis=("mug",)))

    assert [piece.content for piece in pieces] == expected


def test_t40_emojis_can_be_switched_off() -> None:
    """Some servers want none."""
    pieces = said("a :mug: b <:x:1> c \U0001f600 d", replace(CONFIG, uses_emojis=False))

    assert [piece.content for piece in pieces] == ["a b c  d"]


def test_t40_unknown_shortcodes_can_be_kept() -> None:
    """A bot for programmers quotes them."""
    pieces = said("a :nope: b", replace(CONFIG, keeps_unknown_emojis=True))

    assert [piece.content for piece in pieces] == ["a :nope: b"]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        (["Sure", ", he", "re: one"], ["one"]),
        (["\n Sure, here: one"], ["one"]),
        (["Su", "per"], ["Super"]),
        (["Sure"], []),
    ],
)
def test_t44_a_repeated_prefill_is_dropped(chunks: list[str], expected: list[str]) -> None:
    """The words were put into the model's mouth; they are no answer."""
    segments = run(chunks, core.TextConfig(prefill="Sure, here: "))

    assert [piece.content for one in segments for piece in one.pieces] == expected
    sizes = sum(piece.size for one in segments for piece in one.pieces)
    withheld = sum(sum(one.withheld.values()) for one in segments)
    assert sizes + withheld == sum(map(len, chunks))


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(["Hello world", "lo world again"], "Hello world again", id="V26"),
        pytest.param(["Hello world", "Hello world"], "Hello world", id="T3-whole"),
        pytest.param(["abc", "abc"], "abcabc", id="V27"),
        pytest.param(["--------", "--------x"], "----------------x", id="D9"),
    ],
)
def test_t3_a_provider_that_sends_text_again_is_heard_once(
    chunks: list[str], expected: str
) -> None:
    """Only a provider known for it: others repeat themselves on purpose."""
    segments = run(chunks, core.TextConfig(is_reemitting=True))

    assert [piece.content for one in segments for piece in one.pieces] == [expected]
    kept = run(chunks, core.TextConfig())
    assert [piece.content for one in kept for piece in one.pieces] == ["".join(chunks)]


TABLE = "| a | b |\n|---|:---:|\n| 1 | 2 |\n| 3 | 4 |\n"


@pytest.mark.parametrize("live", [True, False])
def test_v122_a_table_is_a_message_of_its_own(live: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """It is posted as a picture, and its words are not to be typed."""
    config = core.TextConfig(live_streaming=live, force_lowercase=True, punctuation_splits=True)
    pieces = said(f"Intro\n{TABLE.replace('1', 'Ax, B;')}Outro", config)

    assert [(piece.content, piece.is_table) for piece in pieces] == [
        ("intro", False),
        (TABLE.replace("1", "Ax, B;").strip(), True),
        ("outro", False),
    ]


def test_t98_a_table_in_a_spoiler_stays_hidden() -> None:
    """A picture would show what the author hid."""
    assert [piece.is_table for piece in said(f"||\n{TABLE}||")] == [False]
