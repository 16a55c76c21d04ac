"""What reading a response is in every wire format; the formats add what their payloads mean.

Text always leaves before the word that ends it, half characters before the text behind them, and
usage on the last chunk of its payload. A reader is done after the stream's own last word or an
error. A finish reason does not end it: usage may follow, and where a server goes on with text, so
does the reader. Once a finish reason came the answer is whole, and how the connection ended is no
matter.
"""

import logging
import re
from abc import ABC, abstractmethod
from typing import Final

from msgspec.structs import replace

from actors.providers import errors
from actors.providers.json_text import BadPayloadError, JsonObject, object_of, parse_object, text_of
from actors.providers.surrogates import Joiner, clean
from events.generation import (
    Chunk,
    ErrorType,
    FunctionCall,
    ProviderFault,
    StreamEnd,
    Thought,
    Usage,
)

_log: Final = logging.getLogger(__name__)

_BAD_PAYLOADS_LIMIT: Final = 3
_ID_LIMIT: Final = 200
_WORD_LIMIT: Final = 64
_UNSAFE: Final = re.compile(r"[^a-z0-9_.-]")


class Reader(ABC):
    """Reads one response; its state is never shared with another's."""

    def __init__(self) -> None:
        self._is_done = False
        self._is_concluded = False
        self._bad_payloads = 0
        self._text = Joiner()
        self._reasoning = Joiner()
        self._usage: Usage | None = None
        self._reported: JsonObject = {}
        self._response_id: str | None = None
        self._serving_provider: str | None = None
        self._is_id_given = False
        self._is_server_given = False

    @property
    def is_done(self) -> bool:
        """Whether the stream said its last word: stop reading and close."""
        return self._is_done

    def feed(self, payload: str) -> list[Chunk]:
        """Return the chunks that one data payload of a 2xx response gives; never raises."""
        if self._is_done:
            return []
        try:
            return self._read(payload)
        except Exception as error:  # noqa: BLE001 - a payload never ends more than its own stream
            # Its name only: a message or traceback could quote the payload.
            _log.error("an adapter failed on a payload: %s", type(error).__name__)
            return [self._failed("api_error", "adapter_failure", is_retryable=False)]

    def fail(self, status: int, body: str, retry_after_seconds: float | None) -> list[Chunk]:
        """Return the error chunk of a response whose status is not 2xx."""
        if self._is_done:
            return []
        self._is_done = True
        return [Chunk(type="error", error=errors.of_response(status, body, retry_after_seconds))]

    def finish(self, end: StreamEnd) -> list[Chunk]:
        """Return what was held back, then `done` or the error that `end` means."""
        if self._is_done:
            return []
        self._is_done = True
        if end == "stopped":
            return []
        fault = None if self._is_concluded else errors.of_end(end)
        if fault is not None:
            return self._emit("", (), None, Chunk(type="error", error=fault))
        return self._emit("", (), None, *self._conclude("eof" if end == "eof" else "stop"))

    @abstractmethod
    def _read_object(self, payload: JsonObject) -> list[Chunk]:
        """Return what one payload means."""

    @abstractmethod
    def _take_calls(self) -> list[FunctionCall]:
        """Return the calls that the response made, in their order, and forget them."""

    def _read(self, payload: str) -> list[Chunk]:
        payload = payload.strip()
        if not payload:
            return []
        if payload == "[DONE]":
            return self.finish("done")
        try:
            chunk = parse_object(payload)
        except BadPayloadError:
            return self._skip(len(payload))
        self._bad_payloads = 0
        return self._read_object(chunk)

    def _skip(self, size: int) -> list[Chunk]:
        self._bad_payloads += 1
        _log.warning("skipped a payload of %d characters that is no JSON object", size)
        if self._bad_payloads < _BAD_PAYLOADS_LIMIT:
            return []
        last = self._failed("api_error", "malformed_stream", is_retryable=True)
        return self._emit("", (), None, last)

    def _say(self, text: str, thoughts: tuple[Thought, ...], usage: Usage | None) -> list[Chunk]:
        """Return what a payload in the middle of the stream says: nothing where it is empty."""
        if text or thoughts or usage is not None:
            return self._introduce([Chunk(type="text", text=text, thoughts=thoughts, usage=usage)])
        return []

    def _emit(
        self, text: str, thoughts: tuple[Thought, ...], usage: Usage | None, *last: Chunk
    ) -> list[Chunk]:
        """Return the text, with what halves were held, and then the last words.

        Thoughts stand with the text where there is one; usage always stands last.
        """
        text += self._text.flush()
        lost = self._reasoning.flush()
        if lost:
            thoughts = (*thoughts, Thought(content=lost))
        chunks: list[Chunk] = []
        if text or (not last and (thoughts or usage is not None)):
            chunks.append(Chunk(type="text", text=text, thoughts=thoughts))
            thoughts = ()
        for one in last:
            chunks.append(replace(one, thoughts=thoughts))
            thoughts = ()
        if usage is not None:
            chunks[-1] = replace(chunks[-1], usage=usage)
        return self._introduce(chunks)

    def _conclude(self, reason: str, fault: ProviderFault | None = None) -> list[Chunk]:
        """Return what a finish reason means; nothing where the answer had its last word already."""
        if self._is_concluded:
            return []
        self._is_concluded = True
        if fault is not None:
            self._is_done = True
            return [Chunk(type="error", error=fault, finish_reason=reason)]
        calls = [
            Chunk(type="function_call", function_call=call, finish_reason=reason)
            for call in self._take_calls()
        ]
        return calls or [Chunk(type="done", finish_reason=reason)]

    def _failed(self, kind: ErrorType, code: str, *, is_retryable: bool) -> Chunk:
        return self._broken(ProviderFault(type=kind, code=code, retryable=is_retryable))

    def _broken(self, fault: ProviderFault) -> Chunk:
        self._is_done = True
        return Chunk(type="error", error=fault)

    def _thoughts(self, content: str) -> tuple[Thought, ...]:
        content = self._reasoning.feed(content) if content else ""
        return (Thought(content=content),) if content else ()

    def _fresh(self, usage: Usage | None) -> Usage | None:
        """Return a usage that differs from the last: some servers repeat it on every chunk."""
        if usage is None or usage == self._usage:
            return None
        self._usage = usage
        return usage

    def _merged(self, reported: object) -> JsonObject:
        """Return the figures so far: payloads report parts of them, and the latest word counts."""
        known = {name: one for name, one in object_of(reported).items() if one is not None}
        self._reported.update(known)
        return self._reported

    def _identify(self, response_id: object, serving_provider: object = None) -> None:
        """Take who answers from the first payload that says so."""
        self._response_id = self._response_id or _name(response_id)
        self._serving_provider = self._serving_provider or _name(serving_provider)

    def _introduce(self, chunks: list[Chunk]) -> list[Chunk]:
        """Name the response and who served it on the first chunk since they are known, once."""
        response_id = None if self._is_id_given else self._response_id
        serving_provider = None if self._is_server_given else self._serving_provider
        if chunks and (response_id is not None or serving_provider is not None):
            self._is_id_given = self._is_id_given or response_id is not None
            self._is_server_given = self._is_server_given or serving_provider is not None
            chunks[0] = replace(
                chunks[0], response_id=response_id, serving_provider=serving_provider
            )
        return chunks


def other_reason(word: str) -> str:
    """Return the finish reason of a word that nobody here knows."""
    return f"other:{_UNSAFE.sub('', word.lower())[:_WORD_LIMIT] or 'unknown'}"


def _name(value: object) -> str | None:
    return clean(text_of(value))[:_ID_LIMIT] or None
