"""Which framing a body has: server-sent events, or one JSON text.

A provider that fails answers with a status and one body. One that does not stream answers a
streaming request with plain JSON and status 200. Both are one payload; everything else is a
stream of events.
"""

from typing import Final

from actors.providers.sse import LINE_LIMIT, OversizedError, Payload, SseDecoder, payload_of

BODY_LIMIT: Final = 1024 * 1024
"""Bytes that a body which is one JSON text may have."""

_EVENT_STREAM: Final = "text/event-stream"
_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = b" \t\r\n"
_FIRST_ERROR: Final = 300
_FIRST_SUCCESS: Final = 200


def is_success(status: int) -> bool:
    """Return whether a response of `status` streams an answer, rather than naming a failure."""
    return _FIRST_SUCCESS <= status < _FIRST_ERROR


class BodyFramer:
    """Frames one response's body; feed it bytes in order, then finish it once.

    For a status that is not 2xx, `finish` gives exactly one payload, empty where the body was:
    what an adapter's `fail` takes. Otherwise payloads are what its `feed` takes.
    """

    def __init__(
        self,
        status: int,
        content_type: str,
        *,
        line_limit: int = LINE_LIMIT,
        body_limit: int = BODY_LIMIT,
    ) -> None:
        self._limit = body_limit
        self._events = SseDecoder(line_limit)
        self._body = bytearray()
        self._is_failure = not is_success(status)
        self._is_whole: bool | None = None
        if self._is_failure:
            self._is_whole = True
        elif content_type.partition(";")[0].strip().lower() == _EVENT_STREAM:
            self._is_whole = False

    @property
    def comments(self) -> int:
        """Comment lines so far: signs of life, nothing more."""
        return self._events.comments

    def feed(self, data: bytes) -> list[Payload]:
        """Return the payloads that `data` completes, oldest first.

        Raises:
            OversizedError: A line, an event or a whole body is too long; it brings what came
                before.
        """
        if self._is_whole is False:
            return self._events.feed(data)
        self._body += data
        if self._is_whole is None:
            self._is_whole = self._sniff()
            if self._is_whole is False:
                first = bytes(self._body)
                self._body.clear()
                return self._events.feed(first)
        if len(self._body) > self._limit:
            raise OversizedError(self._limit)
        return []

    def finish(self) -> list[Payload]:
        """Return what the end of the body completes.

        Raises:
            OversizedError: As `feed`.
        """
        if self._is_whole is False:
            return self._events.finish()
        body = bytes(self._body).removeprefix(_BOM).strip(_SPACE)
        return [payload_of(body)] if body or self._is_failure else []

    def _sniff(self) -> bool | None:
        """Return whether the body is one JSON text; None while nothing but space came.

        Space before a JSON text may go on for minutes, as a sign of life, so it is not kept. Of
        space before events only what stands on the line at hand could matter.
        """
        start = self._body.lstrip(_SPACE)
        space = len(self._body) - len(start)
        del self._body[: max(self._body.rfind(end, 0, space) for end in (b"\n", b"\r")) + 1]
        if len(start) < len(_BOM) and _BOM.startswith(start):
            return None
        start = start.removeprefix(_BOM).lstrip(_SPACE)
        return start.startswith(b"{") if start else None
