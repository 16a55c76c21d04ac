"""What may be changed about a guild, and what is refused."""

import pytest

from actors.rules.configuration import (
    LONGEST_PROMPT,
    MOST_PERSONAS,
    MOST_SPRITES,
    MOST_TRIGGERS,
    AddPersona,
    Change,
    EditPersona,
    Refused,
    RemovePersona,
    SetSetting,
    decide_change,
)
from events.base import UserId
from events.settings import Persona, PersonaDefined, SettingChanged, Sprite

ANN = UserId(7)
MIRA = Persona(
    name="Mira", triggers=("mira",), prompt="Kind.", sprites=(Sprite(key="Mad", image="a"),)
)
PERSONAS = (Persona(name="Main"), MIRA)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (AddPersona(persona=Persona(name="😀" * 41)), Refused(why="name_length", what="82")),
        (AddPersona(persona=Persona(name="dIsCoRd")), Refused(why="name_reserved", what="discord")),
        (AddPersona(persona=Persona(name=" MIRA ")), Refused(why="name_taken", what="Mira")),
        (
            AddPersona(persona=Persona(name="Ren", triggers=("Mira",))),
            Refused(why="word_taken", what="Mira", owner="Mira"),
        ),
        (EditPersona(name="Mira", triggers=(" ",)), Refused(why="word_blank")),
        (
            EditPersona(name="Mira", triggers=tuple(map(str, range(MOST_TRIGGERS + 1)))),
            Refused(why="too_many", what=f"{MOST_TRIGGERS} trigger words"),
        ),
        (
            EditPersona(name="Mira", prompt="x" * (LONGEST_PROMPT + 1)),
            Refused(why="prompt_length", what=str(LONGEST_PROMPT + 1)),
        ),
        (
            EditPersona(name="Mira", without_sprite="sad"),
            Refused(why="no_such_sprite", what="sad"),
        ),
        (
            EditPersona(name="Mira", sprite=Sprite(key=" ", image="a")),
            Refused(why="sprite_key"),
        ),
        (EditPersona(name="Ren"), Refused(why="no_such_persona", what="Ren")),
        (RemovePersona(name="Ren"), Refused(why="no_such_persona", what="Ren")),
        (RemovePersona(name="main"), Refused(why="main_persona", what="Main")),
        (
            SetSetting(setting="live_streaming", value=True, persona="Ren"),
            Refused(why="no_such_persona", what="Ren"),
        ),
        (
            SetSetting(setting="live_streaming", value=3),
            Refused(why="bad_value", what="live_streaming"),
        ),
        (SetSetting(setting="volume", value=3), Refused(why="bad_value", what="volume")),
    ],
)
def test_what_would_break_a_rule_is_refused_with_the_rule(change: Change, refused: Refused) -> None:
    """The member is told which one, and what broke it."""
    assert decide_change(change, PERSONAS, ANN) == refused


def test_there_is_a_most_of_personas_and_of_sprites() -> None:
    """Every turn carries all of them."""
    many = tuple(Persona(name=str(number)) for number in range(MOST_PERSONAS))
    sprites = tuple(Sprite(key=str(number), image="a") for number in range(MOST_SPRITES))
    rich = (Persona(name="Main", sprites=sprites),)
    one_more = EditPersona(name="Main", sprite=Sprite(key="mad", image="a"))

    refused = (
        decide_change(AddPersona(persona=Persona(name="Ren")), many, ANN),
        decide_change(one_more, rich, ANN),
    )

    assert [one.why for one in refused if isinstance(one, Refused)] == ["too_many", "too_many"]


def test_what_is_not_named_in_an_edit_stays() -> None:
    """A new face is no new prompt; a sprite's key is compared whatever its case."""
    sprite = Sprite(key="mad", image="b")

    changed = decide_change(EditPersona(name="mira", avatar="c", sprite=sprite), PERSONAS, ANN)

    assert changed == PersonaDefined(
        persona=Persona(
            name="Mira", avatar="c", triggers=("mira",), prompt="Kind.", sprites=(sprite,)
        ),
        by=ANN,
    )


def test_words_are_kept_once_and_without_blanks() -> None:
    """They are compared whatever their case."""
    wanted = Persona(name=" Ren ", triggers=(" ren", "REN", "renny "))

    changed = decide_change(AddPersona(persona=wanted), PERSONAS, ANN)

    assert changed == PersonaDefined(persona=Persona(name="Ren", triggers=("REN", "renny")), by=ANN)


def test_the_very_same_persona_again_is_no_second_one() -> None:
    """A router that was lost before it answered is asked once more."""
    assert decide_change(AddPersona(persona=MIRA), PERSONAS, ANN) == PersonaDefined(
        persona=MIRA, by=ANN
    )


def test_a_setting_is_recorded_under_the_personas_own_name() -> None:
    """However the member wrote it."""
    change = SetSetting(setting="live_streaming", value=False, persona="MIRA")

    assert decide_change(change, PERSONAS, ANN) == SettingChanged(
        setting="live_streaming", value=False, persona="Mira", by=ANN
    )
