"""One bot a log directory: the lock that a running bot holds, and its instance id."""

import fcntl
import os
from pathlib import Path
from typing import Final

from typing_extensions import override

LOCK: Final = "bot.lock"
"""The file in the log directory that a running bot keeps locked."""


class AlreadyRunningError(Exception):
    """Another bot runs on the same log directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.directory = directory

    @override
    def __str__(self) -> str:
        return f"another bot runs on {self.directory}; stop it first, or use another directory"


class BotLock:
    """Held for as long as the bot runs; the kernel gives it up when the process ends."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._descriptor = -1

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            AlreadyRunningError: Another process holds it.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise AlreadyRunningError(self._directory) from error
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock up."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
