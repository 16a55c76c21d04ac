"""Where a running bot listens for its operator: a Unix socket beside the log.

Nobody but the bot's own account may ever connect. So the socket is made in a private folder, given
its mode there, and only then moved to its name; a umask would do the same for the whole process,
whose other threads create files too. The move also replaces what a killed bot left behind.

A Unix socket's address holds 107 bytes, a directory's path may be longer. The socket stays beside
the log all the same, where whoever may read the log finds it: a long directory is opened, and the
address goes through its descriptor (`/proc/self/fd`), which Linux has and other systems lack.
"""

import os
import socket
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from actors.errors import RefusalError

NAME: Final = "control.sock"
"""The socket's file, in the log directory."""
LONGEST_ADDRESS: Final = 107
"""Bytes of a Unix socket's address on Linux, its closing zero not counted (unix(7))."""
PATIENCE_SECONDS: Final = 1.0
"""How long a bot may take to accept a connection."""


@contextmanager
def address(directory: Path) -> Generator[str]:
    """Yield an address of the socket in `directory` that fits, valid inside the block.

    Raises:
        OSError: The path is too long, and `directory` can't be opened.
    """
    plain = str(directory / NAME)
    if len(os.fsencode(plain)) <= LONGEST_ADDRESS:
        yield plain
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{NAME}"
    finally:
        os.close(descriptor)


def is_running(directory: Path) -> bool:
    """Return whether a bot listens in `directory`; a socket left by a killed one does not count."""
    try:
        with address(directory) as path, socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_SECONDS)
            client.connect(path)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        return False
    except (PermissionError, TimeoutError, BlockingIOError):
        # Somebody is there: under another account, or too busy to say so.
        return True
    return True


def listen(directory: Path) -> socket.socket:
    """Return a listening socket in `directory` that only this account may connect to.

    Raises:
        RefusalError: A bot listens there already.
        OSError: The directory can't be written, or can't hold a socket.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if is_running(directory):
        raise RefusalError(f"a bot already runs on {directory}")
    with tempfile.TemporaryDirectory(prefix=".control-", dir=directory) as private:
        server = socket.socket(socket.AF_UNIX)
        try:
            with address(Path(private)) as path:
                server.bind(path)
            made = Path(private, NAME)
            made.chmod(0o600)
            server.settimeout(0)
            server.listen()
            made.replace(directory / NAME)
        except BaseException:
            server.close()
            raise
    return server


def identity(directory: Path) -> tuple[int, int]:
    """Return what tells the socket in `directory` from any later one: device and inode."""
    status = (directory / NAME).stat()
    return status.st_dev, status.st_ino


def remove(directory: Path, made: tuple[int, int]) -> None:
    """Remove the socket in `directory` unless another bot has since put its own there."""
    with suppress(FileNotFoundError):
        if identity(directory) == made:
            (directory / NAME).unlink()
