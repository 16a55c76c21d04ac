"""Rows of the `events` table to envelopes and back; the log's own file has the same columns."""

import uuid
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from events.base import (
    ChannelId,
    GuildId,
    Position,
    Recorded,
    Scope,
    Seq,
    StreamId,
    TurnId,
)
from events.codec import decode, encode, kind_of

SELECT_EVENTS: Final = (
    "SELECT position, stream, seq, kind, version, recorded_at, turn_id, channel_id, guild_id, body "
    "FROM events"
)
"""The columns of `events`, in the order of the functions below; a condition may follow."""

Row = tuple[Any, ...]
"""One row as DuckDB takes and gives it."""

_TURN_STREAMS: Final = ("turn/", "delivery/")


def naive(at: datetime) -> datetime:
    """Return an aware time as the UTC TIMESTAMP that is stored."""
    return at.astimezone(UTC).replace(tzinfo=None)


@lru_cache(maxsize=8192)
def uuid_of(text: str) -> uuid.UUID | None:
    """Return the UUID that `text` spells; None where it spells none.

    One odd id must not stop the figures of all others, so it costs its column and no more.
    """
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def unsigned(value: int | None) -> int | None:
    """Return `value` where a UBIGINT holds it; None is unknown."""
    return value if value is not None and 0 <= value < 1 << 64 else None


def signed(value: int | None) -> int | None:
    """Return `value` where a BIGINT holds it; None is unknown."""
    return value if value is not None and -(1 << 63) <= value < 1 << 63 else None


def turn_of(recorded: Recorded) -> uuid.UUID | None:
    """Return the turn in one of whose two streams the event stands."""
    for prefix in _TURN_STREAMS:
        if recorded.stream.startswith(prefix):
            return uuid_of(recorded.stream[len(prefix) :])
    return None


def row_of(recorded: Recorded) -> Row:
    """Return the event as a row of `events`, in today's version of its kind."""
    event, scope = recorded.event, recorded.scope
    return (
        recorded.position,
        recorded.stream,
        recorded.seq,
        kind_of(event),
        event.version,
        naive(recorded.recorded_at),
        scope.turn_id if scope.turn_id is not None and uuid_of(scope.turn_id) else None,
        unsigned(scope.channel_id),
        unsigned(scope.guild_id),
        encode(event),
    )


def recorded_of(row: Row) -> Recorded:
    """Return the envelope that a row of `events` holds.

    Raises:
        CodecError: The code at hand can't decode the event.
    """
    position, stream, seq, kind, version, at, turn_id, channel_id, guild_id, body = row
    return Recorded(
        position=Position(position),
        stream=StreamId(stream),
        seq=Seq(seq),
        recorded_at=at.replace(tzinfo=UTC),
        scope=Scope(
            turn_id=None if turn_id is None else TurnId(str(turn_id)),
            channel_id=None if channel_id is None else ChannelId(channel_id),
            guild_id=None if guild_id is None else GuildId(guild_id),
        ),
        event=decode(kind, version, body),
    )
