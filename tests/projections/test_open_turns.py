"""What a router has to take up when it starts."""

from events.base import TriggerId
from events.turn import TriggerDropped, TurnRecovered
from projections import open_turns
from projections.fold import fold
from projections.open_turns import OpenTurns
from tests.projections.histories import (
    CHANNEL,
    OTHER_TURN,
    START,
    TURN,
    History,
    ended,
    started,
    trigger,
)


def folded(history: History) -> OpenTurns:
    """Return the state after a history."""
    return fold(open_turns.evolve, open_turns.initial(), history.events)


def test_a_turn_is_open_until_it_ends() -> None:
    """An open turn that is missed is an answer that never comes."""
    history = History().of_turn(started("1")).of_turn(started("2"), turn=OTHER_TURN)

    before = folded(history)
    after = folded(history.of_turn(ended()))

    assert list(before.turns) == [TURN, OTHER_TURN]
    assert list(after.turns) == [OTHER_TURN]


def test_an_open_turn_brings_what_its_recovery_needs() -> None:
    """The router decides on age, epoch and channel without reading the turn."""
    history = History().of_channel(trigger("1")).of_turn(started("1"))
    history.of_turn(TurnRecovered(epoch=2, found="nothing", decision="run_again"))

    turn = folded(history).turns[TURN]

    assert (turn.epoch, turn.trigger_id, turn.channel_id) == (2, "1", CHANNEL)
    assert turn.started_at > START
    assert turn.received is not None
    assert turn.received.trigger == trigger("1")


def test_a_trigger_waits_until_it_has_a_turn() -> None:
    """The queue is durable: what was asked is not forgotten in a restart."""
    history = History().of_channel(trigger("1"), trigger("2")).of_turn(started("1"))

    state = folded(history)

    assert list(state.waiting) == ["2"]
    assert state.waiting[TriggerId("2")].seq == 2


def test_a_dropped_trigger_waits_no_longer() -> None:
    """What was given up must not come back with each restart."""
    history = History().of_channel(
        trigger("1"), TriggerDropped(trigger_id=TriggerId("1"), reason="expired"), trigger("1")
    )

    assert folded(history).waiting == {}


def test_b60_a_trigger_that_comes_again_is_no_other_trigger() -> None:
    """A gateway that resumes delivers a message twice; it is answered once."""
    history = History().of_channel(trigger("1"), trigger("1")).of_turn(started("1"))
    history.of_channel(trigger("1")).of_turn(ended()).of_channel(trigger("1"))

    state = folded(history)

    assert state.waiting == {}
    assert len(state.seen) == 1


def test_the_end_of_an_unknown_turn_changes_nothing() -> None:
    """A log whose oldest part is gone must still fold."""
    assert folded(History().of_turn(ended())).turns == {}
