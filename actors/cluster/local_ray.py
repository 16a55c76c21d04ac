"""A local Ray for one bot, and the end of what a killed bot left of it.

It binds to loopback only, has a small object store (nothing large passes through it), no dashboard
and no usage statistics. Every process of it carries the bot's instance id in its environment, and
those that hide their environment are written down; the next start ends exactly these.

Ray decides by `RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER` whether a node shows itself under its outward
address or under 127.0.0.1, on Linux too; an address argument is rewritten to the outward one. Its
own process has read that variable by the time that it is known here, hence the constant. Ray prints
what its raylet and, on request, its actors say; here that goes into the log lines of the bot.
"""

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import psutil
import ray
import structlog
from msgspec import Struct
from ray._private import ray_constants
from ray._private import worker as ray_worker

from actors.process_identity import ProcessIdentity, identity_of, is_alive

INSTANCE: Final = "REJOINDER_INSTANCE"
"""The environment variable that marks every process of one local Ray."""
OBJECT_STORE_BYTES: Final = 80 * 1024 * 1024
"""The smallest store that Ray takes without complaint."""
TURN_PLACES: Final = 1_000
"""What the local node offers of the resource that turn actors take."""
GONE_SECONDS: Final = 5.0
"""Longest wait for a killed process to be gone."""
RECORD: Final = "ray.json"
"""The file in the log directory that names the last local Ray."""

_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}

_log = structlog.get_logger(__name__)


class RayRecord(Struct, frozen=True, kw_only=True):
    """Which local Ray belongs to a log directory."""

    instance: str
    """Its bot's instance id."""
    processes: tuple[ProcessIdentity, ...]
    """Its processes at the start."""


def start_local_ray(directory: Path, instance: str, *, shows_logs: bool = False) -> None:
    """Start a local Ray for the bot `instance`, and write it down in `directory`.

    What an earlier bot of that directory left behind is ended first.
    """
    end_leftovers(directory)
    os.environ[INSTANCE] = instance
    os.environ.update(_ENVIRONMENT)
    ray_constants.ENABLE_RAY_CLUSTER = False
    ray_worker.print_to_stdstream = _log_said
    ray.init(
        "local",
        include_dashboard=False,
        num_cpus=max(2, os.cpu_count() or 2),
        object_store_memory=OBJECT_STORE_BYTES,
        resources={"turns": TURN_PLACES},
        log_to_driver=shows_logs,
        logging_level=logging.ERROR,
    )
    children = psutil.Process().children(recursive=True)
    found = [identity_of(process.pid) for process in children]
    record = RayRecord(instance=instance, processes=tuple(one for one in found if one))
    (directory / RECORD).write_bytes(msgspec.json.encode(record))


def _log_said(data: Mapping[str, Any], **_options: object) -> None:
    """Log what Ray would print: lines of its raylet, or of an actor; not the autoscaler's."""
    if data.get("pid") == "autoscaler":
        return
    for line in data.get("lines", ()):
        _log.info("ray_said", process=data.get("pid"), line=line)


def stop_local_ray(directory: Path) -> None:
    """End the local Ray of this process and what is left of it."""
    ray.shutdown()
    os.environ.pop(INSTANCE, None)
    end_leftovers(directory)


def end_leftovers(directory: Path) -> int:
    """End every process of the Ray that `directory` names; return how many there were."""
    path = directory / RECORD
    try:
        record = msgspec.json.decode(path.read_bytes(), type=RayRecord)
    except FileNotFoundError:
        return 0
    except msgspec.MsgspecError as error:
        _log.warning("unreadable_ray_record", path=str(path), reason=str(error))
        return 0
    left = list(_left_of(record))
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=GONE_SECONDS)
    if left:
        _log.warning("ended_leftovers", processes=len(left), instance=record.instance)
    path.unlink(missing_ok=True)
    return len(left)


def _left_of(record: RayRecord) -> Iterable[psutil.Process]:
    recorded = {one.pid for one in record.processes if is_alive(one)}
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            marked = process.environ().get(INSTANCE) == record.instance
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            marked = False
        if marked or process.pid in recorded:
            yield process
