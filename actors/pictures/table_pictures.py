"""The face of the room: a table's source in, its pictures out.

Pillow draws them: it is released four times a year, has used FreeType and variable fonts for years,
and needs no browser and no graphics system, unlike what turns HTML into pictures.
"""

import threading
from typing import Final

from actors.pictures.drawing import png_of
from actors.pictures.fonts import Fonts, han_of
from actors.pictures.layout import lay_out
from actors.text.table_detection import find_tables

MOST_BYTES: Final = 8 * 1024 * 1024
"""Bytes of one table's pictures, below what Discord takes in a message."""
MOST_SOURCE: Final = 60_000
"""Characters of a source that is drawn: a longer one would not fit ten pages."""

_one_at_a_time: Final = threading.Lock()


def pictures_of(source: str) -> tuple[bytes, ...]:
    """Return the table as PNG, a page each; none where it is no table, or can't be a picture.

    Takes some tens of milliseconds, the first time about a second: call it in a thread.
    """
    tables = find_tables(source)
    if len(tables) != 1 or len(source) > MOST_SOURCE:
        return ()
    # Fonts are not made for several threads, and one drawing at a time is enough of a load.
    with _one_at_a_time:
        fonts = Fonts(han_of(source))
        layout = lay_out(tables[0], fonts)
        if layout is None:
            return ()
        pictures: list[bytes] = []
        room = MOST_BYTES
        for page in layout.pages:
            pictures.append(png_of(layout, page, fonts))
            room -= len(pictures[-1])
            if room < 0:
                return ()
        return tuple(pictures)
