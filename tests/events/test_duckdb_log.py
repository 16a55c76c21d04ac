"""What only the log on disk can do: be reopened, locked, held up, broken and healed."""

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from events.base import (
    Append,
    ChannelId,
    Conflict,
    Position,
    StreamId,
    channel_stream,
    turn_stream,
)
from events.duckdb_log import DuckDBLog
from events.errors import CodecError, LogLockedError, LogUnavailableError
from tests.events.breakable import Breaker
from tests.events.samples import (
    CHANNEL,
    TURN,
    append_one,
    appended,
    attempt,
    chunk,
    end,
    note,
    number_of,
    positions,
    recovery,
    stop,
    take,
    to_channel,
    to_delivery,
    to_turn,
)

HOLDER = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); input()"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a path for a database."""
    return tmp_path / "events.duckdb"


@pytest.fixture
def breaker() -> Breaker:
    """Give a way to break the database."""
    return Breaker()


@pytest.fixture
async def log(path: Path, breaker: Breaker) -> AsyncIterator[DuckDBLog]:
    """Give a log on a breakable database."""
    one = DuckDBLog(path, connect=breaker.connect)
    yield one
    breaker.gate.set()
    await one.aclose()


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    """Return what a closed log's file says."""
    with duckdb.connect(path, read_only=True) as connection:
        return connection.execute(sql).fetchall()


async def test_the_table_is_what_outside_programs_rely_on(path: Path) -> None:
    """Its columns and types are a contract; times are stored in UTC without a zone."""
    log = await DuckDBLog.open(path)
    await log.append([to_turn(note(1)), to_channel(note(2))])
    await log.aclose()

    columns = [row[:2] for row in query(path, "DESCRIBE events")]
    times = query(path, "SELECT DISTINCT recorded_at FROM events")

    assert columns == [
        ("position", "UBIGINT"),
        ("stream", "VARCHAR"),
        ("seq", "UBIGINT"),
        ("kind", "VARCHAR"),
        ("version", "USMALLINT"),
        ("recorded_at", "TIMESTAMP"),
        ("turn_id", "UUID"),
        ("channel_id", "UBIGINT"),
        ("guild_id", "UBIGINT"),
        ("body", "JSON"),
    ]
    assert times == [(datetime(2026, 5, 4, 3, 2, 1, 123_456),)]  # noqa: DTZ001 - as stored
    assert query(path, "SELECT count(*) FROM duckdb_indexes()") == [(0,)]


async def test_a_reopened_log_goes_on_where_it_ended(path: Path) -> None:
    """Epochs, stops and ends are in the file, not in the process."""
    log = await DuckDBLog.open(path)
    await log.append([to_turn(note(1), after=0), recovery(1, after=1), stop(), to_channel(note(1))])
    await log.aclose()

    log = await DuckDBLog.open(path)
    results = await log.append(
        [
            to_turn(note(1), after=0),
            to_turn(note(9), after=0, epoch=1),
            to_turn(note(2), after=2, epoch=1),
            to_channel(note(2)),
        ]
    )
    refused = await log.append([to_delivery(attempt(), after=0, epoch=1, unless_stopped=True)])
    await log.aclose()

    assert results == [appended(1, 1), Conflict(actual_seq=2), appended(5, 3), appended(6, 3)]
    assert refused != [appended(7, 1)]
    assert log.damage is None


async def test_a_closed_log_leaves_one_file_and_a_short_mark(path: Path) -> None:
    """What stands beside the file is worth looking at only when something is wrong."""
    log = await DuckDBLog.open(path)
    await log.append([to_turn(*map(note, range(100)))])
    await log.aclose()

    assert sorted(one.name for one in path.parent.iterdir()) == [
        "events.duckdb",
        "events.duckdb.tail",
    ]
    assert path.with_name("events.duckdb.tail").stat().st_size < 100


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Give another process that holds the file."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        if process.returncode is None:
            process.communicate("\n")


async def test_b51_a_file_that_another_process_holds_is_named_with_its_holder(
    path: Path, holder: subprocess.Popen[str]
) -> None:
    """The operator is told who has it; and once that one is gone, the log opens."""
    with pytest.raises(LogLockedError) as caught:
        await DuckDBLog.open(path)

    assert caught.value.holder == holder.pid
    assert not list(path.parent.glob("*.copy"))
    holder.communicate("\n")
    log = await DuckDBLog.open(path)
    await log.aclose()


async def test_a_second_log_in_the_same_process_is_refused(path: Path, log: DuckDBLog) -> None:
    """DuckDB would let it in, and two judges would number the same positions."""
    with pytest.raises(LogLockedError) as caught:
        await DuckDBLog.open(path)

    assert caught.value.holder == os.getpid()
    assert log.fault is None


async def test_what_is_queued_during_a_commit_is_the_next_one(
    log: DuckDBLog, breaker: Breaker
) -> None:
    """Load makes commits larger, not more frequent."""
    breaker.gate.clear()
    first = asyncio.create_task(log.append([to_channel(note(0))]))
    await asyncio.to_thread(breaker.is_committing.wait)

    others = [asyncio.create_task(log.append([to_channel(note(at))])) for at in range(1, 41)]
    await asyncio.sleep(0)
    breaker.gate.set()
    await asyncio.gather(first, *others)

    assert breaker.commits == [1, 40]
    events = await log.read(channel_stream(CHANNEL))
    assert [number_of(one) for one in events] == list(range(41))


async def test_a_commit_never_exceeds_its_bound(path: Path, breaker: Breaker) -> None:
    """A storm must not turn into one transaction that takes seconds."""
    log = DuckDBLog(path, connect=breaker.connect, max_group=10)
    breaker.gate.clear()
    appends = [asyncio.create_task(log.append([to_channel(note(at))])) for at in range(25)]
    await asyncio.to_thread(breaker.is_committing.wait)

    breaker.gate.set()
    await asyncio.gather(*appends)
    await log.append([to_channel(*map(note, range(30)))])
    await log.aclose()

    assert max(breaker.commits[:-1]) <= 10
    assert breaker.commits[-1] == 30


async def test_reading_goes_on_while_a_commit_is_held_up(log: DuckDBLog, breaker: Breaker) -> None:
    """Readers see what was durable before, and wait for nobody."""
    await log.append([to_channel(note(1))])
    breaker.is_committing.clear()
    breaker.gate.clear()
    held = asyncio.create_task(log.append([to_channel(note(2))]))
    await asyncio.to_thread(breaker.is_committing.wait)

    assert positions(await log.read(channel_stream(CHANNEL))) == [1]
    assert positions(await log.read_all(Position(0))) == [1]
    assert await log.head() == 1
    assert not held.done()
    breaker.gate.set()
    assert await held == [appended(2, 2)]


async def test_nothing_is_acknowledged_or_pushed_before_it_is_durable(
    log: DuckDBLog, breaker: Breaker
) -> None:
    """A barrier that returns early is no barrier."""
    breaker.gate.clear()
    subscription = log.subscribe(None)
    pushed = asyncio.create_task(take(subscription, 1))
    held = asyncio.create_task(log.append([to_channel(note(1))]))
    await asyncio.to_thread(breaker.is_committing.wait)

    assert not held.done()
    assert not pushed.done()
    breaker.gate.set()
    await held
    assert positions(await pushed) == [1]


@pytest.mark.parametrize("lands_first", [False, True], ids=["lost", "landed"])
async def test_b52_a_fatal_error_reopens_the_file_and_applies_what_was_not_acknowledged(
    log: DuckDBLog, breaker: Breaker, *, lands_first: bool
) -> None:
    """One FATAL error invalidates the whole database; its writers must not notice."""
    subscription = log.subscribe(None)
    await log.append([to_channel(note(1))])
    breaker.fatal_commits, breaker.lands_first = 1, lands_first

    results = await log.append([to_channel(note(2)), to_turn(note(3), after=0)])

    assert results == [appended(2, 2), appended(3, 1)]
    assert breaker.opened == 2
    assert (log.fault, log.damage) == (None, None)
    assert positions(await take(subscription, 3)) == [1, 2, 3]
    assert [number_of(one) for one in await log.read_all(Position(0))] == [1, 2, 3]


@pytest.mark.parametrize("lands_first", [False, True], ids=["lost", "landed"])
async def test_b52_an_error_that_persists_is_told_to_whoever_waits(
    log: DuckDBLog, breaker: Breaker, *, lands_first: bool
) -> None:
    """Nothing is acknowledged, the log says why, and it heals by itself with the disk."""
    subscription = log.subscribe(None)
    await log.append([to_channel(note(1))])
    await take(subscription, 1)
    breaker.fatal_commits, breaker.lands_first = 1, lands_first
    breaker.refuses_from_then_on = True
    lost = to_turn(note(2), after=0)

    with pytest.raises(LogUnavailableError):
        await append_one(log, lost)
    assert log.fault is not None
    with pytest.raises(LogUnavailableError):
        await log.read_all(Position(0))

    breaker.refusal = None
    assert await append_one(log, lost) == appended(2, 1)
    assert log.fault is None
    assert positions(await take(subscription, 1)) == [2]


async def test_b52_reading_heals_a_broken_file_too(log: DuckDBLog, breaker: Breaker) -> None:
    """A log that nobody appends to must not stay broken."""
    await log.append([to_channel(note(1))])
    breaker.is_invalid = True

    assert positions(await log.read_all(Position(0))) == [1]
    assert breaker.opened == 2


@pytest.fixture
def limited_files() -> Iterator[None]:
    """Let no file grow beyond what the limit says; lifted afterwards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("limited_files")
async def test_b50_a_full_disk_loses_nothing_that_was_acknowledged(path: Path) -> None:
    """Appenders are told; once there is room, everything goes on, without a gap."""
    log = await DuckDBLog.open(path)
    subscription = log.subscribe(None)
    await log.append([to_turn(chunk("x" * 400), after=0)])
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    acknowledged = await _append_until_it_fails(log, 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    result = await append_one(log, to_turn(chunk("x" * 400), after=acknowledged))
    assert result == appended(acknowledged + 1, acknowledged + 1)
    assert positions(await take(subscription, acknowledged + 1)) == list(range(1, acknowledged + 2))
    assert log.damage is None
    await log.aclose()
    log = await DuckDBLog.open(path)
    assert len(await log.read(turn_stream(TURN))) == acknowledged + 1
    assert log.damage is None
    await log.aclose()


async def _append_until_it_fails(log: DuckDBLog, acknowledged: int) -> int:
    while acknowledged < 5000:
        try:
            await log.append([to_turn(chunk("x" * 400), after=acknowledged)])
        except LogUnavailableError:
            return acknowledged
        acknowledged += 1
    pytest.fail("the disk was never full")


async def test_an_append_that_cannot_be_stored_fails_alone(
    log: DuckDBLog, breaker: Breaker
) -> None:
    """It shares its commit with strangers, who must not pay for it."""
    bad = Append(stream=StreamId("channel/\ud800"), entries=to_channel(note(1)).entries)
    breaker.gate.clear()
    first = asyncio.create_task(log.append([to_channel(note(1))]))
    await asyncio.to_thread(breaker.is_committing.wait)

    batches = [[to_channel(note(2))], [bad], [to_channel(note(3))]]
    others = asyncio.gather(*map(log.append, batches), return_exceptions=True)
    await asyncio.sleep(0)
    breaker.gate.set()
    await first
    before, error, after = await others

    assert (before, after) == ([appended(2, 2)], [appended(3, 3)])
    assert isinstance(error, CodecError)
    assert log.fault is None


async def test_checkpoints_keep_the_mark_short_and_change_nothing(path: Path) -> None:
    """With a bound of one byte every commit is followed by one."""
    log = DuckDBLog(path, checkpoint_bytes=1)
    for at in range(10):
        await log.append([to_turn(note(at), after=at)])
    await log.append([end(after=10)])
    tail = path.with_name("events.duckdb.tail").stat().st_size
    events = await log.read(turn_stream(TURN))
    await log.aclose()

    log = await DuckDBLog.open(path)

    assert tail < 200
    assert await log.read(turn_stream(TURN)) == events
    assert log.damage is None
    await log.aclose()


async def test_a_long_past_is_read_in_pieces(log: DuckDBLog) -> None:
    """The analyst starts from nothing and catches up with all there is."""
    for start in range(0, 12_000, 3000):
        batch = [
            to_channel(note(at), channel_id=ChannelId(at % 7)) for at in range(start, start + 3000)
        ]
        await log.append(batch)
    whole, one = log.subscribe(None), log.subscribe({channel_stream(ChannelId(3))})

    events = await take(whole, 12_000)
    some = await take(one, 1714)

    assert [number_of(one) for one in events] == list(range(12_000))
    assert [number_of(one) for one in some] == list(range(3, 12_000, 7))
    await whole.aclose()
    await one.aclose()
