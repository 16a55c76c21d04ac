"""A process that appends until it is killed or done, and says what was acknowledged.

Run as `python -m tests.events.writer_process PATH ROUND COUNT CHECKPOINT_BYTES`. Four writers, each
with a turn of its own, append one to five events at a time; a line `stream position seq` follows
each acknowledgement. After COUNT acknowledgements (0: never) it exits without closing anything.
"""

import asyncio
import os
import sys
from pathlib import Path

from events.base import Appended, TurnId, turn_stream
from events.duckdb_log import DuckDBLog
from tests.events.samples import note, to_turn

WRITERS = 4
"""Turns that are written at the same time."""


def turn_id_of(round_number: int, writer: int) -> TurnId:
    """Return the turn that `writer` writes in a round."""
    return TurnId(f"0192b5d2-7c00-7000-9000-{round_number:06}{writer:06}")


def notes_at(seq: int) -> list[int]:
    """Return the numbers of the events that are appended after `seq`."""
    return list(range(seq + 1, seq + 2 + seq % 5))


async def write(log: DuckDBLog, round_number: int, writer: int, count: int) -> None:
    """Append to one turn, one append in flight."""
    turn_id, seq, done = turn_id_of(round_number, writer), 0, 0
    while not count or done < count:
        append = to_turn(*map(note, notes_at(seq)), after=seq, turn_id=turn_id)
        (result,) = await log.append([append])
        assert isinstance(result, Appended)
        line = f"{turn_stream(turn_id)} {result.position} {result.seq}\n"
        os.write(sys.stdout.fileno(), line.encode())
        seq, done = result.seq, done + 1


async def main(path: str, round_number: int, count: int, checkpoint_bytes: int) -> None:
    """Open the log and let all writers write."""
    log = DuckDBLog(Path(path), checkpoint_bytes=checkpoint_bytes)
    each = count // WRITERS
    await asyncio.gather(*(write(log, round_number, one, each) for one in range(WRITERS)))
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:5])))
