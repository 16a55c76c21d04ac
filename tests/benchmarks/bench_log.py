"""What the log on disk costs, as ratios to a baseline taken in the same run.

Run on demand: `python tests/benchmarks/bench_log.py [EVENTS]`, about half a minute. The machine's
speed cancels out of the ratios; the milliseconds beside them are for orientation only. Lookups are
measured in a log of EVENTS events (default 200,000).
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import duckdb

sys.path.insert(0, str(Path(__file__).parents[2]))

from events import event_table
from events.base import Append, ChannelId, Position, TurnId, channel_stream, turn_stream
from events.duckdb_log import DuckDBLog
from events.memory_log import MemoryLog
from events.row import Row, prepare, rows_of
from events.tail_mark import TailMark, mark_of
from tests.events.samples import chunk, note, to_channel, to_turn

REPEATS = 30
TEXT = "x" * 150


def turn_id(number: int) -> TurnId:
    """Return the id of one of many turns, later ones sorting later."""
    return TurnId(f"0192b5d2-{number >> 16:04x}-7{number >> 4 & 0xFFF:03x}-8000-{number:012x}")


def say(name: str, seconds: float, baseline: float, of: str) -> None:
    """Print one figure and its ratio."""
    sys.stdout.write(f"{name:58} {seconds * 1e3:9.3f} ms   {seconds / baseline:8.2f} x {of}\n")


def median(action: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median seconds of an action."""
    taken: list[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


async def median_async(action: Callable[[], Awaitable[object]], repeats: int = REPEATS) -> float:
    """Return the median seconds of an awaitable action."""
    taken: list[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        await action()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def sample_rows(count: int) -> list[Row]:
    """Return rows as a turn writes them."""
    append = to_turn(*(chunk(TEXT) for _ in range(count)))
    return rows_of(prepare(append), 0, 0)


def bench_raw(directory: Path) -> float:
    """Time bare commits of 100 rows: the appender and executemany; return the appender's time."""
    connection = duckdb.connect(str(directory / "raw.duckdb"), config={"threads": 1})
    connection.execute(event_table.SCHEMA)
    insert = f"INSERT INTO {event_table.TABLE} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - a constant
    appender = connection.appender(event_table.TABLE)
    rows = sample_rows(100)

    def append(some: list[Row]) -> None:
        connection.execute("BEGIN")
        appender.append_rows(some)
        appender.flush()
        connection.execute("COMMIT")

    def insert_many() -> None:
        connection.execute("BEGIN")
        connection.executemany(insert, rows)
        connection.execute("COMMIT")

    base = median(lambda: append(rows))
    say("bare commit of 100 rows, appender", base, base, "appender")
    say("bare commit of 1 row, appender", median(lambda: append(rows[:1])), base, "appender")
    say("bare commit of 100 rows, executemany", median(insert_many, 5), base, "appender")
    tail = TailMark(directory / "raw.tail")
    noting = median(lambda: tail.add(mark_of(bytes(16), rows)))
    say("tail mark of 100 rows, hashed and fsynced", noting, base, "appender")
    tail.close()
    connection.close()
    return base


async def bench_appends(directory: Path, base: float) -> None:
    """Time the log's own appends, alone and in a crowd."""
    log = await DuckDBLog.open(directory / "appends.duckdb")
    hundred = [to_channel(*(chunk(TEXT) for _ in range(100)))]
    one = [to_channel(note(1))]
    whole = await median_async(lambda: log.append(hundred))
    say("log: one append of 100 events", whole, base, "bare commit of 100")
    single = await median_async(lambda: log.append(one))
    say("log: one append of 1 event, alone", single, base, "bare commit of 100")

    async def crowd() -> None:
        await asyncio.gather(*(log.append(one) for _ in range(1000)))

    together = await median_async(crowd, 5) / 1000
    say("log: 1 event, 1,000 appends at once, each", together, single, "alone")
    memory = MemoryLog()
    say("memory log: one append of 1 event", await median_async(lambda: memory.append(one)), single,
        "alone")  # fmt: skip
    subscription = log.subscribe(None, await log.head())
    waiting = asyncio.ensure_future(subscription.__anext__())
    await asyncio.sleep(0)

    async def push() -> None:
        nonlocal waiting
        await log.append(one)
        await waiting
        waiting = asyncio.ensure_future(subscription.__anext__())

    say("log: 1 event, until a subscriber has it", await median_async(push), single, "alone")
    await log.aclose()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def bench_lookups(directory: Path, events: int) -> None:
    """Time what needs a look into a log of many events, which has no index."""
    log = await DuckDBLog.open(directory / "lookups.duckdb")
    turns = events // 100
    begin = time.perf_counter()
    for start in range(0, turns, 20):
        batch: list[Append] = []
        for number in range(start, start + 20):
            batch.append(to_channel(note(number), channel_id=ChannelId(number % 2000)))
            texts = (chunk(TEXT) for _ in range(99))
            batch.append(to_turn(*texts, after=0, turn_id=turn_id(number)))
        await log.append(batch)
    filling = time.perf_counter() - begin
    sys.stdout.write(f"filled at {events / filling:,.0f} events/s\n")
    base = await median_async(lambda: log.append([to_channel(note(1))]))
    middle = turn_stream(turn_id(turns // 2))
    lookups: dict[str, Callable[[], Awaitable[object]]] = {
        "read a turn of 99 events from the middle": lambda: log.read(middle),
        "read a channel's stream": lambda: log.read(channel_stream(ChannelId(17))),
        "read 10,000 events by position": lambda: log.read_all(Position(events // 2)),
        "read all of a rare kind": lambda: log.read_all(Position(0), kinds={"turn_ended"}),
        "repeat an append that landed": lambda: log.append(
            [to_turn(*(chunk(TEXT) for _ in range(99)), after=0, turn_id=turn_id(turns // 2))]
        ),
    }
    for name, action in lookups.items():
        say(name, await median_async(action, 10), base, "append of 1 event")
    fresh = iter(range(turns, turns + 1000))

    async def start_turn() -> None:
        await log.append([to_turn(note(1), after=0, turn_id=turn_id(next(fresh)))])

    say("first append of a new turn", await median_async(start_turn), base, "append of 1 event")
    await log.aclose()


async def main() -> None:
    """Run all of it in a directory that is thrown away."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        directory = Path(name)
        base = bench_raw(directory)
        await bench_appends(directory, base)
        await bench_lookups(directory, events)


if __name__ == "__main__":
    asyncio.run(main())
