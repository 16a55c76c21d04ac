"""What an actor logs, as it stands in the file where Ray keeps it."""

import asyncio
import json
import os
from pathlib import Path

import pytest
import ray
import structlog

from actors.cluster.adapters import ActorName, Handle
from actors.cluster.sender_host import SenderHost
from actors.cluster.spawning import spawn_lasting
from actors.event_log import EventLogHost
from bot.clock import SystemClock
from bot.journal_format import HIDDEN, set_up_actor
from events.log import EventLog
from events.memory_log import MemoryLog

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(60)]

TOKEN = "MQ.made-up-token"


class Indiscreet(SenderHost):
    """A sender that says what it should not."""

    def say(self, token: str) -> str:
        """Log a token in fields and in a traceback; return the file that has it."""
        log = structlog.stdlib.get_logger("actors.sender")
        log.error("refused", token=token, why=f"not {token}", exc_info=ValueError(token))
        return str(Path(f"/proc/{os.getpid()}/fd/2").readlink())


async def open_memory() -> tuple[EventLog, str | None]:
    """Open a log that nothing is kept of."""
    return MemoryLog(), None


async def test_an_actors_line_is_json_and_hides_the_token(local_ray: Path) -> None:
    """Ray keeps these files for as long as nobody deletes them."""
    assert local_ray
    log, name = (ActorName(name=name, namespace="lines") for name in ("log", "sender"))
    host: Handle = spawn_lasting(EventLogHost, log, open_memory, set_up_actor)
    await host.open.remote()
    sender: Handle = spawn_lasting(
        Indiscreet, name, log, SystemClock(), "http://127.0.0.1:1", TOKEN, set_up_actor
    )

    file = Path(await sender.say.remote(TOKEN))

    text = await asyncio.to_thread(file.read_text)
    for handle in (sender, host):
        ray.kill(handle)
    [line] = [json.loads(one) for one in text.splitlines() if one.startswith("{")]
    assert TOKEN not in text
    assert (line["token"], line["why"]) == (HIDDEN, f"not {HIDDEN}")
    assert line["exception"] == f"ValueError: {HIDDEN}"
