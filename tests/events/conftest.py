"""The one log fixture: every contract test runs on both logs."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from events.duckdb_log import DuckDBLog
from events.log import EventLog
from events.memory_log import MemoryLog


@pytest.fixture(params=["memory", "duckdb"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventLog]:
    """Give an empty log; it is closed afterwards."""
    kind = cast("str", request.param)
    one: EventLog
    one = MemoryLog() if kind == "memory" else await DuckDBLog.open(tmp_path / "events.duckdb")
    yield one
    await one.aclose()
