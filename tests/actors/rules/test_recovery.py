"""What a recovery decides, for every state that a log can show."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from actors.ports import NotSent, SendResult, Sent
from actors.rules.recovery import Wreck, decide_recovery
from events.base import Event, MessageId, Position
from events.delivery import COMPONENTS_REFUSED, Outcome
from events.generation import (
    Chunk,
    Flush,
    FunctionCall,
    Piece,
    ProcessedChunk,
    RequestOpened,
    ToolCalled,
)
from events.turn import RecoveryDecision, TurnRecovered
from projections.stops import Stop

START = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = ProcessedChunk(request=1, chunks=(Chunk(type="text", text="Hi"),))
EMPTY = ProcessedChunk(request=1, chunks=(Chunk(type="text"),))
SENT = Sent(attempt=1, flush=1, piece=0, message_id=MessageId(5))
UNBUTTONED = NotSent(
    flush=1, piece=0, attempt=1, outcome="definite_refusal", reason=COMPONENTS_REFUSED
)
STOP = Stop(position=Position(9), requester="7", stop="stop")
OPENED = RequestOpened(
    request=1,
    provider="main",
    kind_of_provider="openai",
    model="m",
    attempt="first",
    url="",
    body="",
)
MADE = FunctionCall(name="look_up")
CALL = ProcessedChunk(request=1, chunks=(Chunk(type="function_call", function_call=MADE),))
CALLED = ToolCalled(call=1, request=1, function=MADE)
WRONG = Flush(
    flush=1, text="Bob: x", boundary="final", start=0, end=6, withheld={"speaker_guard": 6}
)
RIGHT = msgspec.structs.replace(WRONG, pieces=(Piece(content="a", start=0, end=1),))
AGAIN = TurnRecovered(epoch=1, found="no chunk received", decision="run_again")


def failed(outcome: Outcome) -> NotSent:
    """Return an attempt with that outcome."""
    return NotSent(flush=1, piece=0, attempt=1, outcome=outcome, reason="x")


@pytest.mark.parametrize(
    ("events", "results", "stop", "age", "decision"),
    [
        pytest.param((TEXT,), (failed("unconfirmed"),), None, 1, "end_unconfirmed", id="T135"),
        pytest.param((TEXT,), (SENT, failed("unconfirmed")), STOP, 1, "end_unconfirmed", id="P161"),
        pytest.param((TEXT,), (failed("definite_refusal"),), None, 1, "end_refused", id="B26"),
        pytest.param((TEXT,), (SENT,), STOP, 1, "end_stopped", id="B34-stopped-before-the-crash"),
        pytest.param((TEXT,), (), None, 9_999, "deliver_rest", id="received-text-never-expires"),
        pytest.param((TEXT,), (failed("pre_dispatch"),), None, 1, "deliver_rest", id="never-left"),
        pytest.param((TEXT,), (UNBUTTONED,), None, 1, "deliver_rest", id="T103"),
        pytest.param((), (), None, 299, "run_again", id="young-without-a-chunk"),
        pytest.param((EMPTY,), (), None, 1, "run_again", id="role-only-chunk-is-no-text"),
        pytest.param((), (), None, 301, "expire", id="old-without-a-chunk"),
        pytest.param((OPENED, TEXT, WRONG), (), None, 1, "run_again", id="T37"),
        pytest.param((OPENED, TEXT, WRONG), (), None, 301, "expire", id="T37-old"),
        pytest.param((OPENED, TEXT, RIGHT), (), None, 1, "deliver_rest", id="T45-said-before"),
        pytest.param((CALLED, OPENED, TEXT, WRONG), (), None, 1, "deliver_rest", id="T37-tools"),
        pytest.param((AGAIN, AGAIN), (), None, 1, "give_up", id="third-try"),
        pytest.param((OPENED, CALL), (SENT,), None, 1, "go_on", id="called-and-not-made"),
        pytest.param((OPENED, CALL, CALLED), (), None, 1, "go_on", id="tool-was-running"),
        pytest.param((OPENED, CALL, CALLED, OPENED), (), None, 1, "go_on", id="not-yet-answered"),
        pytest.param(
            (OPENED, CALL, CALLED, OPENED, TEXT), (), None, 1, "deliver_rest", id="answered"
        ),
        pytest.param((OPENED, CALL, CALLED), (), None, 301, "deliver_rest", id="old-among-tools"),
        pytest.param((OPENED, CALLED, AGAIN, AGAIN), (), None, 1, "deliver_rest", id="third-go"),
        pytest.param((OPENED, TEXT, OPENED), (), None, 1, "run_again", id="failed-and-superseded"),
    ],
)
def test_the_log_alone_decides_what_becomes_of_a_lost_turn(
    events: tuple[Event, ...],
    results: tuple[SendResult, ...],
    stop: Stop | None,
    age: int,
    decision: RecoveryDecision,
) -> None:
    """Each row of the recovery table, and the order in which the rows apply."""
    wreck = Wreck(events=events, results=results, stop=stop, started_at=START)

    recovery = decide_recovery(wreck, START + timedelta(seconds=age), 300)

    assert recovery.decision == decision
    assert recovery.found
