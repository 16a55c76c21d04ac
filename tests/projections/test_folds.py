"""What holds for every projection."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.base import Event, MessageId, Recorded, TriggerId
from events.delivery import ButtonDisabled
from events.turn import TriggerDropped, TurnRecovered
from projections import (
    attempts,
    balance,
    channel,
    denials,
    open_turns,
    spend,
    stops,
    table_messages,
    turn_usage,
    turns,
    usage,
)
from projections.fold import fold, turn_of
from projections.seen import Seen
from tests.projections.histories import (
    CHANNEL,
    OTHER_TURN,
    TURN,
    History,
    attempt,
    ended,
    receipt,
    report,
    said,
    started,
    stop,
    trigger,
)
from tests.projections.test_attempts import FLUSH

EVENTS: list[Event] = [
    trigger("1"),
    trigger("2"),
    TriggerDropped(trigger_id=TriggerId("2"), reason="expired"),
    stop(),
    stop("follow_up"),
    started("1"),
    TurnRecovered(epoch=1, found="", decision="run_again"),
    said("Hi\nthere"),
    FLUSH,
    attempt(1, 1),
    receipt(1),
    replace(attempt(2, 1), buttons=("show",)),
    receipt(2),
    ButtonDisabled(message_id=MessageId(1_002)),
    report(tokens_in=1),
    ended(),
]


def _recorded(drawn: list[tuple[int, bool]]) -> list[Recorded]:
    history = History()
    for index, is_other in drawn:
        history.of_turn(EVENTS[index], turn=OTHER_TURN if is_other else TURN)
    return history.events


logs = st.lists(st.tuples(st.integers(0, len(EVENTS) - 1), st.booleans()), max_size=25).map(
    _recorded
)


@pytest.mark.parametrize(
    ("evolve", "initial"),
    [
        (attempts.evolve, attempts.initial(TURN)),
        (balance.evolve, balance.initial(TURN)),
        (channel.evolve, channel.initial(CHANNEL)),
        (denials.evolve, denials.initial()),
        (open_turns.evolve, open_turns.initial()),
        (spend.evolve, spend.initial()),
        (stops.evolve, stops.initial(TURN)),
        (table_messages.evolve, table_messages.initial()),
        (turn_usage.evolve, turn_usage.initial()),
        (turns.evolve, turns.initial(TURN)),
        (usage.evolve, usage.initial()),
    ],
    ids=[
        "attempts",
        "balance",
        "channel",
        "denials",
        "open_turns",
        "spend",
        "stops",
        "table_messages",
        "turn_usage",
        "turns",
        "usage",
    ],
)
@given(log=logs, cut=st.integers(0, 25))
@settings(deadline=None, max_examples=50)
def test_a_fold_cut_anywhere_equals_the_whole(
    evolve: Callable[[object, Recorded], object], initial: object, log: list[Recorded], cut: int
) -> None:
    """A reader goes on from its checkpoint, and must not change what it was given."""
    before = fold(evolve, initial, log[:cut])
    kept = repr(before)

    assert fold(evolve, before, log[cut:]) == fold(evolve, initial, log)
    assert repr(before) == kept


def test_a_turns_streams_are_told_by_their_names() -> None:
    """Whose event it is must not depend on what its writer put beside it."""
    history = History().of_turn(started()).of_delivery(attempt(1, 1)).of_channel(trigger("1"))

    assert [turn_of(recorded) for recorded in history.events] == [TURN, TURN, None]


@given(names=st.lists(st.text(max_size=3)))
@settings(deadline=None)
def test_a_seen_set_is_a_set(names: list[str]) -> None:
    """An id that is forgotten is a message answered twice."""
    seen = fold_names(names)

    assert len(seen) == len(set(names))
    assert all(name in seen for name in names)
    assert "never" not in seen


def test_a_seen_set_of_many_stays_in_few_parts() -> None:
    """A busy channel has as many triggers as its people have patience."""
    assert len(fold_names([str(number) for number in range(5_000)]).parts) <= 13


def fold_names(names: list[str]) -> Seen:
    """Return the set of `names`, added one by one."""
    seen = Seen()
    for name in names:
        seen = seen.with_(name)
    return seen
