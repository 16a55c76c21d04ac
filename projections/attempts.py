"""The messages of one turn: what was attempted, what became of it, and which text stands for it.

Every attempt has exactly one outcome. One without is open: its sender is still at it, or is gone,
and then it is unconfirmed.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import MessageId, Recorded, TurnId
from events.delivery import Receipt, Retraction, SendAttempt, SendFailed
from events.generation import Flush
from projections.fold import turn_of

Place = tuple[int, int]
"""A flush and the index of a piece in it."""
Range = tuple[int, int]
"""From and to in the visible text."""


class Attempt(Struct, frozen=True, kw_only=True):
    """A promise to send, and its outcome."""

    sent: SendAttempt
    """The promise."""
    outcome: Receipt | SendFailed | None = None
    """What became of it; None while that is open."""

    @property
    def place(self) -> Place:
        """What it carries."""
        return self.sent.flush, self.sent.piece


class Attempts(Struct, frozen=True, kw_only=True):
    """The attempts of a turn."""

    turn_id: TurnId
    """The turn."""
    attempts: dict[int, Attempt] = field(default_factory=dict[int, Attempt])
    """By ordinal, oldest first."""
    ranges: dict[Place, Range] = field(default_factory=dict[Place, Range])
    """The text that each piece of a flush stands for."""
    removed: dict[Place, int] = field(default_factory=dict[Place, int])
    """Characters of a piece's range that a rule withheld, where there are any."""
    retracted: frozenset[int] = frozenset()
    """Ordinals of attempts whose messages were withdrawn."""

    @property
    def open(self) -> tuple[Attempt, ...]:
        """Attempts without an outcome."""
        return tuple(one for one in self.attempts.values() if one.outcome is None)

    @property
    def settled(self) -> tuple[Attempt, ...]:
        """Attempts of which the outcome is known: confirmed, refused, or never dispatched."""
        return tuple(
            one
            for one in self.attempts.values()
            if one.outcome is not None and not _is_unconfirmed(one)
        )

    @property
    def unconfirmed(self) -> tuple[Attempt, ...]:
        """Attempts that may or may not stand in Discord."""
        return tuple(one for one in self.attempts.values() if _is_unconfirmed(one))

    @property
    def messages(self) -> dict[Place, MessageId]:
        """The messages of the answer that stand, by what they carry; notices are not among them.

        Of a piece that takes several messages, the last is the one that counts.
        """
        return {
            one.place: one.outcome.message_id
            for one in self.attempts.values()
            if isinstance(one.outcome, Receipt)
            and one.sent.purpose == "answer"
            and one.sent.part == 0
            and one.sent.attempt not in self.retracted
        }

    @property
    def delivered(self) -> tuple[Range, ...]:
        """The text in confirmed messages, in its order."""
        places = sorted(place for place in self.messages if place in self.ranges)
        return tuple(self.ranges[place] for place in places)

    @property
    def characters(self) -> int:
        """Characters of the text in confirmed messages, without what a rule withheld there."""
        removed = sum(self.removed.get(place, 0) for place in self.messages)
        return sum(end - start for start, end in self.delivered) - removed


def initial(turn_id: TurnId) -> Attempts:
    """Return the state of a turn that has sent nothing."""
    return Attempts(turn_id=turn_id)


def evolve(state: Attempts, recorded: Recorded) -> Attempts:
    """Return the state after one more event, of this turn or of any other."""
    if turn_of(recorded) != state.turn_id:
        return state
    match recorded.event:
        case SendAttempt() as sent:
            attempts = {**state.attempts, sent.attempt: Attempt(sent=sent)}
            return replace(state, attempts=attempts)
        case Receipt() | SendFailed() as outcome:
            return _settle(state, outcome)
        case Retraction(attempts=attempts, kept=kept):
            gone = state.retracted.union(attempts).difference(kept)
            return replace(state, retracted=gone)
        case Flush() as flush:
            return _flush(state, flush)
        case _:
            return state


def _flush(state: Attempts, flush: Flush) -> Attempts:
    if not flush.pieces:
        return state
    pieces = {(flush.flush, index): piece for index, piece in enumerate(flush.pieces)}
    ranges = {place: (piece.start, piece.end) for place, piece in pieces.items()}
    removed = {place: piece.removed for place, piece in pieces.items() if piece.removed}
    return replace(state, ranges=state.ranges | ranges, removed=state.removed | removed)


def _settle(state: Attempts, outcome: Receipt | SendFailed) -> Attempts:
    attempt = state.attempts.get(outcome.attempt)
    if attempt is None or attempt.outcome is not None:
        return state
    settled = replace(attempt, outcome=outcome)
    return replace(state, attempts={**state.attempts, outcome.attempt: settled})


def _is_unconfirmed(attempt: Attempt) -> bool:
    return isinstance(attempt.outcome, SendFailed) and attempt.outcome.outcome == "unconfirmed"
