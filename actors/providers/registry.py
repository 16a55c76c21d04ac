"""Which wire format a kind of provider speaks."""

from typing import Final, Literal

from actors.providers.adapter import Provider
from actors.providers.openai import OpenAI

_PROVIDERS: Final[dict[str, Provider]] = {"openai": OpenAI()}


def provider_for(kind: Literal["openai"]) -> Provider:
    """Return the wire format of `kind`; it holds no state, so all turns share it."""
    return _PROVIDERS[kind]
