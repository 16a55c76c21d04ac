"""Markdown for the tests of chunking, built so that what may not be torn is known."""

from hypothesis import strategies as st

from tests.actors.text.streams import FAMILY, FLAG

WHOLE = (
    "[the docs](https://e.example/a_(b))",
    "https://e.example/a.b?c=1",
    "<https://e.example/x>",
    "<:Mug:111>",
    "<@123456789012345678>",
    "`a. b`",
    "||hidden words||",
    "*really. so*",
    FAMILY,
    FLAG,
)
"""What has to stand in one message, each below 40 UTF-16 units."""

_PLAIN = ("word ", "One. Two! ", "line\n", "\n\n", ", ", "。", "、", "字" * 30, "x" * 70, "😀" * 25)
_ODD = (
    "**",
    "*",
    "||",
    "_",
    "~~",
    "(",
    ")",
    '"',
    "[",
    "](",
    "「",
    "」",
    "> ",
    "> > ",
    ">>> ",
    "- ",
)
_ODDER = (
    "`",
    "```",
    "````",
    "\\",
    "|",
    "\r\n",
    "\t",
    ":(",
    "...",
    "U.S. ",
    "no. 5 ",
    "1. ",
    ";",
    "http://",
)
_BLOCKS = (
    "\n```py\nx = 1\n```\n",
    "\n```\n" + "y = 2\n" * 30 + "```\n",
    "\n```js\n" + "z" * 150 + "\n```\n",
    "\n| a | b |\n|---|:-:|\n" + "| 1 | 2 |\n" * 3,
    "\n| a | b |\n|---|:-:|\n" + "| 1 | 2 |\n" * 12,
    "\n||\nsecret\n\n```\ncode\n```\n||\n",
    "||" + "secret " * 30 + "||",
    "**" + "bold. " * 30 + "end**",
    "\n> " + "quoted " * 30 + "\n",
    "<:catA:1> <:catB:2><:dogA:3>",
    "!!\n",
)

well_formed = st.lists(st.sampled_from((*_PLAIN, *_BLOCKS[:3])), max_size=25).map("".join)
"""Prose and code whose fences stand on lines of their own."""

anything = st.lists(st.sampled_from((*_PLAIN, *WHOLE, *_ODD, *_ODDER, *_BLOCKS)), max_size=25).map(
    "".join
)
"""Markdown as a model at its worst may write it."""

around_whole = st.lists(
    st.one_of(
        st.sampled_from(("word ", "One. ", "line\n", "\n\n", "字" * 30, "more words here ")),
        st.sampled_from(WHOLE).map(" {} ".format),
    ),
    max_size=30,
).map("".join)
"""Prose around what may not be torn."""

secrets = st.lists(
    st.one_of(
        st.sampled_from(("word ", "One. Two. ", "line\n", "\n\n", "字" * 30)),
        st.integers(1, 60).map(lambda count: "||" + "§a§ " * count + "§||"),
        st.integers(1, 20).map(lambda count: "\n||\n" + "§b§\n\n" * count + "||\n"),
        st.integers(1, 20).map(lambda count: "||§.\n```\n" + "§c§\n" * count + "```\n||\n"),
    ),
    max_size=12,
).map("".join)
"""Prose with spoilers; what they hide is marked by a letter that stands nowhere else."""
