"""A turn's text, derived again from the payloads that its log holds.

The same code runs live, in recovery and in replay: adapter and text core are pure, and what came is
on record verbatim. What the payloads alone do not say is how the text ended: whether the turn
flushed the rest, or gave it up after a stop or a failed delivery. A turn that ended well has
flushed it; for any other its own flushes tell.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from actors.providers.adapter import StreamAdapter
from actors.providers.sse import text_of_recorded
from actors.text import core
from events.base import Recorded
from events.generation import (
    Chunk,
    Flush,
    RawChunk,
    RequestClosed,
    RequestOpened,
    StreamEnd,
    ToolCalled,
)
from events.turn import StopObserved, TurnEnded, TurnStarted, TurnStatus

ReaderFor = Callable[[str], StreamAdapter]
"""Returns a fresh adapter for a wire format, such as `openai`."""

_ENDED_WELL: Final[frozenset[TurnStatus]] = frozenset(("completed", "empty_response", "recovered"))
_HTTP_OK: Final = range(200, 300)


class Rebuilt(Struct, frozen=True, kw_only=True):
    """What today's code makes of a turn's payloads."""

    state: core.TextState
    """The text state behind the last payload, and behind its end where the log shows one."""
    flushes: tuple[Flush, ...]
    """The flushes so far, numbered from 1."""
    chunks: dict[int, tuple[Chunk, ...]]
    """The normalized chunks of each request."""
    received: int
    """Characters of text received, reasoning included."""
    discarded: dict[str, int]
    """Characters that were given up because another request was made in their place, by rule."""
    superseded: tuple[int, ...]
    """The flushes on record of the requests that others were made in place of."""
    ended: bool
    """Whether the log holds the end of the last request's body."""
    adapter: StreamAdapter | None
    """The adapter of the last request, as far as it has read."""


def rebuild(events: Sequence[Recorded], reader_for: ReaderFor) -> Rebuilt:
    """Return the text of a turn as far as `events`, oldest first, show it.

    Every flush on record is among the result's, if today's code cuts as the code of then did. So
    whoever goes on with the turn appends only those behind the number on record, and flushes the
    rest by `core.finish`, which gives nothing where the turn had done so.
    """
    rebuilding = _Rebuilding(reader_for)
    for recorded in events:
        rebuilding.take(recorded)
    return rebuilding.result([one.event for one in events if isinstance(one.event, Flush)])


class _Rebuilding:
    """Moves through a turn's events."""

    def __init__(self, reader_for: ReaderFor) -> None:
        self._reader_for = reader_for
        self._state = core.initial(core.TextConfig())
        self._adapters: dict[int, StreamAdapter] = {}
        self._chunks: dict[int, list[Chunk]] = {}
        self._ends: dict[int, StreamEnd] = {}
        self._flushes: list[Flush] = []
        self._received = 0
        self._discarded: dict[str, int] = {}
        self._recorded: list[Flush] = []
        self._superseded: list[int] = []
        self._status: TurnStatus | None = None
        self._is_stopped = False
        self._is_rest_stopped = False

    def take(self, recorded: Recorded) -> None:
        match recorded.event:
            case TurnStarted() as beginning:
                self._state = core.initial(core.config_of(beginning))
            case RequestOpened(request=request, kind_of_provider=kind, attempt=attempt):
                self._leave_last()
                if attempt == "retry":
                    self._state = core.asked_again(self._state)
                self._adapters[request] = self._reader_for(kind)
                self._chunks[request] = []
            case RawChunk() as raw if raw.request in self._adapters:
                self._read(raw)
            case RequestClosed(request=request, end=end) if request in self._adapters:
                self._end(request, end)
            case Flush() | StopObserved() | ToolCalled() | TurnEnded() as event:
                self._take_end(event)
            case _:
                pass

    def _take_end(self, event: Flush | StopObserved | ToolCalled | TurnEnded) -> None:
        """Note what tells how the text ended."""
        match event:
            case Flush():
                self._recorded.append(event)
                self._is_rest_stopped = self._is_stopped
            case StopObserved():
                self._is_stopped = True
            case ToolCalled():
                self._finish("tool_call")
            case TurnEnded():
                self._status = event.status

    def result(self, on_record: Sequence[Flush]) -> Rebuilt:
        how = self._how(on_record)
        if how is not None:
            self._finish(how)
        last = max(self._adapters, default=0)
        return Rebuilt(
            state=self._state,
            flushes=tuple(self._flushes),
            chunks={request: tuple(chunks) for request, chunks in self._chunks.items()},
            received=self._received,
            discarded=self._discarded,
            superseded=tuple(self._superseded),
            ended=last in self._ends,
            adapter=self._adapters.get(last),
        )

    def _how(self, on_record: Sequence[Flush]) -> core.How | None:
        """Return how the text was ended, or None where the log does not show that it was."""
        # Flushes of the last request alone: what was said before a tool ended otherwise.
        boundary = self._recorded[-1].boundary if self._recorded else None
        if boundary == "tool_call" and self._status not in ("completed", "empty_response"):
            return self._how_cut_short()
        is_finished = boundary == "final" or len(on_record) > len(self._flushes)
        return "final" if is_finished or self._status in _ENDED_WELL else None

    def _leave_last(self) -> None:
        """End the text of a request that another one follows.

        What it left in the buffer is given up if it failed: the other speaks in its place.
        """
        last = self._chunks.get(max(self._adapters, default=0), [])
        if any(chunk.error is not None for chunk in last):
            self._state, dropped = core.discard(self._state, "superseded")
            for rule, count in dropped.items():
                self._discarded[rule] = self._discarded.get(rule, 0) + count
            self._superseded += [flush.flush for flush in self._recorded]
        else:
            self._finish("final")
        self._recorded.clear()

    def _finish(self, how: core.How) -> None:
        self._state, segments = core.finish(self._state, how)
        self._flush(segments)

    def _how_cut_short(self) -> core.How:
        """Return what ended the text before its time, by what the turn acted on first."""
        chunks = self._chunks[max(self._chunks)] if self._chunks else ()
        if self._is_rest_stopped:
            return "stop"
        if any(chunk.error for chunk in chunks):
            return "error"
        return "tool_call" if any(chunk.function_call for chunk in chunks) else "stop"

    def _read(self, raw: RawChunk) -> None:
        adapter = self._adapters[raw.request]
        for index, recorded in enumerate(raw.payloads):
            payload = text_of_recorded(recorded, is_base64=index in raw.base64)
            if raw.http_status in _HTTP_OK:
                chunks = adapter.feed(payload)
            else:
                chunks = adapter.fail(raw.http_status, payload, raw.retry_after_seconds)
            self._write(raw.request, chunks)
        if raw.end is not None:
            self._end(raw.request, raw.end)

    def _end(self, request: int, end: StreamEnd) -> None:
        if request not in self._ends:
            self._ends[request] = end
            self._write(request, self._adapters[request].finish(end))

    def _write(self, request: int, chunks: Sequence[Chunk]) -> None:
        self._chunks[request] += chunks
        for chunk in chunks:
            if chunk.type == "text" and chunk.text:
                self._received += len(chunk.text)
                self._state, segments = core.step(self._state, chunk.text)
                self._flush(segments)

    def _flush(self, segments: Sequence[core.Segment]) -> None:
        for segment in segments:
            self._flushes.append(core.flush_event(segment, len(self._flushes) + 1))
