"""Recorded histories, built by hand: a small log that numbers what it is given."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from actors.text.core import TEXT_VERSION
from events.base import (
    ChannelId,
    Event,
    GuildId,
    MessageId,
    Position,
    Recorded,
    Scope,
    Seq,
    StreamId,
    TriggerId,
    TurnId,
    UserId,
    channel_stream,
    delivery_stream,
    guild_stream,
    turn_stream,
)
from events.delivery import Receipt, SendAttempt
from events.generation import Chunk, Flush, ProcessedChunk, RawChunk, RequestOpened, StreamEnd
from events.spending import UsageReport
from events.turn import (
    StopKind,
    StopRequested,
    TriggerReceived,
    TurnEnded,
    TurnSettings,
    TurnStarted,
    TurnStatus,
)

TURN = TurnId("01900000-0000-7000-8000-000000000001")
OTHER_TURN = TurnId("01900000-0000-7000-8000-000000000002")
CHANNEL = ChannelId(11)
OTHER_CHANNEL = ChannelId(12)
GUILD = GuildId(21)
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class History:
    """Events in the order in which they are added, 100 ms apart."""

    def __init__(self, guild_id: GuildId | None = GUILD) -> None:
        self.events: list[Recorded] = []
        self.now = START
        self._guild_id = guild_id
        self._seqs: dict[StreamId, int] = {}

    def of_turn(self, *events: Event, turn: TurnId = TURN) -> "History":
        """Add events to the turn's stream."""
        return self._add(turn_stream(turn), events, Scope(turn_id=turn, guild_id=self._guild_id))

    def of_stream(self, stream: StreamId, *events: Event) -> "History":
        """Add events to any stream."""
        return self._add(stream, events, Scope(guild_id=self._guild_id))

    def of_delivery(self, *events: Event, turn: TurnId = TURN) -> "History":
        """Add events to the turn's delivery stream."""
        scope = Scope(turn_id=turn, guild_id=self._guild_id)
        return self._add(delivery_stream(turn), events, scope)

    def of_channel(self, *events: Event, channel: ChannelId = CHANNEL) -> "History":
        """Add events to the channel's stream."""
        scope = Scope(channel_id=channel, guild_id=self._guild_id)
        return self._add(channel_stream(channel), events, scope)

    def of_guild(self, *events: Event, guild: GuildId = GUILD) -> "History":
        """Add events to the guild's stream."""
        return self._add(guild_stream(guild), events, Scope(guild_id=guild))

    def after(self, span: timedelta) -> "History":
        """Let time pass."""
        self.now += span
        return self

    def _add(self, stream: StreamId, events: Iterable[Event], scope: Scope) -> "History":
        for event in events:
            self._seqs[stream] = self._seqs.get(stream, 0) + 1
            recorded = Recorded(
                position=Position(len(self.events) + 1),
                stream=stream,
                seq=Seq(self._seqs[stream]),
                recorded_at=self.now,
                scope=scope,
                event=event,
            )
            self.events.append(recorded)
            self.now += timedelta(milliseconds=100)
        return self


def trigger(name: str, *, channel: ChannelId = CHANNEL, content: str = "Hello?") -> TriggerReceived:
    """Return a trigger."""
    return TriggerReceived(
        trigger_id=TriggerId(name),
        trigger="mention",
        channel_id=channel,
        guild_id=GUILD,
        author_id=UserId(31),
        author_name="Ann",
        content=content,
        persona="Ren",
    )


def started(
    trigger_id: str = "1",
    *,
    channel: ChannelId = CHANNEL,
    live: bool = True,
    text_version: int = TEXT_VERSION,
) -> TurnStarted:
    """Return the start of a turn."""
    return TurnStarted(
        trigger_id=TriggerId(trigger_id),
        channel_id=channel,
        guild_id=GUILD,
        author_id=UserId(31),
        author_name="Ann",
        prompt="Hello?",
        persona="Ren",
        system_prompt="Be kind.",
        models=("main/tiny", "spare/tiny"),
        settings=TurnSettings(live_streaming=live),
        seed=1,
        code_version="0.1.0",
        text_version=text_version,
    )


def stop(kind: StopKind = "stop", *, turn: TurnId = TURN, requester: str = "31") -> StopRequested:
    """Return a stop of a turn."""
    return StopRequested(turn_id=turn, requester=requester, stop=kind)


def opened(request: int = 1, kind: str = "echo") -> RequestOpened:
    """Return a request."""
    return RequestOpened(
        request=request,
        provider="main",
        kind_of_provider=kind,
        model="tiny",
        attempt="first" if request == 1 else "fallback",
        url="https://provider.example/v1",
        body="{}",
    )


def raw(*payloads: str, request: int = 1, end: StreamEnd | None = None) -> RawChunk:
    """Return payloads as they came."""
    times = tuple(float(index) for index in range(len(payloads)))
    return RawChunk(request=request, payloads=payloads, arrived_ms=times, end=end)


def said(*texts: str, request: int = 1) -> ProcessedChunk:
    """Return text chunks."""
    chunks = tuple(Chunk(type="text", text=text) for text in texts)
    return ProcessedChunk(request=request, chunks=chunks)


def attempt(
    number: int, flush: int, piece: int = 0, *, content: str = "Hi", is_notice: bool = False
) -> SendAttempt:
    """Return a promise to send."""
    return SendAttempt(
        attempt=number,
        flush=flush,
        piece=piece,
        purpose="notice" if is_notice else "answer",
        channel_id=CHANNEL,
        content=content,
    )


def receipt(number: int) -> Receipt:
    """Return the confirmation of an attempt."""
    return Receipt(attempt=number, message_id=MessageId(1_000 + number), destination_id=CHANNEL)


def sent(flushes: Iterable[Flush], first: int = 1) -> list[SendAttempt | Receipt]:
    """Return what a sender records of delivering all pieces of `flushes`."""
    events: list[SendAttempt | Receipt] = []
    number = first
    for flush in flushes:
        for index, piece in enumerate(flush.pieces):
            events += [
                attempt(number, flush.flush, index, content=piece.content),
                receipt(number),
            ]
            number += 1
    return events


def report(
    request: int = 1,
    *,
    model: str = "tiny",
    tokens_in: int | None = None,
    tokens_out: int | None = None,
    read: int | None = None,
    cost: int | None = None,
) -> UsageReport:
    """Return a usage report."""
    return UsageReport(
        request=request,
        provider="main",
        model=model,
        measurement="measured",
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cache_read_tokens=read,
        cost_pico=cost,
    )


def ended(status: TurnStatus = "completed", **fields: int | str | dict[str, int]) -> TurnEnded:
    """Return the end of a turn."""
    return TurnEnded(status=status, **fields)  # pyright: ignore[reportArgumentType] - as the field says
