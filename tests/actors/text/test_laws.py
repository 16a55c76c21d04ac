"""What holds for every stream, however it is cut."""

import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.text import core
from actors.text.blocks import Ending, find_blocks
from actors.text.graphemes import is_edge, units
from events.generation import STREAM_RULES
from tests.actors.text.streams import (
    any_configs,
    configs,
    nested,
    run,
    streams,
    styled_streams,
    visible,
    well_formed,
    withheld,
)

unhurried = settings(deadline=None)
"""A slow machine is no broken law."""


@unhurried
@given(text=styled_streams, config=any_configs, data=st.data())
def test_how_a_provider_cuts_changes_nothing(
    text: str, config: core.TextConfig, data: st.DataObject
) -> None:
    """Chunk sizes are an accident of the network; messages must not depend on them."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    whole = run([text], config)

    assert run(pieces, config) == whole
    assert run(text, config) == whole


@unhurried
@given(text=styled_streams, config=any_configs, cut=st.integers(0, 2_000))
def test_every_character_is_flushed_withheld_or_pending(
    text: str, config: core.TextConfig, cut: int
) -> None:
    """Conservation: nothing that a model said may vanish without a name."""
    state, before = core.step(core.initial(config), text[:cut])
    assert len(text[:cut]) == _accounted(before) + state.pending

    state, after = core.step(state, text[cut:])
    discarded, dropped = core.discard(state, "stop")
    assert len(text) == _accounted((*before, *after)) + sum(dropped.values())
    assert discarded.pending == 0

    _, rest = core.finish(state, "final")
    assert len(text) == _accounted((*before, *after, *rest))


@unhurried
@given(text=well_formed, config=configs)
def test_text_without_tags_is_all_visible(text: str, config: core.TextConfig) -> None:
    """What holds no reasoning is shown to the last character."""
    segments = run([text], config)

    assert visible(segments) == text
    assert withheld(segments, "reasoning") == 0


@unhurried
@given(text=styled_streams, config=any_configs)
def test_segments_join_and_pieces_stand_in_order(text: str, config: core.TextConfig) -> None:
    """Ranges are how delivered text is told from lost text."""
    end = 0
    for segment in run([text], config):
        assert segment.start == end
        assert len(segment.text) == segment.end - segment.start
        at = segment.start
        for piece in segment.pieces:
            assert at <= piece.start < piece.end <= segment.end
            at = piece.end
        inside = sum(piece.size for piece in segment.pieces)
        rules = sum(n for rule, n in segment.withheld.items() if rule not in STREAM_RULES)
        assert inside + rules == len(segment.text)
        end = segment.end


@unhurried
@given(text=styled_streams, config=any_configs)
def test_no_message_is_blank_too_long_or_cut_within_a_letter_by_any_setting(
    text: str, config: core.TextConfig
) -> None:
    """Discord refuses the first two, and shows the third as something else."""
    for segment in run([text], config):
        for piece in segment.pieces:
            assert piece.content.strip()
            assert piece.is_table or units(piece.content) <= config.limit
            assert not any("\ud800" <= letter <= "\udfff" for letter in piece.content)


@unhurried
@given(text=streams, config=configs)
def test_a_message_holds_its_text_and_fits(text: str, config: core.TextConfig) -> None:
    """Above the limit Discord refuses it, and the text would be lost."""
    for segment in run([text], config):
        for piece in segment.pieces:
            source = segment.text[piece.start - segment.start : piece.end - segment.start]
            between = r"\s*" if piece.removed else None
            body = "".join(between or re.escape(c) if c.isspace() else re.escape(c) for c in source)
            assert re.fullmatch(rf"(> )*(`{{3,}}\S*\n)?{body}(\n?`{{3,}})?", piece.content)
            assert piece.is_table or units(piece.content) <= config.limit
            assert piece.content == piece.content.strip()


@unhurried
@given(text=well_formed, config=configs)
def test_only_blanks_and_spent_closers_are_in_no_message(
    text: str, config: core.TextConfig
) -> None:
    """`blank` must not become a word for lost text."""
    for segment in run([text], config):
        rest = list(segment.text)
        for piece in segment.pieces:
            for index in range(piece.start - segment.start, piece.end - segment.start):
                rest[index] = ""
        assert "".join(rest).replace("```", "").strip() == ""


@unhurried
@given(text=well_formed, config=configs)
def test_fences_are_balanced_in_every_message(text: str, config: core.TextConfig) -> None:
    """An odd fence shows code as prose, or prose as code."""
    for segment in run([text], config):
        for piece in segment.pieces:
            assert piece.content.count("```") % 2 == 0


@unhurried
@given(text=nested, config=configs)
def test_no_message_leaves_a_fence_open(text: str, config: core.TextConfig) -> None:
    """Also where fences nest, are indented or quoted, or are cut short."""
    for segment in run([text], config):
        for piece in segment.pieces:
            _, ending = find_blocks(piece.content, Ending(), is_last=False)
            assert ending.line.fence == 0


@unhurried
@given(text=well_formed, config=configs)
def test_no_visible_character_is_split(text: str, config: core.TextConfig) -> None:
    """A split emoji shows as several others."""
    segments = run([text], config)
    shown = visible(segments)
    edges = {piece.start for one in segments for piece in one.pieces}
    edges |= {piece.end for one in segments for piece in one.pieces}
    edges |= {one.end for one in segments}

    for edge in edges:
        around = shown[max(0, edge - 1) : edge + 1]
        assert "\u200d" not in around
        assert not unicodedata.combining(around[-1:] or "x")
        assert not _is_inside_flag(shown, edge)


@unhurried
@given(text=st.text(max_size=30), index=st.integers(0, 30))
def test_an_edge_is_never_inside_a_combined_letter(text: str, index: int) -> None:
    """The rule on two neighbours may forbid too much, never too little."""
    if 0 < index < len(text) and is_edge(text, index):
        before, after = text[index - 1], text[index]
        assert unicodedata.category(after) not in ("Mn", "Me", "Mc") or before == "\n"
        assert len(unicodedata.normalize("NFC", before + after)) == len(
            unicodedata.normalize("NFC", before) + unicodedata.normalize("NFC", after)
        )


def _accounted(segments: tuple[core.Segment, ...]) -> int:
    return len(visible(segments)) + withheld(segments, "reasoning")


def _is_inside_flag(text: str, edge: int) -> bool:
    start = edge
    while start and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
        start -= 1
    is_flag_next = edge < len(text) and "\U0001f1e6" <= text[edge] <= "\U0001f1ff"
    return is_flag_next and (edge - start) % 2 == 1
