"""Real Markdown through the text path: the descriptions of the packages that tests run with."""

import re
from collections.abc import Iterator
from importlib.metadata import distributions
from typing import Final

import pytest

from actors.text import core
from actors.text.graphemes import units
from events.generation import STREAM_RULES
from tests.actors.text.streams import run

LONGEST: Final = 12_000
"""Characters of a text."""
MOST: Final = 12
"""Texts in each mode: the corpus is to be read in a few seconds."""
MODES: Final = {
    "aggregated": core.TextConfig(live_streaming=False),
    "paragraph": core.TextConfig(),
    "sentence": core.TextConfig(sentence_splitting=True),
}
_FENCE: Final = re.compile(r"(?m)^[ >]*(`{3,})")
_LINK: Final = re.compile(r"\[[^\[\]\n@]{1,80}\]\(https?://[^\s()@]{1,200}\)")


def texts() -> list[str]:
    """Return the texts, the richest in Markdown first."""
    found = sorted(
        set(_descriptions()), key=lambda text: (-text.count("```") - text.count("|"), text)
    )
    return found[:MOST]


def _descriptions() -> Iterator[str]:
    for one in distributions():
        text = one.metadata.json.get("description")
        if isinstance(text, str) and len(text) > 1_000:
            yield text.replace("\r", "")[:LONGEST]


def is_balanced(content: str) -> bool:
    """Return whether every fence is closed, by a run at least as long as the one that opened it."""
    opened = 0
    for run_of_ticks in _FENCE.findall(content):
        size = len(run_of_ticks)
        if not opened:
            opened = size
        elif size >= opened:
            opened = 0
    return not opened


@pytest.mark.parametrize("mode", MODES)
def test_real_markdown_is_posted_whole(mode: str) -> None:
    """Whatever people write, nothing is lost, torn or out of order."""
    config = MODES[mode]
    for text in texts():
        segments = run([text], config)
        at = 0
        for segment in segments:
            assert segment.start == at
            at = segment.end
            rules = sum(n for rule, n in segment.withheld.items() if rule not in STREAM_RULES)
            assert sum(piece.size for piece in segment.pieces) + rules == len(segment.text)
            for piece in segment.pieces:
                assert piece.content.strip()
                assert piece.is_table or units(piece.content) <= config.limit
                assert is_balanced(piece.content)
        hidden = sum(
            n for one in segments for rule, n in one.withheld.items() if rule in STREAM_RULES
        )
        assert at + hidden == len(text)


@pytest.mark.parametrize("mode", MODES)
def test_real_links_are_never_torn(mode: str) -> None:
    """Half a link is no link."""
    for text in texts()[:6]:
        whole = {
            link for segment in run([text], MODES[mode]) for link in _LINK.findall(segment.text)
        }
        posted = "\n".join(p.content for one in run([text], MODES[mode]) for p in one.pieces)

        assert all(link in posted for link in whole)


@pytest.mark.parametrize("mode", MODES)
def test_cuts_of_a_provider_change_nothing_about_real_markdown(mode: str) -> None:
    """A message looks the same however its text arrived."""
    for text in texts()[:4]:
        whole = run([text], MODES[mode])

        assert run(text, MODES[mode]) == whole
        assert run([text[at : at + 7] for at in range(0, len(text), 7)], MODES[mode]) == whole
