"""Events of what a channel's models keep in mind."""

from events.base import Event, TurnId


class NotePinned(Event, frozen=True, kw_only=True, tag="note_pinned"):
    """A model keeps a note for later turns. Stream: channel. Key: `turn_id` and `call`."""

    turn_id: TurnId
    """The turn whose model keeps it."""
    call: int
    """Ordinal of the tool call that did."""
    note: str
    """The note; shown to later turns of the channel."""
    by: str
    """Display name of who had asked."""
