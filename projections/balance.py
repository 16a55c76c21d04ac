"""Conservation: each character that a provider sent is delivered, withheld, or on its way.

What `turn_ended` claims is counted again from the events before it. `turn_ended.withheld` is the
total by rule: what the flushes withheld (`blank`, `reasoning`, a rule of cleaning, …), what was
flushed and not delivered, and what was discarded before a flush (`stop`, `unconfirmed`, `refused`,
`crash`, …). Within a flush's range, the characters that its pieces stand for and those that its
rules withheld are all there are; rules of the stream withhold outside of any range.
"""

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import Recorded, TurnId
from events.delivery import Receipt
from events.generation import STREAM_RULES, Flush, ProcessedChunk
from events.turn import TurnEnded
from projections import attempts
from projections.attempts import Attempts
from projections.fold import fold, turn_of


class Tally(Struct, frozen=True, kw_only=True):
    """What the events of one turn add up to."""

    attempts: Attempts
    """Its messages."""
    received: int = 0
    """Characters of text received."""
    flushed: int = 0
    """Characters of it that were flushed."""
    withheld: dict[str, int] = field(default_factory=dict[str, int])
    """Characters that flushes withheld, by rule."""
    flushed_to: int = 0
    """End of the last flush in the visible text."""
    gaps: tuple[str, ...] = ()
    """Flushes that do not join, or do not add up."""
    ended: TurnEnded | None = None
    """The turn's own account."""


class Balance(Struct, frozen=True, kw_only=True):
    """Whether a turn's characters are all accounted for."""

    received: int
    """Characters of text received."""
    delivered: int
    """Characters of it in confirmed messages."""
    withheld: dict[str, int]
    """Characters of it withheld, by rule; what a running turn has flushed says so already."""
    in_flight: int
    """Characters neither delivered nor withheld: 0 once the turn has ended, or they are lost."""
    problems: tuple[str, ...] = ()
    """What does not add up, a sentence each."""

    @property
    def is_balanced(self) -> bool:
        """Whether everything adds up."""
        return not self.problems


def initial(turn_id: TurnId) -> Tally:
    """Return the tally of a turn that received nothing."""
    return Tally(attempts=attempts.initial(turn_id))


def evolve(state: Tally, recorded: Recorded) -> Tally:
    """Return the tally after one more event, of this turn or of any other."""
    if turn_of(recorded) != state.attempts.turn_id:
        return state
    state = replace(state, attempts=attempts.evolve(state.attempts, recorded))
    match recorded.event:
        case ProcessedChunk(chunks=chunks):
            received = sum(len(chunk.text) for chunk in chunks if chunk.type == "text")
            return replace(state, received=state.received + received)
        case Flush() as flush:
            return _flush(state, flush)
        case TurnEnded() as ended:
            return replace(state, ended=ended)
        case _:
            return state


def balance(turn_id: TurnId, events: Iterable[Recorded]) -> Balance:
    """Return the balance of a turn from its events, oldest first; those of others don't matter."""
    return balance_of(fold(evolve, initial(turn_id), events))


def balance_of(tally: Tally) -> Balance:
    """Return the balance that `tally` gives."""
    delivered = tally.attempts.characters
    withheld = tally.withheld if tally.ended is None else tally.ended.withheld
    in_flight = tally.received - delivered - sum(withheld.values())
    problems = [*tally.gaps, *_problems_of_sending(tally)]
    if in_flight < 0:
        problems.append(f"{-in_flight} characters more accounted for than received")
    if tally.ended is not None:
        problems += _problems_of_ending(tally, tally.ended, delivered)
        if in_flight > 0:
            problems.append(f"{in_flight} characters neither delivered nor withheld")
    return Balance(
        received=tally.received,
        delivered=delivered,
        withheld=dict(withheld),
        in_flight=in_flight,
        problems=tuple(problems),
    )


def _flush(state: Tally, flush: Flush) -> Tally:
    size = flush.end - flush.start
    gaps = list(state.gaps)
    if flush.start != state.flushed_to:
        gaps.append(f"flush {flush.flush} begins at {flush.start}, not at {state.flushed_to}")
    if len(flush.text) != size:
        gaps.append(f"flush {flush.flush} has {len(flush.text)} characters, its range {size}")
    in_pieces = sum(piece.size for piece in flush.pieces)
    in_rules = sum(n for rule, n in flush.withheld.items() if rule not in STREAM_RULES)
    if in_pieces + in_rules != size:
        gaps.append(f"flush {flush.flush} has {size} characters, {in_pieces} of them in pieces")
    withheld = dict(state.withheld)
    for rule, count in flush.withheld.items():
        withheld[rule] = withheld.get(rule, 0) + count
    return replace(
        state,
        flushed=state.flushed + size,
        withheld=withheld,
        flushed_to=flush.end,
        gaps=tuple(gaps),
    )


def _problems_of_sending(tally: Tally) -> list[str]:
    problems: list[str] = []
    seen: set[tuple[int, int]] = set()
    for attempt in tally.attempts.attempts.values():
        if attempt.sent.purpose != "answer" or not isinstance(attempt.outcome, Receipt):
            continue
        if attempt.sent.part:
            continue
        flush, piece = attempt.place
        if attempt.place not in tally.attempts.ranges:
            problems.append(f"attempt {attempt.sent.attempt} sent no piece of any flush")
        if attempt.place in seen:
            problems.append(f"piece {piece} of flush {flush} was delivered more than once")
        seen.add(attempt.place)
    return problems


def _problems_of_ending(tally: Tally, ended: TurnEnded, delivered: int) -> list[str]:
    problems: list[str] = []
    for name, claimed, counted in (
        ("received", ended.received, tally.received),
        ("delivered", ended.delivered, delivered),
        ("messages", ended.messages, len(tally.attempts.messages)),
        ("blank", ended.withheld.get("blank", 0), tally.withheld.get("blank", 0)),
    ):
        if claimed != counted:
            problems.append(f"{name} is {claimed} in turn_ended, {counted} in its events")
    for rule, counted in tally.withheld.items():
        if rule != "blank" and ended.withheld.get(rule, 0) < counted:
            claimed = ended.withheld.get(rule, 0)
            problems.append(f"{rule} is {claimed} in turn_ended, {counted} in its flushes")
    if tally.attempts.open:
        problems.append(f"{len(tally.attempts.open)} attempts without an outcome")
    return problems
