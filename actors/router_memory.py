"""What a router remembers beyond its channels: the state of providers' keys, and channels' notes.

Folded from the log: at the router's start from all of it, then from what each turn that it runs
has recorded and hands back when it ends. So a turn knows of a resting key what all turns that had
ended before it began knew.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from actors.generation.start import TurnResult
from actors.ports import LogPort
from actors.whole_log import fold_log
from events.base import ChannelId, Recorded, channel_stream
from events.codec import kind_of
from events.generation import RequestClosed
from events.notes import NotePinned
from events.turn import TriggerDropped, TriggerReceived, TurnEnded, TurnRecovered, TurnStarted
from projections import keys, notes, open_turns
from projections.keys import Keys
from projections.notes import Notes
from projections.open_turns import OpenTurns

SCAN_KINDS: Final = tuple(
    kind_of(event)
    for event in (
        TriggerReceived,
        TriggerDropped,
        TurnStarted,
        TurnRecovered,
        TurnEnded,
        RequestClosed,
        NotePinned,
    )
)
"""What tells which turns are open, which triggers wait, which keys rest, and what is noted."""


class Memory(Struct, frozen=True, kw_only=True):
    """What the log says of providers' keys and of channels' notes."""

    keys: Keys = Keys()
    """The state of the keys."""
    notes: Notes = Notes()
    """The notes."""


async def scan(log: LogPort) -> tuple[OpenTurns, Memory]:
    """Fold the whole log: what is open, and what is to be remembered."""
    return await fold_log(log, _evolve_both, (open_turns.initial(), Memory()), SCAN_KINDS)


def _evolve_both(state: tuple[OpenTurns, Memory], recorded: Recorded) -> tuple[OpenTurns, Memory]:
    left, memory = state
    return open_turns.evolve(left, recorded), evolve(memory, recorded)


def evolve(memory: Memory, recorded: Recorded) -> Memory:
    """Return the memory after one more event."""
    match recorded.event:
        case RequestClosed():
            return replace(memory, keys=keys.evolve(memory.keys, recorded))
        case NotePinned():
            return replace(memory, notes=notes.evolve(memory.notes, recorded))
        case _:
            return memory


def learn(memory: Memory, channel_id: ChannelId, result: TurnResult) -> Memory:
    """Return the memory after a turn of that channel."""
    known_keys, known_notes = memory.keys, memory.notes
    for closed in result.closed:
        known_keys = keys.close(known_keys, closed.request, closed.at)
    for note in result.notes:
        known_notes = notes.pin(known_notes, channel_stream(channel_id), note)
    return Memory(keys=known_keys, notes=known_notes)
