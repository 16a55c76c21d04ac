"""Which stop a turn acts on, and whether it may still say what it wrote."""

import pytest

from events.turn import StopKind, StopObserved
from projections import stops
from projections.fold import fold
from projections.stops import Stops
from tests.projections.histories import OTHER_TURN, TURN, History, stop


def folded(history: History) -> Stops:
    """Return the stops of the turn after a history."""
    return fold(stops.evolve, stops.initial(TURN), history.events)


def test_the_earliest_stop_of_each_kind_counts() -> None:
    """Impatient people press the button more than once."""
    history = History().of_channel(stop(requester="31"), stop("operator"), stop(requester="32"))

    state = folded(history)

    assert {kind: one.position for kind, one in state.earliest.items()} == {
        "stop": 1,
        "operator": 2,
    }
    assert state.first is not None
    assert state.first.requester == "31"


def test_b34_a_stop_of_another_turn_is_none_of_this_one() -> None:
    """A stop that outlives its turn kills the next one unseen."""
    state = folded(History().of_channel(stop(turn=OTHER_TURN)))

    assert state.first is None
    assert not state.is_flush_owed


@pytest.mark.parametrize(
    ("kind", "owed"), [("stop", True), ("operator", True), ("shutdown", True), ("follow_up", False)]
)
def test_t27_a_follow_up_owes_no_flush(kind: StopKind, owed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Its author moved on; the others want what was written so far."""
    assert folded(History().of_channel(stop(kind))).is_flush_owed is owed


def test_the_first_stop_decides_on_the_flush() -> None:
    """The turn acts on one stop; a later one comes too late to change how."""
    assert not folded(History().of_channel(stop("follow_up"), stop("stop"))).is_flush_owed


def test_a_stop_is_observed_by_its_own_turn() -> None:
    """Requested and acted on are two facts."""
    observed = StopObserved(position=1, stop="stop", requester="31")
    history = History().of_channel(stop()).of_turn(observed, turn=OTHER_TURN)
    before = folded(history)

    after = folded(history.of_turn(observed))

    assert before.observed is None
    assert after.observed == 1
