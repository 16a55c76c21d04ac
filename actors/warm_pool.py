"""Turn actors kept ready, so that no turn waits for a process to start.

A turn gets an idle actor of its own; when none is idle it joins the least loaded one, and the pool
grows in the background. Ended turns give their place back; idle actors beyond the warm ones retire.
Only a turn that meets an empty pool waits, since then there is nothing to join.
"""

import asyncio
from typing import Protocol

import structlog
from msgspec import Struct

from actors.generation.start import StartTurn, TurnResult

_log = structlog.get_logger(__name__)


class HostLostError(Exception):
    """A turn's actor is gone; what the turn did until then stands in the log."""


class TurnHost(Protocol):
    """One actor that runs turns."""

    async def run(self, start: StartTurn) -> TurnResult:
        """Run a turn to its end.

        Raises:
            HostLostError: The actor died.
        """
        ...

    async def retire(self) -> None:
        """End the actor."""
        ...


class Spawner(Protocol):
    """Starts turn actors."""

    async def spawn(self) -> TurnHost:
        """Return an actor that is ready to run turns."""
        ...


class PoolLimits(Struct, frozen=True, kw_only=True):
    """How large a pool may be."""

    warm_actors: int = 2
    """Idle actors kept ready."""
    max_actors: int = 16
    """Most actors."""
    turns_per_actor: int = 64
    """Most turns in one actor."""


class WarmPool:
    """Hands out turn actors."""

    def __init__(self, spawner: Spawner, limits: PoolLimits) -> None:
        self._spawner = spawner
        self._limits = limits
        self._load: dict[TurnHost, int] = {}
        self._spawning: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()

    @property
    def actors(self) -> int:
        """Actors that are ready."""
        return len(self._load)

    async def warm(self) -> None:
        """Return once the warm actors are ready."""
        self._grow()
        if self._spawning:
            await asyncio.gather(*self._spawning)

    async def acquire(self) -> TurnHost:
        """Return an actor with a place for one more turn; give it back with `release`."""
        while (host := self._least_loaded()) is None:
            self._grow()
            async with self._changed:
                await self._changed.wait()
        self._load[host] += 1
        self._grow()
        return host

    async def release(self, host: TurnHost) -> None:
        """Give a place back; an idle actor too many retires."""
        if host not in self._load:
            return
        self._load[host] -= 1
        idle = sum(load == 0 for load in self._load.values())
        if self._load[host] == 0 and idle > self._limits.warm_actors:
            del self._load[host]
            await host.retire()
        await self._announce()

    async def forget(self, host: TurnHost) -> None:
        """Take an actor out that is lost; its turns are recovered elsewhere."""
        self._load.pop(host, None)
        self._grow()
        await self._announce()

    async def aclose(self) -> None:
        """End every actor."""
        for task in self._spawning:
            task.cancel()
        await asyncio.gather(*self._spawning, return_exceptions=True)
        hosts, self._load = list(self._load), {}
        await asyncio.gather(*(host.retire() for host in hosts))

    def _least_loaded(self) -> TurnHost | None:
        host = min(self._load, key=lambda one: self._load[one], default=None)
        if host is None or self._load[host] >= self._limits.turns_per_actor:
            return None
        return host

    def _grow(self) -> None:
        idle = sum(load == 0 for load in self._load.values()) + len(self._spawning)
        room = self._limits.max_actors - len(self._load) - len(self._spawning)
        wanted = max(self._limits.warm_actors - idle, 0 if self._load else 1 - idle)
        for _ in range(min(wanted, room)):
            self._spawning.add(asyncio.create_task(self._spawn()))

    async def _spawn(self) -> None:
        try:
            host = await self._spawner.spawn()
        except HostLostError as error:
            _log.warning("turn_actor_did_not_start", reason=str(error))
        else:
            self._load[host] = 0
        finally:
            # Before anybody is woken, so that whoever still finds no actor starts another one.
            self._spawning.discard(_current_task())
        await self._announce()

    async def _announce(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _current_task() -> asyncio.Task[None]:
    task: asyncio.Task[None] | None = asyncio.current_task()
    assert task is not None
    return task
