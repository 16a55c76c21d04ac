"""One channel: who speaks in it, and who waits."""

from msgspec import Struct
from msgspec.structs import replace

from events.base import ChannelId, Recorded, TriggerId, TurnId
from events.turn import TriggerDropped, TriggerReceived, TurnEnded, TurnStarted
from projections.fold import turn_of
from projections.seen import Seen
from projections.waiting import Waiting, waiting


class Channel(Struct, frozen=True, kw_only=True):
    """The state of a channel."""

    channel_id: ChannelId
    """The channel."""
    running: tuple[TurnId, ...] = ()
    """Turns that have not ended, oldest first; more than one only if a lock was broken."""
    queue: tuple[Waiting, ...] = ()
    """Triggers without a turn, oldest first."""
    seen: Seen = Seen()
    """Ids of all triggers that came, started or were dropped."""


def initial(channel_id: ChannelId) -> Channel:
    """Return the state of a channel where nothing happened."""
    return Channel(channel_id=channel_id)


def evolve(state: Channel, recorded: Recorded) -> Channel:
    """Return the state after one more event, of this channel or of any other."""
    match recorded.event:
        case TriggerReceived() as trigger if trigger.channel_id == state.channel_id:
            return _receive(state, trigger, recorded)
        case TriggerDropped(trigger_id=trigger_id):
            return _dequeue(state, trigger_id)
        case TurnStarted() as started if started.channel_id == state.channel_id:
            return _start(state, started, recorded)
        case TurnEnded():
            ended = turn_of(recorded)
            if ended not in state.running:
                return state
            return replace(state, running=tuple(turn for turn in state.running if turn != ended))
        case _:
            return state


def _receive(state: Channel, trigger: TriggerReceived, recorded: Recorded) -> Channel:
    if trigger.trigger_id in state.seen:
        return state
    return replace(
        state,
        queue=(*state.queue, waiting(trigger, recorded)),
        seen=state.seen.with_(trigger.trigger_id),
    )


def _dequeue(state: Channel, trigger_id: TriggerId) -> Channel:
    queue = tuple(one for one in state.queue if one.trigger.trigger_id != trigger_id)
    return state if len(queue) == len(state.queue) else replace(state, queue=queue)


def _start(state: Channel, started: TurnStarted, recorded: Recorded) -> Channel:
    turn_id = turn_of(recorded)
    if turn_id is None:
        return state
    dequeued = _dequeue(state, started.trigger_id)
    return replace(
        dequeued,
        running=(*state.running, turn_id),
        seen=state.seen.with_(started.trigger_id),
    )
