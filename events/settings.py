"""Configuration as facts: what members with the right to change it have set. Stream: guild.

What a guild has not set comes from the configuration file. Each event says what holds from here on,
whatever held before, so that a repeat changes nothing.
"""

from msgspec import Struct

from events.base import Event, UserId


class Sprite(Struct, frozen=True, kw_only=True):
    """One of a persona's appearances."""

    key: str
    """Its name, compared whatever its case and spacing."""
    image: str
    """An https URL, or the path of a file on the bot's machine."""
    is_identity: bool = False
    """Whether the persona appears under the sprite's name, as `sprite (Persona)`."""


class Persona(Struct, frozen=True, kw_only=True):
    """Somebody the bot can be."""

    name: str
    """Unique in its guild, whatever its case; 1 to 80 characters."""
    avatar: str = ""
    """An https URL, or the path of a file on the bot's machine; empty: the bot's own."""
    triggers: tuple[str, ...] = ()
    """Words that ask this persona, whole and in any case."""
    prompt: str = ""
    """What the model is told about it."""
    sprites: tuple[Sprite, ...] = ()
    """Its other appearances."""


class PersonaDefined(Event, frozen=True, kw_only=True, tag="persona_defined"):
    """A guild has this persona from here on. Key: the name, whatever its case."""

    persona: Persona
    """All of it; replaces what went by the same name, the configuration file's included."""
    by: UserId
    """Who set it."""


class PersonaRemoved(Event, frozen=True, kw_only=True, tag="persona_removed"):
    """A guild has that persona no longer. Key: the name, whatever its case."""

    name: str
    """Whose."""
    by: UserId
    """Who removed it."""


class SettingChanged(Event, frozen=True, kw_only=True, tag="setting_changed"):
    """A setting has this value from here on. Key: persona and setting."""

    setting: str
    """Its name, such as `live_streaming`."""
    value: bool | int | str | None
    """Its value; None takes the guild's choice back."""
    persona: str = ""
    """The one persona that it holds for, before the guild's own; empty: the guild."""
    by: UserId
    """Who changed it."""
