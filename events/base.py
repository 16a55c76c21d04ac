"""What an event is, the envelope it is stored in, and the words of an append.

Knows no event by name: the vocabulary stands in `turn`, `generation`, `delivery` and `spending`.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import ClassVar, NewType

from msgspec import Struct

TurnId = NewType("TurnId", str)
"""A UUIDv7 in its 36 characters, so that ids sort by time."""
StreamId = NewType("StreamId", str)
"""`<aggregate>/<id>`, such as `turn/0192…` or `channel/1187`."""
Position = NewType("Position", int)
"""Place in the whole log, contiguous from 1; 0 is before the first event."""
Seq = NewType("Seq", int)
"""Place in one stream, contiguous from 1; 0 is an empty stream."""
ChannelId = NewType("ChannelId", int)
"""Discord's id of a channel, thread or direct-message channel."""
GuildId = NewType("GuildId", int)
"""Discord's id of a guild (server)."""
UserId = NewType("UserId", int)
"""Discord's id of a user."""
MessageId = NewType("MessageId", int)
"""Discord's id of a message."""
TriggerId = NewType("TriggerId", str)
"""The id of the message or interaction that asked for a turn, in decimal."""


def turn_stream(turn_id: TurnId) -> StreamId:
    """Return the stream of what a turn decides; its `ChannelTurn` is the only writer."""
    return StreamId(f"turn/{turn_id}")


def delivery_stream(turn_id: TurnId) -> StreamId:
    """Return the stream of what is sent for a turn; the `Sender` is the only writer."""
    return StreamId(f"delivery/{turn_id}")


def channel_stream(channel_id: ChannelId) -> StreamId:
    """Return the stream of what befalls a channel; it has many writers."""
    return StreamId(f"channel/{channel_id}")


def guild_stream(guild_id: GuildId) -> StreamId:
    """Return the stream of what befalls a guild and what it has set; it has many writers."""
    return StreamId(f"guild/{guild_id}")


def budget_stream(payer: str, month: date) -> StreamId:
    """Return the stream of what `payer` (`guild/<id>`, `user/<id>`) set aside and spent in a month.

    Many write to it, each with `expected_seq`: the log's own check of it is what decides over caps.
    """
    return StreamId(f"budget/{payer}/{month:%Y-%m}")


def user_stream(user_id: UserId) -> StreamId:
    """Return the stream of what befalls a user outside of any guild; it has many writers."""
    return StreamId(f"user/{user_id}")


def payer_of(stream: StreamId) -> tuple[str, str] | None:
    """Return the payer and the month (`YYYY-MM`) of a budget stream; None for any other."""
    if not stream.startswith("budget/"):
        return None
    payer, _, month = stream.removeprefix("budget/").rpartition("/")
    return payer, month


class Event(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """A fact. The subclass's `tag` is its stored kind, `version` the number of its shape."""

    version: ClassVar[int] = 1


class Scope(Struct, frozen=True, kw_only=True):
    """Whom an event concerns: the columns that analysts group by."""

    turn_id: TurnId | None = None
    """The turn, in the streams of a turn."""
    channel_id: ChannelId | None = None
    """The channel or thread that the event belongs to."""
    guild_id: GuildId | None = None
    """The guild; None in direct messages."""


class Recorded(Struct, frozen=True, kw_only=True):
    """An event with its place in the log."""

    position: Position
    """Place in the whole log, from 1."""
    stream: StreamId
    """The stream it stands in."""
    seq: Seq
    """Place in that stream, from 1."""
    recorded_at: datetime
    """UTC, microseconds: when it happened, stamped by who saw it, not when it was committed."""
    scope: Scope
    """Whom it concerns."""
    event: Event
    """The fact, upcast to today's version."""


class Entry(Struct, frozen=True, kw_only=True, array_like=True):
    """One encoded event of an append."""

    kind: str
    """The event's tag."""
    version: int
    """The version of the shape it is written in, from 1."""
    recorded_at: datetime
    """UTC, aware: when it happened."""
    body: str
    """The event as JSON."""


class Append(Struct, frozen=True, kw_only=True, array_like=True):
    """Some events of one stream, accepted or refused as a whole."""

    stream: StreamId
    """The stream that grows."""
    entries: tuple[Entry, ...]
    """At least one, oldest first."""
    scope: Scope = Scope()
    """Whom they concern."""
    expected_seq: int | None = None
    """The last seq the writer saw (0: new stream); None for streams with many writers."""
    epoch: int = 0
    """The writer's epoch of `scope.turn_id`; refused when a recovery has raised it further."""
    unless_stopped: bool = False
    """Refuse when a `stop_requested` that names `scope.turn_id` is in the log."""


class Appended(Struct, frozen=True, kw_only=True, array_like=True, tag=True):
    """The append is durable."""

    position: Position
    """Position of its last event."""
    seq: Seq
    """Seq of its last event."""


class Conflict(Struct, frozen=True, kw_only=True, array_like=True, tag=True):
    """Refused: the stream ends elsewhere, and what stands there is not this append."""

    actual_seq: int
    """Where the stream ends."""


class Fenced(Struct, frozen=True, kw_only=True, array_like=True, tag=True):
    """Refused: the turn is at a later epoch."""

    current_epoch: int
    """The turn's epoch in the log."""


class Stopped(Struct, frozen=True, kw_only=True, array_like=True, tag=True):
    """Refused: `unless_stopped`, and the turn has a stop."""

    position: Position
    """Position of the stop."""


AppendResult = Appended | Conflict | Fenced | Stopped
"""What became of one append; typed, since it crosses processes."""

Batch = Sequence[Append]
"""Appends in the order of their writer; each is judged for itself."""
