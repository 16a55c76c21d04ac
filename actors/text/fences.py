"""Where code is: a scanner of backticks that goes forward and never looks back.

A run of three or more backticks opens a fence, at the start of a line or within it, unless another
backtick follows on its line: then it is inline code. A fence is closed only by a run of at least as
many backticks that begins its line, so that a longer fence may hold a shorter one. Blanks and the
`>` of a quotation may stand before a run that begins a line. Any other run opens a span of inline
code, which ends with a run of its own length or with its line.

The state is told each token of the visible text in order: `ticks` for a run of backticks, `break_`
for a newline, `words` for anything else, with `settle` before the latter two.
"""

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

TOKEN: Final = re.compile(r"[^`\n<]+|`+|\n|<")
"""Cuts text into what the scanner is told; `<` stands alone, since a tag may begin there."""

_SHORTEST: Final = 3
_LONGEST: Final = 16
"""A longer run of backticks is decoration."""
_INDENT_LIMIT: Final = 64
_INFO_LIMIT: Final = 128
"""Most characters that may stand between a line's opening fence and its end."""
_INDENT: Final = " \t>"


class Line(Struct, frozen=True, kw_only=True):
    """What the scanner knows; offsets are the caller's."""

    fence: int = 0
    """Backticks of the open fence, 0 outside code."""
    at: int = 0
    """Where the current line begins."""
    leads: bool = True
    """Whether nothing but indentation came on this line."""
    run: int = 0
    """Backticks of a run that has not ended."""
    run_at: int = 0
    """Where it begins."""
    run_leads: bool = False
    """Whether it begins its line."""
    span: int = 0
    """Backticks of the open span of inline code, 0 outside one."""
    mark: int = 0
    """Backticks of a run that opens a fence, if its line ends without another."""
    mark_at: int = 0
    """Where the block would begin: at the run, or at the line where the run begins it."""

    @property
    def is_code(self) -> bool:
        """Whether what comes next is inside code, so that a tag there is plain text."""
        return bool(self.fence or self.span or self.mark)


def ticks(line: Line, count: int, at: int) -> Line:
    """Return the state after `count` backticks at offset `at`."""
    if line.run:
        return replace(line, run=line.run + count)
    leads = line.leads and at - line.at <= _INDENT_LIMIT
    return replace(line, run=count, run_at=at, run_leads=leads, leads=False)


def settle(line: Line) -> Line:
    """Return the state once a run of backticks has ended; it may have closed the fence."""
    if not line.run:
        return line
    if line.fence:
        closes = line.run_leads and line.run >= line.fence
        return replace(line, run=0, fence=0 if closes else line.fence)
    if line.mark:
        span = line.span or line.mark
        return replace(line, run=0, mark=0, span=0 if span == line.run else span)
    if line.run == line.span:
        return replace(line, run=0, span=0)
    if _SHORTEST <= line.run <= _LONGEST:
        mark_at = line.at if line.run_leads else line.run_at
        return replace(line, run=0, mark=line.run, mark_at=mark_at)
    return replace(line, run=0, span=line.span or line.run)


def words(line: Line, text: str) -> Line:
    """Return the settled state after `text`, which holds no backtick and no newline."""
    if line.leads and text.strip(_INDENT):
        return replace(line, leads=False)
    return line


def break_(line: Line, at: int) -> Line:
    """Return the settled state after a newline at offset `at`; it may have opened a fence."""
    opened = line.mark if at - line.mark_at <= _INFO_LIMIT else 0
    return Line(fence=line.fence or opened, at=at + 1)


def cut(line: Line, at: int) -> Line:
    """Return the state after the text before offset `at` was sent away.

    An opening fence that was sent away before its line ended opens nothing.
    """
    if line.mark and line.mark_at < at:
        return replace(line, mark=0, span=line.span or line.mark)
    return line
