"""The notes that a channel's models keep for later turns."""

from typing import Final

from msgspec import Struct, field

from events.base import ChannelId, Recorded, StreamId, TurnId, channel_stream
from events.notes import NotePinned

NOTES_KEPT: Final = 20
"""Notes of a channel that a turn is shown; older ones stay in the log alone."""


class Notes(Struct, frozen=True, kw_only=True):
    """The newest notes of every channel."""

    channels: dict[StreamId, tuple[NotePinned, ...]] = field(
        default_factory=dict[StreamId, tuple[NotePinned, ...]]
    )
    """By the channel's stream, oldest first."""

    def of(self, channel_id: ChannelId) -> tuple[str, ...]:
        """Return the notes of a channel, oldest first."""
        return tuple(one.note for one in self.channels.get(channel_stream(channel_id), ()))


def initial() -> Notes:
    """Return the state of an empty log."""
    return Notes()


def evolve(state: Notes, recorded: Recorded) -> Notes:
    """Return the state after one more event of any stream."""
    if isinstance(recorded.event, NotePinned):
        return pin(state, recorded.stream, recorded.event)
    return state


def pin(state: Notes, stream: StreamId, pinned: NotePinned) -> Notes:
    """Return the state after a note in a channel's `stream`; the same again changes nothing."""
    known = state.channels.get(stream, ())
    if any(_key(one) == _key(pinned) for one in known):
        return state
    return Notes(channels={**state.channels, stream: (*known, pinned)[-NOTES_KEPT:]})


def _key(pinned: NotePinned) -> tuple[TurnId, int]:
    return pinned.turn_id, pinned.call
