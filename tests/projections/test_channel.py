"""Who speaks in a channel, and who waits."""

from events.base import TriggerId
from events.turn import TriggerDropped
from projections import channel
from projections.channel import Channel
from projections.fold import fold
from tests.projections.histories import (
    CHANNEL,
    OTHER_CHANNEL,
    OTHER_TURN,
    TURN,
    History,
    ended,
    started,
    trigger,
)


def folded(history: History) -> Channel:
    """Return the channel after a history."""
    return fold(channel.evolve, channel.initial(CHANNEL), history.events)


def test_triggers_queue_in_the_order_they_came() -> None:
    """Whoever asked first is answered first."""
    state = folded(History().of_channel(trigger("2"), trigger("1"), trigger("2")))

    assert [one.trigger.trigger_id for one in state.queue] == ["2", "1"]


def test_a_turn_takes_its_trigger_from_the_queue() -> None:
    """A trigger that is being answered must not be answered again."""
    state = folded(History().of_channel(trigger("1"), trigger("2")).of_turn(started("1")))

    assert state.running == (TURN,)
    assert [one.trigger.trigger_id for one in state.queue] == ["2"]


def test_a_channel_is_free_once_its_turn_ended() -> None:
    """A lock that is never released is a bot that went silent."""
    history = History().of_turn(started("1")).of_turn(ended(), turn=OTHER_TURN)
    held = folded(history)

    free = folded(history.of_turn(ended()))

    assert held.running == (TURN,)
    assert free.running == ()


def test_a_dropped_trigger_leaves_the_queue_and_stays_seen() -> None:
    """The gateway may deliver it once more."""
    history = History().of_channel(
        trigger("1"), TriggerDropped(trigger_id=TriggerId("1"), reason="queue_full"), trigger("1")
    )

    state = folded(history)

    assert state.queue == ()
    assert "1" in state.seen


def test_other_channels_do_not_matter() -> None:
    """Channels are served independently."""
    history = History().of_channel(trigger("1", channel=OTHER_CHANNEL), channel=OTHER_CHANNEL)
    history.of_turn(started("1", channel=OTHER_CHANNEL), turn=OTHER_TURN)

    assert folded(history) == channel.initial(CHANNEL)
