"""The wire formats there are, by the kind that a configuration names."""

from typing import Final

from actors.providers.adapter import Provider
from actors.providers.anthropic import Anthropic
from actors.providers.custom import Custom
from actors.providers.google import Google
from actors.providers.openai import OpenAI
from actors.providers.openrouter import OpenRouter

_PROVIDERS: Final[dict[str, Provider]] = {
    "openai": OpenAI(),
    "openrouter": OpenRouter(),
    "anthropic": Anthropic(),
    "google": Google(),
    "custom": Custom(),
}

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
    return _PROVIDERS[kind]
