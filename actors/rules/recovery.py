"""What becomes of a turn whose process is gone, from what its log shows.

An attempt without a known outcome ends the turn: its text may stand in Discord, so nothing may
follow it. Text that was received and may still be delivered is delivered. A turn that received
nothing is run again while its asker may still be waiting, three times at the most, so that a
trigger which kills every process cannot hold up its channel for ever.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from actors.ports import NotSent, SendResult, Sent
from events.base import Event
from events.delivery import COMPONENTS_REFUSED
from events.generation import ProcessedChunk
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
    if _received_anything(wreck.events):
        sent = sum(isinstance(result, Sent) for result in wreck.results)
        return Recovery(decision="deliver_rest", found=f"text received, {sent} messages confirmed")
    return _without_text(wreck, now, recover_within_seconds)


def _is_final_refusal(result: NotSent) -> bool:
    # A message refused for its buttons is still owed without them.
    return result.outcome == "definite_refusal" and result.reason != COMPONENTS_REFUSED


def _without_text(wreck: Wreck, now: datetime, recover_within_seconds: float) -> Recovery:
    tries = 1 + sum(isinstance(event, TurnRecovered) for event in wreck.events)
    if tries >= TRIES:
        return Recovery(decision="give_up", found=f"no chunk received in {tries} tries")
    age = (now - wreck.started_at).total_seconds()
    if age > recover_within_seconds:
        return Recovery(decision="expire", found=f"no chunk received, started {age:.0f} s ago")
    return Recovery(decision="run_again", found="no chunk received")


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
