"""How fast events go into the read model, and what `usage` costs against a table made for it.

Run: `python -m tests.benchmarks.bench_usage [--events 5000000]`. Only ratios of one run say
anything: the narrow table is filled and asked in the same process, on the same machine.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from actors.read_models.read_models import ReadModels
from events.base import (
    ChannelId,
    Event,
    GuildId,
    MessageId,
    Position,
    Recorded,
    Scope,
    Seq,
    StreamId,
    TriggerId,
    TurnId,
    UserId,
    delivery_stream,
    turn_stream,
)
from events.delivery import Receipt, SendAttempt
from events.generation import Chunk, Flush, ProcessedChunk, RawChunk, RequestClosed, RequestOpened
from events.spending import UsageReport
from events.turn import TurnEnded, TurnSettings, TurnStarted

_EVENTS_A_TURN = 10
_BATCH = 1000
_REPEATS = 7
_START = datetime(2026, 1, 1, tzinfo=UTC)
_PAYLOAD = '{"choices":[{"delta":{"content":"' + "word " * 40 + '"}}]}'

_NARROW = """SELECT guild_id, model, day, count(*), sum(input_tokens), sum(output_tokens),
    sum(cache_read_tokens), sum(input_tokens) FILTER (cache_read_tokens IS NOT NULL),
    sum(cost_pico) FROM narrow GROUP BY guild_id, model, day ORDER BY guild_id, model, day"""


def turn_events(number: int, channel: ChannelId, guild: GuildId) -> Iterator[tuple[bool, Event]]:
    """Yield one turn's events, each with whether it stands in the delivery stream."""
    yield (
        False,
        TurnStarted(
            trigger_id=TriggerId(str(number)),
            channel_id=channel,
            guild_id=guild,
            author_id=UserId(7),
            author_name="Ada",
            prompt="hello",
            persona="Rejoinder",
            system_prompt="Be brief.",
            models=("main/m0",),
            settings=TurnSettings(),
            seed=number,
            code_version="0",
            text_version=1,
        ),
    )
    yield (
        False,
        RequestOpened(
            request=1,
            provider="main",
            kind_of_provider="openai",
            model=f"m{number % 5}",
            attempt="first",
            url="https://example.org",
            body="{}",
        ),
    )
    yield False, RawChunk(request=1, payloads=(_PAYLOAD,), arrived_ms=(1.5,))
    yield False, ProcessedChunk(request=1, chunks=(Chunk(type="text", text="word " * 40),))
    yield False, Flush(flush=1, text="word " * 40, boundary="final", start=0, end=200)
    yield True, SendAttempt(attempt=1, flush=1, channel_id=channel, content="word " * 40)
    yield True, Receipt(attempt=1, message_id=MessageId(number), destination_id=channel)
    yield (
        False,
        UsageReport(
            request=1,
            provider="main",
            model=f"m{number % 5}",
            measurement="measured",
            input_tokens=number % 4000,
            output_tokens=number % 600,
            cache_read_tokens=None if number % 3 else number % 1000,
            cost_pico=None if number % 7 == 0 else number * 1000,
        ),
    )
    yield False, RequestClosed(request=1, end="done", http_status=200)
    yield False, TurnEnded(status="completed", messages=1, requests=1)


def log(count: int) -> Iterator[Recorded]:
    """Yield `count` events of turns that follow each other by seconds."""
    position = 0
    for number in range(count // _EVENTS_A_TURN):
        turn = TurnId(
            f"{0x0192_0000_0000 + number:012x}"[:8] + f"-{number % 65536:04x}"
            f"-7000-8000-{number:012x}"
        )
        channel, guild = ChannelId(10_000 + number % 300), GuildId(20_000 + number % 50)
        scope = Scope(turn_id=turn, channel_id=channel, guild_id=guild)
        streams: dict[bool, StreamId] = {False: turn_stream(turn), True: delivery_stream(turn)}
        seqs = {False: 0, True: 0}
        at = _START + timedelta(seconds=number * 20)
        for is_delivery, event in turn_events(number, channel, guild):
            position += 1
            seqs[is_delivery] += 1
            yield Recorded(
                position=Position(position),
                stream=streams[is_delivery],
                seq=Seq(seqs[is_delivery]),
                recorded_at=at,
                scope=scope,
                event=event,
            )


def fill(models: ReadModels, count: int) -> float:
    """Ingest `count` events in batches; return the seconds spent in `ingest`."""
    spent = 0.0
    batch: list[Recorded] = []
    for recorded in log(count):
        batch.append(recorded)
        if len(batch) == _BATCH:
            begun = time.perf_counter()
            models.ingest(batch)
            spent += time.perf_counter() - begun
            batch.clear()
    begun = time.perf_counter()
    models.ingest(batch)
    return spent + time.perf_counter() - begun


def narrow_table(path: Path, count: int) -> duckdb.DuckDBPyConnection:
    """Return a database with the same reports in the table that one would make for this query."""
    connection = duckdb.connect(str(path), config={"threads": "2"})
    connection.execute(
        "CREATE TABLE narrow(guild_id UBIGINT, model VARCHAR, day DATE, input_tokens BIGINT, "
        "output_tokens BIGINT, cache_read_tokens BIGINT, cost_pico BIGINT)"
    )
    with connection.appender("narrow") as appender:
        appender.append_rows(
            (
                recorded.scope.guild_id,
                recorded.event.model,
                recorded.recorded_at.date(),
                recorded.event.input_tokens,
                recorded.event.output_tokens,
                recorded.event.cache_read_tokens,
                recorded.event.cost_pico,
            )
            for recorded in log(count)
            if isinstance(recorded.event, UsageReport)
        )
    return connection


def median_ms(act: Callable[[], object]) -> float:
    """Return the median milliseconds of some runs of `act`, after one that does not count."""
    act()
    times: list[float] = []
    for _ in range(_REPEATS):
        begun = time.perf_counter()
        act()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=1_000_000)
    count: int = arguments.parse_args().events
    with tempfile.TemporaryDirectory() as directory:
        models = ReadModels(Path(directory) / "read_models.duckdb")
        spent = fill(models, count)
        sys.stdout.write(f"events                    {models.checkpoint():>12,}\n")
        sys.stdout.write(f"ingest, rows/s            {models.checkpoint() / spent:>12,.0f}\n")
        narrow = narrow_table(Path(directory) / "narrow.duckdb", count)
        best = median_ms(lambda: narrow.execute(_NARROW).fetchall())
        latest = str(models.turns(limit=1).rows[0][0])
        sys.stdout.write(f"narrow table, ms          {best:>12.1f}\n")
        asked: dict[str, Callable[[], object]] = {
            "usage(guild, model, day)": lambda: models.usage(["guild", "model", "day"]),
            "usage(model)": lambda: models.usage(["model"]),
            "sql FROM usage": lambda: models.sql("FROM usage ORDER BY ALL"),
            "sql over usage_reports": lambda: models.sql(
                "SELECT guild_id, model, recorded_at::DATE AS day, sum(input_tokens), "
                "sum(output_tokens), sum(cost_pico) FROM usage_reports GROUP BY ALL ORDER BY ALL"
            ),
            "turns(50)": lambda: models.turns(50),
            "turn_events(latest)": lambda: models.turn_events(latest),
        }
        for name, act in asked.items():
            took = median_ms(act)
            sys.stdout.write(f"{name + ', ms':<26}{took:>12.1f}   {took / best:>6.2f} x narrow\n")
        narrow.close()
        models.close()


if __name__ == "__main__":
    main()
