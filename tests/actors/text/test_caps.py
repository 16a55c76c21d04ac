"""Caps on messages: the last one that is allowed carries as much of the rest as fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.text import core
from actors.text.caps import FLUSH_LIMIT, SEND_LIMIT, fit, most_messages
from actors.text.core import Segment, TextConfig
from events.generation import Piece


def run(text: str, most: int, *, cut: int = 7, live: bool = True) -> list[Segment]:
    """Return the segments of a stream that came in chunks of `cut` characters."""
    state = core.initial(TextConfig(most_messages=most, live_streaming=live, limit=200))
    segments: list[Segment] = []
    for at in range(0, len(text), cut):
        state, more = core.step(state, text[at : at + cut])
        segments += more
    state, more = core.finish(state, "final")
    return [*segments, *more]


def contents(segments: list[Segment]) -> list[str]:
    """Return the messages."""
    return [piece.content for segment in segments for piece in segment.pieces]


def stops(segments: list[Segment]) -> list[str]:
    """Return why the answer ended."""
    return [segment.stop for segment in segments if segment.stop]


def test_v137_the_last_allowed_message_takes_the_rest() -> None:
    """D14: the third paragraph used to be lost."""
    segments = run("a\nb\nc", 2)

    assert contents(segments) == ["a", "b\nc"]
    assert stops(segments) == []


def test_v138_forty_one_paragraphs_fit_into_forty_messages() -> None:
    """No notice is needed where all fits."""
    words = [f"word{number}" for number in range(41)]

    segments = run("\n".join(words), most_messages(0))

    assert contents(segments) == [*words[:39], "word39\nword40"]
    assert stops(segments) == []


@pytest.mark.parametrize(("allowed", "cap"), [(0, FLUSH_LIMIT), (2, SEND_LIMIT), (99, FLUSH_LIMIT)])
def test_t112_what_does_not_fit_is_withheld_by_name_and_ends_the_answer(
    allowed: int, cap: str
) -> None:
    """Whoever reads the log sees which limit it was."""
    text = "\n".join(["word " * 30] * 60)

    segments = run(text, most_messages(allowed))

    assert len(contents(segments)) == most_messages(allowed)
    assert stops(segments) == [cap]
    assert sum(segment.withheld.get(cap, 0) for segment in segments) > 0


def test_t114_a_limit_of_one_still_lets_the_answer_out() -> None:
    """A cap can never block the first message."""
    assert contents(run("a\nb\nc", 1)) == ["a\nb\nc"]


@given(
    text=st.text(st.sampled_from("ab.\n `|-*"), max_size=600),
    most=st.integers(1, 6),
    live=st.booleans(),
)
def test_t115_nothing_is_lost_unnamed_and_no_cut_of_the_stream_matters(
    *, text: str, most: int, live: bool
) -> None:
    """Conservation holds below a cap, and replay gives the same messages."""
    segments = run(text, most, live=live)
    others = run(text, most, cut=1, live=live)

    assert len(contents(segments)) <= most
    assert contents(segments) == contents(others)
    for found in (segments, others):
        delivered = sum(piece.size for one in found for piece in one.pieces)
        withheld = sum(sum(one.withheld.values()) for one in found)
        assert delivered + withheld == len(text)


def piece(content: str, start: int, *, is_table: bool = False) -> Piece:
    """Return a message that stands for its content at `start`."""
    return Piece(content=content, start=start, end=start + len(content), is_table=is_table)


def test_t115_messages_beyond_the_room_are_joined_and_what_stood_between_them_is_not_counted() -> (
    None
):
    """The blank between two messages was withheld already."""
    fitted = fit((piece("One.", 0), piece("Two.", 6), piece("Three.", 12)), 2, 200)

    one, rest = fitted.pieces
    assert (one.content, rest.content, rest.size) == ("One.", "Two.\nThree.", len("Two.Three."))
    assert fitted.dropped == 0


def test_t115_a_table_is_joined_to_nothing() -> None:
    """It is posted as a picture."""
    fitted = fit((piece("One.", 0), piece("|a|", 6, is_table=True)), 1, 200)

    assert [one.content for one in fitted.pieces] == ["One."]
    assert fitted.dropped == len("|a|")
