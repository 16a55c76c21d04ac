"""Which name a line shows."""

import pytest

from actors.text.graphemes import units
from actors.voice import allowed, decorated, named, voice_of
from events.settings import Persona, Sprite

MAIN = Persona(name="Rejoinder", sprites=(Sprite(key="happy", image="happy.png"),))
ALTER = Persona(
    name="Touko",
    sprites=(
        Sprite(key="mad", image="mad.png"),
        Sprite(key="Jack", image="jack.png", is_identity=True),
    ),
)


@pytest.mark.parametrize(
    ("speaker", "modifier", "kind", "shown"),
    [
        pytest.param(MAIN, "", "sprite", None, id="T118-main"),
        pytest.param(MAIN, "Happy", "sprite", ("Rejoinder", "appearance", "happy"), id="T119"),
        pytest.param(ALTER, "", "sprite", ("Touko", "appearance", None), id="T118-alter"),
        pytest.param(ALTER, " M ad", "sprite", ("Touko", "appearance", "mad"), id="T140-ordinary"),
        pytest.param(
            ALTER, "jack", "sprite", ("Jack (Touko)", "identity_sprite", "Jack"), id="T140-identity"
        ),
        pytest.param(ALTER, "Ann", "copy", ("Ann (Touko)", "copied", None), id="T140-copied"),
        pytest.param(ALTER, "gone", "sprite", ("Touko", "appearance", None), id="T155-missing"),
    ],
)
def test_a_line_has_the_name_of_its_look(
    speaker: Persona, modifier: str, kind: str, shown: tuple[str, str, str | None] | None
) -> None:
    """The name is all that tells speakers apart."""
    voice = voice_of((MAIN, ALTER), speaker, modifier, is_copied=kind == "copy")

    assert (voice and (voice.name, voice.kind, voice.sprite)) == shown


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("N" * 80, "Touko"), ("Ann", "T" * 80), ("N" * 80, "T" * 80), ("\U0001f600" * 60, "Touko")],
    ids=["T143-name", "T143-suffix", "T143-both", "T143-astral"],
)
def test_a_decorated_name_fits(name: str, suffix: str) -> None:
    """Discord would refuse a longer one, and the persona would lose its voice."""
    shown = decorated(name, suffix)

    assert units(shown) <= 80
    assert shown.endswith(")")


def test_t143_a_suffix_that_fits_is_kept_whole() -> None:
    """Whose words they are matters more than whose looks."""
    assert decorated("N" * 80, "Touko").endswith("... (Touko)")


@pytest.mark.parametrize("name", ["Discordia", "Clyde", "DISCORD discord"], ids=lambda one: one)
def test_d25_a_reserved_word_is_altered(name: str) -> None:
    """It would be refused, and the persona fall back to the bot's name."""
    shown = allowed(name).lower()

    assert "discord" not in shown
    assert "clyde" not in shown


@pytest.mark.parametrize("length", [1, 1950, 1990, 2000])
def test_d26_a_message_with_its_speaker_fits(length: int) -> None:
    """A message that is too long would be refused."""
    text = "x" * length

    assert len(named(text, "N" * 80) + text) <= 2000
