"""B50: whatever happens to the write-ahead log, the log opens and says what is missing."""

import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from events.base import Position, StreamId, turn_stream
from events.duckdb_log import DuckDBLog
from events.tail_mark import Damage
from tests.events.samples import append_one, appended, note, positions, to_turn
from tests.events.writer_process import WRITERS, turn_id_of

COMMITS = 200
NAME = "events.duckdb"


class Victim:
    """A log as a process left it that ended without closing anything."""

    def __init__(self, directory: Path, acknowledged: list[tuple[StreamId, int, int]]) -> None:
        self.path = directory / NAME
        self.wal = directory / f"{NAME}.wal"
        self.tail = directory / f"{NAME}.tail"
        self.acknowledged = acknowledged
        self.head = max(position for _, position, _ in acknowledged)
        self.ends = {stream: seq for stream, _, seq in acknowledged}

    def flip(self, file: Path, at: int) -> None:
        """Invert one byte."""
        with file.open("r+b") as stream:
            stream.seek(at)
            byte = stream.read(1)[0]
            stream.seek(at)
            stream.write(bytes([byte ^ 0xFF]))

    def cut(self, size: int) -> None:
        """Cut the write-ahead log to `size` bytes."""
        with self.wal.open("r+b") as stream:
            stream.truncate(size)

    def blank(self, at: int, count: int) -> None:
        """Overwrite `count` bytes by zeros."""
        with self.wal.open("r+b") as stream:
            stream.seek(at)
            stream.write(bytes(count))

    @property
    def size(self) -> int:
        """Size of the write-ahead log in bytes."""
        return self.wal.stat().st_size


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Give the files of such a log, and what its process acknowledged."""
    directory = tmp_path_factory.mktemp("left")
    command = [sys.executable, "-m", "tests.events.writer_process"]
    arguments = [str(directory / NAME), "0", str(COMMITS), str(2**40)]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [*command, *arguments], capture_output=True, text=True, check=True, timeout=25
    )
    return directory, done.stdout


@pytest.fixture
def victim(left_behind: tuple[Path, str], tmp_path: Path) -> Victim:
    """Give a copy of it."""
    directory, said = left_behind
    for file in directory.iterdir():
        shutil.copy(file, tmp_path)
    lines = [line.split() for line in said.splitlines()]
    return Victim(tmp_path, [(StreamId(one), int(two), int(three)) for one, two, three in lines])


def kept_by(damage: Damage) -> list[bytes]:
    """Return what the kept files hold."""
    return [Path(one).read_bytes() for one in damage.kept_wal]


async def check_what_is_said(victim: Victim, log: DuckDBLog) -> Damage | None:
    """Assert that the report and the log's content together are what was acknowledged."""
    events = await log.read_all(Position(0))
    assert positions(events) == list(range(1, len(events) + 1))
    missing = victim.head - len(events)
    damage = log.damage
    if damage is None:
        assert missing == 0
        return None
    assert damage.missing == missing
    if missing:
        assert (damage.first_missing, damage.last_missing) == (len(events) + 1, victim.head)
    there = Counter(one.stream for one in events)
    gone = {stream: seq - there[stream] for stream, seq in victim.ends.items()}
    assert damage.streams == {stream: count for stream, count in gone.items() if count}
    return damage


async def check_that_life_goes_on(victim: Victim, head: int) -> None:
    """Assert that the reopened log takes appends, and that the next opening finds no fault."""
    log = await DuckDBLog.open(victim.path)
    assert log.damage is None
    assert await log.head() == head
    assert await append_one(log, to_turn(note(1), after=0)) == appended(head + 1, 1)
    await log.aclose()
    log = await DuckDBLog.open(victim.path)
    assert log.damage is None
    assert len(await log.read_all(Position(0))) == head + 1
    await log.aclose()


WAL_DAMAGES: dict[str, Callable[[Victim], None]] = {
    "cut by one byte": lambda one: one.cut(one.size - 1),
    "cut by a third": lambda one: one.cut(one.size * 2 // 3),
    "cut to its header": lambda one: one.cut(10),
    "emptied": lambda one: one.cut(0),
    "removed": lambda one: one.wal.unlink(),
    "zeros in the middle": lambda one: one.blank(one.size // 2, 512),
    "zeros at the end": lambda one: one.blank(one.size - 700, 700),
    "zeros at the start": lambda one: one.blank(0, 64),
    **{
        f"byte {at} flipped": lambda one, at=at: one.flip(one.wal, at)
        for at in (0, 1, 3, 8, 12, 16, 20, 24, 30, 40, 60, 100)
    },
    **{
        f"byte at {percent} % flipped": lambda one, percent=percent: one.flip(
            one.wal, one.size * percent // 100
        )
        for percent in (3, 11, 25, 37, 50, 62, 75, 88, 99)
    },
}


@pytest.mark.parametrize("damage", WAL_DAMAGES.values(), ids=WAL_DAMAGES)
async def test_b50_a_damaged_write_ahead_log_is_survived_and_accounted_for(
    victim: Victim, damage: Callable[[Victim], None]
) -> None:
    """Never a crash loop, never silent: exact counts, the streams, and the evidence kept."""
    damage(victim)
    evidence = victim.wal.read_bytes() if victim.wal.exists() else b""

    log = await DuckDBLog.open(victim.path)

    found = await check_what_is_said(victim, log)
    assert found is not None
    assert found.missing > 0
    assert kept_by(found) == ([evidence] if evidence else [])
    (report,) = victim.path.parent.glob("*.damage-*.json")
    assert msgspec.json.decode(report.read_bytes(), type=Damage) == found
    head = await log.head()
    await log.aclose()
    await check_that_life_goes_on(victim, head)


async def test_b50_what_was_committed_before_the_damage_is_saved(victim: Victim) -> None:
    """DuckDB refuses the whole file; cutting it where it hurts keeps all that came before."""
    before = victim.wal.read_bytes()
    body = before.rfind(b"requester", 0, victim.size * 9 // 10)
    victim.flip(victim.wal, body)

    log = await DuckDBLog.open(victim.path)

    assert log.damage is not None
    assert log.damage.fault is not None
    assert await log.head() > victim.head * 8 // 10
    await log.aclose()


async def test_b50_an_undamaged_write_ahead_log_is_taken_over_without_a_word(
    victim: Victim,
) -> None:
    """A killed process is no damage; nothing is left beside the file."""
    log = await DuckDBLog.open(victim.path)

    assert not victim.wal.exists(), "merged at once: nothing is ever appended behind a torn end"
    assert await check_what_is_said(victim, log) is None
    head = await log.head()
    await log.aclose()
    assert sorted(one.name for one in victim.path.parent.iterdir()) == [NAME, f"{NAME}.tail"]
    await check_that_life_goes_on(victim, head)


async def test_b50_a_torn_end_that_was_never_acknowledged_is_no_damage(victim: Victim) -> None:
    """A process that is killed in the middle of a commit leaves exactly this."""
    with victim.wal.open("ab") as wal:
        wal.write(struct.pack("<QQ", 1000, 4711) + bytes(range(100)))

    log = await DuckDBLog.open(victim.path)

    assert await log.head() == victim.head
    assert log.damage is None
    await log.aclose()
    await check_that_life_goes_on(victim, victim.head)


async def test_b50_a_broken_end_that_was_never_acknowledged_is_said_to_lack_nothing(
    victim: Victim,
) -> None:
    """DuckDB refuses the file for it, so it is not called good; and the count is exact: none."""
    with victim.wal.open("ab") as wal:
        wal.write(struct.pack("<QQ", 100, 4711) + bytes(range(100)))

    log = await DuckDBLog.open(victim.path)

    assert await log.head() == victim.head
    assert log.damage is not None
    assert (log.damage.missing, log.damage.streams, log.damage.altered) == (0, {}, 0)
    assert log.damage.fault is not None
    await log.aclose()
    await check_that_life_goes_on(victim, victim.head)


@pytest.mark.parametrize("percent", [0, 20, 50, 80, 99])
async def test_b50_a_damaged_mark_beside_a_whole_log_is_survived(
    victim: Victim, percent: int
) -> None:
    """The witness may be hurt as well as the accused."""
    victim.flip(victim.tail, victim.tail.stat().st_size * percent // 100)

    log = await DuckDBLog.open(victim.path)

    assert await log.head() == victim.head
    assert log.damage is None
    await log.aclose()
    await check_that_life_goes_on(victim, victim.head)


async def test_b50_a_missing_mark_is_said(victim: Victim) -> None:
    """Without it nobody can tell whether newer events are missing."""
    victim.tail.unlink()

    log = await DuckDBLog.open(victim.path)

    assert log.damage is not None
    assert (log.damage.missing, await log.head()) == (0, victim.head)
    await log.aclose()
    await check_that_life_goes_on(victim, victim.head)


async def test_b50_a_missing_database_is_said(victim: Victim) -> None:
    """An empty log that used to hold events must not pass for a new one."""
    victim.path.unlink()
    victim.wal.unlink()

    log = await DuckDBLog.open(victim.path)

    assert log.damage is not None
    assert (log.damage.missing, await log.head()) == (victim.head, 0)
    await log.aclose()


async def test_b50_a_copy_that_outlived_a_crash_is_still_evidence(victim: Victim) -> None:
    """The process may die between DuckDB's opening, which eats the WAL, and our verdict."""
    evidence = victim.wal.read_bytes()
    victim.wal.rename(f"{victim.wal}.copy")

    log = await DuckDBLog.open(victim.path)

    found = await check_what_is_said(victim, log)
    assert found is not None
    assert kept_by(found) == [evidence]
    await log.aclose()


async def test_b50_the_second_damage_keeps_the_evidence_of_the_first(victim: Victim) -> None:
    """What was kept once is overwritten by nothing."""
    for _ in range(2):
        shutil.copy(victim.wal, victim.path.parent / "saved")
        victim.cut(victim.size // 2)
        log = await DuckDBLog.open(victim.path)
        await log.aclose()
        shutil.copy(victim.path.parent / "saved", victim.wal)
        victim.path.unlink()

    assert len(list(victim.path.parent.glob("*.kept-*"))) == 2


def test_the_writers_of_the_sample_are_all_there(left_behind: tuple[Path, str]) -> None:
    """The counts above mean something only if several streams were written."""
    streams = {line.split()[0] for line in left_behind[1].splitlines()}

    assert streams == {turn_stream(turn_id_of(0, one)) for one in range(WRITERS)}
