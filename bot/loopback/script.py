"""What a scripted provider answers.

An `Answer` is plain data, so that a demo's answers can stand in a JSON file. It says what is
answered in any wire format, and where it breaks the rules; `formats` makes bytes of it.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, field

Body = dict[str, Any]
"""A JSON object, as a request or a payload."""

_FAILURE: Final = 400


class Tokens(Struct, frozen=True, kw_only=True):
    """The usage that an answer reports."""

    input_tokens: int = 9
    """Prompt tokens."""
    output_tokens: int = 3
    """Completion tokens."""
    cached_tokens: int | None = None
    """Part of the prompt that came from a cache."""
    cost: float | None = None
    """US dollars."""


class Call(Struct, frozen=True, kw_only=True):
    """A tool call that an answer makes."""

    name: str
    """The tool."""
    arguments: str = "{}"
    """Its arguments as JSON; they leave in two pieces."""


class Fault(Struct, frozen=True, kw_only=True):
    """Where an answer stops being one."""

    kind: Literal["reset", "close", "hang"]
    """A TCP reset; a close that ends the body too early; silence until the client gives up."""
    after: int | None = None
    """Payloads written before it; None: before the headers; beyond the last: before the end."""


class Answer(Struct, frozen=True, kw_only=True):
    """One scripted response."""

    pieces: tuple[str, ...] = ()
    """The text, as the deltas that carry it."""
    reasoning: tuple[str, ...] = ()
    """Reasoning deltas before the text."""
    calls: tuple[Call, ...] = ()
    """Tool calls after the text."""
    error: str = ""
    """The message of an error inside the stream, in place of its finish reason and usage."""
    payloads: tuple[str, ...] | None = None
    """Data payloads in place of all that `pieces` and what belongs to them would make."""
    body: bytes | None = None
    """The whole body in place of any payload; counts as one."""
    model: str = "loopback"
    """The model that it names."""
    finish_reason: str | None = "stop"
    """The finish reason; None leaves it out."""
    usage: Tokens | None = Tokens()
    """What the usage chunk reports; None leaves it out."""
    has_done: bool = True
    """Whether `[DONE]` ends the stream."""
    cut: int = 0
    """Bytes of each write, over the bounds of payloads; 0 writes payload by payload."""
    delay_seconds: float = 0.0
    """Wait before each payload."""
    gates: dict[int, asyncio.Event] = field(default_factory=dict[int, asyncio.Event])
    """Events waited for before the payload of that index; one past the last: before the end."""
    status: int = 200
    """The HTTP status."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Headers beside the content type."""
    content_type: str = ""
    """The content type; empty: an event stream, or JSON for statuses from 400 on."""
    fault: Fault | None = None
    """Where it breaks."""

    @property
    def is_failure(self) -> bool:
        """Whether its status names a failure."""
        return self.status >= _FAILURE

    @property
    def is_stream(self) -> bool:
        """Whether it is written as server-sent events."""
        return self.body is None and not self.is_failure


Responder = Callable[[Body], Answer]
"""Gives the answer to a request's body."""


def say(text: str, *, size: int = 4) -> Answer:
    """Return an answer that streams `text` in pieces of `size` characters."""
    cuts = range(0, len(text), size)
    return Answer(
        pieces=tuple(text[at : at + size] for at in cuts),
        usage=Tokens(output_tokens=max(1, len(cuts))),
    )


def refusal(
    status: int, message: str, *, code: object = None, retry_after: float | None = None
) -> Answer:
    """Return an answer that fails with `status` and an error object; `retry_after` in seconds."""
    error = {"message": message, "type": None, "param": None, "code": code}
    return Answer(
        status=status,
        body=json.dumps({"error": error}).encode(),
        headers={} if retry_after is None else {"Retry-After": f"{retry_after:g}"},
    )


def read_script(path: Path) -> list[Answer]:
    """Return the answers of a JSON file: an array of objects with the fields of `Answer`.

    Raises:
        OSError: It can't be read.
        msgspec.ValidationError: It is not of that shape.
    """
    return msgspec.json.decode(path.read_bytes(), type=list[Answer])
