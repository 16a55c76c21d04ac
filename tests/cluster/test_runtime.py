"""A bot that cannot start says why, in a sentence that names what is in the way."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from actors.cluster.runtime import Runtime, check_reachable
from actors.errors import ClusterUnreachableError
from bot.app import runtime_spec
from bot.clock import SystemClock
from bot.settings import load
from events.errors import LogLockedError
from tests.cluster.conftest import settings_text
from tests.cluster.outside import Outside

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(60)]

STRANGER = """
import duckdb, signal, sys
connection = duckdb.connect(sys.argv[1])
print("open", flush=True)
signal.pause()
"""


async def test_a_log_that_somebody_else_has_open_is_named(local_ray: Path, tmp_path: Path) -> None:
    """Not as a traceback out of an actor."""
    assert local_ray
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "events.duckdb"
    stranger = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", STRANGER, str(file)), stdout=asyncio.subprocess.PIPE
    )
    assert stranger.stdout is not None
    await stranger.stdout.readline()
    config = tmp_path / "rejoinder.toml"
    outside = Outside()
    async with outside:
        config.write_text(settings_text(outside))
        settings = load(config, {"DISCORD_TOKEN": outside.discord.token})
        runtime = Runtime(runtime_spec(settings, SystemClock()))

        with pytest.raises(LogLockedError) as refused:
            await runtime.start()

        await runtime.aclose()
    stranger.send_signal(signal.SIGKILL)
    await stranger.wait()
    assert str(refused.value) == f"{file} is held by process {stranger.pid}"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "host:port"])
async def test_a_cluster_that_does_not_answer_is_named_at_once(address: str) -> None:
    """Ray would try for minutes."""
    with pytest.raises(ClusterUnreachableError, match=address):
        await check_reachable(address)
