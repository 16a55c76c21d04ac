"""One segment of text becomes message bodies, none above the limit, in the order of the text.

Three modes. `aggregated` fills each message with as many lines as fit. `paragraph` gives each
paragraph (each line) a message of its own, `sentence` each sentence, without its closing period;
in both of these, code blocks and custom emojis that stand by themselves are messages of their own.
A table is one in every mode, whatever its size: its Markdown, of which a picture is made. A newline
or a period within a span that fits (`spans`) parts nothing. A message of nothing but punctuation
joins the one before, else the one behind it.

Each character of the text stands in one message or is dropped by a named rule: `blank`, `period`
(a sentence's last), `mark` (`!` or `?` behind an emoji), `marker` (one that would enclose nothing)
or `fence` (a closing fence whose code has already been sent).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from actors.text.blocks import Ending, find_blocks
from actors.text.cutting import Cut, Cutter
from actors.text.emoji_runs import are_alike, standing_alone
from actors.text.graphemes import units
from actors.text.sentences import sentence_ends, without_period
from actors.text.wraps import Plan

Mode = Literal["aggregated", "paragraph", "sentence"]
"""How a segment is cut; `paragraph` is live, `sentence` is live with sentence splitting."""

DEFAULT_LIMIT: Final = 1_900
"""Most UTF-16 units of a message where nothing else is said."""

_BREAKS: Final = re.compile(r"\n")
_MARKS: Final = re.compile(r"\s*[.!?\u3002]+(?=\s|\Z)")
_PUNCTUATION: Final = frozenset(".,!?;:\u3002\uff01\uff1f\u3001\uff0c")
_NAMES: Final = {
    "period": ".\u3002\uff0e\uff61",
    "mark": "!?",
    "marker": "|*_~",
    "fence": "`>",
}

_Kind = Literal["prose", "emoji", "solid"]


class Gap(Struct, frozen=True, kw_only=True):
    """Characters of the text that are left out within a message."""

    at: int
    """Where they would stand in the message's content."""
    rule: str
    """What left them out."""
    size: int = 1
    """How many they are."""


class Slice(Struct, frozen=True, kw_only=True):
    """One message body, and the stretch of text that it stands for."""

    content: str
    """As it is posted."""
    start: int
    """Its first character in the text, inclusive."""
    end: int
    """Its end there, exclusive."""
    lead: int = 0
    """Characters of `content` that were added in front, to reopen what was cut."""
    tail: int = 0
    """Characters of `content` that were added behind, to close what was cut."""
    gaps: tuple[Gap, ...] = ()
    """What is left out within it, in order."""
    is_table: bool = False
    """Whether it is a table's Markdown."""

    @property
    def removed(self) -> dict[str, int]:
        """Characters left out within it, by rule."""
        if not self.gaps:
            return {}
        counts: Counter[str] = Counter()
        for gap in self.gaps:
            counts[gap.rule] += gap.size
        return dict(counts)


class Split(Struct, frozen=True, kw_only=True):
    """What a segment gives."""

    slices: tuple[Slice, ...]
    """Its messages, in order; their stretches are ascending and disjoint."""
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    """Characters in none of them, by rule; with the stretches they add up to the text."""
    ending: Ending = Ending()
    """How the segment ends; the next one is given it where this one was cut within code."""


def split(text: str, mode: Mode, limit: int = DEFAULT_LIMIT) -> tuple[Slice, ...]:
    """Return the messages of `text`, each of at most `limit` (at least 20) UTF-16 units."""
    return split_accounted(text, mode, limit).slices


def split_accounted(
    text: str,
    mode: Mode,
    limit: int = DEFAULT_LIMIT,
    *,
    begin: Ending = Ending(),  # noqa: B008 - frozen
    is_last: bool = True,
) -> Split:
    """Return the messages of `text`, and what is in none of them.

    Args:
        text: One segment.
        mode: How it is cut.
        limit: Most UTF-16 units of a message, at least 20.
        begin: How the segment before it ended, where that was cut within a code block.
        is_last: Whether the text ends here, so that its end is the end of a line.
    """
    if mode != "sentence" and not begin.line.fence and _is_plain(text, limit):
        return _plain(text)
    return split_thoroughly(text, mode, limit, begin=begin, is_last=is_last)


def split_thoroughly(text: str, mode: Mode, limit: int, *, begin: Ending, is_last: bool) -> Split:
    """Return what `split_accounted` does, with a line that needs no rule looked at by each."""
    splitter = _Splitter(text, mode, limit)
    ending = splitter.open(begin, is_last=is_last)
    slices = _joined(text, splitter.pieces(), limit)
    if not slices and text.strip() and mode == "sentence":
        return split_thoroughly(text, "paragraph", limit, begin=begin, is_last=is_last)
    return Split(slices=tuple(slices), dropped=_dropped(text, slices), ending=ending)


def _is_plain(text: str, limit: int) -> bool:
    """Return whether `text` is one line that fits, without code and tags: one message as it is."""
    return "`" not in text and "<" not in text and "\n" not in text.strip() and units(text) <= limit


def _plain(text: str) -> Split:
    content = text.strip()
    if not content:
        return Split(slices=(), dropped={"blank": len(text)} if text else {})
    start = len(text) - len(text.lstrip())
    blank = len(text) - len(content)
    return Split(
        slices=(Slice(content=content, start=start, end=start + len(content)),),
        dropped={"blank": blank} if blank else {},
    )


class _Piece(Struct, frozen=True, kw_only=True):
    """A message, before neighbours are joined."""

    slice: Slice
    kind: _Kind


class _Splitter:
    """Walks one text from front to back."""

    def __init__(self, text: str, mode: Mode, limit: int) -> None:
        self._text = text
        self._mode: Mode = mode
        self._limit = limit

    def open(self, begin: Ending, *, is_last: bool) -> Ending:
        blocks, ending = find_blocks(self._text, begin, is_last=is_last)
        self._blocks = [block for block in blocks if block.fits(self._text, self._limit)]
        is_aggregated = self._mode == "aggregated"
        self._plan = Plan(self._text, self._blocks, self._limit, is_aggregated=is_aggregated)
        self._cutter = Cutter(self._text, self._blocks, self._plan, self._limit)
        return ending

    def pieces(self) -> Iterator[_Piece]:
        is_aggregated = self._mode == "aggregated"
        tables = {(table.start, table.end) for table in self._plan.tables}
        blocks = () if is_aggregated else [(block.start, block.end) for block in self._blocks]
        at = 0
        for start, end in sorted((*blocks, *tables)):
            around = self._plan.kept_at(start)
            if around is not None and around[0] < start:
                continue
            yield from self._between(at, start)
            is_table = (start, end) in tables
            yield from self._table(start, end) if is_table else self._cut(start, end, "solid")
            at = end
        yield from self._between(at, len(self._text))

    def _between(self, start: int, stop: int) -> Iterator[_Piece]:
        if self._mode == "aggregated":
            return self._cut(start, stop, "solid")
        return self._prose(start, stop)

    def _table(self, start: int, stop: int) -> Iterator[_Piece]:
        source = self._text[start:stop]
        content = source.strip()
        start += len(source) - len(source.lstrip())
        one = Slice(content=content, start=start, end=start + len(content), is_table=True)
        yield _Piece(slice=one, kind="solid")

    def _cut(self, start: int, stop: int, kind: _Kind) -> Iterator[_Piece]:
        for cut in self._cutter.run(start, stop):
            yield _Piece(slice=_slice(cut), kind=kind)

    def _prose(self, start: int, stop: int) -> Iterator[_Piece]:
        at = start
        for emoji_start, emoji_end in standing_alone(self._text, start, stop):
            if self._plan.kept_at(emoji_start) != (emoji_start, emoji_end):
                continue
            yield from self._paragraphs(at, emoji_start)
            yield from self._cut(emoji_start, emoji_end, "emoji")
            marks = _MARKS.match(self._text, emoji_end, stop)
            at = marks.end() if marks else emoji_end
        yield from self._paragraphs(at, stop)

    def _paragraphs(self, start: int, stop: int) -> Iterator[_Piece]:
        at = start
        for match in _BREAKS.finditer(self._text, start, stop):
            if self._plan.kept_at(match.start()) is None:
                yield from self._paragraph(at, match.start())
                at = match.end()
        yield from self._paragraph(at, stop)

    def _paragraph(self, start: int, stop: int) -> Iterator[_Piece]:
        if self._mode != "sentence":
            yield from self._cut(start, stop, "prose")
            return
        at = start
        while stop > start and self._text[stop - 1].isspace():
            stop -= 1
        for end in sentence_ends(self._text, start, stop):
            if self._plan.kept_at(end - 1) is None:
                yield from self._sentence(at, end)
                at = end
        yield from self._sentence(at, stop)

    def _sentence(self, start: int, stop: int) -> Iterator[_Piece]:
        while start < stop and self._text[start].isspace():
            start += 1
        if stop > start and self._plan.kept_at(stop - 1) is None:
            stop = without_period(self._text, start, stop)
        yield from self._cut(start, stop, "prose")


def _slice(cut: Cut) -> Slice:
    return Slice(content=cut.content, start=cut.start, end=cut.end, lead=cut.lead, tail=cut.tail)


def _joined(text: str, pieces: Iterable[_Piece], limit: int) -> list[Slice]:
    """Return the messages, with emojis that are alike and lone punctuation joined."""
    done: list[_Piece] = []
    last = ""
    for piece in pieces:
        content = piece.slice.content
        before = done[-1] if done else None
        if before is not None and _go_together(before, piece, last):
            joined = _join(text, before.slice, piece.slice, limit)
            if joined is not None:
                kind = piece.kind if before.kind == piece.kind else "prose"
                done[-1] = _Piece(slice=joined, kind=kind)
                last = content
                continue
        done.append(piece)
        last = content
    return [piece.slice for piece in done]


def _go_together(before: _Piece, piece: _Piece, last: str) -> bool:
    if "solid" in (before.kind, piece.kind):
        return False
    if before.kind == piece.kind == "emoji":
        return are_alike(last, piece.slice.content)
    return _is_punctuation(piece.slice.content) or (
        _is_punctuation(before.slice.content) and piece.kind == "prose"
    )


def _is_punctuation(content: str) -> bool:
    return all(letter in _PUNCTUATION for letter in content)


def _join(text: str, first: Slice, second: Slice, limit: int) -> Slice | None:
    """Return both as one message; nothing if it would not fit, or would tear what was added."""
    content = first.content + second.content
    if first.tail or second.lead or units(content) > limit:
        return None
    at = len(first.content)
    between = (
        Gap(at=at, rule=rule, size=size)
        for rule, size in _counted(text[first.end : second.start]).items()
    )
    after = (replace(gap, at=gap.at + at) for gap in second.gaps)
    return Slice(
        content=content,
        start=first.start,
        end=second.end,
        lead=first.lead,
        tail=second.tail,
        gaps=(*first.gaps, *between, *after),
    )


def _dropped(text: str, slices: Iterable[Slice]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    at = 0
    for one in slices:
        counts.update(_counted(text[at : one.start]))
        at = one.end
    counts.update(_counted(text[at:]))
    return dict(counts)


def _counted(letters: str) -> dict[str, int]:
    """Return how many characters each rule left out."""
    counts: Counter[str] = Counter()
    for letter in letters:
        rule = next((name for name, marks in _NAMES.items() if letter in marks), "blank")
        counts[rule] += 1
    return dict(counts)
