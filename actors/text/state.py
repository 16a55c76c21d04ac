"""What the text path knows between two chunks, and what it gives."""

from typing import Final, Literal

from msgspec import Struct, field

from actors.text.blocks import Ending
from actors.text.config import TextConfig
from actors.text.fences import Line
from actors.text.holds import Holds
from actors.text.intake import Intake
from actors.text.overflow import LINE_BOUND
from actors.text.voice import Voice
from events.generation import Piece

__all__ = [
    "TEXT_VERSION",
    "Boundary",
    "Buffer",
    "HeldCut",
    "Segment",
    "TextConfig",
    "TextState",
]

TEXT_VERSION: Final = 4
"""Raised whenever the same text is cut into other messages; `turn_started` keeps it."""

Boundary = Literal["code_open", "code_close", "newline", "period", "overflow", "tool_call", "final"]
"""Where a segment is cut; `tool_call` is the end of a stream that did not end by itself."""


class HeldCut(Struct, frozen=True):
    """A place where the buffer could be cut if what is open there were not."""

    at: int
    """Its offset in the visible text."""
    newest: int
    """Where the newest of what is open there was opened."""
    boundary: Boundary
    """What kind of place it is."""


class Buffer(Struct, frozen=True, kw_only=True):
    """Visible text since the last flush."""

    parts: tuple[str, ...] = ()
    """The text, in parts that shrink towards its end."""
    size: int = 0
    """Characters in `parts`."""
    start: int = 0
    """Where `parts` begin in the visible text: the end of the last flush."""
    line: Line = Line()
    """Where code is."""
    is_line_over: bool = False
    """Whether `parts` end with a newline that may flush them once something follows."""
    follow: str = ""
    """What follows that newline and may belong to its line."""
    is_joining: bool = False
    """Whether `parts` end with a subtext marker that the next line is joined to."""
    scanned: int = 0
    """Offset up to which `holds` was told the text."""
    holds: Holds = Holds()
    """What is open there."""
    cuts: tuple[HeldCut, ...] = ()
    """Places before it where the text could not be cut, oldest first."""
    bound: int = LINE_BOUND
    """Characters of a line at which the next cut of what is too long is looked for."""
    orphan: int = 0
    """Characters at the front that wait to stand before the next segment."""
    begin: Ending = Ending()
    """The code block that `parts` go on with, where the last flush cut one."""


class TextState(Struct, frozen=True, kw_only=True):
    """The state of one turn's text."""

    config: TextConfig
    """What the path was told."""
    held: str = ""
    """The end of the stream so far that could still become a tag."""
    intake: Intake = Intake()
    """What stands between the stream and the rules."""
    thinking: str = ""
    """Name of the open block of reasoning or details; empty outside one."""
    buffer: Buffer = Buffer()
    """Visible text since the last flush."""
    hidden: dict[str, int] = field(default_factory=dict[str, int])
    """Characters that never became visible, since the last flush, by rule."""
    details: tuple[str, ...] = ()
    """What details said since the last flush."""
    note: tuple[str, ...] = ()
    """The open block of details, in parts that shrink towards its end."""
    messages: int = 0
    """Messages that the flushes of this stream gave."""
    voice: Voice = Voice()
    """What the segments so far said, as far as it bears on the next."""

    @property
    def pending(self) -> int:
        """Characters taken that no flush has accounted for."""
        visible = self.buffer.size + len(self.buffer.follow)
        return len(self.held) + self.intake.matched + visible + sum(self.hidden.values())

    @property
    def start(self) -> int:
        """The end of the last flush in the visible text."""
        return self.buffer.start


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
    details: tuple[str, ...] = ()
    """What details said since the last flush: kept, not shown."""
    stop: str = ""
    """Why the answer ends here, where a rule found that the model left its part."""
    modifier: str = ""
    """What the messages are spoken under: a sprite, or somebody else's name."""
    is_copied: bool = False
    """Whether that is somebody else's name."""
