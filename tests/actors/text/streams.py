"""Streams of text for the tests of the text path, and what they come out as."""

from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

from actors.text import core

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
FLAG = "🇩🇪"

SNIPPETS = (
    *("a", "word ", "\n", "\n\n", "   ", "\t", "\r\n", ". ", "! ", "。", "、", "> ", "- "),
    *("`", "``", "```", "````", "```py\n", "\n```\n", "  ```\n", "`x`", "```y```"),
    *("<", "</", "<th", "<think>", "</think>", "<mm:think>", "</mm:think>", "<b>", "<reasoning>"),
    *("</Reasoning>", "😀", FAMILY, FLAG, "e\u0301", "👍🏽", "字" * 90, "x" * 400, "word " * 130),
    "x = 1\n" * 90,
)
"""What streams are made of: every rule's beginnings, ends and halves."""

streams = st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join)
"""Texts as a model at its worst may write them."""

PLAIN = ("word ", "line\n", "\n", "Sentence. ", "x" * 300, "字" * 120, "😀" * 50, FAMILY, FLAG * 3)
BLOCKS = ("\n```py\nx = 1\n```\n", "\n```\n" + "y = 2\n" * 150 + "```\n", "\n```js\n" + "z" * 900)
well_formed = st.lists(st.sampled_from((*PLAIN, *BLOCKS[:2])), max_size=30).flatmap(
    lambda parts: st.sampled_from(("", BLOCKS[2])).map(lambda last: "".join(parts) + last)
)
"""Texts without tags whose fences stand on their own lines; the last may be left open."""

NESTED = (
    "\n```\n",
    "\n````md\n",
    "\n````\n",
    "\n  ```\n",
    "\n> ```py\n",
    "\n> ```\n",
    "it`s ",
    "`x` ",
)
nested = st.lists(st.sampled_from((*PLAIN, *NESTED)), max_size=30).map("".join)
"""Texts without tags whose fences begin their lines and close as they please."""

configs = st.builds(
    core.TextConfig, live_streaming=st.booleans(), limit=st.sampled_from((60, 200, 1950))
)

STYLED = (
    *("**", "*", "__", "~~", "||", "<:mug:111>", "<a:mugs:112>", "[a](https://b.c/d)", "(", ")"),
    *("https://x.y/z ", ", ", "; ", "?!", "Hello there. ", "The U.S. is. ", "- item\n", "1. x\n"),
    *('"', "«", "»", "Name: ", "| a | b |\n|---|---|\n| 1 | 2 |\n", "> quoted\n", "Wide "),
)
"""What a style touches, or must leave alone."""

styled_streams = st.lists(st.sampled_from((*SNIPPETS, *STYLED)), max_size=40).map("".join)
"""Texts as a model at its worst may write and decorate them."""

any_configs = st.builds(
    core.TextConfig,
    live_streaming=st.booleans(),
    limit=st.sampled_from((60, 200, 1950)),
    sentence_splitting=st.booleans(),
    force_lowercase=st.booleans(),
    punctuation_splits=st.booleans(),
    seed=st.integers(0, 3),
)
"""Every combination of the settings of a guild."""


def run(
    chunks: Iterable[str],
    config: core.TextConfig | None = None,
    how: core.How = "final",
) -> list[core.Segment]:
    """Return all segments of a stream that ends by `how`."""
    state = core.initial(config or core.TextConfig())
    segments: list[core.Segment] = []
    for chunk in chunks:
        state, some = core.step(state, chunk)
        segments += some
    state, some = core.finish(state, how)
    assert state.pending == 0
    return [*segments, *some]


def posts(
    chunks: Iterable[str], *, live: bool = True, limit: int = 1950, how: core.How = "final"
) -> list[str]:
    """Return the messages of a stream."""
    config = core.TextConfig(live_streaming=live, limit=limit)
    return [piece.content for segment in run(chunks, config, how) for piece in segment.pieces]


def visible(segments: Sequence[core.Segment]) -> str:
    """Return the text of all segments."""
    return "".join(segment.text for segment in segments)


def withheld(segments: Sequence[core.Segment], rule: str) -> int:
    """Return the characters that `rule` withheld."""
    return sum(segment.withheld.get(rule, 0) for segment in segments)
