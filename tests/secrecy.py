"""The keys and tokens that whole-path tests use, and whether they stand where they must not."""

from collections.abc import Iterable
from typing import Final

API_KEY: Final = "sk-test"
"""The key of the loopback provider."""

_secrets: Final = {API_KEY}


def keep(secret: str) -> None:
    """Hold `secret` to be one from here on."""
    _secrets.add(secret)


def given_away(texts: Iterable[str]) -> bool:
    """Return whether a secret stands in any of `texts`."""
    return any(secret in text for text in texts for secret in _secrets)
