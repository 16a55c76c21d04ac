"""A segment becomes messages: split as the turn's settings say, then made to read as if typed.

What a piece stands for and what each rule left out of it add up to the segment, character by
character. Random choices are drawn anew for each segment, from the turn's seed and the segment's
place, so that they do not depend on how the stream was cut.
"""

from collections import Counter
from random import Random

from msgspec import Struct

from actors.text.blocks import Ending
from actors.text.chunking import Mode, Slice, split_accounted
from actors.text.humanizer import Toggles, humanize
from actors.text.state import TextConfig
from events.generation import Piece


class Composed(Struct, frozen=True, kw_only=True):
    """What a segment gives."""

    pieces: tuple[Piece, ...]
    """The message bodies, in order."""
    withheld: dict[str, int]
    """Characters of the segment that no message stands for, by rule."""
    ending: Ending
    """How the segment ends; the next one is given it where this one was cut within code."""


def compose(text: str, config: TextConfig, *, start: int, begin: Ending, is_last: bool) -> Composed:
    """Return the messages that `text` gives.

    Args:
        text: One segment.
        config: The turn's settings.
        start: Offset of the segment in the visible text.
        begin: How the segment before it ended, where that was cut within a block.
        is_last: Whether nothing follows it, so that a fence which it leaves open stays open.
    """
    whole = split_accounted(text, _mode(config), config.limit, begin=begin, is_last=is_last)
    rng = Random(f"{config.seed}/{start}")  # noqa: S311 - style, not secrets
    toggles = Toggles(
        force_lowercase=config.force_lowercase,
        punctuation_splits=config.punctuation_splits and config.live_streaming,
    )
    slices = [part for one in whole.slices for part in humanize(one, toggles, rng)]
    withheld = Counter(whole.dropped)
    for one in slices:
        withheld.update(one.removed)
    pieces = tuple(_piece(one, start) for one in slices if one.content)
    return Composed(pieces=pieces, withheld=dict(withheld), ending=whole.ending)


def _mode(config: TextConfig) -> Mode:
    if not config.live_streaming:
        return "aggregated"
    return "sentence" if config.sentence_splitting else "paragraph"


def _piece(one: Slice, start: int) -> Piece:
    return Piece(
        content=one.content,
        start=start + one.start,
        end=start + one.end,
        removed=sum(one.removed.values()),
    )
