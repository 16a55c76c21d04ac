"""What the judge holds in memory, and what it asks of the store."""

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from events.admission import Admission, Store, TurnFacts
from events.base import Append, AppendResult, ChannelId, Conflict, Position, TurnId, turn_stream
from events.row import Row, prepare
from tests.events.samples import (
    OTHER_TURN,
    TURN,
    appended,
    attempt,
    end,
    note,
    recovery,
    stop,
    to_channel,
    to_delivery,
    to_turn,
)


class CountingStore(Store):
    """A store of rows that counts how often it is asked."""

    def __init__(self) -> None:
        self.all_rows: list[Row] = []
        self.looks = 0

    @override
    def facts(self, turn_ids: Collection[TurnId]) -> dict[TurnId, TurnFacts]:
        self.looks += 1
        return {
            one: TurnFacts(
                turn_seq=self._seq(turn_stream(one)), delivery_seq=self._seq(f"delivery/{one}")
            )
            for one in turn_ids
        }

    @override
    def seqs(self, streams: Collection[str]) -> dict[str, int]:
        self.looks += 1
        return {one: self._seq(one) for one in streams}

    @override
    def rows(self, stream: str, after: int, limit: int) -> list[Row]:
        self.looks += 1
        found = [one for one in self.all_rows if one.stream == stream and one.seq > after]
        return found[:limit]

    def _seq(self, stream: str) -> int:
        return sum(one.stream == stream for one in self.all_rows)


class Judge:
    """An admission over a counting store."""

    def __init__(self, *, max_turns: int = 100, max_streams: int = 100) -> None:
        self.store = CountingStore()
        self.admission = Admission(self.store, max_turns=max_turns, max_streams=max_streams)

    def judge(self, *appends: Append, is_durable: bool = True) -> list[AppendResult]:
        """Judge one group, which becomes durable or fails."""
        group = self.admission.group(Position(len(self.store.all_rows)))
        results = group.judge([prepare(one) for one in appends])
        if is_durable:
            self.store.all_rows += group.rows
            self.admission.keep(group)
        return results


def channel(number: int) -> Append:
    """Return an append to one of many channels."""
    return to_channel(note(number), channel_id=ChannelId(number))


def test_a_commit_that_failed_has_changed_nothing() -> None:
    """Stops, epochs and ends of a lost group would refuse what is right."""
    judge = Judge()
    judge.judge(to_turn(note(1), after=0))
    lost = (recovery(5, after=1), stop(), to_delivery(attempt(), after=0), channel(1))

    judge.judge(*lost, is_durable=False)
    results = judge.judge(
        to_turn(note(2), after=1), to_delivery(attempt(), after=0, unless_stopped=True), channel(1)
    )

    assert results == [appended(2, 2), appended(3, 1), appended(4, 1)]


def test_open_turns_are_judged_from_memory() -> None:
    """A look into the store costs a millisecond; an open turn appends many times a second."""
    judge = Judge()
    judge.judge(to_turn(note(1), after=0), to_delivery(attempt(), after=0))
    looks = judge.store.looks

    for at in range(1, 20):
        judge.judge(to_turn(note(at), after=at))

    assert judge.store.looks == looks


def test_many_turns_of_one_group_are_looked_up_at_once() -> None:
    """A thousand turns that start together must not cost a thousand queries."""
    judge = Judge()
    ids = [TurnId(f"0192b5d2-7c00-7000-8000-{number:012}") for number in range(50)]

    judge.judge(*(to_turn(note(1), after=0, turn_id=one) for one in ids))

    assert judge.store.looks == 1


def test_an_ended_turn_leaves_memory() -> None:
    """What a turn leaves behind is in the store, not here."""
    judge = Judge()

    judge.judge(to_turn(note(1), after=0))
    held = judge.admission.held()
    judge.judge(end(after=1))

    assert (held, judge.admission.held()) == ((1, 0), (0, 0))
    assert judge.judge(to_turn(note(3), after=0)) == [Conflict(actual_seq=2)]


def test_b54_memory_is_bounded_by_the_caps() -> None:
    """5,000 turns in 5,000 channels, none of which ever ends."""
    judge = Judge(max_turns=7, max_streams=11)
    ids = [TurnId(f"0192b5d2-7c00-7000-8000-{number:012}") for number in range(60)]

    for number, turn_id in enumerate(ids):
        judge.judge(to_turn(note(1), after=0, turn_id=turn_id), channel(number))

    assert judge.admission.held() == (7, 11)
    results = judge.judge(to_turn(note(2), after=1, turn_id=ids[0]), channel(0))
    assert results == [appended(121, 2), appended(122, 2)]


def test_a_new_channel_costs_no_look_once_all_streams_are_known() -> None:
    """Without an index, looking for a stream that does not exist reads a whole column."""
    judge = Judge()
    judge.judge(channel(1))
    judge.admission.forget()
    judge.admission.know_all_streams({"channel/1": 1})
    looks = judge.store.looks

    assert judge.judge(channel(2), channel(1)) == [appended(2, 1), appended(3, 2)]
    assert judge.store.looks == looks


def test_a_turn_newer_than_all_costs_no_look() -> None:
    """Ids sort by time, so nearly every turn that begins is known to be new."""
    judge = Judge()
    judge.admission.know_newest_turn(TURN)
    looks = judge.store.looks

    assert judge.judge(to_turn(note(1), after=0, turn_id=OTHER_TURN)) == [appended(1, 1)]
    assert judge.store.looks == looks
    judge.judge(end(after=0))
    assert judge.store.looks == looks + 1


def test_a_turn_that_left_memory_is_not_taken_for_a_new_one() -> None:
    """What this process stored itself moves the bound, stops for turns yet to come included."""
    judge = Judge()
    judge.admission.know_newest_turn("")
    judge.judge(end(after=0), stop(OTHER_TURN))
    looks = judge.store.looks

    results = judge.judge(to_turn(note(2), after=1), to_turn(note(1), turn_id=OTHER_TURN))

    assert results == [appended(3, 2), appended(4, 1)]
    assert judge.store.looks == looks + 1


def test_a_stream_that_had_to_leave_memory_is_looked_up() -> None:
    """From then on, absence from memory says nothing any more."""
    judge = Judge(max_streams=2)
    judge.admission.know_all_streams({})
    judge.judge(channel(1), channel(2), channel(3))

    assert judge.judge(channel(1)) == [appended(4, 2)]


def test_more_streams_than_memory_holds_are_not_taken_for_all() -> None:
    """Half of the truth would number a stream anew from 1."""
    judge = Judge(max_streams=2)
    judge.judge(channel(1), channel(2), channel(3))
    judge.admission.forget()

    judge.admission.know_all_streams({"channel/1": 1, "channel/2": 1, "channel/3": 1})

    assert judge.judge(channel(3)) == [appended(4, 2)]


def test_a_stop_is_seen_by_a_turn_that_is_loaded_after_it_in_the_same_group() -> None:
    """The store does not hold the stop yet when it is asked about the turn."""
    judge = Judge()
    group = judge.admission.group(Position(0))
    group.judge([prepare(stop())])

    (result,) = group.judge([prepare(to_delivery(attempt(), after=0, unless_stopped=True))])

    assert not isinstance(result, type(appended(1, 1)))


@given(
    groups=st.lists(
        st.lists(
            st.tuples(
                st.sampled_from([TURN, OTHER_TURN]), st.integers(0, 3), st.none() | st.just(0)
            ),
            max_size=4,
        ),
        max_size=6,
    ),
    fates=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_what_is_stored_counts_from_1_without_a_gap(
    groups: list[list[tuple[TurnId, int, int | None]]], fates: list[bool]
) -> None:
    """Whatever is refused, repeated or lost, positions and seqs stay contiguous."""
    judge = Judge(max_turns=1)

    for group, fate in zip(groups, fates, strict=False):
        appends = [
            to_turn(note(number), turn_id=turn_id, after=number if after is None else after)
            for turn_id, number, after in group
        ]
        judge.judge(*appends, is_durable=fate)

    rows = judge.store.all_rows
    assert [row.position for row in rows] == list(range(1, len(rows) + 1))
    for turn_id in (TURN, OTHER_TURN):
        seqs = [row.seq for row in rows if row.stream == turn_stream(turn_id)]
        assert seqs == list(range(1, len(seqs) + 1))
