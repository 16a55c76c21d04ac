"""One step of the text path: from characters to segments.

Every decision is made at a character and depends only on those before it, never on where a chunk
ends. A `Scan` takes a state up, reads on, and lays it down; nobody else sees it change.

Live, a line is flushed once something follows it; code is flushed as one block, from its opening
to its closing fence. What grows beyond a bound is cut (`overflow`).

A closing reasoning tag without an opening one: a model that forgot to open its reasoning has said
nothing else yet. So as long as no message of the stream has left, all that was held since the last
flush was reasoning; after that, the tag alone is dropped and the text before it stays. Text that a
tag stands in as code (a fence, or inline code that is open on its line) is an answer about tags:
there it is plain.
"""

from actors.text.blocks import Ending
from actors.text.buffer import grow
from actors.text.fences import TOKEN, Line, break_, cut, settle, ticks, words
from actors.text.messages import compose
from actors.text.overflow import CODE_BOUND, LINE_BOUND, WHOLE_BOUND, cut_line, cut_lines
from actors.text.reasoning import Tag, can_grow, end_of_block, is_cut_off_tag, tag_at
from actors.text.state import Boundary, Segment, TextState


class Scan:
    """A state that is being moved on."""

    def __init__(self, state: TextState) -> None:
        self._config = state.config
        self._is_live = state.config.live_streaming
        self._held = state.held
        self._thinking = state.thinking
        self._parts = list(state.parts)
        self._size = state.size
        self._start = state.start
        self._reasoning = state.reasoning
        self._line = state.line
        self._is_line_over = state.is_line_over
        self._begin = state.begin
        self._has_spoken = state.has_spoken
        self._segments: list[Segment] = []

    def done(self) -> tuple[TextState, tuple[Segment, ...]]:
        """Return the state after what was read, and the segments that it gave."""
        state = TextState(
            config=self._config,
            held=self._held,
            thinking=self._thinking,
            parts=tuple(self._parts),
            size=self._size,
            start=self._start,
            reasoning=self._reasoning,
            line=self._line,
            is_line_over=self._is_line_over,
            begin=self._begin,
            has_spoken=self._has_spoken,
        )
        return state, tuple(self._segments)

    # -- tags ----------------------------------------------------------------------------------

    def read(self, chunk: str) -> None:
        """Read on."""
        text, self._held = self._held + chunk, ""
        at = 0
        while at < len(text):
            at = self._think(text, at) if self._thinking else self._see(text, at)

    def resolve(self) -> None:
        """Decide on what is held, now that nothing follows: a cut-off tag, or text."""
        held, self._held = self._held, ""
        if self._thinking or is_cut_off_tag(held):
            self._reasoning += len(held)
        elif held:
            self._put(held)
        self._settle()

    def _think(self, text: str, at: int) -> int:
        end, is_over = end_of_block(text, at, self._thinking)
        self._reasoning += end - at
        if is_over:
            self._thinking = ""
            return end
        self._held = text[end:]
        return len(text)

    def _see(self, text: str, at: int) -> int:
        match = TOKEN.match(text, at)
        assert match is not None
        part = match[0]
        if part == "<":
            return self._see_bracket(text, at)
        if part[0] == "`":
            self._put_ticks(part)
        else:
            self._put(part)
        return match.end()

    def _see_bracket(self, text: str, at: int) -> int:
        self._settle()
        if not self._line.is_code:
            tag = tag_at(text, at)
            if tag is not None:
                self._obey(tag, tag.end - at)
                return tag.end
            if can_grow(text, at):
                self._held = text[at:]
                return len(text)
        self._put("<")
        return at + 1

    def _obey(self, tag: Tag, size: int) -> None:
        self._reasoning += size
        if not tag.is_closer:
            self._thinking = tag.name
        elif not self._has_spoken:
            self._reasoning += self._size
            self._parts, self._size = [], 0
            self._line = Line(at=self._start)
            self._is_line_over = False

    # -- visible text --------------------------------------------------------------------------

    def _put(self, text: str) -> None:
        """Take visible text: one newline, or a text without newlines and backticks."""
        self._arrive()
        self._settle()
        if text == "\n":
            self._put_newline()
        else:
            self._line = words(self._line, text)
            self._append(text)

    def _put_ticks(self, run: str) -> None:
        self._arrive()
        self._line = ticks(self._line, len(run), self._start + self._size)
        self._append(run)

    def _put_newline(self) -> None:
        before = self._line
        self._line = break_(before, self._start + self._size)
        if not self._is_live:
            self._append("\n")
        elif self._line.fence:
            self._append("\n")
            if not before.fence:
                self._flush_before(before.mark_at)
        else:
            self._is_line_over = True
            self._append("\n")

    def _arrive(self) -> None:
        """Flush the line that is over, now that something follows it."""
        if self._is_line_over:
            self._flush(self._size, "newline")

    def _settle(self) -> None:
        """End a run of backticks; one that closed a block flushes the block."""
        before, self._line = self._line, settle(self._line)
        if before.fence and not self._line.fence and self._is_live:
            self._flush(self._size, "code_close")

    def _flush_before(self, block_at: int) -> None:
        """Flush what stands before a code block that has just opened."""
        size = max(block_at - self._start, 0)
        if size:
            self._flush(size, "code_open")

    def _append(self, text: str) -> None:
        at = 0
        while at < len(text):
            part = text[at : at + self._bound - self._size]
            grow(self._parts, part)
            self._size += len(part)
            at += len(part)
            if self._size >= self._bound:
                self._overflow()

    @property
    def _bound(self) -> int:
        if not self._is_live:
            return WHOLE_BOUND
        return CODE_BOUND if self._line.fence else LINE_BOUND

    def _overflow(self) -> None:
        text = "".join(self._parts)
        size = cut_line(text) if self._bound == LINE_BOUND else cut_lines(text, self._bound)
        self._flush(size, "overflow")
        self._line = cut(self._line, self._start)

    # -- segments ------------------------------------------------------------------------------

    def flush_rest(self, boundary: Boundary) -> None:
        """Flush all that is left, or what was withheld if there is only that."""
        if self._size or self._reasoning:
            self._flush(self._size, boundary, is_last=True)

    def _flush(self, size: int, boundary: Boundary, *, is_last: bool = False) -> None:
        whole = "".join(self._parts)
        text, rest = whole[:size], whole[size:]
        composed = compose(
            text, self._config, start=self._start, begin=self._begin, is_last=is_last
        )
        withheld = {"reasoning": self._reasoning, **composed.withheld}
        segment = Segment(
            text=text,
            boundary=boundary,
            start=self._start,
            end=self._start + size,
            pieces=composed.pieces,
            withheld={rule: count for rule, count in withheld.items() if count},
        )
        self._segments.append(segment)
        self._parts = [rest] if rest else []
        self._size = len(rest)
        self._start += size
        self._reasoning = 0
        self._begin = composed.ending if boundary == "overflow" else Ending()
        self._is_line_over = self._is_line_over and bool(rest)
        self._has_spoken = self._has_spoken or bool(composed.pieces)
