"""What a member may change about a guild, judged against what holds there; pure.

A change says what is wanted, not what results: two members who edit one persona at the same time
each keep what they wrote. A refusal is a value, since it crosses processes, and leaves no event.
Whether a member may change anything is not judged here.
"""

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from events.base import UserId
from events.settings import Persona, PersonaDefined, PersonaRemoved, SettingChanged, Sprite
from projections.guild_models import key_of
from projections.guilds import Value, fits

LONGEST_NAME: Final = 80
"""Characters of a webhook's name (Discord's API reference, create-webhook)."""
MOST_PERSONAS: Final = 50
"""Personas of one guild: every turn carries all of them."""
MOST_SPRITES: Final = 50
"""Sprites of one persona."""
MOST_TRIGGERS: Final = 20
"""Trigger words of one persona: each message is searched for all of them."""
LONGEST_PROMPT: Final = 4_000
"""Characters of a prompt: what one field of Discord's forms takes."""
RESERVED: Final = ("discord", "clyde")
"""What Discord refuses in a webhook's name, in any case (its API reference, create-webhook)."""

Why = Literal[
    "name_length",
    "name_reserved",
    "name_taken",
    "no_such_persona",
    "main_persona",
    "word_blank",
    "word_taken",
    "prompt_length",
    "too_many",
    "no_such_sprite",
    "sprite_key",
    "bad_value",
    "provider_name",
    "provider_taken",
    "no_such_provider",
    "no_such_kind",
    "bad_url",
    "no_such_model",
]
"""Why a change is refused."""


class Refused(Struct, frozen=True, kw_only=True, tag=True):
    """The change is refused; nothing happened."""

    why: Why
    """The rule that refuses it."""
    what: str = ""
    """The name, word or bound in question."""
    owner: str = ""
    """The persona that has it already."""


class SetSetting(Struct, frozen=True, kw_only=True, tag=True):
    """A setting shall have a value."""

    setting: str
    """Its name."""
    value: Value | None
    """Its value; None takes the guild's, or the persona's, choice back."""
    persona: str = ""
    """The one persona it is for; empty: the guild."""


class AddPersona(Struct, frozen=True, kw_only=True, tag=True):
    """A persona shall exist that did not."""

    persona: Persona
    """All of it."""


class EditPersona(Struct, frozen=True, kw_only=True, tag=True):
    """Parts of a persona shall change; what is None stays."""

    name: str
    """Whose."""
    prompt: str | None = None
    """What the model is told about it."""
    triggers: tuple[str, ...] | None = None
    """Words that ask it."""
    avatar: str | None = None
    """Its face; empty: the bot's own."""
    sprite: Sprite | None = None
    """An appearance to add, or to put in place of the one of that key."""
    without_sprite: str | None = None
    """The key of an appearance that it shall have no longer."""


class RemovePersona(Struct, frozen=True, kw_only=True, tag=True):
    """A persona shall exist no longer."""

    name: str
    """Whose."""


Change = SetSetting | AddPersona | EditPersona | RemovePersona
"""What a member wants."""

Decision = PersonaDefined | PersonaRemoved | SettingChanged
"""What happens because of it."""


def decide_change(change: Change, personas: tuple[Persona, ...], by: UserId) -> Decision | Refused:
    """Return the fact that grants `change` where `personas` are in force, or why it is refused."""
    match change:
        case SetSetting():
            return _set(change, personas, by)
        case AddPersona():
            return _add(change.persona, personas, by)
        case EditPersona():
            return _edit(change, personas, by)
        case RemovePersona(name=name):
            found = named(personas, name)
            if found is None:
                return Refused(why="no_such_persona", what=name)
            if found is personas[0]:
                return Refused(why="main_persona", what=found.name)
            return PersonaRemoved(name=found.name, by=by)


def named(personas: tuple[Persona, ...], name: str) -> Persona | None:
    """Return the persona of that name, whatever its case."""
    return next((one for one in personas if key_of(one.name) == key_of(name)), None)


def _set(change: SetSetting, personas: tuple[Persona, ...], by: UserId) -> Decision | Refused:
    owner = named(personas, change.persona) if change.persona else None
    if change.persona and owner is None:
        return Refused(why="no_such_persona", what=change.persona)
    if change.value is not None and not fits(change.setting, change.value):
        return Refused(why="bad_value", what=change.setting)
    return SettingChanged(
        setting=change.setting,
        value=change.value,
        persona="" if owner is None else owner.name,
        by=by,
    )


def _add(persona: Persona, personas: tuple[Persona, ...], by: UserId) -> Decision | Refused:
    name = persona.name.strip()
    decision = _refusal_of_name(name) or _defined(replace(persona, name=name), personas, by)
    if isinstance(decision, Refused):
        return decision
    taken = named(personas, name)
    # The very same again: a router that was lost before it answered is asked once more.
    if taken is not None and taken != decision.persona:
        return Refused(why="name_taken", what=taken.name)
    if taken is None and len(personas) >= MOST_PERSONAS:
        return Refused(why="too_many", what=f"{MOST_PERSONAS} personas")
    return decision


def _edit(change: EditPersona, personas: tuple[Persona, ...], by: UserId) -> Decision | Refused:
    before = named(personas, change.name)
    if before is None:
        return Refused(why="no_such_persona", what=change.name)
    sprites = _sprites(change, before.sprites)
    if isinstance(sprites, Refused):
        return sprites
    after = replace(
        before,
        prompt=before.prompt if change.prompt is None else change.prompt,
        triggers=before.triggers if change.triggers is None else change.triggers,
        avatar=before.avatar if change.avatar is None else change.avatar,
        sprites=sprites,
    )
    return _defined(after, personas, by)


def _sprites(change: EditPersona, before: tuple[Sprite, ...]) -> tuple[Sprite, ...] | Refused:
    if change.without_sprite is not None:
        gone = key_of(change.without_sprite)
        left = tuple(one for one in before if key_of(one.key) != gone)
        missing = len(left) == len(before)
        return Refused(why="no_such_sprite", what=change.without_sprite) if missing else left
    if change.sprite is None:
        return before
    if not change.sprite.key.strip():
        return Refused(why="sprite_key")
    key = key_of(change.sprite.key)
    others = tuple(one for one in before if key_of(one.key) != key)
    if len(others) >= MOST_SPRITES:
        return Refused(why="too_many", what=f"{MOST_SPRITES} sprites")
    return (*others, change.sprite)


def _refusal_of_name(name: str) -> Refused | None:
    if not 1 <= _units(name) <= LONGEST_NAME:
        return Refused(why="name_length", what=str(_units(name)))
    reserved = next((word for word in RESERVED if word in name.casefold()), None)
    return None if reserved is None else Refused(why="name_reserved", what=reserved)


def _defined(
    persona: Persona, personas: tuple[Persona, ...], by: UserId
) -> PersonaDefined | Refused:
    words = tuple({key_of(word): word.strip() for word in persona.triggers}.values())
    if len(words) > MOST_TRIGGERS:
        return Refused(why="too_many", what=f"{MOST_TRIGGERS} trigger words")
    if _units(persona.prompt) > LONGEST_PROMPT:
        return Refused(why="prompt_length", what=str(_units(persona.prompt)))
    owners = {
        key_of(word): other.name
        for other in personas
        if key_of(other.name) != key_of(persona.name)
        for word in other.triggers
    }
    for word in words:
        if not word:
            return Refused(why="word_blank")
        if key_of(word) in owners:
            return Refused(why="word_taken", what=word, owner=owners[key_of(word)])
    return PersonaDefined(persona=replace(persona, triggers=words), by=by)


def _units(text: str) -> int:
    # What Discord counts.
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
