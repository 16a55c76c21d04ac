"""A writer that is killed in the middle of its appends loses nothing that it was told."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from events.base import Appended, Position, StreamId, turn_stream
from events.duckdb_log import DuckDBLog
from tests.events.samples import note, number_of, positions, to_turn
from tests.events.writer_process import WRITERS, notes_at, turn_id_of

ROUNDS = 3


def run_and_kill(path: Path, round_number: int, checkpoint_bytes: int, after: int) -> list[str]:
    """Let a process append, kill it after some acknowledgements, and return all of them."""
    command = [sys.executable, "-m", "tests.events.writer_process"]
    arguments = [str(path), str(round_number), "0", str(checkpoint_bytes)]
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        [*command, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(after)]
        process.kill()
        lines += process.stdout.readlines()
    return [line for line in lines if line.endswith("\n")]


@pytest.mark.parametrize(
    ("checkpoint_bytes", "after"),
    [(2**40, 150), (20_000, 200), (1, 60)],
    ids=["before any checkpoint", "among checkpoints", "at a checkpoint"],
)
async def test_b50_everything_acknowledged_survives_sigkill(
    tmp_path: Path, checkpoint_bytes: int, after: int
) -> None:
    """At most once, and nothing lost: each round goes on in the file that a killed one left."""
    path = tmp_path / "events.duckdb"
    promised: dict[StreamId, dict[int, int]] = defaultdict(dict)

    for round_number in range(ROUNDS):
        for line in run_and_kill(path, round_number, checkpoint_bytes, after + round_number):
            stream, position, seq = line.split()
            promised[StreamId(stream)][int(seq)] = int(position)

    log = await DuckDBLog.open(path)
    events = await log.read_all(Position(0), limit=1_000_000)
    assert positions(events) == list(range(1, len(events) + 1))
    assert log.damage is None
    assert len(promised) == ROUNDS * WRITERS
    for stream, places in promised.items():
        found = {int(one.seq): one for one in events if one.stream == stream}
        assert list(found) == list(range(1, len(found) + 1))
        assert {seq: found[seq].position for seq in places} == places
        assert [number_of(one) for one in found.values()] == list(found)
    await log.aclose()


async def test_b50_a_writer_that_was_not_answered_appends_again_and_once(tmp_path: Path) -> None:
    """It does not know whether its last append landed; the log does."""
    path = tmp_path / "events.duckdb"
    for line in run_and_kill(path, 0, 2**40, 100):
        assert line
    log = await DuckDBLog.open(path)

    for writer in range(WRITERS):
        turn_id, seq = turn_id_of(0, writer), 0
        end = len(await log.read(turn_stream(turn_id)))
        while seq < end + 20:
            numbers = notes_at(seq)
            append = to_turn(*map(note, numbers), after=seq, turn_id=turn_id)
            first, again = await log.append([append, append])
            assert isinstance(first, Appended)
            assert first == again
            seq = first.seq
        events = await log.read(turn_stream(turn_id))
        assert [number_of(one) for one in events] == list(range(1, seq + 1))

    everything = await log.read_all(Position(0), limit=1_000_000)
    assert positions(everything) == list(range(1, len(everything) + 1))
    await log.aclose()
