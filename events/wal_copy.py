"""Keeps a database's write-ahead log safe while the database is opened.

DuckDB merges or discards its write-ahead log (WAL) as it opens, also where the WAL is damaged; in
the silent cases nothing of it is left afterwards. So a copy is made first. It is deleted once the
database has been found whole, and kept, under a name that says so, where it has not. A WAL that
DuckDB refuses can be cut where its complaint points, which saves all that was committed before the
damage, or be set aside as a whole.

Knows file names only. A copy that outlived a crash in the middle of an opening is taken over by
the next one.
"""

import shutil
from pathlib import Path

_SUFFIXES = (".wal", ".wal.checkpoint", ".wal.recovery")


class WalCopy:
    """The copies of one database's WAL files."""

    def __init__(self, database: Path) -> None:
        self._database = database
        for suffix in _SUFFIXES:
            original = self._path(suffix)
            if original.exists() and original.stat().st_size:
                aside = self._path(suffix + ".copying")
                shutil.copyfile(original, aside)
                aside.replace(self._path(suffix + ".copy"))

    def is_needed(self) -> bool:
        """Return whether there is a copy."""
        return any(self._path(suffix + ".copy").exists() for suffix in _SUFFIXES)

    def cut(self, at: int) -> None:
        """Cut the WAL, not its copy, at byte `at`."""
        with self._path(".wal").open("r+b") as wal:
            wal.truncate(at)

    def set_aside(self) -> bool:
        """Remove the WAL, of which the copies remain; return whether there was one."""
        found = [path for path in map(self._path, _SUFFIXES) if path.exists()]
        for path in found:
            path.unlink()
        return bool(found)

    def drop(self) -> None:
        """Delete the copies: the database is whole."""
        for suffix in _SUFFIXES:
            self._path(suffix + ".copy").unlink(missing_ok=True)

    def keep(self) -> tuple[Path, ...]:
        """Give the copies a name that nothing overwrites, and return it."""
        number = 1
        while any(self._path(f"{suffix}.kept-{number}").exists() for suffix in _SUFFIXES):
            number += 1
        kept: list[Path] = []
        for suffix in _SUFFIXES:
            copy = self._path(suffix + ".copy")
            if copy.exists():
                kept.append(copy.rename(self._path(f"{suffix}.kept-{number}")))
        return tuple(kept)

    def _path(self, suffix: str) -> Path:
        return self._database.with_name(self._database.name + suffix)
