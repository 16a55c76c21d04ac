"""The state of the providers' keys, from how requests with them ended.

A key is known by its provider and its place in the configuration; the key itself is in no event.
One that its provider refused, or found asked too often, rests: other keys are used meanwhile, in
whichever process and after any restart.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import Recorded
from events.generation import ProviderFault, RequestClosed

RATE_LIMIT_REST: Final = timedelta(seconds=60)
"""Rest of a key after a rate limit, where the provider does not ask for a longer one."""
REFUSAL_REST: Final = timedelta(seconds=300)
"""Rest of a key that was refused: wrong, without credit, or not allowed this model."""

_REFUSALS: Final = ("401", "402", "403")

Key = tuple[str, int]
"""A provider's name and the key's index."""


class KeyState(Struct, frozen=True, kw_only=True):
    """What is known of one key."""

    uses: int = 0
    """Requests that it served well."""
    rests_until: datetime | None = None
    """When it may be used again, aware UTC; None while nothing is held against it."""


class Keys(Struct, frozen=True, kw_only=True):
    """The state of all keys that were ever used."""

    states: dict[Key, KeyState] = field(default_factory=dict[Key, KeyState])
    """By key."""


def initial() -> Keys:
    """Return the state before any request."""
    return Keys()


def evolve(state: Keys, recorded: Recorded) -> Keys:
    """Return the state after one more event, of any turn."""
    if isinstance(recorded.event, RequestClosed):
        return close(state, recorded.event, recorded.recorded_at)
    return state


def close(state: Keys, closed: RequestClosed, at: datetime) -> Keys:
    """Return the state after a request that was closed `at`."""
    if not closed.provider:
        return state
    key = (closed.provider, closed.key)
    before = state.states.get(key, KeyState())
    if closed.error is None:
        after = replace(before, uses=before.uses + (closed.end != "stopped"))
    elif is_key_scoped(closed.error):
        after = replace(before, rests_until=at + rest_of(closed.error))
    else:
        return state
    return Keys(states={**state.states, key: after})


def is_key_scoped(fault: ProviderFault) -> bool:
    """Return whether another key of the same provider may do better: 401, 402, 403, any 429."""
    if fault.type == "content_blocked":
        return False
    return fault.type == "rate_limit" or fault.code.startswith(_REFUSALS)


def rest_of(fault: ProviderFault) -> timedelta:
    """Return how long a key rests after `fault`."""
    if fault.type != "rate_limit":
        return REFUSAL_REST
    return max(RATE_LIMIT_REST, timedelta(milliseconds=fault.retry_after_ms or 0))


def choose(
    state: Keys, provider: str, count: int, now: datetime, tried: Collection[int]
) -> int | None:
    """Return the key of `count` to use next: rested, least used, first; None where there is none.

    Args:
        state: What is known of the keys.
        provider: Whose keys.
        count: How many there are.
        now: The time, aware UTC.
        tried: Those that are out of the question.
    """
    known = {index: state.states.get((provider, index), KeyState()) for index in range(count)}
    free = [
        index
        for index, one in known.items()
        if index not in tried and (one.rests_until is None or one.rests_until <= now)
    ]
    return min(free, key=lambda index: (known[index].uses, index), default=None)
