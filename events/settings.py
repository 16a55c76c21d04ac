"""Configuration as facts: what members with the right to change it have set. Stream: guild.

What a guild has not set comes from the configuration file. Each event says what holds from here on,
whatever held before, so that a repeat changes nothing.
"""

from msgspec import Struct

from events.base import ChannelId, Event, UserId


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


class ProviderSaved(Event, frozen=True, kw_only=True, tag="provider_saved"):
    """A guild has this provider, at its own expense, from here on. Key: name and credential."""

    name: str
    """Unique in its guild; replaces the one that went by it."""
    wire: str
    """Its wire format, such as `openai`."""
    base_url: str
    """The root of its API, without credentials."""
    credential: str
    """The id under which the credential store has its key; the key itself is in no event."""
    by: UserId
    """Who saved it."""


class ProviderRemoved(Event, frozen=True, kw_only=True, tag="provider_removed"):
    """A guild has that provider no longer, nor any choice of its models. Key: the name."""

    name: str
    """Which."""
    by: UserId
    """Who removed it."""


class ModelChosen(Event, frozen=True, kw_only=True, tag="model_chosen"):
    """This model is asked first from here on. Key: persona and channel."""

    model: str | None
    """`provider/model`; None takes the choice back."""
    persona: str = ""
    """The one persona that it is for, before any channel's choice."""
    channel_id: ChannelId | None = None
    """The one channel that it is for, its threads included; neither: the guild."""
    by: UserId
    """Who chose it."""


class FallbacksChosen(Event, frozen=True, kw_only=True, tag="fallbacks_chosen"):
    """These models are asked where the first one fails, from here on."""

    models: tuple[str, ...] | None
    """`provider/model` each, in order; None takes the choice back."""
    by: UserId
    """Who chose them."""
