"""The warm pool: where a turn runs, and when an actor comes or goes."""

import asyncio

import pytest

from actors.generation.start import StartTurn, TurnResult
from actors.warm_pool import HostLostError, PoolLimits, TurnHost, WarmPool


class FakeHost:
    """An actor that only knows whether it was retired."""

    def __init__(self) -> None:
        self.is_retired = False

    async def run(self, start: StartTurn) -> TurnResult:
        """Never called here."""
        raise AssertionError(start)

    async def retire(self) -> None:
        """Remember it."""
        self.is_retired = True


class FakeSpawner:
    """Starts hosts when it is told to; the first `failures` starts fail."""

    def __init__(self, *, failures: int = 0) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.hosts: list[FakeHost] = []
        self._failures = failures

    async def spawn(self) -> TurnHost:
        """Return a host once the gate is open."""
        await self.gate.wait()
        if self._failures:
            self._failures -= 1
            raise HostLostError("did not start")
        self.hosts.append(FakeHost())
        return self.hosts[-1]


def limits(*, warm: int = 2, most: int = 16, places: int = 64) -> PoolLimits:
    """Return limits with the given numbers."""
    return PoolLimits(warm_actors=warm, max_actors=most, turns_per_actor=places)


async def test_a_turn_gets_an_actor_of_its_own_while_one_is_idle() -> None:
    """Turns share a process only under load."""
    pool = WarmPool(FakeSpawner(), limits())
    await pool.warm()

    first, second = await pool.acquire(), await pool.acquire()

    assert first is not second


async def test_a_turn_joins_the_least_loaded_actor_rather_than_wait_for_a_start() -> None:
    """Starting an actor takes half a second; an answer should not."""
    spawner = FakeSpawner()
    pool = WarmPool(spawner, limits(warm=1))
    await pool.warm()
    spawner.gate.clear()

    hosts = [await pool.acquire() for _ in range(3)]

    assert set(hosts) == {spawner.hosts[0]}
    await pool.aclose()


async def test_the_pool_grows_behind_the_turns_up_to_its_limit() -> None:
    """`max_actors` bounds memory: each actor takes about 50 MB."""
    spawner = FakeSpawner()
    pool = WarmPool(spawner, limits(warm=2, most=3))

    for _ in range(10):
        await pool.acquire()
        await asyncio.sleep(0)
    await pool.warm()

    assert pool.actors == len(spawner.hosts) == 3


async def test_an_idle_actor_beyond_the_warm_ones_retires() -> None:
    """Load that is over must not be paid for."""
    spawner = FakeSpawner()
    pool = WarmPool(spawner, limits(warm=1))
    await pool.warm()
    hosts: list[TurnHost] = []
    for _ in range(3):
        hosts.append(await pool.acquire())
        await pool.warm()

    for host in hosts:
        await pool.release(host)

    assert pool.actors == 1
    assert sum(host.is_retired for host in spawner.hosts) == len(spawner.hosts) - 1


async def test_a_turn_that_meets_full_actors_waits_for_a_place() -> None:
    """`turns_per_actor` is a promise to the turns inside."""
    pool = WarmPool(FakeSpawner(), limits(warm=1, most=1, places=1))
    await pool.warm()
    host = await pool.acquire()

    waiting = asyncio.create_task(pool.acquire())
    await asyncio.sleep(0)
    assert not waiting.done()
    await pool.release(host)

    assert await waiting is host


async def test_a_lost_actor_is_replaced() -> None:
    """The next turn must not meet an empty pool."""
    spawner = FakeSpawner()
    pool = WarmPool(spawner, limits(warm=1))
    await pool.warm()
    lost = await pool.acquire()

    await pool.forget(lost)
    await pool.warm()

    assert await pool.acquire() is not lost


async def test_an_actor_that_does_not_start_is_tried_again() -> None:
    """One failed start must not leave a turn waiting for ever."""
    pool = WarmPool(FakeSpawner(failures=1), limits(warm=1))

    host = await asyncio.wait_for(pool.acquire(), 5)

    assert isinstance(host, FakeHost)
    await pool.aclose()


@pytest.mark.parametrize("warm", [0, 2])
async def test_closing_the_pool_retires_every_actor(warm: int) -> None:
    """Whoever starts an actor ends it."""
    spawner = FakeSpawner()
    pool = WarmPool(spawner, limits(warm=warm))
    await pool.acquire()

    await pool.aclose()

    assert all(host.is_retired for host in spawner.hosts)
    assert pool.actors == 0
