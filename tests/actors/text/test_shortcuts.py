"""Shortcuts for what most text is: each gives exactly what the long way gives."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from actors.text import core
from actors.text.blocks import Ending
from actors.text.chunking import Mode, split_accounted, split_thoroughly
from actors.text.plain_words import with_words
from actors.text.scan import Scan
from tests.actors.text.streams import SNIPPETS, STYLED, any_configs

LINE = (
    *("word", "a", " ", "  ", "\t", "\n", "\r", "\u3000", "\ufeff", "\x0b", "\x00", "\ud83d"),
    *(
        "*",
        "**",
        "_",
        "~~",
        "||",
        "|",
        "[a](b)",
        "(",
        ")",
        '"',
        "「",
        "」",
        ":",
        ";",
        ".",
        "...",
        "!",
    ),
    *("https://a.b/c", "> ", "- ", "1. ", "# ", "\\", "é", "e\u0301", "😀", "字" * 20, "x" * 30),
)
MARKS = ("-#", "\n-#\n", "-# \n", "small ", "text", "(")
streams = st.lists(st.sampled_from((*SNIPPETS, *STYLED, *MARKS)), max_size=40).map("".join)
lines = st.lists(st.sampled_from((*LINE, *STYLED)), max_size=12).map("".join)


@settings(deadline=None, max_examples=400)
@given(
    text=lines, mode=st.sampled_from(("aggregated", "paragraph")), limit=st.sampled_from((20, 60))
)
def test_t62_a_plain_line_is_what_all_rules_would_leave_of_it(
    text: str, mode: Mode, limit: int
) -> None:
    """A shortcut that forgets a rule shows only in the one line that needs it."""
    short = split_accounted(text, mode, limit)

    assert short == split_thoroughly(text, mode, limit, begin=Ending(), is_last=True)


@settings(deadline=None, max_examples=300)
@given(text=streams, size=st.integers(1, 9), config=any_configs, most=st.sampled_from((0, 1, 3)))
def test_t1_words_that_decide_nothing_are_read_as_by_every_rule(
    text: str, size: int, config: core.TextConfig, most: int
) -> None:
    """Where most chunks take another way than the rest, no chunk may tell which it took."""
    state = core.initial(replace(config, most_messages=most))

    for at in range(0, len(text), size):
        chunk = text[at : at + size]
        scan = Scan(state)
        scan.read(chunk)
        read = scan.done()
        added = with_words(state, chunk)
        assert added is None or (added, ()) == read
        state = read[0]
