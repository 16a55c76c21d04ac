"""Half characters: joined where they belong together, replaced where they are alone."""

from hypothesis import given
from hypothesis import strategies as st

from actors.providers.surrogates import Joiner, clean

UNITS = st.sampled_from(["a", "é", "😀", "\ud83d", "\ude00", "\udbff", "\udfff", ""])


@given(pieces=st.lists(UNITS))
def test_joining_piece_by_piece_equals_cleaning_the_whole(pieces: list[str]) -> None:
    """The law: where a server cuts its text never changes it."""
    joiner = Joiner()

    text = "".join([joiner.feed(piece) for piece in pieces]) + joiner.flush()

    assert text == clean("".join(pieces))
    assert text.encode().decode() == text


def test_nothing_is_held_but_a_high_half() -> None:
    """Text must not wait for the next payload."""
    joiner = Joiner()

    assert (joiner.feed("é"), joiner.feed("\ude00"), joiner.feed("\ud83d")) == ("é", "\ufffd", "")
    assert (joiner.feed(""), joiner.flush(), joiner.flush()) == ("", "\ufffd", "")
