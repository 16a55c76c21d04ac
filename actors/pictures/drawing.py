"""A page drawn with Pillow, and written as PNG: equal pages give equal bytes.

The picture brings its own ground, dark with light letters, and so reads alike under Discord's dark
and its light theme.
"""

from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw

from actors.pictures.fonts import SIZE, Fonts
from actors.pictures.layout import LINE_HEIGHT, PAD_X, PAD_Y, Layout, Page, Row, height_of
from actors.pictures.lines import Atom, Line, width_of
from actors.text.table_detection import Alignment

_GROUND: Final = "#2b2d31"
_SHADE: Final = "#313338"
_HEAD: Final = "#1e1f22"
_RULE: Final = "#4e5058"
_INK: Final = "#e6e7ea"
_HEAD_INK: Final = "#ffffff"
_LINK: Final = "#4db5ff"
_CODE: Final = "#17181a"
_BORDER: Final = 2
_BASE: Final = round(LINE_HEIGHT * 0.72)


def png_of(layout: Layout, page: Page, fonts: Fonts) -> bytes:
    """Return `page` as PNG."""
    size = (sum(layout.widths) + 2 * _BORDER, height_of(page) + 2 * _BORDER)
    image = Image.new("RGB", size, _GROUND)
    _Pen(image, layout, fonts).draw(page)
    file = BytesIO()
    # A palette takes a third of the bytes, and flat colours with soft edges lose nothing by it.
    image.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        file, "PNG", optimize=True
    )
    return file.getvalue()


class _Pen:
    """Draws one page."""

    def __init__(self, image: Image.Image, layout: Layout, fonts: Fonts) -> None:
        self._draw = ImageDraw.Draw(image)
        self._size = image.size
        self._layout = layout
        self._fonts = fonts

    def draw(self, page: Page) -> None:
        top = _BORDER
        for row in (page.header, *page.rows):
            is_header = row is page.header
            ground = _HEAD if is_header else _SHADE if row.is_shaded else _GROUND
            self._draw.rectangle((0, top, self._size[0], top + row.height - 1), fill=ground)
            self._row(row, top, _HEAD_INK if is_header else _INK)
            top += row.height
            self._draw.line((0, top - 1, self._size[0], top - 1), fill=_RULE, width=1)
        self._grid()

    def _grid(self) -> None:
        width, height = self._size
        left = _BORDER
        for column in self._layout.widths[:-1]:
            left += column
            self._draw.line((left, 0, left, height), fill=_RULE, width=1)
        self._draw.rectangle((0, 0, width - 1, height - 1), outline=_RULE, width=_BORDER)

    def _row(self, row: Row, top: int, ink: str) -> None:
        left = _BORDER
        columns = zip(row.cells, self._layout.widths, self._layout.alignments, strict=True)
        for lines, width, alignment in columns:
            base = top + PAD_Y + _BASE
            for line in lines:
                start = left + PAD_X + _indent(line, width - 2 * PAD_X, alignment)
                self._line(line, start, base, ink)
                base += LINE_HEIGHT
            left += width

    def _line(self, line: Line, left: float, base: int, ink: str) -> None:
        for atom in line:
            if atom.look.is_code:
                self._code_ground(atom, left, base)
            left += atom.width
        left -= width_of(line)
        for atom in line:
            self._atom(atom, left, base, _LINK if atom.look.is_link else ink)
            left += atom.width

    def _code_ground(self, atom: Atom, left: float, base: int) -> None:
        top, bottom = base - round(SIZE * 0.95), base + round(SIZE * 0.32)
        self._draw.rectangle((left - 3, top, left + atom.width + 3, bottom), fill=_CODE)

    def _atom(self, atom: Atom, left: float, base: int, ink: str) -> None:
        at = left
        for font, part in self._fonts.split(atom.text, atom.look):
            self._draw.text((at, base), part, font=font, fill=ink, anchor="ls")
            at += font.getlength(part)
        if atom.look.is_struck:
            middle = base - round(SIZE * 0.3)
            self._draw.line((left, middle, at, middle), fill=ink, width=2)


def _indent(line: Line, room: float, alignment: Alignment) -> float:
    spare = max(0.0, room - width_of(line))
    match alignment:
        case "left":
            return 0.0
        case "center":
            return spare / 2
        case "right":
            return spare
