"""Whom to ask next."""

import pytest

from actors.rules.attempts import KEY_TRIES, Next, decide_next, pool
from events.generation import ErrorType, ProviderFault


@pytest.mark.parametrize(
    ("kind", "code", "tried", "left", "following"),
    [
        pytest.param("api_error", "401", 1, "key model", "key", id="PT157"),
        pytest.param("api_error", "400", 1, "key model", "fallback", id="PT158"),
        pytest.param("rate_limit", "429", 1, "model", "fallback", id="PT159"),
        pytest.param("timeout", "read_timeout", 1, "key model", "fallback", id="P154.4"),
        pytest.param("content_blocked", "403", 1, "key model", "fallback", id="P154.5"),
        pytest.param("api_error", "401", KEY_TRIES, "key model", "fallback", id="C9"),
        pytest.param("api_error", "401", KEY_TRIES, "key", None, id="C9-last"),
        pytest.param("api_error", "500", 1, "key", None, id="PT164"),
    ],
)
def test_only_faults_of_a_key_change_the_key(
    kind: ErrorType, code: str, tried: int, left: str, following: Next | None
) -> None:
    """W27: keys rotate for what lies with keys."""
    fault = ProviderFault(type=kind, code=code, retryable=False)

    found = decide_next(fault, keys_tried=tried, has_key="key" in left, has_model="model" in left)

    assert found == following


@pytest.mark.parametrize("seed", range(8))
def test_pt162_a_shuffled_pool_moves_one_to_the_front(seed: int) -> None:
    """Nothing is dropped or repeated, and the rest keep their order."""
    lead, *rest = pool("abc", seed, is_shuffled=True)

    assert rest == [one for one in "abc" if one != lead]


def test_pt163_a_pool_of_one_stays_as_it_is() -> None:
    """There is nothing to draw."""
    assert pool("a", 1, is_shuffled=True) == ("a",)
    assert pool("abc", 1, is_shuffled=False) == ("a", "b", "c")
