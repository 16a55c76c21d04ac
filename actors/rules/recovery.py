"""What becomes of a turn whose process is gone, from what its log shows.

An attempt without a known outcome ends the turn: its text may stand in Discord, so nothing may
follow it. Text that was received and may still be delivered is delivered. A turn that received
nothing is run again while its asker may still be waiting, three times at the most, so that a
trigger which kills every process cannot hold up its channel for ever; so is one whose model began
as somebody else, since nothing of that is said.

A turn that was lost among its tools goes on under the same bounds: calls without a result are
brought to their end, and the model is asked to continue. Beyond the bounds, what it has said is
its answer.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from actors.ports import NotSent, SendResult, Sent
from actors.text.labels import GUARD
from events.base import Event
from events.delivery import COMPONENTS_REFUSED
from events.generation import Flush, ProcessedChunk, RequestOpened, ToolCalled
from events.turn import RecoveryDecision, TurnRecovered, TurnStarted
from projections.stops import Stop

TRIES: Final = 3
"""How often a trigger is tried before it is given up."""


class Recovery(Struct, frozen=True, kw_only=True):
    """A decision and its ground."""

    decision: RecoveryDecision
    """What to do."""
    found: str
    """What the log showed, in a sentence."""


class Wreck(Struct, frozen=True, kw_only=True):
    """What is known of a turn whose process is gone."""

    events: Sequence[Event]
    """Its turn stream, oldest first."""
    results: Sequence[SendResult]
    """Its attempts, each with an outcome, oldest first."""
    stop: Stop | None
    """The first stop that names it."""
    started_at: datetime
    """When it started."""


def decide_recovery(wreck: Wreck, now: datetime, recover_within_seconds: float) -> Recovery:
    """Return what to do with `wreck`; the first ground that holds decides."""
    failed = [result for result in wreck.results if isinstance(result, NotSent)]
    if any(result.outcome == "unconfirmed" for result in failed):
        return Recovery(decision="end_unconfirmed", found="an attempt whose outcome nobody knows")
    if any(_is_final_refusal(result) for result in failed):
        return Recovery(decision="end_refused", found="an attempt that Discord refused")
    if wreck.stop is not None:
        return Recovery(decision="end_stopped", found="a stop that names the turn")
    if _is_among_tools(wreck.events) and _may_go_on(wreck, now, recover_within_seconds):
        return Recovery(decision="go_on", found="tool calls, and no answer after them")
    if _has_something_to_say(wreck.events):
        sent = sum(isinstance(result, Sent) for result in wreck.results)
        return Recovery(decision="deliver_rest", found=f"text received, {sent} messages confirmed")
    return _without_text(wreck, now, recover_within_seconds)


def _is_final_refusal(result: NotSent) -> bool:
    # A message refused for its buttons is still owed without them.
    return result.outcome == "definite_refusal" and result.reason != COMPONENTS_REFUSED


def _may_go_on(wreck: Wreck, now: datetime, recover_within_seconds: float) -> bool:
    age = (now - wreck.started_at).total_seconds()
    return _tries(wreck) < TRIES and age <= recover_within_seconds


def _is_among_tools(events: Sequence[Event]) -> bool:
    """Return whether the last word of the log is a tool's: called, or answered and not read."""
    last = _last_request(events)
    if any(isinstance(event, ToolCalled) for event in last):
        return True
    chunks = [one for event in last if isinstance(event, ProcessedChunk) for one in event.chunks]
    if any(chunk.error is not None for chunk in chunks):
        return False
    has_call = any(chunk.function_call is not None for chunk in chunks)
    return has_call or (_has_called(events) and not _received_anything(last))


def _last_request(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events from the last request on."""
    for index in range(len(events) - 1, -1, -1):
        if isinstance(events[index], RequestOpened):
            return events[index:]
    return events


def _has_called(events: Sequence[Event]) -> bool:
    return any(isinstance(event, ToolCalled) for event in events)


def _tries(wreck: Wreck) -> int:
    return 1 + sum(isinstance(event, TurnRecovered) for event in wreck.events)


def _has_something_to_say(events: Sequence[Event]) -> bool:
    has_received = _received_anything(_last_request(events)) or _has_called(events)
    return has_received and not _has_left_its_part(events)


def _has_left_its_part(events: Sequence[Event]) -> bool:
    """Return whether the model began as somebody else, so that nothing of it was said."""
    if _has_called(events) or any(isinstance(event, Flush) and event.pieces for event in events):
        return False
    last = _last_request(events)
    return any(isinstance(event, Flush) and event.withheld.get(GUARD) for event in last)


def _without_text(wreck: Wreck, now: datetime, recover_within_seconds: float) -> Recovery:
    is_wrong = _has_left_its_part(wreck.events)
    found = "somebody else's part, not said" if is_wrong else "no chunk received"
    tries = _tries(wreck)
    if tries >= TRIES:
        return Recovery(decision="give_up", found=f"{found} in {tries} tries")
    age = (now - wreck.started_at).total_seconds()
    if age > recover_within_seconds:
        return Recovery(decision="expire", found=f"{found}, started {age:.0f} s ago")
    return Recovery(decision="run_again", found=found)


def _received_anything(events: Sequence[Event]) -> bool:
    return any(
        chunk.type != "text" or chunk.text
        for event in events
        if isinstance(event, ProcessedChunk)
        for chunk in event.chunks
    )


def started(events: Sequence[Event]) -> TurnStarted | None:
    """Return the turn's own first event, where it is there."""
    first = events[0] if events else None
    return first if isinstance(first, TurnStarted) else None
