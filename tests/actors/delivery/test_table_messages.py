"""Where in the log a look back begins."""

from datetime import timedelta

import pytest

from actors.delivery.table_messages import position_before
from events.base import ChannelId, Scope, TurnId, channel_stream
from events.codec import append_of
from events.turn import StopRequested
from tests.actors.log_ports import log_client
from tests.fakes import ManualClock


@pytest.mark.parametrize("size", [0, 1, 2, 7, 100])
async def test_t106_a_look_back_finds_its_place_in_a_log_of_any_size(size: int) -> None:
    """Reading a year of messages at each start would keep everybody waiting."""
    log, clock = log_client(), ManualClock()
    began = clock.now()
    stop = StopRequested(turn_id=TurnId("x"), requester="1", stop="stop")
    for number in range(size):
        at = began + timedelta(seconds=number)
        stream = channel_stream(ChannelId(1))
        await log.append(append_of(stream, [(stop, at)], scope=Scope()))

    found = [
        await position_before(log, began + timedelta(seconds=after)) for after in range(-1, size)
    ]

    assert found == [0, *range(size)]
