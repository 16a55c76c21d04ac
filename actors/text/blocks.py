"""The fenced code blocks of one segment, by the scanner that the stream was read with."""

from typing import Final

from msgspec import Struct

from actors.text.fences import TOKEN, Line, break_, settle, ticks, words
from actors.text.graphemes import units

_LANGUAGE_LIMIT: Final = 32


class Block(Struct, frozen=True, kw_only=True):
    """A fenced code block, or the part of one that a segment holds; indices into its text."""

    start: int
    """Where it begins, indentation of its fence included."""
    body: int
    """Where its code begins, behind the opening line."""
    close: int
    """Where its code ends and the line of its closing fence begins."""
    end: int
    """Where it ends, behind the closing fence."""
    fence: int
    """Backticks of its fence."""
    opener: str
    """The fence and the language that reopen it in another message."""
    is_closed: bool = True
    """Whether its closing fence stands in this text."""

    def closer(self, text: str) -> str:
        """Return what closes it behind `text`: the fence on a line of its own."""
        return ("" if text.endswith("\n") else "\n") + "`" * self.fence

    def fits(self, text: str, limit: int) -> bool:
        """Return whether its fences leave half of `limit` to the code."""
        first = units(text[self.start : self.body])
        longest = max(first, len(self.opener) and units(self.opener) + 1)
        return bool(self.opener) and longest + self.fence + 1 <= limit // 2


class Ending(Struct, frozen=True, kw_only=True):
    """How a segment ends, which is how the next one begins where a block was cut."""

    line: Line = Line()
    """The scanner's state, offsets from 0."""
    opener: str = ""
    """What reopens the block that is open; empty outside one."""


class _Finder:
    """Walks one text from front to back."""

    def __init__(self, text: str, begin: Ending) -> None:
        self._text = text
        self._line = begin.line
        self._opener = begin.opener
        self._start = 0
        self._body = 0
        self.blocks: list[Block] = []

    def walk(self, *, is_last: bool) -> Ending:
        for match in TOKEN.finditer(self._text):
            part, at = match[0], match.start()
            if part[0] == "`":
                self._line = ticks(self._line, len(part), at)
                continue
            self._settle(at)
            if part == "\n":
                self._break(at)
            else:
                self._line = words(self._line, part)
        self._settle(len(self._text))
        if is_last and self._line.mark:
            self._break(len(self._text))
        return self._end()

    def _settle(self, at: int) -> None:
        before, self._line = self._line, settle(self._line)
        if before.fence and not self._line.fence:
            self._add(before.fence, min(before.at, at), at, is_closed=True)
            self._opener = ""

    def _break(self, at: int) -> None:
        before, self._line = self._line, break_(self._line, at)
        if self._line.fence and not before.fence:
            run_at = self._text.index("`", before.mark_at)
            info = self._text[run_at + before.mark : at].split()
            language = info[0] if info and len(info[0]) <= _LANGUAGE_LIMIT else ""
            self._opener = "`" * before.mark + language
            self._start, self._body = before.mark_at, min(at + 1, len(self._text))

    def _end(self) -> Ending:
        if self._line.fence:
            end = len(self._text)
            self._add(self._line.fence, end, end, is_closed=False)
        line = Line(fence=self._line.fence, leads=self._line.leads)
        return Ending(line=line, opener=self._opener)

    def _add(self, fence: int, close: int, end: int, *, is_closed: bool) -> None:
        block = Block(
            start=self._start,
            body=self._body,
            close=max(close, self._body),
            end=end,
            fence=fence,
            opener=self._opener,
            is_closed=is_closed,
        )
        self.blocks.append(block)


def find_blocks(text: str, begin: Ending, *, is_last: bool) -> tuple[list[Block], Ending]:
    """Return the blocks of `text`, in order, and how it ends.

    Args:
        text: One segment.
        begin: How the segment before it ended, where that was cut within a block.
        is_last: Whether the text ends here, so that the end is the end of a line.
    """
    if "`" not in text and not begin.line.fence:
        return [], Ending()
    finder = _Finder(text, begin)
    ending = finder.walk(is_last=is_last)
    return finder.blocks, ending
