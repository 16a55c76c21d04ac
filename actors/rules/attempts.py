"""Whom to ask next when a model did not answer.

A fault that lies with the key (refused, out of credit, asked too often) is tried again with another
key of the same provider, a few times. Any other goes straight to the next model: a provider that is
silent, a request that is too long or a blocked answer would be no better with another key.
"""

from collections.abc import Sequence
from random import Random
from typing import Final, Literal, TypeVar

from events.generation import ProviderFault
from projections.keys import is_key_scoped

KEY_TRIES: Final = 3
"""Keys that one model is asked with at the most."""

Next = Literal["key", "fallback"]
"""Another key of the same model, or the next model."""

Model = TypeVar("Model")


def decide_next(
    fault: ProviderFault, *, keys_tried: int, has_key: bool, has_model: bool
) -> Next | None:
    """Return whom to ask after `fault`; None where nobody is left.

    Args:
        fault: How the last request ended.
        keys_tried: Keys that its model was asked with.
        has_key: Whether another key of it is free.
        has_model: Whether another model is left.
    """
    if has_key and keys_tried < KEY_TRIES and is_key_scoped(fault):
        return "key"
    return "fallback" if has_model else None


def pool(models: Sequence[Model], seed: int, *, is_shuffled: bool) -> tuple[Model, ...]:
    """Return the models in the order to ask them.

    Shuffled, one of them, drawn by the turn's seed, goes to the front; the rest keep their order.
    """
    if not is_shuffled or not models:
        return tuple(models)
    lead = Random(f"{seed}/models").randrange(len(models))  # noqa: S311 - variety, not secrets
    return (models[lead], *models[:lead], *models[lead + 1 :])
