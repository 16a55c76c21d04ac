"""Taking over a turn whose process is gone: fence it off, read what it left, decide, say so.

Order matters. The sender is told the new epoch first, so that nothing of the old process is posted
any more, and gives every attempt an outcome. `turn_recovered` then fences the turn's stream; it is
appended behind exactly the events that the decision was made on, or the decision is made again.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from actors.generation.accounting import owed_reports
from actors.generation.exchanges import Exchange, exchanges, uncalled
from actors.generation.journal import Journal
from actors.generation.replay import Rebuilt, rebuild
from actors.generation.start import Closed, StartTurn
from actors.generation.world import World
from actors.ports import SendResult
from actors.providers.registry import provider_for
from actors.rules.recovery import Wreck, decide_recovery, started
from actors.spending.context import current_usage_context
from actors.text import core
from events.base import Event, Recorded, channel_stream, turn_stream
from events.errors import ConcurrencyError
from events.generation import STREAM_RULES, Flush, FunctionCall, RequestClosed, RequestOpened
from events.notes import NotePinned
from events.turn import (
    RecoveryDecision,
    TurnEnded,
    TurnRecovered,
    TurnStarted,
    TurnStatus,
)
from projections import stops
from projections.fold import fold
from projections.stops import Stop


class Takeover(Struct, frozen=True, kw_only=True):
    """A turn as its log leaves it, at its new epoch."""

    decision: RecoveryDecision
    """What to do with it."""
    beginning: TurnStarted
    """What it began with, as it is on record."""
    journal: Journal
    """Its writer, behind `turn_recovered`."""
    state: core.TextState
    """The text state, rebuilt from its raw chunks."""
    flushes: tuple[Flush, ...]
    """Every flush so far; those that the log lacked were added."""
    results: tuple[SendResult, ...]
    """Its attempts, each with an outcome."""
    received: int
    """Characters of text received."""
    requests: int
    """Provider requests so far."""
    discarded: dict[str, int]
    """Characters that never became a flush, by rule."""
    superseded: tuple[int, ...]
    """The flushes of requests that others were made in place of."""
    exchanges: tuple[Exchange, ...]
    """What tools did so far, oldest first."""
    uncalled: tuple[FunctionCall, ...]
    """Calls of the last response that were not yet made."""
    first_flush: int
    """The first flush, on record or to come, of the last response's text."""
    closed: tuple[Closed, ...]
    """The requests that were closed."""
    notes: tuple[NotePinned, ...]
    """The notes that the turn has kept."""
    ended: TurnStatus | None = None
    """Its status, where it had ended after all; nothing was changed then."""


def new_journal(world: World, start: StartTurn, *, seq: int) -> Journal:
    """Return the turn's writer at its epoch, behind the event `seq` of its stream."""
    return Journal(world.log, world.clock, start.turn_id, start.scope, epoch=start.epoch, seq=seq)


async def take_over(world: World, start: StartTurn, beginning: TurnStarted) -> Takeover:
    """Fence off the turn's earlier process and return what it left.

    Args:
        world: What turns share.
        start: The turn, at its new epoch.
        beginning: What the earlier process should have begun with, where it did not get so far.

    Raises:
        FencedError: Yet another process took it over.
    """
    results = tuple(await world.sender.settle(start.turn_id, start.scope, start.epoch))
    past = await world.log.read(channel_stream(start.channel_id), after=start.trigger_seq)
    left = Left(
        results=results,
        stop=fold(stops.evolve, stops.initial(start.turn_id), past).first,
        notes=tuple(_notes_of(start, past)),
    )
    while True:
        history = await world.log.read(turn_stream(start.turn_id))
        try:
            return await _claim(world, start, beginning, history, left)
        except ConcurrencyError:
            continue


class Left(Struct, frozen=True, kw_only=True):
    """What a lost process left outside of its turn's own stream."""

    results: tuple[SendResult, ...]
    """The attempts."""
    stop: Stop | None
    """The first stop that names the turn."""
    notes: tuple[NotePinned, ...]
    """The notes that the turn has kept."""


async def _claim(
    world: World, start: StartTurn, beginning: TurnStarted, history: Sequence[Recorded], left: Left
) -> Takeover:
    events = [recorded.event for recorded in history]
    journal = new_journal(world, start, seq=len(history))
    rebuilt = rebuild(history, lambda kind: provider_for(kind).reader())
    text = _text_of(events, rebuilt)
    last = events[-1] if events else None
    wreck = Wreck(
        events=[*events, *text.flushes[text.on_record :]],
        results=left.results,
        stop=left.stop,
        started_at=history[0].recorded_at if history else world.clock.now(),
    )
    recovery = decide_recovery(wreck, world.clock.now(), start.recover_within_seconds)
    owed = () if isinstance(last, TurnEnded) else tuple(owed_reports(events, rebuilt.chunks))
    if not isinstance(last, TurnEnded):
        if not events:
            journal.add(beginning)
        journal.add(
            TurnRecovered(epoch=start.epoch, found=recovery.found, decision=recovery.decision)
        )
        for event in (*owed, *text.flushes[text.on_record :]):
            journal.add(event)
        await journal.barrier()
        for report in owed:
            world.registrations.report(current_usage_context(), report)
    return Takeover(
        decision=recovery.decision,
        beginning=started(events) or beginning,
        journal=journal,
        state=text.state if events else core.initial(core.config_of(beginning)),
        flushes=text.flushes,
        discarded=_added(rebuilt.discarded, "upgrade", text.lost),
        superseded=rebuilt.superseded,
        exchanges=tuple(exchanges(events)),
        uncalled=uncalled(events),
        first_flush=_first_flush(events),
        closed=tuple(
            Closed(request=one.event, at=one.recorded_at)
            for one in history
            if isinstance(one.event, RequestClosed)
        ),
        notes=left.notes,
        results=left.results,
        received=rebuilt.received,
        requests=sum(isinstance(event, RequestOpened) for event in events),
        ended=last.status if isinstance(last, TurnEnded) else None,
    )


class _Text(Struct, frozen=True, kw_only=True):
    """The text to go on with."""

    state: core.TextState
    flushes: tuple[Flush, ...]
    on_record: int
    lost: int = 0


def _text_of(events: Sequence[Event], rebuilt: Rebuilt) -> _Text:
    """Return the text as it was flushed, and as today's core goes on with it.

    Another version of the core may cut elsewhere, so that what it would flush next could stand in
    Discord already. Behind flushes of another version nothing is flushed any more.
    """
    on_record = tuple(event for event in events if isinstance(event, Flush))
    began = started(events)
    if not on_record or began is None or began.text_version == core.TEXT_VERSION:
        return _Text(state=rebuilt.state, flushes=rebuilt.flushes, on_record=len(on_record))
    flushed = sum(flush.end - flush.start for flush in on_record)
    withheld = sum(
        count
        for flush in on_record
        for rule, count in flush.withheld.items()
        if rule in STREAM_RULES
    )
    return _Text(
        state=core.initial(core.config_of(began)),
        flushes=on_record,
        on_record=len(on_record),
        lost=rebuilt.received - flushed - withheld,
    )


def _first_flush(events: Sequence[Event]) -> int:
    before = 0
    flushes = 0
    for event in events:
        flushes += isinstance(event, Flush)
        before = flushes if isinstance(event, RequestOpened) else before
    return before + 1


def _notes_of(start: StartTurn, past: Sequence[Recorded]) -> Iterator[NotePinned]:
    for one in past:
        if isinstance(one.event, NotePinned) and one.event.turn_id == start.turn_id:
            yield one.event


def _added(counts: dict[str, int], rule: str, count: int) -> dict[str, int]:
    return {**counts, rule: counts.get(rule, 0) + count}
