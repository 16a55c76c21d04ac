"""Where a decision's events go when no turn asks."""

import pytest

from actors.decisions.models import DecisionScope
from actors.decisions.recording import DecisionJournal, OwnerJournal
from actors.generation.journal import Journal
from actors.log_client import LogClient
from events.base import Scope, StreamId, TurnId, turn_stream
from events.decisions import DecisionAnswered
from tests.actors.log_ports import LocalEndpoint, log_client
from tests.fakes import ManualClock


def answered(name: str) -> DecisionAnswered:
    """Return the end of a call."""
    return DecisionAnswered(
        correlation=name, api_style="system-one", model="m", status="completed", elapsed_ms=1
    )


@pytest.mark.parametrize(
    ("scope", "stream", "guild_id"),
    [
        (DecisionScope(kind="server", owner_id=42), "guild/42", 42),
        (DecisionScope(kind="personal", owner_id=7), "user/7", None),
    ],
)
async def test_events_stand_in_the_stream_of_whoever_owns_them(
    scope: DecisionScope, stream: str, guild_id: int | None
) -> None:
    """In the order taken, and a person's own are in no guild's figures."""
    log: LogClient = log_client(LocalEndpoint())
    journal = OwnerJournal(log, ManualClock(), scope)

    journal.add(answered("a"))
    journal.add(answered("b"))
    await journal.aclose()

    recorded = await log.read(StreamId(stream))
    assert [one.event for one in recorded] == [answered("a"), answered("b")]
    assert {one.scope.guild_id for one in recorded} == {guild_id}
    await log.aclose()


async def test_a_turns_own_journal_takes_its_decisions() -> None:
    """A turn's stream has one writer; a decision within it goes through that writer's hands."""
    log, clock, turn_id = (
        log_client(LocalEndpoint()),
        ManualClock(),
        TurnId("01900000-0000-7000-8000-000000000001"),
    )
    turn = Journal(log, clock, turn_id, Scope(turn_id=turn_id), epoch=0, seq=0)
    journal: DecisionJournal = turn

    journal.add(answered("a"))
    await turn.barrier()

    [recorded] = await log.read(turn_stream(turn_id))
    assert recorded.event == answered("a")
    await turn.aclose()
    await log.aclose()
