"""A channel's notes."""

from events.base import ChannelId, TurnId, channel_stream
from events.notes import NotePinned
from projections import notes
from projections.notes import NOTES_KEPT

CHANNEL = ChannelId(1)


def note(number: int) -> NotePinned:
    """Return a note of that number."""
    return NotePinned(turn_id=TurnId("t"), call=number, note=f"note {number}", by="Ann")


def test_a_channel_has_its_newest_notes_each_once() -> None:
    """A tool that ran again after a crash kept the same note."""
    state = notes.initial()
    for number in (1, 1, *range(2, NOTES_KEPT + 2)):
        state = notes.pin(state, channel_stream(CHANNEL), note(number))

    assert state.of(CHANNEL) == tuple(f"note {number}" for number in range(2, NOTES_KEPT + 2))
    assert state.of(ChannelId(2)) == ()
