"""Cells broken into lines that fit their column.

Lines break at blanks and between Han, kana and Hangul, where these scripts let them: not before a
closing mark or a small kana, not behind an opening bracket. What is wider than its column breaks
wherever a visible character ends.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final
from unicodedata import category

from msgspec import Struct

from actors.pictures.fonts import Fonts
from actors.pictures.inline import Look, Run
from actors.text.graphemes import is_edge

_WIDE: Final = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_PART: Final = re.compile(f"\n|[^\\S\n]+|[{_WIDE}]|[^\\s{_WIDE}]+")
_IS_WIDE: Final = re.compile(f"[{_WIDE}]")
_SMALL_KANA: Final = frozenset("ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ")
_CLOSING: Final = frozenset(("Pe", "Pf", "Po", "Lm"))
_OPENING: Final = frozenset(("Ps", "Pi"))


class Atom(Struct, frozen=True, kw_only=True):
    """Text that is drawn in one go."""

    text: str
    """The text."""
    look: Look
    """Its looks."""
    width: float
    """How wide it is, in pixels."""


Line = tuple[Atom, ...]
"""What stands in one line, from left to right."""


def width_of(line: Sequence[Atom]) -> float:
    """Return how wide a line is, in pixels."""
    return sum(atom.width for atom in line)


def natural_width(runs: Sequence[Run], fonts: Fonts) -> float:
    """Return the width that takes no line break but the cell's own."""
    return max((width_of(line) for line in break_lines(runs, fonts, float("inf"))), default=0.0)


def least_width(runs: Sequence[Run], fonts: Fonts) -> float:
    """Return the width that breaks no word."""
    return max((width_of(unit) for unit in _units(runs, fonts)), default=0.0)


def break_lines(runs: Sequence[Run], fonts: Fonts, width: float) -> tuple[Line, ...]:
    """Return the lines of a cell, none wider than `width` pixels if that can be."""
    lines: list[Line] = []
    line: list[Atom] = []
    used = 0.0
    for unit in _units(runs, fonts):
        needed = width_of(unit)
        is_break = unit[0].text == "\n"
        if is_break or (line and used + needed > width and not unit[0].text.isspace()):
            lines.append(_trimmed(line))
            line, used = [], 0.0
        if is_break:
            continue
        if needed <= width:
            line += unit
            used += needed
            continue
        *full, line = _chopped(unit, fonts, width)
        lines += (tuple(one) for one in full)
        used = width_of(line)
    lines.append(_trimmed(line))
    return tuple(lines)


def _trimmed(line: Sequence[Atom]) -> Line:
    is_blank = bool(line) and line[-1].text.isspace()
    return tuple(line[:-1] if is_blank else line)


def _atoms(runs: Sequence[Run], fonts: Fonts) -> Iterator[Atom]:
    for run in runs:
        for part in _PART.findall(run.text):
            text = " " if part.isspace() and part != "\n" else part
            width = 0.0 if text == "\n" else fonts.width(text, run.look)
            yield Atom(text=text, look=run.look, width=width)


def _units(runs: Sequence[Run], fonts: Fonts) -> Iterator[list[Atom]]:
    """Yield atoms that stay on one line, together."""
    unit: list[Atom] = []
    for atom in _atoms(runs, fonts):
        if unit and not _are_one(unit[-1].text, atom.text):
            yield unit
            unit = []
        unit.append(atom)
    if unit:
        yield unit


def _are_one(before: str, after: str) -> bool:
    if before.isspace() or after.isspace():
        return False
    if after[0] in _SMALL_KANA or category(after[0]) in _CLOSING:
        return True
    if category(before[-1]) in _OPENING:
        return True
    return not (_IS_WIDE.match(before[-1]) or _IS_WIDE.match(after[0]))


def _chopped(unit: Sequence[Atom], fonts: Fonts, width: float) -> list[list[Atom]]:
    """Return a unit that is too wide in lines; the last one may be gone on with."""
    lines: list[list[Atom]] = [[]]
    used = 0.0
    for atom in unit:
        text, start = atom.text, 0
        for before, end in pairwise(_edges(text)):
            is_alone = before == start and not lines[-1]
            if is_alone or used + fonts.width(text[start:end], atom.look) <= width:
                continue
            if before > start:
                lines[-1].append(_atom(text[start:before], atom.look, fonts))
            lines.append([])
            start, used = before, 0.0
        lines[-1].append(_atom(text[start:], atom.look, fonts))
        used += lines[-1][-1].width
    return lines


def _edges(text: str) -> Iterator[int]:
    """Yield where a visible character begins or the text ends."""
    return (at for at in range(len(text) + 1) if is_edge(text, at))


def _atom(text: str, look: Look, fonts: Fonts) -> Atom:
    return Atom(text=text, look=look, width=fonts.width(text, look))
