"""Which font draws which character: a chain of Noto fonts, the first that has it draws it.

The fonts come with the packages `manimgx-fonts` and `manimgx-fonts-cjk` (SIL Open Font License),
so pictures are the same on every machine, whatever is installed there. Pillow tells of no font
which characters it has, fontTools does. A character that no font has is drawn as the box that
stands for missing ones, never left out.

Han characters look different in Japan, Korea and China under one code: the table's other letters
decide which form is meant.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final, Literal

from fontTools.ttLib import TTFont
from PIL import ImageFont

from actors.pictures.inline import Look

SIZE: Final = 28
"""Height of the letters, in pixels; Discord shows pictures at about half their size."""

Han = Literal["ja", "ko", "zh"]
"""Whose form of a Han character is meant."""

_CJK: Final = ("manimgx_fonts_cjk", "NotoSansCJK-VF.otf.ttc")
_FACES: Final[dict[Han, int]] = {"ja": 0, "ko": 1, "zh": 2}
_UPRIGHT: Final = "NotoSans[wght].ttf"
_ITALIC: Final = "NotoSans-Italic[wght].ttf"
_FALLBACKS: Final = ("NotoSansSymbols[wght].ttf", "NotoEmoji[wght].ttf")
_SCRIPTS: Final = (
    "Arabic",
    "Hebrew",
    "Thai",
    "Devanagari",
    "Armenian",
    "Bengali",
    "Ethiopic",
    "Georgian",
    "Gujarati",
    "Gurmukhi",
    "Kannada",
    "Khmer",
    "Lao",
    "Malayalam",
    "Myanmar",
    "Oriya",
    "Sinhala",
    "Tamil",
    "Telugu",
)
_REGULAR: Final = 400
_BOLD: Final = 700
# Drawn by nothing: selectors of a glyph's form, joiners, marks of direction, tags.
_INVISIBLE: Final = re.compile("[\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]")

Source = tuple[str, str, int]
"""A package, a file in it, and the face in that file."""


def han_of(text: str) -> Han:
    """Return whose Han characters `text` has, by the letters beside them."""
    if re.search("[\u3040-\u30ff]", text):
        return "ja"
    if re.search("[\uac00-\ud7af]", text):
        return "ko"
    return "zh"


class Fonts:
    """The fonts of one table."""

    def __init__(self, han: Han) -> None:
        self._cjk: Source = (*_CJK, _FACES[han])
        self._widths: dict[tuple[str, Look], float] = {}

    def split(self, text: str, look: Look) -> Iterator[tuple[ImageFont.FreeTypeFont, str]]:
        """Yield `text` in stretches that one font draws, in order."""
        weight = _BOLD if look.is_bold else _REGULAR
        stretch, source = "", None
        for letter in _INVISIBLE.sub("", text):
            owner = self._owner(letter, source, is_italic=look.is_italic)
            if source is not None and owner != source:
                yield _load(source, weight), stretch
                stretch = ""
            stretch, source = stretch + letter, owner
        if source is not None:
            yield _load(source, weight), stretch

    def width(self, text: str, look: Look) -> float:
        """Return how wide `text` is drawn, in pixels."""
        key = (text, look)
        if key not in self._widths:
            self._widths[key] = sum(font.getlength(part) for font, part in self.split(text, look))
        return self._widths[key]

    def _owner(self, letter: str, before: Source | None, *, is_italic: bool) -> Source:
        # A blank, or a mark upon the letter before it, stays in that letter's font.
        if before is not None and (letter == " " or _is_mark(letter)) and _has(before, letter):
            return before
        first = _latin(_ITALIC if is_italic else _UPRIGHT)
        for source in (first, _latin(_UPRIGHT), self._cjk, *_fallbacks()):
            if _has(source, letter):
                return source
        return first


def _latin(name: str) -> Source:
    return ("manimgx_fonts", name, 0)


@cache
def _fallbacks() -> tuple[Source, ...]:
    scripts = (f"NotoSans{script}[wght].ttf" for script in _SCRIPTS)
    return tuple(_latin(name) for name in (*_FALLBACKS, *scripts))


def _is_mark(letter: str) -> bool:
    return "\u0300" <= letter <= "\u036f" or "\U0001f3fb" <= letter <= "\U0001f3ff"


def _has(source: Source, letter: str) -> bool:
    return ord(letter) in _characters(source)


@cache
def _characters(source: Source) -> frozenset[int]:
    package, name, face = source
    with TTFont(str(files(package) / name), fontNumber=face, lazy=True) as font:
        return frozenset(font.getBestCmap() or ())


@cache
def _load(source: Source, weight: int) -> ImageFont.FreeTypeFont:
    package, name, face = source
    font = ImageFont.truetype(str(files(package) / name), SIZE, index=face)
    font.set_variation_by_axes([weight])
    return font
