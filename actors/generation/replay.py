"""Yesterday's turns through today's code: what differs, and whether all is accounted for.

`replay` compares three things with the record: the normalized chunks of each request, the flushes
with their messages, and what was attempted to be posted. How events were batched does not matter.
A turn that another version of the text core cut is compared in its chunks alone: that its messages
differ was decided, once, when the version was raised.
Each of them is reported at its first difference, since all that follows usually differs too.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final, Literal

import msgspec
from msgspec import Struct

from actors.generation.rebuild import ReaderFor, Rebuilt, rebuild
from actors.text import core
from actors.text.table_blocks import code_blocks
from events.base import Position, Recorded, TurnId
from events.delivery import SendAttempt
from events.generation import Chunk, Flush, Piece, ProcessedChunk, RequestOpened
from events.turn import TurnStarted
from projections.balance import Balance, balance
from projections.fold import turn_of

__all__ = ["Difference", "ReaderFor", "Rebuilt", "Replay", "rebuild", "replay", "verify"]

_CONTEXT: Final = 2
"""Things that still agreed, to be shown before a difference."""


class Difference(Struct, frozen=True, kw_only=True):
    """The first place where today's code goes another way."""

    what: Literal["reader", "processed_chunk", "flush", "send_attempt"]
    """What differs; `reader`: there is no adapter for the request any more."""
    number: int
    """Which one, from 1: the chunk of its request, the flush, or the attempt."""
    request: int | None = None
    """The request, for chunks."""
    position: Position | None = None
    """The event on record; None where today's code gives more than there is."""
    fields: tuple[str, ...] = ()
    """The fields that differ; empty where one side has nothing at all."""
    recorded: str | None = None
    """What is on record, as JSON; None where there is nothing."""
    replayed: str | None = None
    """What today's code gives, as JSON; None where it gives nothing."""
    before: tuple[str, ...] = ()
    """What stands before it, as JSON, on which both agree; oldest first."""


class Replay(Struct, frozen=True, kw_only=True):
    """A turn run through today's code."""

    turn_id: TurnId
    """The turn."""
    code_version: str = ""
    """Version of the code that ran it."""
    text_version: int = 0
    """Version of the text core that cut its messages."""
    chunks: int = 0
    """Chunks compared."""
    flushes: int = 0
    """Flushes compared."""
    attempts: int = 0
    """Attempts compared, notices left out: no model wrote them."""
    differences: tuple[Difference, ...] = ()
    """Where today's code goes another way, by position; at most one a request, and one each of
    the flushes and the attempts."""
    balance: Balance
    """Whether all characters are accounted for."""

    @property
    def is_same(self) -> bool:
        """Whether today's code does what was done."""
        return not self.differences

    @property
    def is_sound(self) -> bool:
        """Whether it is the same and its text is accounted for."""
        return self.is_same and self.balance.is_balanced


def replay(events: Sequence[Recorded], reader_for: ReaderFor) -> Replay:
    """Run one turn through today's code and compare.

    Args:
        events: The turn's two streams, in any order.
        reader_for: Returns a fresh adapter for a wire format; raises `LookupError` for one that
            is unknown.
    """
    ordered = sorted(events, key=lambda recorded: recorded.position)
    turn_id = next((turn for turn in map(turn_of, ordered) if turn is not None), TurnId(""))
    started = next((one.event for one in ordered if isinstance(one.event, TurnStarted)), None)
    unread = _unread(ordered, reader_for)
    differences = [unread] if unread else _compare(ordered, rebuild(ordered, reader_for))
    return Replay(
        turn_id=turn_id,
        code_version=started.code_version if started else "",
        text_version=started.text_version if started else 0,
        chunks=sum(len(e.chunks) for _, e in _chunk_events(ordered)),
        flushes=sum(isinstance(one.event, Flush) for one in ordered),
        attempts=len(_attempts(ordered)),
        differences=tuple(differences),
        balance=balance(turn_id, ordered),
    )


def verify(turns: Iterable[Sequence[Recorded]], reader_for: ReaderFor) -> list[Replay]:
    """Replay `turns`, each the events of its two streams, and return those that are not sound."""
    replays = (replay(events, reader_for) for events in turns)
    return [one for one in replays if not one.is_sound]


def _unread(events: Sequence[Recorded], reader_for: ReaderFor) -> Difference | None:
    for recorded in events:
        if not isinstance(recorded.event, RequestOpened):
            continue
        try:
            reader_for(recorded.event.kind_of_provider)
        except LookupError:
            return Difference(
                what="reader",
                number=recorded.event.request,
                request=recorded.event.request,
                position=recorded.position,
                recorded=_json(recorded.event.kind_of_provider),
            )
    return None


def _compare(events: Sequence[Recorded], rebuilt: Rebuilt) -> list[Difference]:
    found = _compare_chunks(events, rebuilt)
    if _text_version(events) == core.TEXT_VERSION:
        found += [_compare_flushes(events, rebuilt), _compare_attempts(events, rebuilt)]
    differences = [one for one in found if one is not None]
    last = events[-1].position if events else Position(0)
    return sorted(differences, key=lambda one: one.position or last)


def _text_version(events: Sequence[Recorded]) -> int:
    versions = (one.event.text_version for one in events if isinstance(one.event, TurnStarted))
    return next(versions, core.TEXT_VERSION)


def _compare_chunks(events: Sequence[Recorded], rebuilt: Rebuilt) -> list[Difference | None]:
    on_record: dict[int, list[tuple[Position, Chunk]]] = {request: [] for request in rebuilt.chunks}
    for position, event in _chunk_events(events):
        chunks = on_record.setdefault(event.request, [])
        chunks += [(position, chunk) for chunk in event.chunks]
    return [
        _first_difference("processed_chunk", recorded, rebuilt.chunks.get(request, ()), request)
        for request, recorded in on_record.items()
    ]


def _compare_flushes(events: Sequence[Recorded], rebuilt: Rebuilt) -> Difference | None:
    recorded = [(one.position, one.event) for one in events if isinstance(one.event, Flush)]
    return _first_difference("flush", recorded, rebuilt.flushes)


def _compare_attempts(events: Sequence[Recorded], rebuilt: Rebuilt) -> Difference | None:
    for position, attempt in _attempts(events):
        piece = _piece(rebuilt, attempt)
        if piece is None or attempt.content.removeprefix(attempt.prefix) not in _contents(
            piece, attempt
        ):
            return Difference(
                what="send_attempt",
                number=attempt.attempt,
                position=position,
                fields=("content",) if piece else (),
                recorded=_json(attempt.content),
                replayed=_json(piece.content) if piece else None,
            )
    return None


def _contents(piece: Piece, attempt: SendAttempt) -> tuple[str, ...]:
    if not piece.is_table:
        return (piece.content,)
    # A picture goes without words, and is not drawn again to be compared.
    return ("",) if attempt.attachments else code_blocks(piece.content)


def _piece(rebuilt: Rebuilt, attempt: SendAttempt) -> Piece | None:
    if not 0 < attempt.flush <= len(rebuilt.flushes):
        return None
    pieces = rebuilt.flushes[attempt.flush - 1].pieces
    return pieces[attempt.piece] if 0 <= attempt.piece < len(pieces) else None


def _first_difference(
    what: Literal["processed_chunk", "flush"],
    recorded: Sequence[tuple[Position, Chunk | Flush]],
    replayed: Sequence[Chunk | Flush],
    request: int | None = None,
) -> Difference | None:
    for index, (was, now) in enumerate(zip_longest(recorded, replayed)):
        position, then = was or (None, None)
        if then == now:
            continue
        return Difference(
            what=what,
            number=index + 1,
            request=request,
            position=position,
            fields=_fields(then, now),
            recorded=_json(then) if then is not None else None,
            replayed=_json(now) if now is not None else None,
            before=tuple(_json(one) for one in replayed[max(0, index - _CONTEXT) : index]),
        )
    return None


def _fields(then: Struct | None, now: Struct | None) -> tuple[str, ...]:
    if then is None or now is None:
        return ()
    names = then.__struct_fields__
    return tuple(name for name in names if getattr(then, name) != getattr(now, name))


def _chunk_events(events: Sequence[Recorded]) -> list[tuple[Position, ProcessedChunk]]:
    return [(one.position, one.event) for one in events if isinstance(one.event, ProcessedChunk)]


def _attempts(events: Sequence[Recorded]) -> list[tuple[Position, SendAttempt]]:
    return [
        (one.position, one.event)
        for one in events
        if isinstance(one.event, SendAttempt) and one.event.purpose == "answer"
    ]


def _json(value: Struct | str) -> str:
    return msgspec.json.encode(value).decode()
