"""The analyst: it follows the log, answers, and starts over rather than stay behind."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from actors.analyst import Analyst
from actors.errors import FailureError
from actors.read_models.failures import GapError
from actors.read_models.read_models import ReadModels
from events.base import ChannelId, Position, Recorded, Scope, TriggerId, channel_stream
from events.codec import append_of
from events.turn import TriggerDropped
from tests.actors.log_ports import LocalEndpoint, log_client

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COUNT = "SELECT count(*) AS n FROM events"


@pytest.fixture
def endpoint() -> LocalEndpoint:
    """A log in memory."""
    return LocalEndpoint()


@pytest.fixture
async def analyst(endpoint: LocalEndpoint, tmp_path: Path) -> AsyncIterator[Analyst]:
    """An analyst that follows it."""
    one = Analyst(log_client(endpoint), tmp_path)
    await one.start()
    yield one
    await one.aclose()


async def write(endpoint: LocalEndpoint, count: int) -> Position:
    """Append so many events and return the last one's position."""
    dropped = TriggerDropped(trigger_id=TriggerId("1"), reason="expired")
    append = append_of(
        channel_stream(ChannelId(1)), [(dropped, NOW)] * count, scope=Scope(channel_id=ChannelId(1))
    )
    return (await log_client(endpoint).append(append)).position


async def test_figures_know_all_that_was_durable_when_they_were_asked(
    analyst: Analyst, endpoint: LocalEndpoint
) -> None:
    """An operator looks for the turn that has just ended."""
    await analyst.reached(await write(endpoint, 3))

    assert (await analyst.sql(COUNT)).rows == ((3,),)


async def test_a_restarted_analyst_goes_on_from_its_checkpoint(
    endpoint: LocalEndpoint, tmp_path: Path
) -> None:
    """It catches up with what it missed, and counts nothing twice."""
    for upto in (2, 4):
        analyst = Analyst(log_client(endpoint), tmp_path)
        await analyst.start()
        await analyst.reached(await write(endpoint, 2))
        assert (await analyst.sql(COUNT)).rows == ((upto,),)
        await analyst.aclose()


async def test_b50_a_log_that_lost_its_end_is_read_anew(
    endpoint: LocalEndpoint, tmp_path: Path
) -> None:
    """Its positions are given again, to other events."""
    before = Analyst(log_client(endpoint), tmp_path)
    await before.start()
    await before.reached(await write(endpoint, 5))
    await before.aclose()
    shorter = LocalEndpoint()
    last = await write(shorter, 2)

    after = Analyst(log_client(shorter), tmp_path)
    await after.start()
    await after.reached(last)

    assert (await after.sql(COUNT)).rows == ((2,),)
    await after.aclose()


async def test_a_model_that_does_not_join_on_is_made_anew(
    analyst: Analyst, endpoint: LocalEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures pause; they do not stop for good, and nobody waits for ever."""
    await analyst.reached(await write(endpoint, 2))
    ingest, failures = ReadModels.ingest, iter([GapError(3, 9)])

    def ingest_later(models: ReadModels, batch: Sequence[Recorded]) -> None:
        for failure in failures:
            raise failure
        ingest(models, batch)

    monkeypatch.setattr(ReadModels, "ingest", ingest_later)

    await analyst.reached(await write(endpoint, 2))

    assert (await analyst.sql(COUNT)).rows == ((4,),)


async def test_an_analyst_that_can_not_follow_any_more_says_so(
    analyst: Analyst, endpoint: LocalEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that waits for ever tells its operator nothing."""

    def fail(_models: ReadModels, _batch: Sequence[Recorded]) -> None:
        raise TypeError("a fault of ours")

    monkeypatch.setattr(ReadModels, "ingest", fail)
    position = await write(endpoint, 1)

    with pytest.raises(FailureError, match="no longer follows"):
        await analyst.reached(position)
