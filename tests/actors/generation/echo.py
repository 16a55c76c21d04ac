"""A wire format for tests: a payload is its own text."""

from typing_extensions import override

from actors.text import core
from events.generation import Chunk, Flush, ProcessedChunk, ProviderFault, StreamEnd
from tests.projections.histories import History, opened, raw, said, started

FAULT = ProviderFault(type="provider_overloaded", code="connection_lost", retryable=True)

HELLO = ("Hello\n", "world")
"""What most readers read."""


class EchoReader:
    """`adapters.StreamAdapter`: `x` is the text `x`, `[DONE]` the last word, `^x` is held back."""

    def __init__(self) -> None:
        self._is_done = False
        self._held = ""

    @property
    def is_done(self) -> bool:
        """Whether the last word was said."""
        return self._is_done

    def feed(self, payload: str) -> list[Chunk]:
        """Return the payload as text."""
        if payload == "[DONE]":
            return self.finish("done")
        text, self._held = self._held + payload, ""
        if payload.startswith("^"):
            self._held = payload[1:]
            return []
        return [Chunk(type="text", text=text)]

    def fail(self, status: int, body: str, retry_after_seconds: float | None) -> list[Chunk]:
        """Return the failure."""
        self._is_done = True
        retry_after_ms = None if retry_after_seconds is None else int(retry_after_seconds * 1_000)
        fault = ProviderFault(
            type="api_error",
            code=str(status),
            retryable=False,
            message=body,
            retry_after_ms=retry_after_ms,
        )
        return [Chunk(type="error", error=fault)]

    def finish(self, end: StreamEnd) -> list[Chunk]:
        """Return what was held back, and the last word."""
        if self._is_done:
            return []
        self._is_done = True
        held = [Chunk(type="text", text=self._held)] if self._held else []
        match end:
            case "stopped":
                return []
            case "done" | "eof":
                return [*held, Chunk(type="done", finish_reason="stop")]
            case _:
                return [*held, Chunk(type="error", error=FAULT)]


class ShoutingReader(EchoReader):
    """The same, once somebody has changed it."""

    @override
    def feed(self, payload: str) -> list[Chunk]:
        return super().feed(payload.upper() if payload != "[DONE]" else payload)


def reader_for(kind: str) -> EchoReader:
    """Return a reader for `echo`, the one format there is."""
    return {"echo": EchoReader}[kind]()


def done(request: int = 1) -> ProcessedChunk:
    """Return the last word of a request."""
    return ProcessedChunk(request=request, chunks=(Chunk(type="done", finish_reason="stop"),))


def failed(request: int = 1) -> ProcessedChunk:
    """Return the failure of a request."""
    return ProcessedChunk(request=request, chunks=(Chunk(type="error", error=FAULT),))


def flushes(*texts: str, how: core.How | None = "final", live: bool = True) -> list[Flush]:
    """Return the flushes of `texts`, without those of the end where `how` is None."""
    state = core.initial(core.TextConfig(live_streaming=live))
    segments: list[core.Segment] = []
    for text in texts:
        state, some = core.step(state, text)
        segments += some
    if how is not None:
        segments += core.finish(state, how)[1]
    return [core.flush_event(segment, number + 1) for number, segment in enumerate(segments)]


def crashed(*, flushed: int, request_ended: bool = False) -> History:
    """Return a turn whose process is gone, some of its flushes on record."""
    end = "eof" if request_ended else None
    history = History().of_turn(started(), opened(), raw(*HELLO, end=end), said(*HELLO))
    if request_ended:
        history.of_turn(done())
    return history.of_turn(*flushes(*HELLO)[:flushed])
