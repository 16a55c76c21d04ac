"""A bot in a process of its own, as `rejoinder run` starts it."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import psutil

from actors.cluster.local_ray import INSTANCE, RECORD, RayRecord
from actors.process_identity import is_alive
from bot.control import ControlClient
from tests.cluster.outside import Outside

START_SECONDS: Final = 40.0
"""Longest start on a busy machine."""


class BotProcess:
    """Starts, kills and questions one bot; its files stay from life to life."""

    def __init__(self, outside: Outside, config: Path) -> None:
        self._outside = outside
        self._config = config
        self._process: asyncio.subprocess.Process | None = None
        self._sessions = 0
        self.directory = config.parent / "data"
        """The log directory."""

    async def start(self) -> None:
        """Start the bot and return when it hears messages."""
        self._sessions = self._outside.discord.sessions
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "run", "--config", str(self._config)),
            env={**os.environ, "DISCORD_TOKEN": self._outside.discord.token},
        )
        discord, gone = self._outside.discord, asyncio.create_task(self._process.wait())
        ready = asyncio.create_task(
            discord.until(lambda: discord.sessions > self._sessions, timeout=START_SECONDS)
        )
        await asyncio.wait({ready, gone}, return_when=asyncio.FIRST_COMPLETED)
        assert not gone.done(), f"the bot ended with {self._process.returncode}"
        gone.cancel()
        await ready

    def record(self) -> RayRecord:
        """Return what the bot wrote down of its local Ray."""
        return msgspec.json.decode((self.directory / RECORD).read_bytes(), type=RayRecord)

    async def kill(self, *, everything: bool) -> RayRecord:
        """Kill the bot's own process, or all of its processes at once; return its record."""
        assert self._process is not None
        record = self.record()
        victims = list(alive(record)) if everything else []
        os.kill(self._process.pid, signal.SIGKILL)
        for victim in victims:
            if victim.is_running():
                victim.kill()
        await self._process.wait()
        self._process = None
        return record

    async def terminate(self) -> int:
        """Ask the bot to end and return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        code = await self._process.wait()
        self._process = None
        return code

    def client(self) -> ControlClient:
        """Return a client of its control socket."""
        return ControlClient(self.directory)

    @property
    def is_running(self) -> bool:
        """Whether it was started and neither killed nor ended."""
        return self._process is not None


def alive(record: RayRecord) -> Iterator[psutil.Process]:
    """Yield every living process of a local Ray."""
    recorded = {one.pid for one in record.processes if is_alive(one)}
    for process in psutil.process_iter():
        try:
            marked = process.environ().get(INSTANCE) == record.instance
            is_zombie = process.status() == psutil.STATUS_ZOMBIE
        except (psutil.AccessDenied, psutil.NoSuchProcess):
            continue
        if (marked or process.pid in recorded) and not is_zombie:
            yield process
