"""Which of a provider's keys to use, from how requests ended."""

from datetime import UTC, datetime, timedelta

import pytest

from events.generation import ErrorType, ProviderFault, RequestClosed
from projections import keys

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def closed(key: int = 0, fault: ProviderFault | None = None) -> RequestClosed:
    """Return the end of a request with that key."""
    return RequestClosed(request=1, end="done", error=fault, provider="main", key=key)


def fault(kind: ErrorType, code: str, retry_after_ms: int | None = None) -> ProviderFault:
    """Return a failure."""
    return ProviderFault(type=kind, code=code, retryable=True, retry_after_ms=retry_after_ms)


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        pytest.param(fault("rate_limit", "429"), 60, id="C10"),
        pytest.param(fault("rate_limit", "429", 90_000), 90, id="P154-a-larger-hint"),
        pytest.param(fault("rate_limit", "429", 1_000), 60, id="P154-a-smaller-hint"),
        pytest.param(fault("api_error", "401"), 300, id="C11-401"),
        pytest.param(fault("api_error", "402"), 300, id="C11-402"),
        pytest.param(fault("api_error", "403"), 300, id="C11-403"),
        pytest.param(fault("content_blocked", "403"), None, id="P154-403-moderation"),
        pytest.param(fault("api_error", "400"), None, id="P154-400"),
        pytest.param(fault("timeout", "read_timeout"), None, id="P154-timeout"),
        pytest.param(fault("provider_overloaded", "503"), None, id="P154-503"),
    ],
)
def test_a_key_rests_after_faults_that_lie_with_it(
    failure: ProviderFault, seconds: int | None
) -> None:
    """W27: an overloaded provider is no reason to rest a key."""
    state = keys.close(keys.initial(), closed(fault=failure), NOW)

    rested = state.states[("main", 0)].rests_until if state.states else None
    assert rested == (NOW + timedelta(seconds=seconds) if seconds else None)


def test_the_least_used_key_that_is_free_is_chosen() -> None:
    """P152: and of equals the first."""
    state = keys.initial()
    for key in (0, 0, 1, 2):
        state = keys.close(state, closed(key), NOW)
    state = keys.close(state, closed(1, fault("rate_limit", "429")), NOW)

    assert keys.choose(state, "main", 4, NOW, ()) == 3
    assert keys.choose(state, "main", 3, NOW, ()) == 2
    assert keys.choose(state, "main", 3, NOW, (0, 2)) is None
    assert keys.choose(state, "main", 3, NOW + timedelta(seconds=60), (0, 2)) == 1
    assert keys.choose(state, "other", 2, NOW, ()) == 0


def test_events_of_before_keys_were_recorded_say_nothing() -> None:
    """An old log has no names of keys."""
    old = RequestClosed(request=1, end="done")

    assert keys.close(keys.initial(), old, NOW) == keys.initial()
