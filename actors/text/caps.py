"""How many messages a stream may give, and what becomes of a text that takes more.

Before the last message that is allowed the text path holds all that follows, as if it were not
live, so that this one carries as much of the rest as fits. What does not fit is withheld by name,
and the answer ends there.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from actors.text.graphemes import units
from events.generation import Piece

MOST_MESSAGES: Final = 40
"""Messages of a stream, whatever a guild allows."""
SEND_LIMIT: Final = "send_message_limit"
"""Why an answer ends at the limit that a guild has set."""
FLUSH_LIMIT: Final = "flush_limit"
"""Why an answer ends at `MOST_MESSAGES`."""


class Fitted(Struct, frozen=True):
    """Messages, no more than there is room for."""

    pieces: tuple[Piece, ...]
    """Those that go out."""
    dropped: int = 0
    """Characters of those that don't."""


def most_messages(send_message_limit: int) -> int:
    """Return the messages that a stream may give, where a guild allows so many; 0 is any number."""
    return min(send_message_limit or MOST_MESSAGES, MOST_MESSAGES)


def cap_of(most: int) -> str:
    """Return the name of the cap at which a stream of at most so many messages ends."""
    return FLUSH_LIMIT if most == MOST_MESSAGES else SEND_LIMIT


def fit(pieces: Sequence[Piece], room: int, limit: int) -> Fitted:
    """Return `pieces` as at most `room` messages of at most `limit` UTF-16 units each.

    Where there are more, the last message takes up the contents of those behind it, a line each,
    as long as they fit; a table goes alone.
    """
    if len(pieces) <= room:
        return Fitted(tuple(pieces))
    if room < 1:
        return Fitted((), sum(piece.size for piece in pieces))
    kept, last, rest = pieces[: room - 1], pieces[room - 1], list(pieces[room:])
    while rest and not last.is_table and not rest[0].is_table:
        content = f"{last.content}\n{rest[0].content}"
        if units(content) > limit:
            break
        last = _joined(last, rest.pop(0), content)
    return Fitted((*kept, last), sum(piece.size for piece in rest))


def _joined(one: Piece, other: Piece, content: str) -> Piece:
    return replace(
        one,
        content=content,
        end=other.end,
        removed=other.end - one.start - one.size - other.size,
        mentions=tuple(dict.fromkeys(one.mentions + other.mentions)),
    )
