"""Where fresh ids and seeds come from."""

import secrets
from typing import Final

import uuid_utils

from events.base import TurnId

SEED_BITS: Final = 63
"""A seed fits a signed 64-bit integer."""


def fresh_turn_id() -> TurnId:
    """Return a UUIDv7, so that ids sort by time."""
    return TurnId(str(uuid_utils.uuid7()))


def fresh_seed() -> int:
    """Return 0 to 2**63 - 1."""
    return secrets.randbits(SEED_BITS)


def fresh_instance() -> str:
    """Return an id for one run of the bot."""
    return str(uuid_utils.uuid7())


def fresh_correlation() -> str:
    """Return a random UUID, for one call of a decision model."""
    return str(uuid_utils.uuid4())
