"""Writes down whole turns as the actors do: each event in its stream, in order of time."""

from msgspec import Struct
from msgspec.structs import replace

from events.base import (
    ChannelId,
    Event,
    MessageId,
    Scope,
    StreamId,
    TurnId,
    channel_stream,
    delivery_stream,
    turn_stream,
)
from events.delivery import Receipt, SendAttempt, SendFailed
from events.generation import (
    Chunk,
    Flush,
    Piece,
    ProcessedChunk,
    RawChunk,
    RequestClosed,
    RequestOpened,
)
from events.spending import UsageReport
from events.turn import (
    StopObserved,
    StopRequested,
    TriggerReceived,
    TurnEnded,
    TurnRecovered,
    TurnStarted,
    TurnStatus,
)


class History(Struct, frozen=True, kw_only=True):
    """One turn as it was recorded."""

    turn_id: TurnId
    """The turn."""
    channel_id: ChannelId
    """The channel it answers in."""
    scope: Scope
    """Its scope."""
    facts: tuple[tuple[StreamId, Event], ...]
    """Its events with their streams, in order of time; the trigger comes first."""


class TurnWriter:
    """Writes down one turn, step by step."""

    def __init__(
        self, turn_id: TurnId, channel_id: ChannelId, started: TurnStarted, segments: list[str]
    ) -> None:
        self._id = turn_id
        self._channel_id = channel_id
        self._segments = segments
        self._turn, self._delivery = turn_stream(turn_id), delivery_stream(turn_id)
        self._channel = channel_stream(channel_id)
        self._cut_by: str | None = None
        self._delivered: list[str] = []
        trigger = TriggerReceived(
            trigger_id=started.trigger_id,
            trigger="mention",
            channel_id=channel_id,
            guild_id=started.guild_id,
            author_id=started.author_id,
            author_name=started.author_name,
            content=started.prompt,
            persona=started.persona,
        )
        self.facts: list[tuple[StreamId, Event]] = [
            (self._channel, trigger),
            (self._turn, replace(started, channel_id=channel_id)),
        ]

    def recover(self) -> None:
        """Lose the process before its request, and run again."""
        self._say(TurnRecovered(epoch=1, found="no chunk", decision="run_again"))

    def request(self) -> None:
        """Receive every segment in a chunk of its own."""
        opened = RequestOpened(
            request=1,
            provider="main",
            kind_of_provider="openai",
            model="small",
            attempt="first",
            url="http://127.0.0.1/v1/chat/completions",
            body="{}",
        )
        self._say(opened)
        for at, segment in enumerate(self._segments):
            self._say(RawChunk(request=1, payloads=(segment,), arrived_ms=(float(at),)))
            self._say(ProcessedChunk(request=1, chunks=(Chunk(type="text", text=segment),)))
        self._say(RequestClosed(request=1, end="done", http_status=200, finish_reason="stop"))
        self._say(UsageReport(request=1, provider="main", model="small", measurement="measured"))

    def deliver(self, cut_at: int, cut_by: str | None) -> None:
        """Post one message a segment, up to the one at which the turn is cut."""
        at = 0
        for ordinal, segment in enumerate(self._segments, 1):
            if ordinal > cut_at and cut_by == "stop":
                self._stop()
                return
            piece = Piece(content=segment, start=at, end=at + len(segment))
            flush = Flush(
                flush=ordinal,
                text=segment,
                boundary="final" if ordinal == len(self._segments) else "newline",
                start=at,
                end=at + len(segment),
                pieces=(piece,),
            )
            self._say(flush)
            at += len(segment)
            self._send(
                SendAttempt(
                    attempt=ordinal, flush=ordinal, channel_id=self._channel_id, content=segment
                )
            )
            if ordinal > cut_at:
                self._cut_by = "unconfirmed"
                self._send(SendFailed(attempt=ordinal, outcome="unconfirmed", reason="timeout"))
                return
            self._send(
                Receipt(
                    attempt=ordinal,
                    message_id=MessageId(ordinal),
                    destination_id=self._channel_id,
                )
            )
            self._delivered.append(segment)

    def end(self) -> None:
        """End the turn and account for every character."""
        received = sum(map(len, self._segments))
        delivered = sum(map(len, self._delivered))
        status: TurnStatus = "completed" if self._segments else "empty_response"
        if self._cut_by is not None:
            status = "unconfirmed" if self._cut_by == "unconfirmed" else "stopped_by_user"
        rest = received - delivered
        self._say(
            TurnEnded(
                status=status,
                delivered_text="".join(self._delivered),
                received=received,
                delivered=delivered,
                withheld={self._cut_by: rest} if self._cut_by is not None and rest else {},
                messages=len(self._delivered),
                requests=1,
            )
        )

    def _stop(self) -> None:
        self._cut_by = "stop"
        stop = StopRequested(turn_id=self._id, requester="operator", stop="operator")
        self.facts.append((self._channel, stop))
        self._say(StopObserved(position=len(self.facts), stop="operator", requester="operator"))

    def _say(self, event: Event) -> None:
        self.facts.append((self._turn, event))

    def _send(self, event: Event) -> None:
        self.facts.append((self._delivery, event))
