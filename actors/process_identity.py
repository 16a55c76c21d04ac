"""A process, told apart from a later one that got its pid."""

from typing import Final

import psutil
from msgspec import Struct

TICK_SECONDS: Final = 0.01
"""The kernel counts start times in ticks of a hundredth of a second."""


class ProcessIdentity(Struct, frozen=True, kw_only=True):
    """A pid and the moment its process began."""

    pid: int
    """The process id."""
    started: float
    """Start time in seconds since the epoch, as the kernel keeps it."""


def identity_of(pid: int) -> ProcessIdentity | None:
    """Return the identity of the process that has `pid` now; None where there is none."""
    try:
        return ProcessIdentity(pid=pid, started=psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None


def is_alive(identity: ProcessIdentity) -> bool:
    """Return whether exactly that process still runs (a zombie does not)."""
    try:
        process = psutil.Process(identity.pid)
        same = abs(process.create_time() - identity.started) < TICK_SECONDS
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def is_gone(pid: int | None) -> bool:
    """Return whether no process has `pid` any more, but perhaps a zombie."""
    try:
        return pid is not None and psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
