"""Starting actors, and where they are placed.

Turn actors need no CPU of their own, are spread over the nodes that offer `turns`, and are never
restarted by Ray: what becomes of a lost turn is the router's to decide. The log, the sender, the
router and the analyst stay where their disk and token are, and are restarted, but no call of theirs
is ever repeated by Ray.
"""

from typing import Any, Final

import ray
from ray.exceptions import RayError
from typing_extensions import override

from actors.cluster.adapters import ActorName, Handle, RayTurnHost
from actors.warm_pool import HostLostError, Spawner, TurnHost

CALLS_AT_ONCE: Final = 10_000
"""Calls that one actor may have open: feeds and turns are calls that stay open."""

_remote: Any = ray.remote
"""Ray types its decorator by the options it is given, and knows no class by value."""


def spawn_lasting(
    host: type, name: ActorName, *arguments: object, labels: dict[str, str] | None = None
) -> Handle:
    """Start an actor that Ray restarts whenever its process is lost.

    Args:
        host: The plain class.
        name: What others find it by.
        arguments: Its constructor's arguments.
        labels: Labels of the node where it must live; None on a local Ray.
    """
    options: dict[str, Any] = {
        "name": name.name,
        "namespace": name.namespace,
        "num_cpus": 0,
        "max_restarts": -1,
        "max_task_retries": 0,
        "max_concurrency": CALLS_AT_ONCE,
    }
    if labels is not None:
        options["label_selector"] = labels
    return _remote(**options)(host).remote(*arguments)


class RaySpawner(Spawner):
    """Starts turn actors and keeps their handles for as long as they live."""

    def __init__(self, host: type, arguments: tuple[object, ...]) -> None:
        self._actor: Any = _remote(
            num_cpus=0,
            resources={"turns": 1},
            scheduling_strategy="SPREAD",
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=CALLS_AT_ONCE,
        )(host)
        self._arguments = arguments
        self._pids: dict[int, Handle] = {}

    @override
    async def spawn(self) -> TurnHost:
        handle: Handle = self._actor.remote(*self._arguments)
        try:
            pid: int = await handle.ready.remote()
        except RayError as error:
            raise HostLostError(type(error).__name__) from error
        self._pids[pid] = handle
        return RayTurnHost(handle)

    async def pids(self) -> list[int]:
        """Return the process ids of the actors that answer."""
        alive: list[int] = []
        for pid, handle in list(self._pids.items()):
            try:
                alive.append(await handle.ready.remote())
            except RayError:
                del self._pids[pid]
        return alive
