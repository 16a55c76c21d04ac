"""How a turn's actor is ended, without Ray: its handle is a stand-in with the same calls."""

import asyncio

import pytest
import ray

from actors.cluster import adapters
from actors.cluster.adapters import RayTurnHost


class Closing:
    """The remote method of an actor that closes when it is let to."""

    def __init__(self, done: list[str]) -> None:
        self.gate = asyncio.Event()
        self.called = asyncio.Event()
        self._done = done

    async def remote(self) -> None:
        """Close."""
        self.called.set()
        await self.gate.wait()
        self._done.append("drained")


class Handle:
    """An actor's handle."""

    def __init__(self, done: list[str]) -> None:
        self.aclose = Closing(done)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened to the actor, oldest first."""
    happened: list[str] = []

    def kill(_: object) -> None:
        happened.append("killed")

    monkeypatch.setattr(ray, "kill", kill)
    return happened


async def test_v2_a_turns_actor_is_ended_after_its_reporters(done: list[str]) -> None:
    """What a turn cost is told even where its actor ends right behind it."""
    handle = Handle(done)

    retiring = asyncio.create_task(RayTurnHost(handle).retire())
    await handle.aclose.called.wait()
    assert done == []
    handle.aclose.gate.set()
    await retiring

    assert done == ["drained", "killed"]


async def test_v2_a_reporter_that_hangs_does_not_keep_its_actor(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bot ends within its time, whatever an extension waits for."""
    monkeypatch.setattr(adapters, "RETIRE_SECONDS", 0.01)

    await RayTurnHost(Handle(done)).retire()

    assert done == ["killed"]
