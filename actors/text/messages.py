"""A segment becomes messages: cleaned by rule, split by the settings, made to read as typed.

Rules run in a fixed order. What a piece stands for and what each rule left out add up to the
segment, character by character; what a rule adds counts for nothing. Code that goes on from the
segment before is left as it is. Random choices are drawn anew for each segment, from the turn's
seed and the segment's place, so that they do not depend on how the stream was cut.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from actors.text.blocks import Ending, find_blocks
from actors.text.chunking import Mode, Slice, split_accounted
from actors.text.cleaning import drop_directions, drop_noise
from actors.text.closing import closers, trimmed
from actors.text.config import TextConfig
from actors.text.emojis import drop_worn, write_emojis
from actors.text.humanizer import Toggles, humanize
from actors.text.labels import (
    drop_last_label,
    drop_own_labels,
    guard_lines,
    guard_opening,
    has_colon,
    take_label,
)
from actors.text.mentions import mentioned, write_mentions
from actors.text.orphans import is_stray
from actors.text.tape import Tape
from actors.text.voice import Voice
from events.generation import Piece


class Draft(Struct, frozen=True, kw_only=True):
    """A segment on its way to messages."""

    text: str
    """As it left the buffer."""
    start: int
    """Its offset in the visible text."""
    begin: Ending = Ending()
    """How the segment before it ended, where that was cut within code."""
    orphan: int = 0
    """Characters at its front that waited for it."""
    is_last: bool = False
    """Whether nothing follows it in its stream."""
    is_cut_short: bool = False
    """Whether a tool call cut it, so that half a clause at its end is left out."""


class Composed(Struct, frozen=True, kw_only=True):
    """What a segment gives."""

    pieces: tuple[Piece, ...]
    """The message bodies, in order."""
    withheld: dict[str, int]
    """Characters of the segment that no message stands for, by rule."""
    ending: Ending
    """How the segment ends; the next one is given it where this one was cut within code."""
    voice: Voice
    """The voice behind it."""


def compose(draft: Draft, config: TextConfig, voice: Voice) -> Composed:
    """Return the messages that a segment gives."""
    if draft.text.isspace() and not draft.begin.line.fence:
        blank = {"blank": len(draft.text)}
        return Composed(pieces=(), withheld=blank, ending=Ending(), voice=voice)
    tape = Tape(draft.text)
    if voice.stop:
        tape.cut(0, len(tape.text), voice.stop)
    elif is_stray(draft.text):
        tape.cut(0, len(tape.text), "orphan")
    elif draft.text.strip() and not draft.begin.line.fence:
        voice = _clean(tape, draft, config, voice)
    whole = split_accounted(
        tape.text, _mode(config), config.limit, begin=draft.begin, is_last=draft.is_last
    )
    slices = _typed(whole.slices, config, draft.start)
    pieces = tuple(filter(None, (_piece(tape, one, draft.start, config) for one in slices)))
    rest = len(draft.text) - sum(piece.size for piece in pieces) - sum(tape.removed.values())
    return Composed(
        pieces=pieces,
        withheld=_named(tape.removed, _left_out(whole.dropped, slices), rest),
        ending=whole.ending,
        voice=replace(voice, has_said=True) if pieces and not voice.has_said else voice,
    )


def _mode(config: TextConfig) -> Mode:
    if not config.live_streaming:
        return "aggregated"
    return "sentence" if config.sentence_splitting else "paragraph"


def _clean(tape: Tape, draft: Draft, config: TextConfig, voice: Voice) -> Voice:
    if draft.is_cut_short:
        tape.cut(*trimmed(tape.text), "clause")
    if draft.is_last:
        blocks, ending = find_blocks(tape.text, Ending(), is_last=True)
        if not ending.line.fence:
            tape.insert(*closers(tape.text, blocks))
    if config.persona and not config.is_impersonation and has_colon(tape.text):
        voice = _labels(tape, draft.orphan, config, voice)
    elif draft.orphan:
        _attach(tape, draft.orphan)
    if not voice.stop:
        _polish(tape, config)
        if config.stops_at_speakers and has_colon(tape.text):
            voice = guard_lines(tape, config, voice)
    return voice


def _polish(tape: Tape, config: TextConfig) -> None:
    """Clean what is said of what nobody would write, and write emojis and mentions as Discord does.

    A text that begins or ends with code is the model's own from there on.
    """
    drop_worn(tape, config)
    drop_directions(tape)
    text = tape.text.strip()
    if text.startswith("```") or text.endswith("```"):
        return
    drop_noise(tape)
    write_emojis(tape, config)
    if has_colon(tape.text) and config.persona and not config.is_impersonation:
        drop_last_label(tape, config)
    write_mentions(tape, config)


def _labels(tape: Tape, at: int, config: TextConfig, voice: Voice) -> Voice:
    voice, has_head = take_label(tape, at, config, voice)
    if not has_head and not voice.has_said:
        voice = guard_opening(tape, at, config, voice)
    if voice.stop:
        return voice
    if at:
        _attach(tape, at)
    drop_own_labels(tape, config, has_head=has_head or at > 0)
    return voice


def _attach(tape: Tape, at: int) -> None:
    """Join what waited to what it waited for."""
    end = at
    while end < len(tape.text) and tape.text[end].isspace():
        end += 1
    tape.cut(len(tape.text[:at].rstrip()), end, "orphan")


def _typed(slices: Sequence[Slice], config: TextConfig, start: int) -> list[Slice]:
    toggles = Toggles(
        force_lowercase=config.force_lowercase,
        punctuation_splits=config.punctuation_splits and config.live_streaming,
    )
    if not toggles.force_lowercase and not toggles.punctuation_splits:
        return list(slices)
    rng = Random(f"{config.seed}/{start}")  # noqa: S311 - style, not secrets
    return [
        typed
        for one in slices
        for typed in ((one,) if one.is_table else humanize(one, toggles, rng))
    ]


def _piece(tape: Tape, one: Slice, start: int, config: TextConfig) -> Piece | None:
    sources = tape.sources(one.start, one.end)
    if not one.content.strip() or not sources:
        return None
    size = max(0, len(sources) - sum(one.removed.values()))
    first, end = sources[0], sources[-1] + 1
    return Piece(
        content=one.content,
        start=start + first,
        end=start + end,
        removed=end - first - size,
        is_table=one.is_table,
        mentions=() if one.is_table else mentioned(one.content, config),
    )


def _left_out(dropped: dict[str, int], slices: Sequence[Slice]) -> dict[str, int]:
    """Return what splitting left out, between the messages and within them, by rule."""
    gaps = [one.removed for one in slices if one.gaps]
    if not gaps:
        return dropped
    named = Counter(dropped)
    for removed in gaps:
        named.update(removed)
    return named


def _named(removed: dict[str, int], named: dict[str, int], rest: int) -> dict[str, int]:
    """Name all that is in no piece; `rest` is what no cleaning rule removed.

    What splitting left out may hold characters that a rule added, which were never received: so
    its names share what is left, and the last of it is `blank`.
    """
    if not removed and named.keys() <= {"blank"}:
        return {"blank": rest} if rest else {}
    withheld = Counter(removed)
    for rule, count in named.items():
        taken = min(count, rest) if rule != "blank" else 0
        withheld[rule] += taken
        rest -= taken
    withheld["blank"] += rest
    return {rule: count for rule, count in withheld.items() if count}
