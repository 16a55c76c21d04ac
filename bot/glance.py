"""Tables for people: what they look for first, a line a row, as wide as their terminal."""

import re
import shutil
from collections.abc import Sequence
from datetime import datetime
from typing import Final, TextIO

from msgspec import Struct, structs

from actors.table import Column, Table


class View(Struct, frozen=True, kw_only=True):
    """Which columns of a table people look for first."""

    headings: dict[str, str]
    """Columns in order, and what they are called here."""
    dispensable: tuple[str, ...]
    """What a narrow terminal does without, first things first."""


TURNS: Final = View(
    headings={
        "turn_id": "turn",
        "started_at": "started (UTC)",
        "channel_id": "channel",
        "persona": "persona",
        "model": "model",
        "status": "status",
        "messages": "messages",
        "input_tokens": "in",
        "output_tokens": "out",
        "cost_usd": "USD",
        "duration_ms": "ms",
    },
    dispensable=("channel_id", "persona", "cost_usd", "output_tokens", "input_tokens", "model"),
)
"""A list of turns; tokens in and out."""

USAGE: Final = View(
    headings={
        "guild_id": "guild",
        "model": "model",
        "day": "day",
        "requests": "requests",
        "tokens_unknown": "unknown",
        "input_tokens": "in",
        "output_tokens": "out",
        "cache_hit_ratio": "cached",
        "cost_usd": "USD",
        "cost_unknown": "no price",
    },
    dispensable=("cost_unknown", "tokens_unknown", "cache_hit_ratio"),
)
"""Usage: tokens in and out, the part of the input that was cached, requests without figures."""

BUDGETS: Final = View(
    headings={
        "payer": "payer",
        "month": "month",
        "spent_usd": "spent USD",
        "open_usd": "open USD",
        "cap_usd": "cap USD",
    },
    dispensable=("month",),
)
"""Budgets: spent, set aside for requests that are not over, and the most that may be spent."""

SHORT_ID: Final = 18
"""Characters of a turn's id on a terminal: two turns differ in them; `replay` takes any prefix."""
FRAME: Final = 3
"""Columns that a drawn table takes around each cell."""

_ISO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|\+00:00)")


def width_of(page: TextIO) -> int | None:
    """Return the columns of the terminal that `page` is, None where it is none."""
    return shutil.get_terminal_size().columns if page.isatty() else None


def at_a_glance(table: Table, view: View, width: int | None) -> Table:
    """Return a table for people; JSON has all of it.

    Args:
        table: As the analyst gives it.
        view: What of it to show.
        width: Columns of the terminal; None leaves nothing out.
    """
    known = {column.name: place for place, column in enumerate(table.columns)}
    names = [name for name in view.headings if name in known]
    rows = [[_short(row[known[name]], name, width) for name in names] for row in table.rows]
    kept = _fitting(view, names, rows, width)
    columns = tuple(
        Column(name=view.headings[name], type=table.columns[known[name]].type)
        for name in names
        if name in kept
    )
    cells = tuple(
        tuple(cell for cell, name in zip(row, names, strict=True) if name in kept) for row in rows
    )
    return structs.replace(table, columns=columns, rows=cells)


def _fitting(
    view: View, names: Sequence[str], rows: Sequence[Sequence[object]], width: int | None
) -> set[str]:
    kept = set(names)
    widths = {
        name: max(len(view.headings[name]), *(len(str(row[place] or "")) for row in rows), 0)
        for place, name in enumerate(names)
    }
    for name in view.dispensable:
        if width is None or sum(widths[one] + FRAME for one in kept) <= width:
            break
        kept.discard(name)
    return kept


def _short(value: object, name: str, width: int | None) -> object:
    if name == "turn_id" and width is not None:
        return str(value)[:SHORT_ID]
    if isinstance(value, datetime):
        return value.strftime("%m-%d %H:%M:%S")
    if isinstance(value, str) and _ISO_TIME.fullmatch(value):
        return f"{value[5:10]} {value[11:19]}"
    if isinstance(value, float) and name == "duration_ms":
        return round(value)
    return value
