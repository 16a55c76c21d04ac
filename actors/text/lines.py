"""The buffer of visible text: where it is cut into segments.

Live, a line is flushed once something follows it; code is flushed as one block, from its opening to
its closing fence; with sentence splitting a sentence leaves as well. Punctuation that follows a
line belongs to it. Nothing is cut within something that is open (see `holds`): such places are
remembered, and taken once what held them has become literal text. What grows beyond a bound is
cut (`overflow`), and later still if it is held.

A subtext marker (`-#`) alone on its line takes the next line to itself. A segment of nothing but an
ellipsis or much punctuation stays and goes out before the next one, unless a new paragraph or code
follows.
"""

import re
from collections.abc import Callable
from typing import Final

from actors.text.blocks import Ending
from actors.text.buffer import grow
from actors.text.config import TextConfig
from actors.text.fences import Line, break_, cut, settle, ticks, words
from actors.text.holds import HOLD_LIMIT, NEVER, Holds, expire, fold
from actors.text.orphans import is_orphan
from actors.text.overflow import CODE_BOUND, LINE_BOUND, WHOLE_BOUND, cut_line, cut_lines
from actors.text.sentences import sentence_ends
from actors.text.state import Boundary, Buffer, HeldCut

HELD_BOUND: Final = 4_201
"""Characters of one line that is cut though something in it is open."""

_STEP: Final = 400
_FOLLOW: Final = re.compile(r"[ \t]{0,16}(?P<run>[.,!?;\u3002\uff01\uff1f\u3001\uff0c]{0,16})")
_PERIOD: Final = re.compile(r"\.(?=[ \t])|[\u3002\uff0e\uff61]")
_WORD_ROOM: Final = 24
_MARKER_ROOM: Final = 16
_SUBTEXT: Final = "-#"

Emit = Callable[[str, Boundary, Buffer, bool], Ending]
"""Takes a segment's text, its boundary, the buffer it leaves, whether nothing follows."""
Hide = Callable[[str, int], None]
"""Counts characters under a rule."""


class Lines:
    """A buffer that is being moved on."""

    def __init__(self, config: TextConfig, buffer: Buffer, emit: Emit, hide: Hide) -> None:
        self._emit = emit
        self._hide = hide
        self._is_live = config.live_streaming
        self._splits = config.live_streaming and config.sentence_splitting
        self._parts = list(buffer.parts)
        self._size = buffer.size
        self._start = buffer.start
        self._line = buffer.line
        self._is_line_over = buffer.is_line_over
        self._follow = buffer.follow
        self._is_joining = buffer.is_joining
        self._scanned = buffer.scanned
        self._holds = buffer.holds
        self._cuts: list[HeldCut] = list(buffer.cuts)
        self._line_bound = buffer.bound
        self._orphan = buffer.orphan
        self._begin = buffer.begin
        self._count_down()
        self.over = ""
        """The rule for what comes behind a segment that ended the answer; empty where none did."""

    def done(self) -> Buffer:
        """Return the buffer as it is."""
        return Buffer(
            parts=tuple(self._parts),
            size=self._size,
            start=self._start,
            line=self._line,
            is_line_over=self._is_line_over,
            follow=self._follow,
            is_joining=self._is_joining,
            scanned=self._scanned,
            holds=self._holds,
            cuts=tuple(self._cuts),
            bound=self._line_bound,
            orphan=self._orphan,
            begin=self._begin,
        )

    @property
    def is_code(self) -> bool:
        """Whether what comes next is code."""
        return self._line.is_code

    @property
    def size(self) -> int:
        """Characters that were not flushed."""
        return self._size + len(self._follow)

    def hold(self) -> None:
        """Flush nothing more before the stream ends: what is left has to go in one message."""
        self._is_live = self._splits = False
        self._cuts, self._deadline = [], NEVER

    # -- what comes ----------------------------------------------------------------------------

    def put(self, text: str) -> None:
        """Take visible text: one newline, or a text without newlines and backticks."""
        if text == "\n":
            self._arrive()
            self.settle()
            self._put_newline()
            return
        text = self._unfollowed(text)
        if text:
            self._is_joining = False
            self.settle()
            self._put_words(text)

    def put_ticks(self, run: str) -> None:
        """Take a run of backticks, or a part of one."""
        self._arrive()
        self._is_joining = False
        self._line = ticks(self._line, len(run), self._start + self._size)
        self._append(run)

    def settle(self) -> None:
        """End a run of backticks; one that closed a block flushes the block."""
        before = self._line
        if not before.run:
            return
        self._line = settle(before)
        if before.fence and not self._line.fence and self._is_live:
            self._flush(self._size, "code_close")

    def forget(self) -> int:
        """Drop what was not flushed, and return how many characters that was."""
        dropped = self.size
        self._parts, self._size, self._follow = [], 0, ""
        self._line = Line(at=self._start)
        self._is_line_over = self._is_joining = False
        self._reset()
        return dropped

    def flush_rest(self, boundary: Boundary) -> None:
        """Flush all that is left, even if that is nothing."""
        grow(self._parts, self._follow)
        self._size += len(self._follow)
        self._follow = ""
        self._flush(self._size, boundary, is_last=True)

    def _put_newline(self) -> None:
        if self._is_joining:
            self._hide("subtext", 1)
            return
        before = self._line
        if not before.is_code and self._is_marker_alone():
            self._is_joining = True
            if self._tail(1) == "#":
                self._put_words(" ")
            else:
                self._hide("subtext", 1)
            return
        self._line = break_(before, self._start + self._size)
        if self._is_live and not self._line.fence:
            self._is_line_over = True
        self._append("\n")
        if self._is_live and self._line.fence and not before.fence:
            self._flush_before(before.mark_at)

    def _put_words(self, text: str) -> None:
        self._line = words(self._line, text)
        at = 0
        if self._splits and not self._line.is_code:
            if text[0] in " \t" and self._tail(1) == "." and self._is_sentence_over():
                self._reach("period")
            for match in _PERIOD.finditer(text):
                self._append(text[at : match.end()])
                at = match.end()
                if self._is_sentence_over():
                    self._reach("period")
        self._append(text[at:])

    def _is_sentence_over(self) -> bool:
        """Return whether the buffer ends with a sentence.

        What follows is not known yet, so that a word which may stand before a number counts as
        one that does.
        """
        tail = self._tail(_WORD_ROOM)
        return len(tail) in sentence_ends(f"{tail} 0", 0, len(tail) + 1)

    def _is_marker_alone(self) -> bool:
        size = self._start + self._size - self._line.at
        if not len(_SUBTEXT) <= size <= _MARKER_ROOM or self._line.at < self._start:
            return False
        return self._tail(size).rstrip(" \t") == _SUBTEXT

    def _tail(self, size: int) -> str:
        """Return the end of the buffer."""
        tail = ""
        for part in reversed(self._parts):
            tail = part[-size:] + tail
            if len(tail) >= size:
                break
        return tail[-size:]

    # -- the end of a line ---------------------------------------------------------------------

    def _unfollowed(self, text: str) -> str:
        """Take from `text` what may belong to the line that is over, and return the rest."""
        if not self._is_line_over:
            return text
        self._follow += text
        match = _FOLLOW.match(self._follow)
        if match is not None and match.end() == len(self._follow):
            return ""
        return self._decide()

    def _arrive(self) -> None:
        """Flush the line that is over, now that something else follows it."""
        if self._is_line_over:
            rest = self._decide()
            if rest:
                self._put_words(rest)

    def _decide(self) -> str:
        """End the line that is over with the punctuation that follows it; return the rest."""
        self._is_line_over = False
        follow, self._follow = self._follow, ""
        match = _FOLLOW.match(follow)
        if match is not None and match["run"] and not match["run"].startswith(".."):
            self._line = words(self._line, match[0])
            self._append(match[0])
            follow = follow[match.end() :]
        self._reach("newline")
        return follow

    def _reach(self, boundary: Boundary) -> None:
        """Cut at the end of the buffer, now or as soon as nothing is open there."""
        if self.over or not self._is_live:
            return
        text = "".join(self._parts)
        piece = text[self._scanned - self._start :]
        is_blank = self._holds.before in ("", "\n") and piece.endswith("\n") and piece.isspace()
        self._holds = fold(self._holds, piece, self._scanned, is_blank_line=is_blank)
        self._scanned = self._start + self._size
        self._holds = expire(self._holds, self._scanned)
        if is_blank:
            self._release(until=NEVER)
        newest = self._holds.newest
        if newest is None:
            self._leave(text, boundary)
        else:
            self._cuts.append(HeldCut(self._scanned, newest, boundary))
            self._count_down()
        self._shrink()

    def _leave(self, text: str, boundary: Boundary) -> None:
        text = text[len(text) - self._size :]
        if self._orphan and text[self._orphan :].isspace():
            self._flush(self._orphan, "newline")
        elif is_orphan(text):
            self._orphan = self._size
            return
        self._flush(self._size, boundary)

    def _release(self, until: int) -> None:
        """Flush up to the cuts that were held by what was opened before `until` alone."""
        cuts, self._cuts = self._cuts, []
        for one in cuts:
            if not self._is_live:
                break
            if one.newest < until:
                self._flush(one.at - self._start, one.boundary, keeps_holds=True)
                self._cuts = []
            else:
                self._cuts.append(one)
        self._count_down()

    def _count_down(self) -> None:
        newest = min((one.newest for one in self._cuts), default=NEVER)
        self._deadline = newest if newest == NEVER else newest + HOLD_LIMIT + 1

    def _flush_before(self, block_at: int) -> None:
        """Flush what stands before a code block that has just opened."""
        size = max(block_at - self._start, 0)
        if size:
            self._flush(size, "code_open")
        self._reset()

    # -- what is too long ----------------------------------------------------------------------

    def _append(self, text: str) -> None:
        if not text:
            return
        if self.over:
            self._hide(self.over, len(text))
            return
        size = self._size + len(text)
        if size < self._bound and self._start + size < self._deadline:
            grow(self._parts, text)
            self._size = size
            return
        at = 0
        while at < len(text):
            room = min(self._bound, self._deadline - self._start) - self._size
            part = text[at : at + room]
            grow(self._parts, part)
            self._size += len(part)
            at += len(part)
            if self._start + self._size >= self._deadline:
                self._release(until=self._start + self._size - HOLD_LIMIT)
            self._shrink()
            if self.over:
                self._hide(self.over, len(text) - at)
                return

    @property
    def _bound(self) -> int:
        if not self._is_live:
            return WHOLE_BOUND
        return CODE_BOUND if self._line.fence else self._line_bound

    def _shrink(self) -> None:
        while self._size >= self._bound:
            if not self._is_live or self._line.fence:
                self._overflow(cut_lines("".join(self._parts), self._bound))
            else:
                self._shrink_line()

    def _shrink_line(self) -> None:
        text = "".join(self._parts)
        end = self._start + self._size
        holds = fold(self._holds, text[self._scanned - self._start :], self._scanned)
        newest = expire(holds, end).newest
        most = CODE_BOUND if newest == NEVER else HELD_BOUND
        if newest is not None and self._size < most:
            self._line_bound = min(self._size + _STEP, CODE_BOUND)
        elif newest == NEVER:
            self._overflow(cut_lines(text, CODE_BOUND))
        else:
            self._overflow(cut_line(text))

    def _overflow(self, size: int) -> None:
        self._flush(size, "overflow")
        self._line = cut(self._line, self._start)

    # -- segments ------------------------------------------------------------------------------

    def _flush(
        self, size: int, boundary: Boundary, *, is_last: bool = False, keeps_holds: bool = False
    ) -> None:
        whole = "".join(self._parts)
        text, rest = whole[:size], whole[size:]
        ending = self._emit(text, boundary, self.done(), is_last)
        self._parts = [rest] if rest else []
        self._size = len(rest)
        self._start += size
        self._begin = ending if boundary == "overflow" else Ending()
        self._is_line_over = self._is_line_over and bool(rest)
        self._orphan = 0
        self._line_bound = LINE_BOUND
        if not keeps_holds or not rest:
            self._reset()

    def _reset(self) -> None:
        self._scanned, self._holds, self._cuts = self._start, Holds(), []
        self._deadline = NEVER
        self._orphan = 0
