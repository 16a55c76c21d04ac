"""Opening the log when another process has its file: ours is ended, anybody else's is named."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from actors.log_owner import open_owned
from actors.process_identity import identity_of, is_alive
from events.errors import LogLockedError

ROOT = Path(__file__).parents[2]
PREDECESSOR = """
import asyncio, pathlib, sys
from actors.log_owner import open_owned

async def main():
    await open_owned(pathlib.Path(sys.argv[1]))
    print("open", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
STRANGER = """
import duckdb, pathlib, signal, sys
connection = duckdb.connect(str(pathlib.Path(sys.argv[1]) / "events.duckdb"))
print("open", flush=True)
signal.pause()
"""


@asynccontextmanager
async def holding(code: str, directory: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run a process that has the log's file open."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, str(directory)), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"open\n"
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def test_a_predecessor_that_is_believed_dead_and_lives_is_ended(tmp_path: Path) -> None:
    """Its successor would wait in vain: a hung process never gives the lock up."""
    async with holding(PREDECESSOR, tmp_path) as predecessor:
        identity = identity_of(predecessor.pid)
        assert identity is not None

        log, damage = await open_owned(tmp_path)

        assert not is_alive(identity)
        assert damage is None
        await log.aclose()


async def test_a_stranger_with_the_file_open_is_named_and_left_alone(tmp_path: Path) -> None:
    """Somebody looks into the log with a tool of their own."""
    async with holding(STRANGER, tmp_path) as stranger:
        with pytest.raises(LogLockedError) as refused:
            await open_owned(tmp_path)

        assert refused.value.holder == stranger.pid
        assert stranger.returncode is None


async def test_a_process_that_got_the_owners_pid_is_left_alone(tmp_path: Path) -> None:
    """Pids come again; the time a process began does not."""
    async with holding(STRANGER, tmp_path) as stranger:
        recycled = f'{{"pid":{stranger.pid},"started":1.0}}'
        (tmp_path / "events.duckdb.owner").write_text(recycled)

        with pytest.raises(LogLockedError):
            await open_owned(tmp_path)

        identity = identity_of(stranger.pid)
        assert identity is not None
        assert is_alive(identity)
