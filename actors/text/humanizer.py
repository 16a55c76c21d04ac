"""Small carelessness, so that a message reads as if typed: casing, commas, breaks.

Works on one message at a time. Code, addresses, tags, tables and the name before a colon stay as
they are. Punctuation is left alone as well within quotations, asides, emphasis, spoilers and links.

With punctuation splits, semicolons go; each comma that a blank follows goes, ends the message, or
stays (2 : 1 : 2); each run of `!` and `?` ends the message every other time. Draws are taken from
the left, for the commas first and then for the runs, so that the same seed gives the same messages.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from actors.text.blocks import Ending, find_blocks
from actors.text.casing import lowered
from actors.text.chunking import Gap, Slice
from actors.text.spans import CODE, SOLID, find_atoms, find_spans, mask
from actors.text.table_detection import find_tables

_SEMICOLON: Final = re.compile("[;\uff1b]")
_COMMA: Final = re.compile(
    r",(?=[;\uff1b]*(?:\s|\Z))|[\u3001\uff0c\uff64](?!\d)"  # the commas of Chinese and Japanese
)
_MARKS: Final = re.compile("[!?\uff01\uff1f]+")
_AFTER: Final = re.compile(r"[;\uff1b]*(?:\s|\Z)")
_BLANKS: Final = re.compile(r"\s*")
_NAME: Final = re.compile(r"^[^\W][\w ]{0,63}(?:\([\w ]{1,64}\))?:|^\([\w ]{1,64}\):", re.MULTILINE)
_REMOVE: Final = 0.4
_FLUSH: Final = 0.6
_EMPHASIS: Final = 0.5


class Toggles(Struct, frozen=True, kw_only=True):
    """What is in force for a turn; punctuation splits never are where answers are not live."""

    force_lowercase: bool = False
    """Whether words are written in lowercase."""
    punctuation_splits: bool = False
    """Whether punctuation is dropped and ends messages."""


def humanize(one: Slice, toggles: Toggles, rng: Random | None) -> tuple[Slice, ...]:
    """Return the messages that `one` becomes, whose stretches join to its own.

    What is left out is a gap of the message before it, or else of the one behind. If nothing is
    left of the text, the one message has no content and is not to be sent. Without `rng` nothing
    is drawn: commas stay and no mark ends a message.
    """
    if not toggles.force_lowercase and not toggles.punctuation_splits:
        return (one,)
    masked, solid = _masked(one.content)
    if toggles.force_lowercase:
        one = replace(one, content=lowered(one.content, masked))
    if not toggles.punctuation_splits:
        return (one,)
    edits = _Edits(one.content, masked, solid)
    if rng is not None:
        edits.roll(rng)
    if not edits.gone and not edits.breaks:
        return (one,)
    return tuple(_Assembly(one, edits).slices())


def _masked(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return `text` with all that stays as it is masked, and its code blocks and tables."""
    blocks, _ = find_blocks(text, Ending(), is_last=True)
    tables = find_tables(text, blocks)
    solid = sorted([(one.start, one.end) for one in (*blocks, *tables)])
    _, masked = find_atoms(mask(text, solid, CODE))
    return mask(masked, (match.span() for match in _NAME.finditer(masked)), SOLID), solid


class _Edits:
    """What is to be left out of one message, and where it ends instead."""

    def __init__(self, text: str, masked: str, solid: Iterable[tuple[int, int]]) -> None:
        self._text = text
        self._quiet = masked
        outer: list[tuple[int, int]] = []
        for span in find_spans(text, solid):
            if not outer or span.start >= outer[-1][1]:
                outer.append((span.start, span.end))
        self._quiet = mask(masked, outer, SOLID)
        self.gone = {match.start(): "semicolon" for match in _SEMICOLON.finditer(masked)}
        self.breaks: set[int] = set()

    def roll(self, rng: Random) -> None:
        """Draw for each comma, then for each run of marks."""
        for match in _COMMA.finditer(self._quiet):
            draw = rng.random()
            if draw < _FLUSH:
                self.gone[match.start()] = "comma"
            if _REMOVE <= draw < _FLUSH:
                self._break(match.end())
        for match in _MARKS.finditer(self._quiet):
            is_wide = not match[0].isascii()
            if not is_wide and not _AFTER.match(self._quiet, match.end()):
                continue
            if rng.random() < _EMPHASIS:
                self._break(match.end())

    def _break(self, at: int) -> None:
        while at in self.gone:
            at += 1
        blanks = _BLANKS.match(self._text, at)
        assert blanks is not None
        self.breaks.add(blanks.end())


class _Assembly:
    """Puts the messages together again, with what each stands for."""

    def __init__(self, one: Slice, edits: _Edits) -> None:
        self._one = one
        self._gone = edits.gone
        self._before: dict[int, list[Gap]] = {}
        for gap in one.gaps:
            self._before.setdefault(gap.at, []).append(gap)
        size = len(one.content)
        inner = sorted(at for at in edits.breaks if one.lead < at < size - one.tail)
        self._regions = self._merged([0, *inner, size])

    def slices(self) -> list[Slice]:
        """Return the messages, in order."""
        last = len(self._regions) - 1
        return [
            self._slice(region, is_first=index == 0, is_last=index == last)
            for index, region in enumerate(self._regions)
        ]

    def _merged(self, bounds: Sequence[int]) -> list[tuple[int, int]]:
        """Return the stretches between `bounds`; those of which nothing is left join others."""
        regions: list[tuple[int, int]] = []
        start = 0
        for begin, end in pairwise(bounds):
            if self._has_ink(begin, end):
                regions.append((start, end))
                start = end
        if not regions:
            return [(0, bounds[-1])]
        regions[-1] = (regions[-1][0], bounds[-1])
        return regions

    def _has_ink(self, start: int, end: int) -> bool:
        content = self._one.content
        return any(
            index not in self._gone and not content[index].isspace() for index in range(start, end)
        )

    def _slice(self, region: tuple[int, int], *, is_first: bool, is_last: bool) -> Slice:
        start, end = region
        kept = [index for index in range(start, end) if index not in self._gone]
        content = self._one.content
        while kept and content[kept[-1]].isspace():
            kept.pop()
        first = next((i for i, index in enumerate(kept) if not content[index].isspace()), 0)
        kept = kept[first:]
        return Slice(
            content="".join(content[index] for index in kept),
            start=self._one.start if is_first else self._source(start),
            end=self._one.end if is_last else self._source(end),
            lead=self._one.lead if is_first else 0,
            tail=self._one.tail if is_last else 0,
            gaps=self._gaps(start, end, set(kept), is_first=is_first),
        )

    def _source(self, at: int) -> int:
        """Return the offset in the text of the content's character `at`."""
        left_out = sum(gap.size for gap in self._one.gaps if gap.at <= at)
        return self._one.start + at - self._one.lead + left_out

    def _gaps(self, start: int, end: int, kept: set[int], *, is_first: bool) -> tuple[Gap, ...]:
        gaps: list[Gap] = []
        size = 0
        for index in range(start, end + 1):
            if index > start or is_first:
                gaps += [replace(gap, at=size) for gap in self._before.get(index, ())]
            if index < end and index not in kept:
                gaps.append(Gap(at=size, rule=self._gone.get(index, "blank")))
            size += index in kept
        return tuple(gaps)
