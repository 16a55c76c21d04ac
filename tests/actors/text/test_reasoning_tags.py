"""Reasoning inside the text never reaches a message, and nothing else is lost with it."""

import pytest

from actors.text import core
from tests.actors.text.streams import run, visible, withheld

CASES = [
    pytest.param(["<think>plan", "ning</thi", "nk>Hi"], "Hi", 23, id="PT61"),
    pytest.param(["Hello <mm:th", "ink>secret</mm:think> bye"], "Hello  bye", 27, id="PT62"),
    pytest.param(["reasoning tail</think>Hey"], "Hey", 22, id="PT63"),
    pytest.param(["<THINK>x</Think>ok"], "ok", 16, id="PT64"),
    pytest.param(["<think>never closed"], "", 19, id="PT65"),
    pytest.param(["a <", "3 b"], "a <3 b", 0, id="PT66"),
    pytest.param(["I love you <"], "I love you <", 0, id="PT67"),
    pytest.param(["wrap it in <div"], "wrap it in <div", 0, id="PT68"),
    pytest.param(["done </thi"], "done ", 5, id="PT69"),
    pytest.param(["<ns.v1:think>a</ns.v1:think>b"], "b", 28, id="PT71"),
    pytest.param(["<think>plan</thi", "nk>Hello"], "Hello", 19, id="B35-closer"),
    pytest.param(["V1 <reaso", "ning>x</reasoning> V2"], "V1  V2", 24, id="B35-opener"),
    pytest.param(["a < b", " and c"], "a < b and c", 0, id="B35-text"),
    pytest.param(["A<th", "ink>secret</thi", "nk>B"], "AB", 21, id="V24"),
    pytest.param(["<think>a <think> b</think>c"], "c", 26, id="P102-nested"),
    pytest.param(["<think>a</reasoning>b</think>c"], "c", 29, id="other-name-does-not-close"),
    pytest.param(["use `<think>` here"], "use `<think>` here", 0, id="T5-inline"),
    pytest.param(["```\n<think>\n```\nx"], "```\n<think>\n```\nx", 0, id="T5-fence"),
    pytest.param(["it's ` odd\n<think>x</think>y"], "it's ` odd\ny", 16, id="T5-span-ends"),
    pytest.param(["<" + "n" * 50 + ":think>a"], "", 59, id="longest-namespace"),
    pytest.param(["<" + "n" * 51 + ":think>a"], "<" + "n" * 51 + ":think>a", 0, id="too-long"),
    pytest.param(["x<th"], "x", 3, id="P103-cut-off-opener"),
    pytest.param(["x<t"], "x<t", 0, id="P103-one-letter"),
    pytest.param(["<thin\u212a>x"], "<thin\u212a>x", 0, id="kelvin-sign-is-no-k"),
]


@pytest.mark.parametrize(("chunks", "shown", "hidden"), CASES)
def test_reasoning_is_withheld_and_text_is_not(chunks: list[str], shown: str, hidden: int) -> None:
    """A leaked thought and a swallowed answer are both what people complain about."""
    segments = run(chunks)

    assert visible(segments) == shown
    assert withheld(segments, "reasoning") == hidden


@pytest.mark.parametrize(("chunks", "shown", "hidden"), CASES)
def test_reasoning_is_withheld_letter_by_letter(chunks: list[str], shown: str, hidden: int) -> None:
    """A provider may cut anywhere, so a tag may come in as many chunks as it has letters."""
    segments = run("".join(chunks))

    assert visible(segments) == shown
    assert withheld(segments, "reasoning") == hidden


def test_pt66_a_bracket_is_held_only_until_it_can_be_no_tag() -> None:
    """Text that is held for nothing makes a live answer stutter."""
    state = core.initial(core.TextConfig())

    state, _ = core.step(state, "a <")
    held = state.held
    state, _ = core.step(state, "3")

    assert held == "<"
    assert state.held == ""


def test_v23_a_closer_without_opener_hides_what_has_not_left() -> None:
    """A model that forgets its opening tag has said nothing else yet."""
    segments = run(["Let me think</think>Hi\n", "x"])

    assert [segment.text for segment in segments] == ["Hi\n", "x"]
    assert segments[0].withheld == {"reasoning": 20, "blank": 1}


def test_d23_a_closer_hides_only_itself_once_something_was_said() -> None:
    """A stray tag in an answer must not delete the answer."""
    segments = run(["Said.\nBefore </think>after"])

    assert visible(segments) == "Said.\nBefore after"
    assert withheld(segments, "reasoning") == len("</think>")


def test_a_closer_still_hides_text_behind_blank_lines() -> None:
    """A blank flush gave no message, so nothing was said yet."""
    segments = run(["\n\nplan</think>Hi"])

    assert [piece.content for segment in segments for piece in segment.pieces] == ["Hi"]
    assert withheld(segments, "reasoning") == len("plan</think>")


def test_reasoning_alone_is_accounted_for_by_a_flush_without_text() -> None:
    """Each rule that withholds says so in an event, or the turn would not balance."""
    segments = run(["<think>only"])

    assert [(one.text, one.pieces, one.withheld) for one in segments] == [
        ("", (), {"reasoning": 11})
    ]
