"""A turn's text, derived again from its payloads, so that a recovery can go on with it."""

import pytest

from actors.generation.rebuild import rebuild
from actors.text import core
from tests.actors.generation.echo import HELLO, EchoReader, crashed, flushes, reader_for
from tests.projections.histories import History, opened, raw, said, started


@pytest.mark.parametrize("flushed", [0, 1, 2])
def test_a_recovery_goes_on_where_the_record_ends(flushed: int) -> None:
    """Text that was received is delivered, under the ordinals that it would have had."""
    rebuilt = rebuild(crashed(flushed=flushed, request_ended=flushed == 2).events, reader_for)

    missing = rebuilt.flushes[flushed:]
    _, rest = core.finish(rebuilt.state, "final")
    numbers = [*missing, *(core.flush_event(one, len(rebuilt.flushes) + 1) for one in rest)]
    assert numbers == flushes(*HELLO)[flushed:]
    assert rebuilt.received == 11


def test_a_block_that_the_end_closed_is_not_flushed_twice() -> None:
    """The last flush of a turn need not be called final."""
    code = "```\nx\n```"
    history = History().of_turn(started(), opened(), raw(code), said(code), *flushes(code))

    rebuilt = rebuild(history.events, reader_for)

    assert rebuilt.flushes == tuple(flushes(code))
    assert core.finish(rebuilt.state, "final")[1] == ()


def test_a_running_turn_can_be_rebuilt_and_read_on() -> None:
    """What a recovery holds in its hands is a live reader and a live text."""
    rebuilt = rebuild(crashed(flushed=1).events, reader_for)

    assert not rebuilt.ended
    assert isinstance(rebuilt.adapter, EchoReader)
    assert rebuilt.state.pending == 5
    assert [chunk.text for chunk in rebuilt.chunks[1]] == list(HELLO)


def test_nothing_is_rebuilt_from_nothing() -> None:
    """A turn may be lost before its first event is durable."""
    rebuilt = rebuild([], reader_for)

    assert (rebuilt.flushes, rebuilt.received, rebuilt.ended) == ((), 0, False)
    assert rebuilt.adapter is None
