"""What was asked for and is not over: turns without an end, triggers without a turn.

What a router takes up when it starts: each open turn is recovered, each waiting trigger queued.
"""

from datetime import datetime
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import ChannelId, Position, Recorded, TriggerId, TurnId
from events.turn import TriggerDropped, TriggerReceived, TurnEnded, TurnRecovered, TurnStarted
from projections.fold import turn_of
from projections.seen import Seen
from projections.waiting import Waiting, waiting

Key = TypeVar("Key")
Value = TypeVar("Value")


class OpenTurn(Struct, frozen=True, kw_only=True):
    """A turn that has started and not ended."""

    turn_id: TurnId
    """The turn."""
    epoch: int = 0
    """How often it was recovered."""
    started: TurnStarted
    """What it started from."""
    started_at: datetime
    """When."""
    position: Position
    """Position of its `turn_started`."""
    received: Waiting | None = None
    """Its trigger as it was received, where that is in the log."""

    @property
    def trigger_id(self) -> TriggerId:
        """The trigger it answers."""
        return self.started.trigger_id

    @property
    def channel_id(self) -> ChannelId:
        """Where it answers."""
        return self.started.channel_id


class OpenTurns(Struct, frozen=True, kw_only=True):
    """All that is open, oldest first."""

    turns: dict[TurnId, OpenTurn] = field(default_factory=dict[TurnId, OpenTurn])
    """Turns by id."""
    waiting: dict[TriggerId, Waiting] = field(default_factory=dict[TriggerId, Waiting])
    """Triggers that got no turn and were not dropped, by id."""
    seen: Seen = Seen()
    """Every trigger id there ever was: one that comes again is not another trigger."""


def initial() -> OpenTurns:
    """Return the state of an empty log."""
    return OpenTurns()


def evolve(state: OpenTurns, recorded: Recorded) -> OpenTurns:
    """Return the state after one more event."""
    match recorded.event:
        case TriggerReceived() as trigger:
            return _receive(state, trigger, recorded)
        case TriggerDropped(trigger_id=trigger_id):
            return replace(
                state,
                waiting=_without(state.waiting, trigger_id),
                seen=state.seen.with_(trigger_id),
            )
        case TurnStarted() as started:
            return _start(state, started, recorded)
        case TurnRecovered(epoch=epoch):
            return _recover(state, recorded, epoch)
        case TurnEnded():
            turn_id = turn_of(recorded)
            return replace(state, turns=_without(state.turns, turn_id)) if turn_id else state
        case _:
            return state


def _receive(state: OpenTurns, trigger: TriggerReceived, recorded: Recorded) -> OpenTurns:
    trigger_id = trigger.trigger_id
    if trigger_id in state.seen:
        return state
    return replace(
        state,
        waiting={**state.waiting, trigger_id: waiting(trigger, recorded)},
        seen=state.seen.with_(trigger_id),
    )


def _start(state: OpenTurns, started: TurnStarted, recorded: Recorded) -> OpenTurns:
    turn_id = turn_of(recorded)
    if turn_id is None:
        return state
    turn = OpenTurn(
        turn_id=turn_id,
        started=started,
        started_at=recorded.recorded_at,
        position=recorded.position,
        received=state.waiting.get(started.trigger_id),
    )
    return OpenTurns(
        turns={**state.turns, turn_id: turn},
        waiting=_without(state.waiting, started.trigger_id),
        seen=state.seen.with_(started.trigger_id),
    )


def _recover(state: OpenTurns, recorded: Recorded, epoch: int) -> OpenTurns:
    turn_id = turn_of(recorded)
    turn = state.turns.get(turn_id) if turn_id else None
    if turn_id is None or turn is None:
        return state
    return replace(state, turns={**state.turns, turn_id: replace(turn, epoch=epoch)})


def _without(items: dict[Key, Value], key: Key) -> dict[Key, Value]:
    if key not in items:
        return items
    return {one: value for one, value in items.items() if one != key}
