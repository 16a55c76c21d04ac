"""Events to stored text and back, old versions upcast.

A stored body is the event's JSON with its kind as tag, so that one line of an export is readable
alone. An upcaster takes the raw body of one version to the next; they are applied in turn.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, cast

import msgspec

from events.base import Append, Entry, Event, Scope, StreamId
from events.decisions import DecisionAnswered, DecisionRequested
from events.delivery import ButtonDisabled, Receipt, Retraction, SendAttempt, SendFailed
from events.errors import CodecError
from events.generation import (
    Flush,
    ProcessedChunk,
    RawChunk,
    RequestClosed,
    RequestOpened,
    ToolCalled,
    ToolReturned,
)
from events.notes import NotePinned
from events.settings import (
    FallbacksChosen,
    ModelChosen,
    PersonaDefined,
    PersonaRemoved,
    ProviderRemoved,
    ProviderSaved,
    SettingChanged,
)
from events.spending import HoldOpened, HoldSettled, RequestDenied, UsageReport
from events.turn import (
    StopObserved,
    StopRequested,
    TriggerDropped,
    TriggerReceived,
    TurnEnded,
    TurnRecovered,
    TurnStarted,
)

AnyEvent = (
    TriggerReceived
    | TriggerDropped
    | StopRequested
    | TurnStarted
    | StopObserved
    | TurnRecovered
    | TurnEnded
    | RequestOpened
    | RawChunk
    | ProcessedChunk
    | RequestClosed
    | ToolCalled
    | ToolReturned
    | Flush
    | SendAttempt
    | Receipt
    | SendFailed
    | ButtonDisabled
    | Retraction
    | UsageReport
    | RequestDenied
    | HoldOpened
    | HoldSettled
    | DecisionRequested
    | DecisionAnswered
    | PersonaDefined
    | PersonaRemoved
    | SettingChanged
    | ProviderSaved
    | ProviderRemoved
    | ModelChosen
    | FallbacksChosen
    | NotePinned
)
"""Every event there is; `match` over it ends in `assert_never`."""

EVENT_TYPES: Final[tuple[type[Event], ...]] = cast("tuple[type[Event], ...]", AnyEvent.__args__)
"""The members of `AnyEvent`, in order of a turn's life."""

Body = dict[str, Any]
"""An event's body as plain JSON, between versions."""
Upcaster = Callable[[Body], Body]
"""Takes a body of one version to the next."""

UPCASTERS: Final[dict[tuple[str, int], Upcaster]] = {}
"""By kind and the version that it leaves."""


def kind_of(event: Event | type[Event]) -> str:
    """Return the stored kind, such as `turn_started`."""
    tag = event.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


_CURRENT: Final = {kind_of(event_type): event_type.version for event_type in EVENT_TYPES}
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyEvent)


def encode(event: Event) -> str:
    """Return the event's JSON, kind included."""
    return _encoder.encode(event).decode()


def decode(kind: str, version: int, body: str | bytes) -> Event:
    """Return the event that `body` holds, upcast to today's version.

    Raises:
        CodecError: The kind is unknown, the version is newer than this code, or the body is
            not of that shape.
    """
    current = _CURRENT.get(kind)
    if current is None:
        raise CodecError(kind, version, "unknown kind")
    if version > current:
        raise CodecError(kind, version, f"newer than this code, which knows version {current}")
    try:
        if version == current:
            return _decoder.decode(body)
        return msgspec.convert(_upcast(kind, version, current, body), AnyEvent)
    except msgspec.MsgspecError as error:
        raise CodecError(kind, version, str(error)) from error


def _upcast(kind: str, version: int, current: int, body: str | bytes) -> Body:
    raw: Body = msgspec.json.decode(body)
    for step in range(version, current):
        upcaster = UPCASTERS.get((kind, step))
        if upcaster is None:
            raise CodecError(kind, version, f"no upcaster from version {step}")
        raw = upcaster(raw)
    return raw


def entry(event: Event, at: datetime) -> Entry:
    """Return the event as an entry of an append; `at` is aware UTC."""
    return Entry(kind=kind_of(event), version=event.version, recorded_at=at, body=encode(event))


def append_of(
    stream: StreamId,
    events: Iterable[tuple[Event, datetime]],
    *,
    scope: Scope,
    expected_seq: int | None = None,
    epoch: int = 0,
    unless_stopped: bool = False,
) -> Append:
    """Return the append that adds `events`, each with its aware UTC time, to `stream`."""
    return Append(
        stream=stream,
        entries=tuple(entry(event, at) for event, at in events),
        scope=scope,
        expected_seq=expected_seq,
        epoch=epoch,
        unless_stopped=unless_stopped,
    )
