"""The wire formats there are, by the kind that a configuration names."""

from typing import Final

from actors.providers.adapter import Provider, ProviderKind
from actors.providers.anthropic import Anthropic
from actors.providers.custom import Custom
from actors.providers.google import Google
from actors.providers.openai import OpenAI
from actors.providers.openrouter import OpenRouter

_PROVIDERS: Final[dict[ProviderKind, Provider]] = {
    "openai": OpenAI(),
    "openrouter": OpenRouter(),
    "anthropic": Anthropic(),
    "google": Google(),
    "custom": Custom(),
}

KINDS: Final[tuple[ProviderKind, ...]] = tuple(_PROVIDERS)
"""The kinds that can be used."""

HOMES: Final[dict[str, str]] = {"openai": "https://api.openai.com/v1"}
"""Where a kind is at home, where it has a home."""

_GATED: Final = frozenset({"custom"})
"""Kinds whose endpoints people may supply."""


def is_gated(kind: str) -> bool:
    """Return whether endpoints of `kind` go through the address gate."""
    return kind in _GATED


def provider_for(kind: str) -> Provider:
    """Return the wire format `kind`.

    Raises:
        LookupError: There is none of that name.
    """
    found = known_kind(kind)
    if found is None:
        raise LookupError(kind)
    return _PROVIDERS[found]


def known_kind(word: str) -> ProviderKind | None:
    """Return the kind that goes by `word`, None where there is none."""
    return next((kind for kind in KINDS if kind == word), None)
