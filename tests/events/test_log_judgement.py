"""Which appends a log accepts, and what it answers to the others; on both logs."""

import pytest

from events.base import (
    Append,
    Conflict,
    Entry,
    Fenced,
    GuildId,
    Position,
    Scope,
    Stopped,
    TurnId,
    delivery_stream,
    turn_stream,
)
from events.errors import CodecError, LogUnavailableError
from events.log import EventLog
from events.turn import StopObserved
from tests.events.samples import (
    NOW,
    OTHER_TURN,
    SCOPE,
    TURN,
    append_one,
    appended,
    attempt,
    chunk,
    end,
    note,
    number_of,
    positions,
    recovery,
    stop,
    to_channel,
    to_delivery,
    to_turn,
)


async def test_seq_counts_in_the_stream_and_position_in_the_log(log: EventLog) -> None:
    """Readers resume from either without ever meeting a gap."""
    batch = [to_turn(chunk(), chunk()), to_delivery(attempt()), to_turn(chunk())]

    results = await log.append(batch)

    assert results == [appended(2, 2), appended(3, 1), appended(4, 3)]
    assert await log.head() == 4


async def test_an_expected_seq_beyond_or_below_the_end_is_a_conflict(log: EventLog) -> None:
    """A writer that has lost track must not overwrite what another one wrote."""
    await log.append([to_turn(note(1), note(2))])

    results = await log.append([to_turn(note(3), after=1), to_turn(note(3), after=5)])

    assert results == [Conflict(actual_seq=2), Conflict(actual_seq=2)]
    assert await log.head() == 2


async def test_a_repeat_of_what_landed_is_accepted_again_and_stored_once(log: EventLog) -> None:
    """A writer that was not answered sends the same again, and must not double its facts."""
    first, second = to_turn(note(1), note(2), after=0), to_turn(note(3), after=2)
    await log.append([first, second])

    results = await log.append([first, second])

    assert results == [appended(2, 2), appended(3, 3)]
    assert await log.head() == 3


async def test_a_repeat_within_one_batch_is_stored_once(log: EventLog) -> None:
    """What arrives together with its repeat has not reached the store when it is judged."""
    first = to_turn(note(1), note(2), after=0)

    results = await log.append([first, first, to_turn(note(3), after=2), first])

    assert results == [appended(2, 2), appended(2, 2), appended(3, 3), appended(2, 2)]
    assert await log.head() == 3


@pytest.mark.parametrize("other", [(note(1), note(9)), (note(1), note(2), note(3)), (note(9),)])
async def test_another_body_at_the_same_place_is_no_repeat(
    log: EventLog, other: tuple[StopObserved, ...]
) -> None:
    """Two writers that both believe to own the place must not both be told that they do."""
    await log.append([to_turn(note(1), note(2), after=0)])

    result = await append_one(log, to_turn(*other, after=0))

    assert result == Conflict(actual_seq=2)


async def test_a_repeat_is_accepted_although_the_turn_was_recovered_and_stopped(
    log: EventLog,
) -> None:
    """It did land; to refuse it now would make its writer believe that it did not."""
    sent = to_delivery(attempt(), after=0, unless_stopped=True)
    await log.append([sent, recovery(1, after=0), stop()])

    result = await append_one(log, sent)

    assert result == appended(1, 1)


async def test_an_append_without_expected_seq_is_never_a_repeat(log: EventLog) -> None:
    """Streams with many writers carry natural keys; readers drop the repeat, not the log."""
    await log.append([stop(), stop()])

    assert await log.head() == 2


async def test_an_older_epoch_is_fenced_in_both_streams_of_the_turn(log: EventLog) -> None:
    """A process believed dead can neither write nor speak."""
    await log.append([to_turn(note(1), after=0), recovery(1, after=1)])

    results = await log.append(
        [
            to_turn(note(2), after=2),
            to_delivery(attempt(), after=0),
            to_turn(note(2), after=2, epoch=1),
            to_turn(note(1), turn_id=OTHER_TURN),
        ]
    )

    assert results[:2] == [Fenced(current_epoch=1), Fenced(current_epoch=1)]
    assert results[2:] == [appended(3, 3), appended(4, 1)]


async def test_a_recovery_fences_what_stands_behind_it_in_the_same_batch(log: EventLog) -> None:
    """Appends of one batch are judged one after another."""
    results = await log.append([recovery(2, after=0), to_turn(note(1), after=1, epoch=1)])

    assert results == [appended(1, 1), Fenced(current_epoch=2)]


async def test_the_epoch_is_checked_before_the_place(log: EventLog) -> None:
    """A fenced writer is told to end, not to read the stream again."""
    await log.append([recovery(1, after=0)])

    result = await append_one(log, to_turn(note(1), after=77))

    assert result == Fenced(current_epoch=1)


async def test_a_stop_is_never_fenced(log: EventLog) -> None:
    """Whoever stops a turn does not know how often it was recovered."""
    await log.append([recovery(3, after=0)])
    said = stop()
    said = Append(stream=said.stream, entries=said.entries, scope=SCOPE)

    result = await append_one(log, said)

    assert result == appended(2, 1)


async def test_unless_stopped_is_refused_from_the_first_stop_on(log: EventLog) -> None:
    """A durable stop comes before a durable attempt or the message is not sent."""
    await log.append([to_delivery(attempt(1), after=0, unless_stopped=True), stop(), stop()])

    results = await log.append(
        [
            to_delivery(attempt(2), after=1, unless_stopped=True),
            to_delivery(attempt(2), after=1),
            to_turn(note(1), after=0),
        ]
    )

    assert results == [Stopped(position=Position(2)), appended(4, 2), appended(5, 1)]


async def test_a_stop_in_the_same_batch_already_stops(log: EventLog) -> None:
    """Group commit must not blur the order of a stop and an attempt."""
    results = await log.append([stop(), to_delivery(attempt(), after=0, unless_stopped=True)])

    assert results == [appended(1, 1), Stopped(position=Position(1))]


async def test_a_stop_of_another_turn_stops_nothing_here(log: EventLog) -> None:
    """A stop names its turn, so none outlives its own."""
    await log.append([stop(OTHER_TURN)])

    result = await append_one(log, to_delivery(attempt(), after=0, unless_stopped=True))

    assert result == appended(2, 1)


async def test_stop_and_epoch_are_remembered_beyond_the_end_of_the_turn(log: EventLog) -> None:
    """What leaves memory with the turn's end is looked up, not forgotten."""
    await log.append([recovery(1, after=0), stop(), end(after=1, epoch=1), stop()])

    results = await log.append(
        [
            to_delivery(attempt(), after=0, epoch=1, unless_stopped=True),
            to_delivery(attempt(), after=0),
            to_turn(note(1), after=2, epoch=1),
        ]
    )

    assert results == [Stopped(position=Position(2)), Fenced(current_epoch=1), appended(5, 3)]


async def test_a_refused_append_leaves_its_neighbours_alone(log: EventLog) -> None:
    """Appends share a commit, not a fate."""
    results = await log.append([to_turn(note(1), after=9), to_turn(note(2), after=0)])

    assert results == [Conflict(actual_seq=0), appended(1, 1)]
    assert [number_of(one) for one in await log.read(turn_stream(TURN))] == [2]


async def test_a_turns_rows_carry_its_id_whatever_the_scope_says(log: EventLog) -> None:
    """The column that turns are looked up by must not depend on a writer's diligence."""
    sent = to_delivery(attempt())
    await log.append([Append(stream=sent.stream, entries=sent.entries), stop()])

    events = await log.read_all(Position(0))

    assert [one.scope.turn_id for one in events] == [TURN, TURN]


_GOOD = to_turn(note(1)).entries[0]
_OF_ANOTHER_KIND = Entry(kind="flush", version=1, recorded_at=NOW, body=_GOOD.body)


@pytest.mark.parametrize(
    ("entry", "scope"),
    [
        (Entry(kind="never_heard_of", version=1, recorded_at=NOW, body="{}"), Scope()),
        (Entry(kind="flush", version=99, recorded_at=NOW, body="{}"), Scope()),
        (Entry(kind="flush", version=1, recorded_at=NOW, body="no JSON"), Scope()),
        (_OF_ANOTHER_KIND, Scope()),
        (_GOOD, Scope(turn_id=TurnId("turn-1"))),
        (_GOOD, Scope(guild_id=GuildId(-1))),
    ],
    ids=["unknown kind", "newer version", "no JSON", "another kind", "turn id", "guild id"],
)
async def test_what_could_never_be_read_is_not_stored(
    log: EventLog, entry: Entry, scope: Scope
) -> None:
    """An event that nobody can decode would stand in every reader's way for ever."""
    append = Append(stream=to_channel(note(1)).stream, entries=(entry,), scope=scope)

    with pytest.raises(CodecError):
        await log.append([append])

    assert await log.head() == 0


async def test_an_append_without_entries_or_time_zone_is_a_mistake_of_the_caller(
    log: EventLog,
) -> None:
    """Neither has a meaning that the log could guess."""
    naive = Entry(kind=_GOOD.kind, version=1, recorded_at=NOW.replace(tzinfo=None), body=_GOOD.body)

    with pytest.raises(ValueError, match="without entries"):
        await log.append([Append(stream=turn_stream(TURN), entries=())])
    with pytest.raises(ValueError, match="without a time zone"):
        await log.append([Append(stream=turn_stream(TURN), entries=(naive,))])


async def test_a_closed_log_takes_nothing(log: EventLog) -> None:
    """An append that is silently dropped would be an acknowledged loss."""
    await log.aclose()

    with pytest.raises(LogUnavailableError):
        await log.append([stop()])


async def test_both_streams_of_a_turn_count_for_themselves(log: EventLog) -> None:
    """Each has one writer, and neither knows of the other's appends."""
    await log.append([to_turn(note(1), after=0), to_delivery(attempt(), after=0)])

    assert positions(await log.read(turn_stream(TURN))) == [1]
    assert positions(await log.read(delivery_stream(TURN))) == [2]
