"""A table on its way to Discord: pictures above a button, or its source in code blocks.

The picture is drawn anew whenever it is needed, also after a crash; the log keeps its source and
its digest. A table that can't be drawn is never posted as raw pipes.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog

from actors.delivery.table_button import SHOW_MARKDOWN
from actors.ports import Draft, File
from actors.text.table_blocks import code_blocks
from events.base import ChannelId

Draw = Callable[[str], tuple[bytes, ...]]
"""Returns a table as PNG, a page each; none where it can't be one. Blocks: called in a thread."""

FILE_PREFIX: Final = "markdown_table_"
"""How the names of tables' pictures begin."""

_log = structlog.get_logger(__name__)


def draw(source: str) -> tuple[bytes, ...]:
    """As `actors.pictures.table_pictures.pictures_of`."""
    # A process that draws no table is spared Pillow and the fonts.
    from actors.pictures.table_pictures import pictures_of  # noqa: PLC0415 - see above

    return pictures_of(source)


async def table_drafts(
    source: str, channel_id: ChannelId, now: datetime, *, draw: Draw = draw
) -> tuple[Draft, ...]:
    """Return the messages that a table takes, in order: one, unless its source is long."""
    pictures = await _drawn(source, draw)
    if not pictures:
        blocks = code_blocks(source)
        return tuple(Draft(channel_id=channel_id, content=block) for block in blocks)
    name = f"{FILE_PREFIX}{int(now.timestamp() * 1_000)}"
    files = tuple(
        File(name=f"{name}_{page}.png" if page > 1 else f"{name}.png", data=data)
        for page, data in enumerate(pictures, start=1)
    )
    return (Draft(channel_id=channel_id, content="", files=files, buttons=(SHOW_MARKDOWN,)),)


async def _drawn(source: str, draw: Draw) -> tuple[bytes, ...]:
    try:
        return await asyncio.to_thread(draw, source)
    except Exception:  # noqa: BLE001 - a table is shown, whatever its picture meets
        _log.exception("table_not_drawn", characters=len(source))
        return ()
