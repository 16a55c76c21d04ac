"""How a message is made to look typed."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from actors.text.chunking import Slice, split
from actors.text.graphemes import units
from actors.text.humanizer import Toggles, humanize
from tests.actors.text.pieces_of_markdown import anything


class Draws(Random):
    """Draws that a test has chosen."""

    def __init__(self, *draws: float) -> None:
        super().__init__(0)
        self.left = list(draws)

    @override
    def random(self) -> float:
        return self.left.pop(0)


LC = Toggles(force_lowercase=True)
PS = Toggles(punctuation_splits=True)
BOTH = Toggles(force_lowercase=True, punctuation_splits=True)
QUIET = '**Big, bold!** "Hey, you!" (a, b) ||c, d!|| [x, y!](http://E.x/A)'

VECTORS: Sequence[tuple[str, Toggles, str, Sequence[float], Sequence[str]]] = [
    ("V90", BOTH, "Hello There, my Friend", [0.3999], ["hello there my friend"]),
    ("V91 from", BOTH, "Hello There, my Friend", [0.4], ["hello there", "my friend"]),
    ("V91 to", BOTH, "Hello There, my Friend", [0.5999], ["hello there", "my friend"]),
    ("V92", BOTH, "Hello There, my Friend", [0.61], ["hello there, my friend"]),
    ("V93", BOTH, "Stop! Now?! ok", [0.49, 0.5], ["stop!", "now?! ok"]),
    ("V94", BOTH, "Stop!", [0.0], ["stop!"]),
    (
        "V95",
        BOTH,
        "It is $1,000, a,b and 待って、本当",
        [0.1, 0.5],
        ["it is $1,000 a,b and 待って", "本当"],
    ),
    ("V96", BOTH, QUIET, [], ['**big, bold!** "hey, you!" (a, b) ||c, d!|| [x, y!](http://E.x/A)']),
    (
        "V97",
        LC,
        "Note: THIS Is `Code, X` at http://E.X/Path.",
        [],
        ["Note: THIS is `Code, X` at http://E.X/Path."],
    ),
    (
        "V98",
        LC,
        "A I B E-ew D-Don't WTF Éclair ПРИВЕТ Привет",
        [],
        ["A I B e-ew d-don't WTF éclair ПРИВЕТ привет"],
    ),
    ("V99", PS, ";;;", [], [""]),
    (
        "V100",
        BOTH,
        "待って、本当に\uff1fそうか\uff01",
        [0.5, 0.1, 0.9],
        ["待って", "本当に\uff1f", "そうか\uff01"],
    ),
    (
        "V101",
        BOTH,
        "type !help <@!123> x?y 1,5 what?... ok",
        [],
        ["type !help <@!123> x?y 1,5 what?... ok"],
    ),
    ("V102", LC, "a; B", [], ["a; B"]),
    ("V103", LC, "Hello, World; yes!", [], ["hello, world; yes!"]),
    ("T80 tags and code", LC, "Hi <:MA:1>\n```\nOk\n```", [], ["hi <:MA:1>\n```\nOk\n```"]),
    ("T80 name in parentheses", LC, "Ren (Mad): Oh No", [], ["Ren (Mad): oh no"]),
    ("T81 as written", LC, "Lol I'm In Room3 Éa e\u0301A", [], ["Lol i'm in Room3 éa e\u0301a"]),
    ("T82 within spans", PS, "(a; b) `c;`\uff1bd", [], ["(a b) `c;`d"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("toggles", "text", "draws", "contents"),
    [vector[1:] for vector in VECTORS],
    ids=[vector[0] for vector in VECTORS],
)
def test_a_message_becomes_these(
    toggles: Toggles, text: str, draws: Sequence[float], contents: Sequence[str]
) -> None:
    """The vectors that the passes were agreed on; each draw is used, in order."""
    rng = Draws(*draws)

    some = humanize(Slice(content=text, start=0, end=len(text)), toggles, rng)

    assert [one.content for one in some] == list(contents)
    assert rng.left == []


def test_without_a_generator_nothing_is_drawn() -> None:
    """History is rebuilt by the same passes, but never by chance."""
    (one,) = humanize(Slice(content="Oh, no! So; yes.", start=0, end=16), BOTH, None)

    assert one.content == "oh, no! so yes."
    assert one.removed == {"semicolon": 1}


@settings(deadline=None, max_examples=100)
@given(
    text=anything,
    mode=st.sampled_from(("paragraph", "sentence")),
    limit=st.sampled_from((60, 300, 1950)),
    toggles=st.sampled_from((LC, PS, BOTH)),
    seed=st.integers(0, 99),
)
def test_t86_stretches_join_and_all_that_is_left_out_is_named(
    text: str, mode: str, limit: int, toggles: Toggles, seed: int
) -> None:
    """Carelessness for show must not lose a character of the account."""
    for one in split(text, "sentence" if mode == "sentence" else "paragraph", limit):
        some = humanize(one, toggles, _seeded(seed))

        assert some == humanize(one, toggles, _seeded(seed))
        at = one.start
        for part in some:
            assert part.start == at
            at = part.end
            added = part.lead + part.tail
            left_out = sum(part.removed.values())
            assert len(part.content) - added + left_out == part.end - part.start
            assert part.is_table or units(part.content) <= limit
            assert part.content or len(some) == 1
        assert at == one.end


def _seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - chance for show, not for secrets


def test_stretches_of_joined_punctuation_are_kept_apart_as_well() -> None:
    """A newline left out before must not shift what stands for what behind it."""
    text = "!!\nthere, you"
    (joined,) = split(text, "paragraph")

    first, second = humanize(joined, PS, Draws(0.5))

    assert (first.content, second.content) == ("!!there", "you")
    assert first.removed == {"blank": 2, "comma": 1}
    assert text[second.start : second.end] == "you"
