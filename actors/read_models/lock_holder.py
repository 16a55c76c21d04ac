"""Who holds a DuckDB file, as DuckDB's refusal tells it.

A second process can open a held file neither for writing nor for reading, so what is left is to
say plainly who has it.
"""

import re
from pathlib import Path
from typing import Final

import duckdb

from events.errors import LogLockedError

_HOLDER: Final = re.compile(r"\(PID (\d+)\)")


def locked_by_another(path: Path, error: duckdb.Error) -> LogLockedError | None:
    """Return the error that names the holder; None where `error` is no refused lock."""
    text = str(error)
    if not isinstance(error, duckdb.IOException) or "Could not set lock" not in text:
        return None
    found = _HOLDER.search(text)
    return LogLockedError(str(path), int(found.group(1)) if found else None)
