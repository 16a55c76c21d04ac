"""What a guild may choose of models, and what is refused."""

import pytest

from actors.rules.configuration import Refused
from actors.rules.model_choices import (
    LONGEST_MODEL,
    MOST_FALLBACKS,
    MOST_PROVIDERS,
    ChooseFallbacks,
    ChooseModel,
    ModelChange,
    RemoveProvider,
    SaveProvider,
    Standing,
    decide_model_change,
)
from events.base import UserId
from events.settings import FallbacksChosen, ModelChosen, Persona, ProviderSaved
from projections.guild_models import Models

ANN = UserId(7)
URL = "https://models.example/v1"


def saved(name: str) -> ProviderSaved:
    """Return a provider of the guild."""
    return ProviderSaved(name=name, wire="openai", base_url=URL, credential="c", by=ANN)


def save(name: str = "ours", wire: str = "openai", base_url: str = URL) -> SaveProvider:
    """Return the wish for a provider."""
    return SaveProvider(name=name, wire=wire, base_url=base_url, credential="c")


STANDING = Standing(
    models=Models(providers={"own": saved("own")}),
    personas=(Persona(name="Main"), Persona(name="Mira")),
    offered=("main/gpt-5-mini", "main/gpt-5-nano"),
)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (save(name="two words"), "provider_name"),
        (save(name=""), "provider_name"),
        (save(name="a/b"), "provider_name"),
        (save(name="MAIN"), "provider_taken"),
        (save(wire="telepathy"), "no_such_kind"),
        (save(base_url="http://models.example/v1"), "bad_url"),
        (save(base_url="https://127.0.0.1/v1"), "bad_url"),
        (save(base_url="https://169.254.169.254/v1"), "bad_url"),
        (save(base_url="https://key@models.example/v1"), "bad_url"),
        (save(base_url="https://models.example/v1?key=abc"), "bad_url"),
        (RemoveProvider(name="main"), "no_such_provider"),
        (ChooseModel(model="main/gpt-5-pro"), "no_such_model"),
        (ChooseModel(model="own/"), "no_such_model"),
        (ChooseModel(model="own/" + "x" * (LONGEST_MODEL + 1)), "no_such_model"),
        (ChooseModel(model="theirs/x"), "no_such_model"),
        (ChooseModel(model="own/x", persona="Ren"), "no_such_persona"),
        (ChooseFallbacks(models=("own/x", "main/gpt-5-pro")), "no_such_model"),
        (ChooseFallbacks(models=("own/x",) * (MOST_FALLBACKS + 1)), "too_many"),
    ],
)
def test_what_cant_be_is_refused(change: ModelChange, why: str) -> None:
    """The operator pays for what the file names, and the guild for the rest; nobody else."""
    refused = decide_model_change(change, STANDING, ANN)

    assert isinstance(refused, Refused)
    assert refused.why == why


def test_a_guild_has_so_many_providers_but_may_replace_one() -> None:
    """A key that expired has to be replaced, bound or not."""
    full = Models(providers={f"p{i}": saved(f"p{i}") for i in range(MOST_PROVIDERS)})
    standing = Standing(models=full, personas=STANDING.personas, offered=())

    assert decide_model_change(save("one-more"), standing, ANN) == Refused(
        why="too_many", what=f"{MOST_PROVIDERS} providers"
    )
    assert decide_model_change(save("P3"), standing, ANN) == saved("p3")


def test_what_can_be_becomes_a_fact() -> None:
    """Of the operator's models those that the file names, of the guild's own any."""
    by = ANN

    assert decide_model_change(save(" Ours ", base_url=URL + "/"), STANDING, by) == saved("ours")
    assert decide_model_change(
        ChooseModel(model="own/a/b", persona="mira"), STANDING, by
    ) == ModelChosen(model="own/a/b", persona="Mira", by=by)
    assert decide_model_change(
        ChooseFallbacks(models=("main/gpt-5-nano",)), STANDING, by
    ) == FallbacksChosen(models=("main/gpt-5-nano",), by=by)
