"""The judge of appends: which are accepted, where they stand, and why others are refused.

Both logs use it, so that they can't differ. It decides over three facts of the log: where each
stream ends, each turn's epoch (how often the turn was recovered), and each turn's first stop. They
are held in memory for what is open and looked up in the store for the rest.

The checks of one append, in order; the first that applies answers:

1. A repeat: `expected_seq` names a place where exactly these entries already stand (kind, version
   and body). `Appended` again, whatever has happened to the turn since: it did land.
2. An epoch below the turn's: `Fenced`. The writer was believed dead and the turn goes on elsewhere.
   An append of nothing but `stop_requested` is never fenced: it comes from outside the turn.
3. `unless_stopped`, and a `stop_requested` names the turn: `Stopped`.
4. `expected_seq` is not where the stream ends: `Conflict`.

A group is what one commit makes durable. Its appends see each other, yet the judge learns of them
only by `keep`: a commit that fails has changed nothing.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from events.base import (
    Appended,
    AppendResult,
    Conflict,
    Event,
    Fenced,
    Position,
    Recorded,
    Seq,
    Stopped,
    TurnId,
)
from events.row import DELIVERY_PREFIX, TURN_PREFIX, Prepared, Row, recorded, rows_of, turn_of
from events.turn import StopRequested, TurnEnded, TurnRecovered

MAX_TURNS = 4096
"""Most turns whose facts are held in memory, the least recently used leaving first."""
MAX_STREAMS = 16_384
"""Most other streams (channels, guilds, users) whose ends are held in memory."""


class TurnFacts(Struct, frozen=True, kw_only=True):
    """What decides over the appends of one turn."""

    turn_seq: int = 0
    """Where `turn/<id>` ends; 0 when it is empty."""
    delivery_seq: int = 0
    """Where `delivery/<id>` ends; 0 when it is empty."""
    epoch: int = 0
    """The highest epoch that a `turn_recovered` in its stream gave it."""
    stop: int = 0
    """Position of the first `stop_requested` that names it; 0 without one."""


class Store(Protocol):
    """What the judge asks of the durable part of a log."""

    def facts(self, turn_ids: Collection[TurnId]) -> dict[TurnId, TurnFacts]:
        """Return the facts of those of `turn_ids` that the log knows."""
        ...

    def seqs(self, streams: Collection[str]) -> dict[str, int]:
        """Return where those of `streams` end that have events."""
        ...

    def rows(self, stream: str, after: int, limit: int) -> list[Row]:
        """Return up to `limit` rows of `stream` whose seq is above `after`, oldest first."""
        ...


class Admission:
    """Judges appends; holds what is open in memory, bounded by `MAX_TURNS` and `MAX_STREAMS`."""

    def __init__(
        self, store: Store, *, max_turns: int = MAX_TURNS, max_streams: int = MAX_STREAMS
    ) -> None:
        self._store = store
        self._max_turns = max_turns
        self._max_streams = max_streams
        self._turns: OrderedDict[TurnId, TurnFacts] = OrderedDict()
        self._streams: OrderedDict[str, int] = OrderedDict()
        self._knows_all_streams = False
        self._newest_turn: str | None = None

    def forget(self) -> None:
        """Drop all that is held in memory: the store has changed under it."""
        self._turns.clear()
        self._streams.clear()
        self._knows_all_streams = False
        self._newest_turn = None

    def know_all_streams(self, seqs: Mapping[str, int]) -> None:
        """Take the ends of all streams that are not a turn's.

        Until one has to leave memory, a stream that is not among them is known to be empty, and a
        new channel costs no look into the store, which keeps no index over streams.
        """
        if len(seqs) <= self._max_streams:
            self._streams = OrderedDict(seqs)
            self._knows_all_streams = True

    def know_newest_turn(self, turn_id: str) -> None:
        """Take the highest turn id that the store holds, empty where it holds none.

        Turn ids sort by time, so nearly every turn that begins is above it, and is known to have
        no events without a look into the store.
        """
        self._newest_turn = turn_id

    def group(self, head: Position) -> "Group":
        """Return an empty group that goes after position `head`."""
        return Group(self, head)

    def keep(self, group: "Group") -> None:
        """Learn of `group`, which is durable; forget its ended turns and what exceeds the caps."""
        for turn_id, facts in group.turns.items():
            self._turns[turn_id] = facts
            self._turns.move_to_end(turn_id)
        for stream, seq in group.streams.items():
            self._streams[stream] = seq
            self._streams.move_to_end(stream)
        for turn_id, position in group.stops.items():
            facts = self._turns.get(turn_id)
            if facts is not None and not facts.stop:
                self._turns[turn_id] = replace(facts, stop=position)
        for turn_id in group.ended:
            self._turns.pop(turn_id, None)
        self._shrink()
        if self._newest_turn is not None:
            ids = {row.turn_id for row in group.rows if row.turn_id is not None}
            self._newest_turn = max({self._newest_turn, *ids})

    def held(self) -> tuple[int, int]:
        """Return how many turns and how many other streams are held in memory."""
        return len(self._turns), len(self._streams)

    def turns(self, turn_ids: Collection[TurnId]) -> dict[TurnId, TurnFacts]:
        """Return the facts of every one of `turn_ids`, with one look into the store at most."""
        found = {one: self._turns[one] for one in turn_ids if one in self._turns}
        unknown = [one for one in turn_ids if one not in found]
        newest = self._newest_turn
        asked = [one for one in unknown if newest is None or one <= newest]
        stored = self._store.facts(asked) if asked else {}
        found.update((one, stored.get(one) or TurnFacts()) for one in unknown)
        return found

    def streams(self, names: Collection[str]) -> dict[str, int]:
        """Return where every one of `names` ends, with one look into the store at most."""
        found = {one: self._streams[one] for one in names if one in self._streams}
        unknown = [one for one in names if one not in found]
        needs_store = unknown and not self._knows_all_streams
        stored = self._store.seqs(unknown) if needs_store else {}
        found.update((one, stored.get(one, 0)) for one in unknown)
        return found

    def stored_rows(self, stream: str, after: int, limit: int) -> list[Row]:
        """Return up to `limit` durable rows of `stream` above seq `after`, oldest first."""
        return self._store.rows(stream, after, limit)

    def _shrink(self) -> None:
        while len(self._turns) > self._max_turns:
            self._turns.popitem(last=False)
        while len(self._streams) > self._max_streams:
            self._streams.popitem(last=False)
            self._knows_all_streams = False


class Group:
    """Appends that become durable together, judged in the order they are handed in."""

    def __init__(self, admission: Admission, head: Position) -> None:
        self._admission = admission
        self._position = int(head)
        self.turns: dict[TurnId, TurnFacts] = {}
        """Facts of the turns that the group touches, with its own effects."""
        self.streams: dict[str, int] = {}
        """Ends of the other streams that it touches, with its own effects."""
        self.stops: dict[TurnId, int] = {}
        """Positions of the first stop of each turn in this group."""
        self.ended: set[TurnId] = set()
        """Turns that end in it."""
        self.rows: list[Row] = []
        """What is to be stored, in order of position."""
        self.recorded: list[Recorded] = []
        """The same as events."""

    def load(self, batch: Iterable[Prepared]) -> None:
        """Look up at once whatever the judgement of `batch` will ask for."""
        turn_ids: dict[TurnId, None] = {}
        streams: dict[str, None] = {}
        for one in batch:
            owner = turn_of(one.append.stream)
            if owner is None:
                streams[one.append.stream] = None
            if one.turn_id is not None and (owner is not None or not one.is_only_stops):
                turn_ids[one.turn_id] = None
        self._load_turns([one for one in turn_ids if one not in self.turns])
        unknown = [one for one in streams if one not in self.streams]
        if unknown:
            self.streams.update(self._admission.streams(unknown))

    def judge(self, batch: Sequence[Prepared]) -> list[AppendResult]:
        """Return what becomes of each of `batch`; accepted ones are added to the group."""
        self.load(batch)
        return [self._judge_one(one) for one in batch]

    def _load_turns(self, turn_ids: Collection[TurnId]) -> None:
        if not turn_ids:
            return
        for turn_id, facts in self._admission.turns(turn_ids).items():
            stop = facts.stop or self.stops.get(turn_id, 0)
            self.turns[turn_id] = facts if stop == facts.stop else replace(facts, stop=stop)

    def _judge_one(self, one: Prepared) -> AppendResult:
        append = one.append
        seq = self._end_of(append.stream)
        landed = self._landed(one, seq)
        if landed is not None:
            return landed
        if one.turn_id is not None and not one.is_only_stops:
            facts = self.turns[one.turn_id]
            if append.epoch < facts.epoch:
                return Fenced(current_epoch=facts.epoch)
            if append.unless_stopped and facts.stop:
                return Stopped(position=Position(facts.stop))
        if append.expected_seq is not None and append.expected_seq != seq:
            return Conflict(actual_seq=seq)
        return self._accept(one, seq)

    def _end_of(self, stream: str) -> int:
        owner = turn_of(stream)
        if owner is None:
            return self.streams[stream]
        facts = self.turns[owner]
        return facts.turn_seq if stream.startswith(TURN_PREFIX) else facts.delivery_seq

    def _landed(self, one: Prepared, seq: int) -> Appended | None:
        append = one.append
        first, count = append.expected_seq, len(append.entries)
        if first is None or first < 0 or first + count > seq:
            return None
        rows = self._admission.stored_rows(append.stream, first, count)
        if len(rows) < count:
            place = first + len(rows)
            rows += [row for row in self.rows if row.stream == append.stream and row.seq > place]
        pairs = zip(append.entries, rows[:count], strict=True)
        if any((a.kind, a.version, a.body) != (b.kind, b.version, b.body) for a, b in pairs):
            return None
        last = rows[count - 1]
        return Appended(position=Position(last.position), seq=Seq(last.seq))

    def _accept(self, one: Prepared, seq: int) -> Appended:
        rows = rows_of(one, self._position, seq)
        self._position += len(rows)
        self.rows += rows
        self.recorded += map(recorded, rows, one.events)
        self._move_end(one.append.stream, rows[-1].seq)
        for row, event in zip(rows, one.events, strict=True):
            self._take_effect(row, event)
        return Appended(position=Position(self._position), seq=Seq(rows[-1].seq))

    def _move_end(self, stream: str, seq: int) -> None:
        owner = turn_of(stream)
        if owner is None:
            self.streams[stream] = seq
        elif stream.startswith(DELIVERY_PREFIX):
            self.turns[owner] = replace(self.turns[owner], delivery_seq=seq)
        else:
            self.turns[owner] = replace(self.turns[owner], turn_seq=seq)

    def _take_effect(self, row: Row, event: Event) -> None:
        if isinstance(event, StopRequested):
            self._stop(event.turn_id, row.position)
        elif isinstance(event, TurnRecovered | TurnEnded) and row.stream.startswith(TURN_PREFIX):
            turn_id = TurnId(row.stream[len(TURN_PREFIX) :])
            if isinstance(event, TurnEnded):
                self.ended.add(turn_id)
            else:
                facts = self.turns[turn_id]
                self.turns[turn_id] = replace(facts, epoch=max(facts.epoch, event.epoch))

    def _stop(self, turn_id: TurnId, position: int) -> None:
        self.stops.setdefault(turn_id, position)
        facts = self.turns.get(turn_id)
        if facts is not None and not facts.stop:
            self.turns[turn_id] = replace(facts, stop=position)
