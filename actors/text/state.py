"""What the text path knows between two chunks, and what it gives."""

from typing import Final, Literal

from msgspec import Struct, field

from actors.text.blocks import Ending
from actors.text.fences import Line
from events.generation import Piece

TEXT_VERSION: Final = 2
"""Raised whenever the same text is cut into other messages; `turn_started` keeps it."""

Boundary = Literal["code_open", "code_close", "newline", "overflow", "tool_call", "final"]
"""Where this version cuts; `tool_call` is the end of a stream that did not end by itself."""


class TextConfig(Struct, frozen=True, kw_only=True):
    """What the text path is told once a turn."""

    live_streaming: bool = True
    """Flush lines and code blocks as they come; else all at the end."""
    limit: int = 1950
    """Most UTF-16 units of a message, at least 20; code points are never more than those."""
    sentence_splitting: bool = False
    """Live, give each sentence a message of its own, without its closing period."""
    force_lowercase: bool = False
    """Lowercase the answer."""
    punctuation_splits: bool = False
    """Live, drop or split at some punctuation."""
    seed: int = 0
    """Seed of every random choice of the turn."""


class TextState(Struct, frozen=True, kw_only=True):
    """The state of one turn's text."""

    config: TextConfig
    """What the path was told."""
    held: str = ""
    """The end of the stream so far that could still become a reasoning tag."""
    thinking: str = ""
    """Name of the open reasoning block; empty outside one."""
    parts: tuple[str, ...] = ()
    """Visible text since the last flush, in parts that shrink towards the end."""
    size: int = 0
    """Characters in `parts`."""
    start: int = 0
    """Where `parts` begin in the visible text: the end of the last flush."""
    reasoning: int = 0
    """Characters of reasoning, tags included, since the last flush."""
    line: Line = Line()
    """Where code is."""
    is_line_over: bool = False
    """Whether `parts` end with a newline that flushes them once something follows."""
    begin: Ending = Ending()
    """The code block that `parts` go on with, where the last flush cut one."""
    has_spoken: bool = False
    """Whether a flush of this stream gave a message."""

    @property
    def pending(self) -> int:
        """Characters taken that no flush has accounted for."""
        return len(self.held) + self.size + self.reasoning


class Segment(Struct, frozen=True, kw_only=True):
    """Text that left the buffer, and the messages it gives."""

    text: str
    """As it left the buffer."""
    boundary: Boundary
    """Where it was cut."""
    start: int
    """Its first character in the visible text, inclusive."""
    end: int
    """Its end there, exclusive."""
    pieces: tuple[Piece, ...] = ()
    """Its messages, in order."""
    withheld: dict[str, int] = field(default_factory=dict[str, int])
    """Characters withheld since the last flush, by rule."""
