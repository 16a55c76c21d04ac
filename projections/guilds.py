"""What guilds have set: their personas and settings, before the configuration file's word is added.

The fold knows no configuration file, so that a file changed between two starts is read against the
same history. `personas_of` and `settings_of` put the two together: what a persona has set comes
before what its guild has set, and that before the file. A value that today's settings do not know,
or that is not of their type, counts as not set.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from events.base import Event, GuildId, Recorded
from events.codec import kind_of
from events.settings import (
    FallbacksChosen,
    ModelChosen,
    Persona,
    PersonaDefined,
    PersonaRemoved,
    ProviderRemoved,
    ProviderSaved,
    SettingChanged,
)
from events.turn import TurnSettings
from projections import guild_models
from projections.guild_models import Models, key_of

KINDS: Final = tuple(
    kind_of(one)
    for one in (
        PersonaDefined,
        PersonaRemoved,
        SettingChanged,
        ProviderSaved,
        ProviderRemoved,
        ModelChosen,
        FallbacksChosen,
    )
)
"""The events that the fold reads."""

Value = bool | int | str
"""What a setting can be set to."""

Place = tuple[str, str]
"""A persona's key (empty: the guild's own) and a setting's name."""

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


class Guild(Struct, frozen=True, kw_only=True):
    """What one guild has set."""

    personas: Mapping[str, Persona | None] = {}
    """Its personas by key, in the order of their first mention; None for one that was removed."""
    settings: Mapping[Place, Value] = {}
    """What it has set and not taken back."""
    models: Models = Models()
    """Which models it has chosen, and its own providers."""


Guilds = Mapping[GuildId, Guild]
"""What every guild has set; one that has set nothing is absent."""


def initial() -> Guilds:
    """Return the state where no guild has set anything."""
    return {}


def evolve(state: Guilds, recorded: Recorded) -> Guilds:
    """Return the state after one more event of any guild."""
    guild_id = guild_of(recorded)
    if guild_id is None:
        return state
    before = state.get(guild_id, Guild())
    after = changed(before, recorded.event)
    return state if after is before else _with(state, guild_id, after)


def guild_of(recorded: Recorded) -> GuildId | None:
    """Return the guild whose stream the event stands in; None for other streams."""
    aggregate, _, name = recorded.stream.partition("/")
    return GuildId(int(name)) if aggregate == "guild" and name.isdecimal() else None


def changed(guild: Guild, event: Event) -> Guild:
    """Return what a guild has set once `event` has happened there."""
    models = guild_models.changed(guild.models, event)
    if models is not guild.models:
        guild = replace(guild, models=models)
    match event:
        case PersonaDefined(persona=persona):
            personas = _with(guild.personas, key_of(persona.name), persona)
            return replace(guild, personas=personas)
        case PersonaRemoved(name=name):
            # A later persona of the same name begins afresh.
            key = key_of(name)
            left = {place: value for place, value in guild.settings.items() if place[0] != key}
            return replace(guild, personas=_with(guild.personas, key, None), settings=left)
        case SettingChanged(setting=setting, value=value, persona=persona):
            place = (key_of(persona), setting)
            if value is not None:
                return replace(guild, settings=_with(guild.settings, place, value))
            left = {one: kept for one, kept in guild.settings.items() if one != place}
            return replace(guild, settings=left)
        case _:
            return guild


def personas_of(guild: Guild, file: tuple[Persona, ...]) -> tuple[Persona, ...]:
    """Return the personas in force: the file's, changed by the guild's, then the guild's own.

    The file's first persona stays the first, the main one: it can be redefined, not removed.
    """
    main, named = file[0], {key_of(one.name): one for one in file}
    for key, persona in guild.personas.items():
        if persona is not None:
            named[key] = persona
        elif key != key_of(main.name):
            named.pop(key, None)
    return tuple(named.values())


def settings_of(guild: Guild, file: TurnSettings, persona: str = "") -> TurnSettings:
    """Return the settings in force for a persona of the guild, or, unnamed, for the guild."""
    values = asdict(file)
    for owner in dict.fromkeys(("", key_of(persona))):
        values |= {
            name: guild.settings[owner, name]
            for name in values
            if (owner, name) in guild.settings and fits(name, guild.settings[owner, name])
        }
    return TurnSettings(**values)


def fits(setting: str, value: Value) -> bool:
    """Return whether there is such a setting and it is of that value's type."""
    try:
        msgspec.convert({setting: value}, TurnSettings)
    except msgspec.ValidationError:
        return False
    return setting in TurnSettings.__struct_fields__


def _with(mapping: Mapping[_Key, _Item], key: _Key, item: _Item) -> Mapping[_Key, _Item]:
    return {**mapping, key: item}
