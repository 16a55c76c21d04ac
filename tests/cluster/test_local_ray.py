"""The bot's own Ray: whom it listens to, and what becomes of what a killed bot left."""

import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest

from actors.cluster.local_ray import INSTANCE, RECORD, RayRecord, end_leftovers
from actors.process_identity import ProcessIdentity, identity_of
from tests.cluster.bot_process import alive

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(60)]


def test_a_local_ray_listens_on_loopback_alone(local_ray: Path) -> None:
    """Ray's ports execute code for whoever reaches them."""
    record = msgspec.json.decode((local_ray / RECORD).read_bytes(), type=RayRecord)

    addresses = {
        connection.laddr.ip
        for process in alive(record)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }

    assert addresses <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
    assert addresses


def test_leftovers_are_ended_by_their_own_id_and_nobody_else(tmp_path: Path) -> None:
    """Another bot's Ray on the same machine must live on."""
    sleeper = [sys.executable, "-c", "import signal; signal.pause()"]
    ours, others, stranger = (
        subprocess.Popen(sleeper, env={INSTANCE: instance} if instance else {})  # noqa: S603 - our own interpreter
        for instance in ("this-one", "another-one", "")
    )
    recycled = ProcessIdentity(pid=stranger.pid, started=1.0)
    record = RayRecord(instance="this-one", processes=(recycled,))
    (tmp_path / RECORD).write_bytes(msgspec.json.encode(record))

    try:
        assert end_leftovers(tmp_path) == 1
        ours.wait(10)
        assert identity_of(ours.pid) is None
        assert identity_of(others.pid) is not None
        assert others.poll() is stranger.poll() is None
        assert end_leftovers(tmp_path) == 0
    finally:
        for process in (others, stranger):
            process.kill()
            process.wait()
