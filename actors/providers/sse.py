"""Server-sent events out of bytes, however the transport cut them.

The framing of the HTML standard: lines end at LF, CRLF or CR; a blank line ends an event; several
`data` lines join with LF; one space after the colon goes; a leading byte-order mark goes; lines
that open with a colon are comments; other fields, and names without a meaning here, are ignored.
One thing differs on purpose: an event that the end of the body leaves open counts, since providers
forget the last blank line and the text in it is paid for.

Bytes are joined to whole lines before they are decoded, so a character cut in two is never lost.
aiohttp's own line reader is not used: it fails on lines above 512 KiB, and models send longer ones.
"""

import base64
from typing import Final

from msgspec import Struct
from typing_extensions import override

from actors.errors import FailureError

LINE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes that a line, and the data of one event, may have."""

_BOM: Final = b"\xef\xbb\xbf"
_COLON: Final = ord(":")


class Payload(Struct, frozen=True, kw_only=True):
    """What one event, or one whole body, says."""

    text: str
    """What an adapter reads: bytes that are no UTF-8 stand as U+FFFD."""
    recorded: str
    """What the log keeps: the text as it came, or base64 of the bytes where they are no UTF-8."""
    is_base64: bool = False
    """Whether `recorded` is base64."""


class OversizedError(FailureError):
    """A line, an event or a whole body is longer than it may be: stop reading."""

    def __init__(self, limit: int, payloads: tuple[Payload, ...] = ()) -> None:
        super().__init__(limit, payloads)
        self.limit = limit
        """The bound, in bytes."""
        self.payloads = payloads
        """What was complete before it, oldest first, and was not returned yet."""

    @override
    def __str__(self) -> str:
        return f"an event or body of more than {self.limit} bytes"


def payload_of(data: bytes) -> Payload:
    """Return `data` as an adapter reads it and as the log keeps it."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Payload(
            text=data.decode(errors="replace"),
            recorded=base64.b64encode(data).decode("ascii"),
            is_base64=True,
        )
    return Payload(text=text, recorded=text)


def text_of_recorded(recorded: str, *, is_base64: bool) -> str:
    """Return what an adapter reads of a recorded payload: the way back from the log."""
    return base64.b64decode(recorded).decode(errors="replace") if is_base64 else recorded


class SseDecoder:
    """Frames one body; feed it bytes in order, then finish it once."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._open_line = bytearray()
        self._data: list[bytes] = []
        self._data_size = 0
        self._is_after_cr = False
        self._is_at_start = True
        self.comments = 0
        """Comment lines so far: signs of life, nothing more."""

    def feed(self, data: bytes) -> list[Payload]:
        """Return the payloads that `data` completes, oldest first; empty ones are left out.

        Raises:
            OversizedError: A line or an event exceeds the limit; it brings what came before.
        """
        if self._is_after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._is_after_cr = False
        if not data:
            return []
        self._is_after_cr = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.split(b"\n")
        payloads: list[Payload] = []
        if len(lines) > 1:
            lines[0] = bytes(self._open_line) + lines[0]
            self._open_line.clear()
            for line in lines[:-1]:
                self._take(line, payloads)
        self._open_line += lines[-1]
        self._bound(len(self._open_line), payloads)
        return payloads

    def finish(self) -> list[Payload]:
        """Return the payload of an event that the end of the body leaves open.

        Raises:
            OversizedError: As `feed`.
        """
        payloads: list[Payload] = []
        if self._open_line:
            self._take(bytes(self._open_line), payloads)
            self._open_line.clear()
        self._dispatch(payloads)
        return payloads

    def _take(self, line: bytes, payloads: list[Payload]) -> None:
        self._bound(len(line), payloads)
        if self._is_at_start:
            self._is_at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(payloads)
        elif line[0] == _COLON:
            self.comments += 1
        else:
            name, _, value = line.partition(b":")
            if name == b"data":
                value = value.removeprefix(b" ")
                self._data.append(value)
                self._data_size += len(value) + 1
                self._bound(self._data_size - 1, payloads)

    def _dispatch(self, payloads: list[Payload]) -> None:
        if not self._data:
            return
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        self._data_size = 0
        if data:
            payloads.append(payload_of(data))

    def _bound(self, size: int, payloads: list[Payload]) -> None:
        if size > self._limit:
            raise OversizedError(self._limit, tuple(payloads))
