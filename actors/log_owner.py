"""Opening the log: who has its file open, and the right to end a predecessor that holds it.

DuckDB locks its file against every other process, and a log actor that its cluster believes dead
can live on and keep that lock. So the owner writes its pid and start time beside the file; a
successor that meets the lock ends exactly that process, if both match and it runs as the same user.
"""

import asyncio
import os
from pathlib import Path
from typing import Final

import msgspec
import psutil
import structlog

from actors.process_identity import ProcessIdentity, identity_of, is_alive, is_gone
from events.duckdb_log import DuckDBLog
from events.errors import LogLockedError
from events.log import EventLog

LOG_FILE: Final = "events.duckdb"
"""The log's file in its directory."""

LOCK_SECONDS: Final = 5.0
"""Longest wait for the lock of a holder that is gone."""

_log = structlog.get_logger(__name__)


def _owner_file(log_file: Path) -> Path:
    return log_file.with_name(log_file.name + ".owner")


def claim(log_file: Path) -> None:
    """Write this process down as the owner of `log_file`."""
    mine = identity_of(os.getpid())
    assert mine is not None
    replacement = _owner_file(log_file).with_suffix(".owner.new")
    replacement.write_bytes(msgspec.json.encode(mine))
    replacement.replace(_owner_file(log_file))


async def end_stale_owner(log_file: Path, holder: int | None) -> bool:
    """End the process that holds `log_file`, if it is the owner on record; return whether.

    Args:
        log_file: The locked file.
        holder: The pid that DuckDB names as the lock's holder, where it names one.
    """
    try:
        owner = msgspec.json.decode(_owner_file(log_file).read_bytes(), type=ProcessIdentity)
    except (OSError, msgspec.MsgspecError):
        return False
    if holder != owner.pid or not is_alive(owner):
        return False
    process = psutil.Process(owner.pid)
    if process.uids().real != os.getuid():
        return False
    _log.warning("ending_previous_log_owner", pid=owner.pid)
    process.kill()
    await asyncio.to_thread(psutil.wait_procs, [process], timeout=5)
    return True


async def open_owned(directory: Path) -> tuple[EventLog, str | None]:
    """Open the log in `directory`, ending a predecessor that still holds its file.

    Returns:
        The log, and in a sentence what of it was lost, where something was.

    Raises:
        LogLockedError: Another process holds the file and is no predecessor of ours.
    """
    await asyncio.to_thread(directory.mkdir, parents=True, exist_ok=True)
    path = directory / LOG_FILE
    deadline = asyncio.get_running_loop().time() + LOCK_SECONDS
    while True:
        try:
            log = await DuckDBLog.open(path)
            break
        except LogLockedError as locked:
            is_ended = await end_stale_owner(path, locked.holder)
            is_over = asyncio.get_running_loop().time() > deadline
            if is_over or not (is_ended or is_gone(locked.holder)):
                raise
        # The kernel gives the lock up a moment after the process is gone.
        await asyncio.sleep(0.02)
    claim(path)
    return log, None if log.damage is None else str(log.damage)
