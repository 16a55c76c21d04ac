"""The demo as somebody who has never heard of this would run it, and the log that it leaves."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from bot.demo.screen import PLAIN_WIDTH

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(150)]


async def rejoinder(folder: Path, *arguments: str) -> tuple[int | None, str]:
    """Run the command in `folder`; return its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", *arguments),
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_the_demo_shows_its_scenes_and_leaves_a_log_that_the_commands_read(
    tmp_path: Path,
) -> None:
    """What each scene proves holds; then turns, verify, replay and SQL."""
    code, shown = await rejoinder(tmp_path, "demo")

    assert code == 0, shown
    assert "5 of 5 lines of the model's own Markdown" in shown
    assert "2 pictures for 3 messages" in shown
    assert "the model was told exactly that: yes" in shown
    assert "after she wrote on: follow_up_interrupt" in shown
    assert "the provider's connection was closed" in shown
    assert "asked in this order: scripted, understudy" in shown
    assert "4 messages, 0 of them twice" in shown
    assert "1 POST, status unconfirmed: nothing was sent after it" in shown
    assert "Traceback" not in shown
    drawn = [line for line in shown.splitlines() if "--config" not in line]
    assert max(map(len, drawn)) <= PLAIN_WIDTH
    (config,) = (tmp_path / "rejoinder-demo").glob("*/rejoinder.toml")
    arguments = ("--config", str(config))
    code, listed = await rejoinder(tmp_path, "turns", "--json", *arguments)
    turns = json.loads(listed)
    assert [turn["status"] for turn in reversed(turns)] == [
        "completed",
        "completed",
        "completed",
        "completed",
        "follow_up_interrupt",
        "completed",
        "stopped_by_user",
        "completed",
        "recovered",
        "unconfirmed",
    ]
    assert await rejoinder(tmp_path, "verify", *arguments) == (0, "10 turns checked, 0 differ\n")
    code, replayed = await rejoinder(tmp_path, "replay", turns[1]["turn_id"], "--diff", *arguments)
    assert code == 0
    assert "turn_recovered" in replayed
    query = "SELECT count(*) AS n FROM receipts"
    code, counted = await rejoinder(tmp_path, "sql", query, "--format", "json", *arguments)
    assert json.loads(counted) == [{"n": 18}]
    code, refused = await rejoinder(tmp_path, "sql", "DELETE FROM events", *arguments)
    assert code == 1, refused
