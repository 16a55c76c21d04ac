"""What a guild may change about its models and its own providers; pure.

Whoever a model's provider belongs to pays for it. So a guild chooses freely among the models of its
own providers, and of the operator's only those that the configuration file names. A provider's key
is in none of this, only the id by which the credential store knows it.
"""

import re
from typing import Final

from msgspec import Struct

from actors.errors import RemoteUrlPolicyError
from actors.gate.addresses import Policy
from actors.gate.urls import admitted
from actors.providers.registry import known_kind
from actors.rules.configuration import Change, Refused, named
from events.base import ChannelId, UserId
from events.settings import (
    FallbacksChosen,
    ModelChosen,
    Persona,
    ProviderRemoved,
    ProviderSaved,
)
from projections.guild_models import Models, key_of, part_model

GATE: Final = Policy()
"""How the address of a guild's provider is judged: nothing lifts any of it."""
LONGEST_PROVIDER: Final = 32
"""Characters of a provider's name."""
LONGEST_MODEL: Final = 200
"""Characters of a model's id."""
MOST_PROVIDERS: Final = 10
"""Providers of one guild."""
MOST_CHOICES: Final = 200
"""Choices of a model in one guild, channels and personas together."""
MOST_FALLBACKS: Final = 5
"""Models to ask after the first one: each may take minutes to fail."""

_NAME: Final = re.compile(rf"[a-z0-9_-]{{1,{LONGEST_PROVIDER}}}")


class SaveProvider(Struct, frozen=True, kw_only=True, tag=True):
    """A provider shall exist, in place of the one of that name."""

    name: str
    """Its name, whatever its case."""
    wire: str
    """Its kind."""
    base_url: str
    """The root of its API."""
    credential: str
    """The id of its key in the credential store."""


class RemoveProvider(Struct, frozen=True, kw_only=True, tag=True):
    """A provider shall exist no longer, nor any choice of its models."""

    name: str
    """Which."""


class ChooseModel(Struct, frozen=True, kw_only=True, tag=True):
    """A model shall be asked first."""

    model: str | None
    """`provider/model`; None takes the choice back."""
    persona: str = ""
    """The one persona that it is for."""
    channel_id: ChannelId | None = None
    """The one channel that it is for; neither: the guild."""


class ChooseFallbacks(Struct, frozen=True, kw_only=True, tag=True):
    """Models shall be asked where the first one fails."""

    models: tuple[str, ...] | None
    """`provider/model` each, in order; None takes the choice back."""


ModelChange = SaveProvider | RemoveProvider | ChooseModel | ChooseFallbacks
"""What a member wants."""

GuildChange = Change | ModelChange
"""All that a member may want changed about a guild."""

ModelDecision = ProviderSaved | ProviderRemoved | ModelChosen | FallbacksChosen
"""What happens because of it."""


class Standing(Struct, frozen=True, kw_only=True):
    """What a change is judged against."""

    models: Models
    """What the guild has set."""
    personas: tuple[Persona, ...]
    """The personas in force."""
    offered: tuple[str, ...]
    """The models that the configuration file names, each `provider/model`."""


def decide_model_change(
    change: ModelChange, standing: Standing, by: UserId
) -> ModelDecision | Refused:
    """Return the fact that grants `change`, or why it is refused."""
    match change:
        case SaveProvider():
            return _save(change, standing, by)
        case RemoveProvider(name=name):
            if _name(name) not in standing.models.providers:
                return Refused(why="no_such_provider", what=name)
            return ProviderRemoved(name=_name(name), by=by)
        case ChooseModel():
            return _choose(change, standing, by)
        case ChooseFallbacks(models=models):
            if models is not None and len(models) > MOST_FALLBACKS:
                return Refused(why="too_many", what=f"{MOST_FALLBACKS} fallbacks")
            unknown = (one for one in models or () if not is_usable(one, standing))
            return _no_model(next(unknown, None)) or FallbacksChosen(models=models, by=by)


def is_provider_name(text: str) -> bool:
    """Return whether a provider may be called `text`."""
    return _NAME.fullmatch(_name(text)) is not None


def is_usable(name: str, standing: Standing) -> bool:
    """Return whether the guild may choose that model."""
    provider, model = part_model(name)
    if provider in standing.models.providers:
        return 0 < len(model) <= LONGEST_MODEL and not re.search(r"\s", model)
    return name in standing.offered


def _save(change: SaveProvider, standing: Standing, by: UserId) -> ModelDecision | Refused:
    name, providers = _name(change.name), standing.models.providers
    if not is_provider_name(name):
        return Refused(why="provider_name", what=name)
    if name in {part_model(one)[0] for one in standing.offered}:
        return Refused(why="provider_taken", what=name)
    if name not in providers and len(providers) >= MOST_PROVIDERS:
        return Refused(why="too_many", what=f"{MOST_PROVIDERS} providers")
    if known_kind(change.wire) is None:
        return Refused(why="no_such_kind", what=change.wire)
    base_url = change.base_url.strip().rstrip("/")
    return _refusal_of_url(base_url) or ProviderSaved(
        name=name, wire=change.wire, base_url=base_url, credential=change.credential, by=by
    )


def _refusal_of_url(base_url: str) -> Refused | None:
    if "?" in base_url or "#" in base_url:
        # Both could hold a key.
        return Refused(why="bad_url", what="query")
    try:
        admitted(base_url, GATE)
    except RemoteUrlPolicyError as error:
        return Refused(why="bad_url", what=error.failure_code)
    return None


def _choose(change: ChooseModel, standing: Standing, by: UserId) -> ModelDecision | Refused:
    owner = named(standing.personas, change.persona) if change.persona else None
    if change.persona and owner is None:
        return Refused(why="no_such_persona", what=change.persona)
    if change.model is not None and not is_usable(change.model, standing):
        return Refused(why="no_such_model", what=change.model)
    spot = (key_of(change.persona), change.channel_id)
    others = standing.models.chosen.keys() - {spot}
    if change.model is not None and len(others) >= MOST_CHOICES:
        return Refused(why="too_many", what=f"{MOST_CHOICES} choices of a model")
    return ModelChosen(
        model=change.model,
        persona="" if owner is None else owner.name,
        channel_id=change.channel_id,
        by=by,
    )


def _no_model(name: str | None) -> Refused | None:
    return None if name is None else Refused(why="no_such_model", what=name)


def _name(text: str) -> str:
    return text.strip().lower()
