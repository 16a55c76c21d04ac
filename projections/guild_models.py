"""Which models guilds have chosen, and the providers that they pay themselves.

A persona's choice comes before its channel's, that before the guild's; a thread without a choice of
its own goes by its channel. What a guild has not chosen is the configuration file's to say, which
this fold does not know.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from events.base import ChannelId, Event
from events.settings import (
    FallbacksChosen,
    ModelChosen,
    PersonaRemoved,
    ProviderRemoved,
    ProviderSaved,
)

Spot = tuple[str, ChannelId | None]
"""A persona's key, or empty, and a channel, or None; neither: the guild's own."""


class Models(Struct, frozen=True, kw_only=True):
    """What one guild has set about models."""

    providers: Mapping[str, ProviderSaved] = {}
    """The providers that it pays, by name."""
    chosen: Mapping[Spot, str] = {}
    """The models to ask first, each `provider/model`."""
    fallbacks: tuple[str, ...] | None = None
    """The models to ask after the first; None: not chosen."""


def part_model(name: str) -> tuple[str, str]:
    """Return the provider and the model that `provider/model` names."""
    provider, _, model = name.partition("/")
    return provider, model


def key_of(name: str) -> str:
    """Return what tells a name from another's: neither case nor blanks around it."""
    return name.strip().casefold()


def changed(models: Models, event: Event) -> Models:
    """Return what a guild has set once `event` has happened there."""
    match event:
        case ProviderSaved(name=name):
            return replace(models, providers={**models.providers, name: event})
        case ProviderRemoved(name=name):
            return _without_provider(models, name)
        case ModelChosen(model=model):
            spot = (key_of(event.persona), event.channel_id)
            left = {one: kept for one, kept in models.chosen.items() if one != spot}
            return replace(models, chosen=left if model is None else {**left, spot: model})
        case FallbacksChosen(models=names):
            return replace(models, fallbacks=names)
        case PersonaRemoved(name=name):
            # A later persona of the same name begins afresh.
            gone = key_of(name)
            left = {spot: kept for spot, kept in models.chosen.items() if spot[0] != gone}
            return replace(models, chosen=left)
        case _:
            return models


def chosen_model(
    models: Models, persona: str, channel_id: ChannelId | None, parent_id: ChannelId | None
) -> str | None:
    """Return the model that is asked first (P149), None where nobody has chosen one.

    Args:
        models: What the guild has set.
        persona: Who answers.
        channel_id: Where.
        parent_id: The channel whose thread that is.
    """
    spots: list[Spot] = [(key_of(persona), None), ("", channel_id), ("", parent_id), ("", None)]
    return next((models.chosen[spot] for spot in spots if spot in models.chosen), None)


def _without_provider(models: Models, name: str) -> Models:
    def is_left(model: str) -> bool:
        return part_model(model)[0] != name

    fallbacks = models.fallbacks
    return Models(
        providers={key: one for key, one in models.providers.items() if key != name},
        chosen={spot: model for spot, model in models.chosen.items() if is_left(model)},
        fallbacks=None if fallbacks is None else tuple(filter(is_left, fallbacks)),
    )
