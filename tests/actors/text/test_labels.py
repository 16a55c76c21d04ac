"""What a persona says, and what its model wrote around it."""

import msgspec
import pytest

from actors.text import core
from tests.actors.text.streams import run

NAMED = {
    "persona": "Ren",
    "aliases": ("Lil",),
    "participants": ({"names": ("Bob",)}, {"names": ("Ann",)}),
    "sprites": ("mad",),
}
GUARDED = {"stops_at_speakers": True}


def config_of(more: dict[str, object]) -> core.TextConfig:
    """Return the configuration of Ren's turn."""
    return msgspec.convert({**NAMED, **more}, core.TextConfig)


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        pytest.param("Ren: hello", {}, ["hello"], id="V112-own"),
        pytest.param("Lil: Ren: hello", {}, ["hello"], id="V112-chain"),
        pytest.param("{{char}}: hello", {}, ["hello"], id="V112-macro"),
        pytest.param("1. Ren: 100", {}, ["1. Ren: 100"], id="V112-list"),
        pytest.param("the sum is 30Ren: 30!", {}, ["30!"], id="V112-preamble"),
        pytest.param("ok fine!Ren:", {}, ["ok fine!"], id="V112-nothing-follows"),
        pytest.param("tell Darren: wait", {}, ["tell Darren: wait"], id="T41-end-of-a-name"),
        pytest.param("use `Ren: x`", {}, ["use `Ren: x`"], id="T41-code"),
        pytest.param("Ren: hi", {"is_impersonation": True}, ["Ren: hi"], id="T32-impersonation"),
        pytest.param("Fine.\nBob: hey\nmore", GUARDED, ["Fine."], id="V114"),
        pytest.param("Fine.\n```\nBob: x\n```", GUARDED, None, id="V114-fence"),
        pytest.param(
            "Here is it.\nThe thing is: x", GUARDED, ["Here is it.", "The thing is: x"], id="V115"
        ),
        pytest.param("list\nIngredients:", {}, ["list", "Ingredients:"], id="V116"),
        pytest.param("...\nso anyway\n", {}, ["...so anyway"], id="V117"),
        pytest.param("...", {}, ["..."], id="V117-alone"),
        pytest.param("...\nRen: hi", {}, ["...hi"], id="D11"),
        pytest.param("???\n\nnew", {}, ["???", "new"], id="D11-new-paragraph"),
        pytest.param("Bob (smug): hi", {"empty_retries": 0}, [], id="V118-guard"),
        pytest.param("Bob (smug): hi", {}, ["hi"], id="V118-given-up"),
        pytest.param("Note: drink water", {}, ["Note: drink water"], id="V119"),
        pytest.param("え", {}, ["え"], id="V121-letter"),
        pytest.param("?", {}, [], id="V121-mark"),
        pytest.param("..", {}, [], id="V121-dots"),
        pytest.param("?!", {}, ["?!"], id="V121-two"),
    ],
)
def test_a_persona_says(text: str, more: dict[str, object], expected: list[str] | None) -> None:
    """Labels are stage directions of the model, not words of the persona."""
    if expected is None:
        expected = ["Fine.", "```\nBob: x\n```"]
    for chunks in ([text], text):
        segments = run(chunks, config_of(more))

        assert [piece.content for one in segments for piece in one.pieces] == expected
        total = sum(piece.size for one in segments for piece in one.pieces)
        assert total + sum(sum(one.withheld.values()) for one in segments) == len(text)


def test_v118_the_guard_says_why_it_stopped() -> None:
    """The turn is tried again instead of speaking for somebody else."""
    segments = run(["Bob (smug): hi\nmore"], config_of({"empty_retries": 0}))

    assert [one.stop for one in segments if one.stop] == ["speaker_guard"]


def test_v120_a_sprite_stays_and_a_copied_identity_ends_with_its_line() -> None:
    """A mood lasts; a borrowed face does not."""
    sprite = run(["Ren (mad): ARGH\nfine\nx"], config_of({}))
    copied = run(["Ren (Ann): hi\nme again\nx"], config_of({}))

    assert [one.modifier for one in sprite] == ["mad", "mad", "mad"]
    assert [one.modifier for one in copied] == ["Ann", "", ""]
    assert [piece.content for one in sprite for piece in one.pieces] == ["ARGH", "fine", "x"]


def test_t32_a_modifier_in_the_middle_of_an_aggregated_answer_is_not_shown() -> None:
    """It comes too late to be obeyed, and is no word of the persona's; prose keeps its names."""
    text = "Ren (mad): ARGH\nLil (shy): sorry\nthat was Ren (mad): no label"

    segments = run([text], config_of({"live_streaming": False}))

    assert [one.modifier for one in segments] == ["mad"]
    contents = [piece.content for one in segments for piece in one.pieces]
    assert contents == ["ARGH\nsorry\nthat was Ren (mad): no label"]
