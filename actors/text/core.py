"""The face of the text path: chunks in, segments and their messages out.

A turn's text is one run of characters. Each character ends in exactly one place: in a message, or
withheld by a named rule (`reasoning`, `details`, `label`, `blank`, …, or the one that a caller
discards it under); until then it is pending. What is visible has offsets, in code points, that go
on over the requests of a turn; segments join without a gap.
"""

from typing import Final, Literal

from msgspec.structs import replace

from actors.text.caps import most_messages
from actors.text.fences import Line
from actors.text.plain_words import with_words
from actors.text.scan import Scan
from actors.text.state import (
    TEXT_VERSION,
    Boundary,
    Buffer,
    Segment,
    TextConfig,
    TextState,
)
from events.generation import Flush
from events.turn import TurnStarted

__all__ = [
    "TEXT_VERSION",
    "How",
    "Segment",
    "TextConfig",
    "TextState",
    "asked_again",
    "config_of",
    "discard",
    "finish",
    "flush_event",
    "initial",
    "step",
]

How = Literal["final", "stop", "tool_call", "error"]
"""Why a stream's text is over: it ended by itself, was stopped, called a tool, or failed."""

_BOUNDARIES: Final[dict[How, Boundary]] = {
    "final": "final",
    "stop": "tool_call",
    "tool_call": "tool_call",
    "error": "tool_call",
}


def config_of(started: TurnStarted) -> TextConfig:
    """Return what the text path is told of a turn, as it is on record."""
    settings, scene = started.settings, started.scene
    return TextConfig(
        live_streaming=settings.live_streaming,
        most_messages=most_messages(settings.send_message_limit),
        sentence_splitting=settings.sentence_splitting,
        force_lowercase=settings.force_lowercase,
        punctuation_splits=settings.punctuation_splits,
        seed=started.seed,
        persona=started.persona,
        aliases=scene.aliases,
        participants=scene.participants,
        sprites=scene.sprites,
        is_impersonation=started.delivery_mode == "user_impersonation",
        empty_retries=0,
        stops_at_speakers=settings.stops_at_speakers,
        seen_labels=scene.seen_labels,
        uses_emojis=settings.uses_emojis,
        emojis=scene.emojis,
        keeps_unknown_emojis=settings.keeps_unknown_emojis,
        worn_emojis=() if settings.repeats_emojis else scene.recent_emojis,
    )


def initial(config: TextConfig) -> TextState:
    """Return the state before the first character of a turn."""
    return TextState(config=config)


def asked_again(state: TextState) -> TextState:
    """Return the state before a stream in which a model that said nothing is asked once more."""
    retries = state.config.empty_retries + 1
    return replace(state, config=replace(state.config, empty_retries=retries))


def step(state: TextState, chunk: str) -> tuple[TextState, tuple[Segment, ...]]:
    """Take text as it came, and return the segments that it completes, oldest first."""
    added = with_words(state, chunk)
    if added is not None:
        return added, ()
    scan = Scan(state)
    scan.read(chunk)
    return scan.done()


def finish(state: TextState, how: How) -> tuple[TextState, tuple[Segment, ...]]:
    """End a stream: flush all that is pending, so that nothing is.

    What is open is closed; before a tool call, half a clause is left out. Where only reasoning is
    pending, the one segment has no text and no messages. A stream that is over already gives
    nothing more.
    """
    scan = Scan(state, is_tool_call=how == "tool_call")
    scan.finish(_BOUNDARIES[how])
    after, segments = scan.done()
    return _fresh(after), segments


def discard(state: TextState, rule: str) -> tuple[TextState, dict[str, int]]:
    """End a stream without a flush, and return the characters dropped, by rule.

    Visible text is dropped under `rule`, reasoning and the like under their own names. Offsets stay
    where the last flush ended.
    """
    dropped = dict(state.hidden)
    dropped["prefill"] = dropped.get("prefill", 0) + state.intake.matched
    held = "details" if state.thinking == "details" else "reasoning" if state.thinking else rule
    dropped[held] = dropped.get(held, 0) + len(state.held)
    visible = state.buffer.size + len(state.buffer.follow)
    dropped[rule] = dropped.get(rule, 0) + visible
    return _fresh(state), {name: count for name, count in dropped.items() if count}


def flush_event(segment: Segment, ordinal: int) -> Flush:
    """Return the event that records `segment` as the turn's flush `ordinal`, from 1."""
    return Flush(
        flush=ordinal,
        text=segment.text,
        boundary=segment.boundary,
        start=segment.start,
        end=segment.end,
        pieces=segment.pieces,
        withheld=segment.withheld,
        modifier=segment.modifier,
        is_copied=segment.is_copied,
        details=segment.details,
    )


def _fresh(state: TextState) -> TextState:
    """Return the state before the first character of a turn's next stream."""
    start = state.start
    buffer = Buffer(start=start, scanned=start, line=Line(at=start))
    return TextState(config=state.config, buffer=buffer, voice=replace(state.voice, stop=""))
