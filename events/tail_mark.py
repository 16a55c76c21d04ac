"""The tail mark: what the log held, kept beside the database that holds it.

A DuckDB file whose write-ahead log was damaged may open without a complaint and lack its newest
rows. So each commit is noted in a file of our own, fsynced, before it is acknowledged: which
positions, of which streams, and a hash chained over every event. On open the database is compared
with it. The mark follows the commit, so it may lag behind, by a commit that was never acknowledged;
where the database falls short of the mark, acknowledged events are gone, and the file says which.

The file is a sequence of records: 4 bytes of magic, the payload's length and CRC-32 (little
endian, 4 bytes each), a msgpack payload. The first is the base, which stands for all before it;
every commit adds one. A torn record at the end fails its checksum and is overwritten by the next;
a damaged one in between is skipped. Once the database has merged its write-ahead log into the main
file, the file is replaced by a base alone, by rename, so it stays small.
"""

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from typing_extensions import override

from events.row import Row

_MAGIC = b"RJtm"
_HEADER = struct.Struct("<4sII")
_NO_CHAIN = bytes(16)
_FOUND_ALONE = "the tail mark is gone, so nobody knows whether newer events are missing"
_ALTERED = "the database opened with events that differ from what was acknowledged"
_SHORT = "the database opened without events that were acknowledged"


class Mark(Struct, frozen=True, kw_only=True, array_like=True):
    """What one commit made durable."""

    first: int
    """Position of its first event; one above `last` in a base."""
    last: int
    """Position of its last event."""
    chain: bytes
    """Hash over all events up to `last`, 16 bytes."""
    streams: dict[str, int] = {}
    """Events of the commit by stream."""


class Damage(Struct, frozen=True, kw_only=True):
    """Acknowledged events that the database no longer holds, or holds differently."""

    reason: str
    """What was seen, in a sentence."""
    missing: int = 0
    """How many acknowledged events are gone."""
    first_missing: int = 0
    """The lowest position among them; 0 when none is gone. It is given again to the next event."""
    last_missing: int = 0
    """The highest position among them; 0 when none is gone."""
    streams: dict[str, int] = {}
    """How many of them by stream, as far as the mark could be read; may sum to less."""
    altered: int = 0
    """How many events stand in commits whose hash is not the acknowledged one."""
    kept_wal: tuple[str, ...] = ()
    """Paths of the write-ahead log as it was found, kept for whoever tries to save more."""
    fault: str | None = None
    """The database's own complaint, where it made one."""

    @override
    def __str__(self) -> str:
        parts = [f"{self.reason}: {self.missing} missing"]
        if self.missing:
            parts.append(f"positions {self.first_missing} to {self.last_missing}")
        if self.altered:
            parts.append(f"{self.altered} altered")
        parts += [f"{count} of {stream}" for stream, count in sorted(self.streams.items())]
        if self.kept_wal:
            parts.append(f"kept: {', '.join(self.kept_wal)}")
        return ", ".join(parts)


class Comparison(Struct, frozen=True, kw_only=True):
    """What the database holds, against its mark."""

    head: int
    """Its last position."""
    chain: bytes
    """The running hash there."""
    unmarked: tuple[Row, ...]
    """Rows beyond the mark: committed, never acknowledged."""
    damage: Damage | None
    """What is missing, if anything is."""


def chain_of(chain: bytes, rows: Iterable[Row]) -> bytes:
    """Return the running hash after `rows`, from the one before them."""
    for row in rows:
        text = f"{row.position}\0{row.stream}\0{row.seq}\0{row.kind}\0{row.body}"
        chain = hashlib.blake2b(text.encode(), digest_size=16, key=chain).digest()
    return chain


def mark_of(chain: bytes, rows: Sequence[Row]) -> Mark:
    """Return the mark of a commit of `rows`; `chain` is the hash before them."""
    streams: dict[str, int] = {}
    for row in rows:
        streams[row.stream] = streams.get(row.stream, 0) + 1
    return Mark(
        first=rows[0].position,
        last=rows[-1].position,
        chain=chain_of(chain, rows),
        streams=streams,
    )


class TailMark:
    """The mark's file, open for appending; used by one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = list(_scan(path.read_bytes()))
        self.marks: tuple[Mark, ...] = tuple(mark for _, mark in found)
        """What the file held when it was opened, oldest first; a base comes first."""
        self._end = found[-1][0] if found else 0
        if not found:
            _fsync_directory(path.parent)

    def add(self, mark: Mark) -> None:
        """Note a commit and return once the note is durable.

        Raises:
            OSError: The disk failed; the next call writes over what this one left.
        """
        record = _record(mark)
        _write_all(self._fd, record, self._end)
        os.fdatasync(self._fd)
        self._end += len(record)

    def restart(self, position: int, chain: bytes) -> None:
        """Replace the file by a base: everything up to `position` is in the database proper."""
        aside = self._path.with_name(self._path.name + ".new")
        record = _record(Mark(first=position + 1, last=position, chain=chain))
        fd = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(fd, record, 0)
            os.fsync(fd)
            aside.replace(self._path)
        except BaseException:
            os.close(fd)
            raise
        os.close(self._fd)
        self._fd, self._end = fd, len(record)
        _fsync_directory(self._path.parent)

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def base_position(marks: Sequence[Mark]) -> int:
    """Return the position up to which `marks` vouch for nothing but the count."""
    return marks[0].last if marks else 0


def compare(marks: Sequence[Mark], head: int, rows: Iterable[Row]) -> Comparison:
    """Return how a database fares against its mark.

    Args:
        marks: As read from the file, oldest first; empty where there is none.
        head: The database's last position.
        rows: Its rows above `base_position(marks)`, oldest first.
    """
    if not marks:
        chain = chain_of(_NO_CHAIN, rows)
        damage = Damage(reason=_FOUND_ALONE) if head else None
        return Comparison(head=head, chain=chain, unmarked=(), damage=damage)
    ledger = _Ledger(marks)
    for row in rows:
        ledger.see(row)
    return ledger.close(head)


class _Ledger:
    """Walks marks and rows side by side; each commit is hashed from the one before it."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._marks = marks
        self._next = 1
        self._chain = marks[0].chain
        self._due = marks[0].last + 1
        self._missing: list[range] = []
        self._streams: dict[str, int] = {}
        for mark in marks[1:]:
            for stream, count in mark.streams.items():
                self._streams[stream] = self._streams.get(stream, 0) + count
        self._altered = 0
        self._unmarked: list[Row] = []

    def see(self, row: Row) -> None:
        """Take the next row of the database."""
        if row.position > self._due:
            self._missing.append(range(self._due, row.position))
        self._due = row.position + 1
        while self._next < len(self._marks) and self._marks[self._next].last < row.position:
            self._chain = self._marks[self._next].chain
            self._next += 1
        self._chain = chain_of(self._chain, (row,))
        if row.position > self._marks[-1].last:
            self._unmarked.append(row)
            return
        if row.stream in self._streams:
            self._streams[row.stream] -= 1
        mark = self._marks[self._next]
        if row.position == mark.last:
            if self._chain != mark.chain and not self._misses(mark.first):
                self._altered += mark.last - self._marks[self._next - 1].last
            self._chain = mark.chain
            self._next += 1

    def close(self, head: int) -> Comparison:
        """Return the verdict after the last row."""
        base, last = self._marks[0], self._marks[-1].last
        if head < base.last:
            self._missing = [range(head + 1, last + 1)]
        elif self._due <= last:
            self._missing.append(range(self._due, last + 1))
        missing = sum(map(len, self._missing))
        damage = None
        if missing or self._altered:
            damage = Damage(
                reason=_SHORT if missing else _ALTERED,
                missing=missing,
                first_missing=self._missing[0].start if missing else 0,
                last_missing=self._missing[-1].stop - 1 if missing else 0,
                streams={name: left for name, left in self._streams.items() if left > 0},
                altered=self._altered,
            )
        chain = self._chain if head >= base.last else _NO_CHAIN
        return Comparison(head=head, chain=chain, unmarked=tuple(self._unmarked), damage=damage)

    def _misses(self, first: int) -> bool:
        return bool(self._missing) and self._missing[-1].stop > first


def _scan(data: bytes) -> Iterator[tuple[int, Mark]]:
    """Yield each readable record's end and mark; damaged stretches are skipped."""
    at, last = 0, -1
    while (at := data.find(_MAGIC, at)) >= 0:
        mark, end = _read(data, at)
        if mark is None or mark.last < last:
            at += 1
            continue
        yield end, mark
        at, last = end, mark.last


def _read(data: bytes, at: int) -> tuple[Mark | None, int]:
    if at + _HEADER.size > len(data):
        return None, at
    _, length, checksum = _HEADER.unpack_from(data, at)
    start = at + _HEADER.size
    payload = data[start : start + length]
    if len(payload) < length or zlib.crc32(payload) != checksum:
        return None, at
    try:
        return msgspec.msgpack.decode(payload, type=Mark), start + length
    except msgspec.MsgspecError:
        return None, at


def _record(mark: Mark) -> bytes:
    payload = msgspec.msgpack.encode(mark)
    return _HEADER.pack(_MAGIC, len(payload), zlib.crc32(payload)) + payload


def _write_all(fd: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, at)
        view, at = view[written:], at + written


def _fsync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
