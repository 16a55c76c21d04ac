"""Short words for the log's tests: one turn, one channel, and appends to them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from events.base import (
    Append,
    Appended,
    AppendResult,
    ChannelId,
    Event,
    GuildId,
    Position,
    Recorded,
    Scope,
    Seq,
    StreamId,
    TurnId,
    channel_stream,
    delivery_stream,
    turn_stream,
)
from events.codec import append_of
from events.delivery import SendAttempt
from events.generation import RawChunk
from events.log import EventLog, Subscription
from events.turn import StopObserved, StopRequested, TurnEnded, TurnRecovered

TURN = TurnId("0192b5d2-7c00-7000-8000-000000000001")
OTHER_TURN = TurnId("0192b5d2-7c00-7000-8000-000000000002")
CHANNEL = ChannelId(2**63 + 17)
GUILD = GuildId(42)
SCOPE = Scope(turn_id=TURN, channel_id=CHANNEL, guild_id=GUILD)
NOW = datetime(2026, 5, 4, 3, 2, 1, 123_456, tzinfo=UTC)


def chunk(text: str = "hello") -> RawChunk:
    """Return a chunk of one payload."""
    return RawChunk(request=1, payloads=(text,), arrived_ms=(1.5,))


def attempt(ordinal: int = 1) -> SendAttempt:
    """Return an attempt to send."""
    return SendAttempt(attempt=ordinal, flush=1, channel_id=CHANNEL, content="hello")


def to_turn(
    *events: Event, after: int | None = None, epoch: int = 0, turn_id: TurnId = TURN
) -> Append:
    """Return an append to the turn's stream."""
    return _to(turn_stream(turn_id), events, after=after, epoch=epoch, turn_id=turn_id)


def to_delivery(
    *events: Event, after: int | None = None, epoch: int = 0, unless_stopped: bool = False
) -> Append:
    """Return an append to the stream of what is sent for the turn."""
    stream = delivery_stream(TURN)
    return _to(stream, events, after=after, epoch=epoch, unless_stopped=unless_stopped)


def to_channel(*events: Event, channel_id: ChannelId = CHANNEL) -> Append:
    """Return an append to a channel's stream, as somebody outside a turn makes it."""
    scope = Scope(channel_id=channel_id, guild_id=GUILD)
    return append_of(channel_stream(channel_id), [(one, NOW) for one in events], scope=scope)


def stop(turn_id: TurnId = TURN) -> Append:
    """Return a member's stop of the turn."""
    return to_channel(StopRequested(turn_id=turn_id, requester="7", stop="stop"))


def recovery(epoch: int, *, after: int) -> Append:
    """Return the takeover of the turn at `epoch`."""
    event = TurnRecovered(epoch=epoch, found="an attempt without outcome", decision="run_again")
    return to_turn(event, after=after, epoch=epoch)


def end(*, after: int | None = None, epoch: int = 0) -> Append:
    """Return the end of the turn."""
    return to_turn(TurnEnded(status="completed"), after=after, epoch=epoch)


def note(number: int) -> StopObserved:
    """Return a small event that carries a number."""
    return StopObserved(position=number, stop="stop", requester="7")


def number_of(recorded: Recorded) -> int:
    """Return the number that `note` put into an event."""
    assert isinstance(recorded.event, StopObserved)
    return recorded.event.position


def appended(position: int, seq: int) -> Appended:
    """Return the result of an append that landed."""
    return Appended(position=Position(position), seq=Seq(seq))


async def append_one(log: EventLog, append: Append) -> AppendResult:
    """Append alone and return its result."""
    return (await log.append([append]))[0]


async def take(subscription: Subscription, count: int) -> list[Recorded]:
    """Return events as they are pushed, until there are `count` or more."""
    taken: list[Recorded] = []
    while len(taken) < count:
        taken += await subscription.__anext__()
    return taken


def positions(events: Sequence[Recorded]) -> list[int]:
    """Return the positions of `events`."""
    return [one.position for one in events]


def seqs(events: Sequence[Recorded], stream: StreamId) -> list[int]:
    """Return the seqs of those of `events` that stand in `stream`."""
    return [one.seq for one in events if one.stream == stream]


def _to(
    stream: StreamId,
    events: Sequence[Event],
    *,
    after: int | None,
    epoch: int,
    unless_stopped: bool = False,
    turn_id: TurnId = TURN,
) -> Append:
    return append_of(
        stream,
        [(one, NOW) for one in events],
        scope=Scope(turn_id=turn_id, channel_id=CHANNEL, guild_id=GUILD),
        expected_seq=after,
        epoch=epoch,
        unless_stopped=unless_stopped,
    )
