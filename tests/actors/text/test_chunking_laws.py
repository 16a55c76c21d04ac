"""What holds for every split, whatever the text."""

import re
import unicodedata
from itertools import pairwise
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.text.blocks import Ending, find_blocks
from actors.text.chunking import Mode, Slice, Split, split, split_accounted
from actors.text.graphemes import is_edge, units
from tests.actors.text.pieces_of_markdown import (
    WHOLE,
    anything,
    around_whole,
    secrets,
    well_formed,
)

unhurried = settings(deadline=None, max_examples=100)
"""A slow machine is no broken law."""

modes = st.sampled_from(get_args(Mode))
limits = st.sampled_from((60, 100, 300, 1950))
_DROPPABLE = {
    "blank": re.compile(r"\s"),
    "period": re.compile("[.\u3002\uff0e\uff61]"),
    "mark": re.compile("[!?]"),
    "marker": re.compile(r"[|*_~]"),
    "fence": re.compile("[`>]"),
}


@unhurried
@given(text=anything, mode=modes, limit=limits)
def test_b14_every_character_is_in_a_slice_or_dropped_by_a_rule(
    text: str, mode: Mode, limit: int
) -> None:
    """Text that vanishes without a name is lost."""
    result = split_accounted(text, mode, limit)

    inside = sum(one.end - one.start for one in result.slices)
    assert inside + sum(result.dropped.values()) == len(text)
    for one in result.slices:
        added = one.lead + one.tail
        assert len(one.content) - added + sum(one.removed.values()) == one.end - one.start


@unhurried
@given(text=anything, mode=modes, limit=limits)
def test_t62_slices_hold_their_text_in_order(text: str, mode: Mode, limit: int) -> None:
    """Only characters that a rule may drop are missing from what is posted."""
    result = split_accounted(text, mode, limit)

    at = 0
    for one in result.slices:
        assert at <= one.start < one.end <= len(text)
        assert _shown(one) == _without_gaps(one, text)
        at = one.end
    assert _left_out(text, result) == _counts(result)


@unhurried
@given(text=anything, mode=modes, limit=st.sampled_from((20, 33, *(60, 100, 300, 1950))))
def test_t61_no_slice_is_over_the_limit_or_blank(text: str, mode: Mode, limit: int) -> None:
    """Discord refuses both, and the text would be lost."""
    for one in split(text, mode, limit):
        assert one.is_table or units(one.content) <= limit
        assert one.content == one.content.strip() != ""


@unhurried
@given(text=anything, mode=modes, limit=st.sampled_from((300, 1950)))
def test_b01_no_slice_leaves_a_fence_open(text: str, mode: Mode, limit: int) -> None:
    """Else code shows as prose, and prose as code."""
    for one in split(text, mode, limit):
        _, ending = find_blocks(one.content, Ending(), is_last=False)
        assert ending.line.fence == 0


@unhurried
@given(text=well_formed, mode=modes, limit=limits)
def test_b01_fences_are_balanced(text: str, mode: Mode, limit: int) -> None:
    """A count that needs no scanner of ours."""
    for one in split(text, mode, limit):
        assert one.content.count("```") % 2 == 0


@unhurried
@given(text=anything, mode=modes, limit=limits)
def test_b06_b07_no_visible_character_is_torn(text: str, mode: Mode, limit: int) -> None:
    """A torn emoji shows as several others."""
    for one in split(text, mode, limit):
        for edge in (one.start, one.end):
            assert is_edge(text, edge)
            assert "\u200d" not in text[max(0, edge - 1) : edge + 1]
            assert not unicodedata.combining(text[edge : edge + 1] or "x")


@unhurried
@given(text=around_whole, mode=modes, limit=st.sampled_from((50, 60, 100, 1950)))
def test_t72_what_fits_is_never_torn(text: str, mode: Mode, limit: int) -> None:
    """Half a link is no link, half an emoji tag is noise."""
    contents = [one.content for one in split(text, mode, limit)]

    for whole in WHOLE:
        assert sum(content.count(whole) for content in contents) == text.count(whole)


@unhurried
@given(text=secrets, mode=modes, limit=limits)
def test_b11_hidden_text_is_never_shown(text: str, mode: Mode, limit: int) -> None:
    """A spoiler that ends at a message's edge gives away what it hides."""
    for one in split(text, mode, limit):
        shown = re.sub(r"\|\|[\s\S]+?\|\|", "", one.content)
        assert "§" not in shown


@unhurried
@given(text=anything, mode=modes, limit=limits)
def test_splitting_again_gives_the_same(text: str, mode: Mode, limit: int) -> None:
    """Replay compares what was posted with what would be."""
    assert split_accounted(text, mode, limit) == split_accounted(text, mode, limit)


@unhurried
@given(text=around_whole, limit=limits)
def test_t70_aggregated_fills_its_messages(text: str, limit: int) -> None:
    """Each message costs a request; two that fit into one are one."""
    slices = split(text, "aggregated", limit)

    for one, other in pairwise(slices):
        is_whole_line = text[other.end : other.end + 1] in ("", "\n")
        if "\n" in text[one.end : other.start] and is_whole_line:
            assert units(text[one.start : other.end]) > limit


def _shown(one: Slice) -> str:
    return one.content[one.lead : len(one.content) - one.tail]


def _without_gaps(one: Slice, text: str) -> str:
    kept: list[str] = []
    at, read = one.start, one.lead
    for gap in one.gaps:
        kept.append(text[at : at + gap.at - read])
        at += gap.at - read + gap.size
        read = gap.at
    return "".join((*kept, text[at : one.end]))


def _counts(result: Split) -> dict[str, int]:
    counts = dict(result.dropped)
    for one in result.slices:
        for rule, count in one.removed.items():
            counts[rule] = counts.get(rule, 0) + count
    return counts


def _left_out(text: str, result: Split) -> dict[str, int]:
    """Return the characters in no content, by the rule whose character they are."""
    counts: dict[str, int] = {}
    at = 0
    stretches: list[str] = []
    for one in result.slices:
        stretches.append(text[at : one.start])
        at, read = one.start, one.lead
        for gap in one.gaps:
            at += gap.at - read
            stretches.append(text[at : at + gap.size])
            at, read = at + gap.size, gap.at
        at = one.end
    for letter in "".join((*stretches, text[at:])):
        rule = next(name for name, pattern in _DROPPABLE.items() if pattern.match(letter))
        counts[rule] = counts.get(rule, 0) + 1
    return counts
