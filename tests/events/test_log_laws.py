"""Laws that hold for any appends, in any interleaving; on both logs."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.base import (
    Append,
    Appended,
    AppendResult,
    ChannelId,
    Event,
    Position,
    Recorded,
    StreamId,
)
from events.codec import append_of
from events.duckdb_log import DuckDBLog
from events.log import EventLog
from events.memory_log import MemoryLog
from tests.events.samples import (
    NOW,
    OTHER_TURN,
    TURN,
    attempt,
    end,
    note,
    recovery,
    stop,
    take,
    to_channel,
    to_delivery,
    to_turn,
)
from tests.legal_turns import History
from tests.strategies import histories


@asynccontextmanager
async def memory() -> AsyncGenerator[EventLog]:
    """Give an empty log in memory."""
    log = MemoryLog()
    yield log
    await log.aclose()


@asynccontextmanager
async def duckdb() -> AsyncGenerator[EventLog]:
    """Give an empty log on disk."""
    with TemporaryDirectory() as directory:
        log = await DuckDBLog.open(Path(directory) / "events.duckdb")
        yield log
        await log.aclose()


Opened = Callable[[], AbstractAsyncContextManager[EventLog]]
both = pytest.mark.parametrize("opened", [memory, duckdb])
few = settings(max_examples=15, deadline=None)

_WORDS: list[Callable[[int], Append]] = [
    lambda after: to_turn(note(after), after=after),
    lambda after: to_turn(note(after), note(after + 1), after=after),
    lambda after: to_turn(note(after), after=after, epoch=1),
    lambda after: to_turn(note(after), after=after, turn_id=OTHER_TURN),
    lambda after: to_delivery(attempt(after), after=after, unless_stopped=True),
    lambda after: to_delivery(attempt(after), after=after, epoch=2),
    lambda after: recovery(after, after=after),
    lambda after: end(after=after, epoch=1),
    lambda after: stop(TURN if after % 2 else OTHER_TURN),
    lambda after: to_channel(note(after), channel_id=ChannelId(after)),
    lambda _: to_turn(note(0)),
]


def _say(word: Callable[[int], Append], after: int) -> Append:
    return word(after)


appends: st.SearchStrategy[Append] = st.builds(_say, st.sampled_from(_WORDS), st.integers(0, 4))
scripts = st.lists(st.lists(appends, max_size=6), min_size=1, max_size=8)


def check_order(events: Sequence[Recorded]) -> None:
    """Assert that positions and every stream's seqs are contiguous from 1."""
    assert [one.position for one in events] == list(range(1, len(events) + 1))
    seqs: dict[str, list[int]] = defaultdict(list)
    for one in events:
        seqs[one.stream].append(one.seq)
    assert all(found == list(range(1, len(found) + 1)) for found in seqs.values())


@few
@given(script=scripts)
async def test_both_logs_answer_alike(script: list[list[Append]]) -> None:
    """What tests show in memory is worth something only if the disk does the same."""
    answers: list[list[list[AppendResult]]] = []
    contents: list[list[Recorded]] = []

    for opened in (memory, duckdb):
        async with opened() as log:
            answers.append([await log.append(batch) for batch in script])
            contents.append(await log.read_all(Position(0)))

    assert answers[0] == answers[1]
    assert contents[0] == contents[1]
    check_order(contents[0])


@both
@few
@given(script=scripts)
async def test_concurrent_appends_leave_no_gap(opened: Opened, script: list[list[Append]]) -> None:
    """Group commit joins what arrives together; order and contiguity must survive it."""
    async with opened() as log:
        whole = log.subscribe(None)
        results = [one for batch in await asyncio.gather(*map(log.append, script)) for one in batch]

        events = await log.read_all(Position(0))
        pushed = await take(whole, len(events))

    landed = [one for one in results if isinstance(one, Appended)]
    check_order(events)
    assert pushed == events
    assert max((one.position for one in landed), default=0) == len(events)


@both
@few
@given(turns=st.lists(histories(), max_size=3, unique_by=lambda one: one.turn_id))
async def test_whole_turns_come_back_as_they_were_recorded(
    opened: Opened, turns: list[History]
) -> None:
    """Every turn can be replayed from the log alone."""
    async with opened() as log:
        for turn in turns:
            batch = [
                append_of(stream, [(event, NOW)], scope=turn.scope, epoch=9)
                for stream, event in turn.facts
            ]
            assert all(isinstance(one, Appended) for one in await log.append(batch))

        for turn in turns:
            by_stream: dict[StreamId, list[Event]] = defaultdict(list)
            for stream, event in turn.facts:
                by_stream[stream].append(event)
            for stream, expected in by_stream.items():
                found = [one.event for one in await log.read(stream) if one.scope == turn.scope]
                assert found == expected
        check_order(await log.read_all(Position(0)))


@both
@few
@given(script=scripts, cut=st.integers(0, 40))
async def test_a_subscriber_that_starts_anywhere_gets_exactly_the_rest(
    opened: Opened, script: list[list[Append]], cut: int
) -> None:
    """A projection that was cut off anywhere resumes to the same state."""
    async with opened() as log:
        appending = asyncio.gather(*map(log.append, script))
        late = log.subscribe(None, Position(cut))
        await appending
        events = await log.read_all(Position(0))

        assert await take(late, max(0, len(events) - cut)) == events[cut:]
