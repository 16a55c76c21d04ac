"""A row of the log's table, and the way from an append to rows and from rows to events.

Knows no store. A row is a tuple because a store's appender takes sequences: nothing is copied on
the way to the disk.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from events.base import (
    Append,
    ChannelId,
    Event,
    GuildId,
    Position,
    Recorded,
    Scope,
    Seq,
    StreamId,
    TurnId,
)
from events.codec import decode, kind_of
from events.errors import CodecError
from events.turn import StopRequested

TURN_PREFIX = "turn/"
"""Begins the stream of what a turn decides."""
DELIVERY_PREFIX = "delivery/"
"""Begins the stream of what is sent for a turn."""
_SNOWFLAKE_BOUND = 2**64


class Row(NamedTuple):
    """One stored event, its fields in the order of the table's columns."""

    position: int
    """Place in the whole log, from 1."""
    stream: str
    """The stream."""
    seq: int
    """Place in the stream, from 1."""
    kind: str
    """The event's tag."""
    version: int
    """The version that the body is written in."""
    recorded_at: datetime
    """UTC without a time zone, microseconds."""
    turn_id: str | None
    """The turn that the event concerns; of a `stop_requested` the turn that it names."""
    channel_id: int | None
    """The channel that it concerns."""
    guild_id: int | None
    """The guild that it concerns."""
    body: str
    """The event as JSON, as its writer wrote it."""


class Prepared(Struct, frozen=True, kw_only=True):
    """An append that is fit to be stored, with what is read from it more than once."""

    append: Append
    """The append."""
    events: tuple[Event, ...]
    """Its entries, decoded."""
    turn_id: TurnId | None
    """The turn whose epoch and stops judge it: the one its stream belongs to, else its scope's."""
    is_only_stops: bool
    """Whether it holds nothing but `stop_requested`: said from outside the turn."""


def turn_of(stream: str) -> TurnId | None:
    """Return the turn that owns `stream`; None where the stream is not a turn's."""
    for prefix in (TURN_PREFIX, DELIVERY_PREFIX):
        if stream.startswith(prefix):
            return TurnId(stream[len(prefix) :])
    return None


def prepare(append: Append) -> Prepared:
    """Return `append` decoded and checked, so that nothing in it can spoil its neighbours' commit.

    Raises:
        CodecError: An entry is no event that this code knows, or an id does not fit its column.
        ValueError: It is empty, or a time has no time zone.
    """
    if not append.entries:
        raise ValueError(f"an append to {append.stream} without entries")
    events = tuple(decode(one.kind, one.version, one.body) for one in append.entries)
    for one, event in zip(append.entries, events, strict=True):
        if kind_of(event) != one.kind:
            raise CodecError(one.kind, one.version, f"the body is a {kind_of(event)}")
        if one.recorded_at.tzinfo is None:
            raise ValueError(f"{one.kind} was recorded at a time without a time zone")
    turn_id = turn_of(append.stream) or append.scope.turn_id
    _check_ids(append, turn_id)
    return Prepared(
        append=append,
        events=events,
        turn_id=turn_id,
        is_only_stops=all(isinstance(event, StopRequested) for event in events),
    )


def _check_ids(append: Append, turn_id: TurnId | None) -> None:
    kind, version = append.entries[0].kind, append.entries[0].version
    if turn_id is not None and not is_turn_id(turn_id):
        raise CodecError(kind, version, f"turn_id {turn_id!r} is no UUID in lower case")
    for name in ("channel_id", "guild_id"):
        value: int | None = getattr(append.scope, name)
        if value is not None and not 0 <= value < _SNOWFLAKE_BOUND:
            raise CodecError(kind, version, f"{name} {value} is outside 0 to 2**64 - 1")


def is_turn_id(text: str) -> bool:
    """Return whether `text` is a UUID in its canonical 36 characters."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def rows_of(prepared: Prepared, position: int, seq: int) -> list[Row]:
    """Return the rows of an append that goes after `position` in the log and `seq` in its stream.

    A `stop_requested` is filed under the turn that it names, so that a turn's stop is found by
    that column, whatever channel it was said in.
    """
    append = prepared.append
    scope = append.scope
    rows: list[Row] = []
    for place, (one, event) in enumerate(zip(append.entries, prepared.events, strict=True), 1):
        turn_id = prepared.turn_id
        if isinstance(event, StopRequested) and is_turn_id(event.turn_id):
            turn_id = event.turn_id
        rows.append(
            Row(
                position + place,
                append.stream,
                seq + place,
                one.kind,
                one.version,
                one.recorded_at.astimezone(UTC).replace(tzinfo=None),
                turn_id,
                scope.channel_id,
                scope.guild_id,
                one.body,
            )
        )
    return rows


def recorded(row: Row, event: Event | None = None) -> Recorded:
    """Return the event of `row` with its place; `event` where it is already decoded.

    Raises:
        CodecError: This code can't read the body.
    """
    return Recorded(
        position=Position(row.position),
        stream=StreamId(row.stream),
        seq=Seq(row.seq),
        recorded_at=row.recorded_at.replace(tzinfo=UTC),
        scope=Scope(
            turn_id=None if row.turn_id is None else TurnId(row.turn_id),
            channel_id=None if row.channel_id is None else ChannelId(row.channel_id),
            guild_id=None if row.guild_id is None else GuildId(row.guild_id),
        ),
        event=decode(row.kind, row.version, row.body) if event is None else event,
    )


def all_recorded(rows: Sequence[Row]) -> list[Recorded]:
    """Return the events of `rows` in their order."""
    return [recorded(row) for row in rows]
