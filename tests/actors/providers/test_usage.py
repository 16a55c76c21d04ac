"""Tokens and cost as reported."""

import pytest

from actors.providers.usage import pico_dollars, usage_of
from events.generation import Usage

VECTORS: dict[str, tuple[dict[str, object], Usage | None]] = {
    "PT30": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
        },
        Usage(input_tokens=100, output_tokens=10, cache_read_tokens=64),
    ),
    "P179-details": (
        {
            "prompt_tokens": 10,
            "completion_tokens": 4,
            "total_tokens": 14,
            "cost": 0.00012,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
        Usage(
            input_tokens=10,
            output_tokens=4,
            cache_read_tokens=0,
            cache_write_tokens=3,
            reasoning_tokens=2,
            cost_pico=120_000_000,
        ),
    ),
    "P179-camel-case": (
        {
            "promptTokens": 5,
            "completionTokens": 2,
            "promptTokensDetails": {"cachedTokens": 1, "cacheWriteTokens": 2},
            "completionTokensDetails": {"reasoningTokens": 1},
        },
        Usage(
            input_tokens=5,
            output_tokens=2,
            cache_read_tokens=1,
            cache_write_tokens=2,
            reasoning_tokens=1,
        ),
    ),
    "P179-cache-is-part-of-the-input": (
        {
            "prompt_tokens": 5,
            "completion_tokens": 0,
            "prompt_tokens_details": {"cached_tokens": 9, "cache_write_tokens": 9},
        },
        Usage(input_tokens=5, output_tokens=0, cache_read_tokens=5, cache_write_tokens=5),
    ),
    "P179-nonsense-is-unknown": (
        {"prompt_tokens": -1, "completion_tokens": 2, "cost": float("nan"), "total_tokens": "7"},
        Usage(output_tokens=2),
    ),
    "P179-nothing": ({"prompt_tokens": None, "cost": 0.1}, None),
    "B48": (
        {
            "prompt_tokens": 4312,
            "completion_tokens": 0,
            "prompt_tokens_details": {"cached_tokens": 4000},
        },
        Usage(input_tokens=4312, output_tokens=0, cache_read_tokens=4000),
    ),
    "reasoning beside the completion": (
        {
            "prompt_tokens": 307,
            "completion_tokens": 26,
            "total_tokens": 560,
            "completion_tokens_details": {"reasoning_tokens": 227},
        },
        Usage(input_tokens=307, output_tokens=253, reasoning_tokens=227),
    ),
    "more reasoning than output": (
        {
            "prompt_tokens": 43,
            "completion_tokens": 10,
            "total_tokens": 53,
            "completion_tokens_details": {"reasoning_tokens": 11},
        },
        Usage(input_tokens=43, output_tokens=10, reasoning_tokens=10),
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_usage_is_read_as_the_rules_say(name: str) -> None:
    """Every figure on every surface comes from here."""
    raw, expected = VECTORS[name]

    assert usage_of(raw) == expected


@pytest.mark.parametrize("value", [None, [], 7, "x", {}])
def test_what_is_no_usage_gives_none(value: object) -> None:
    """Unknown is not zero."""
    assert usage_of(value) is None


@pytest.mark.parametrize(
    ("dollars", "pico"),
    [
        (0, 0),
        (0.00085, 850_000_000),
        (1e-12, 1),
        (5e-13, 0),
        (1.5e-12, 2),
        (0.1 + 0.2, 300_000_000_000),
        (2, 2_000_000_000_000),
        (-0.1, None),
        (float("inf"), None),
        (float("nan"), None),
        (10**400, None),
        (True, None),
        ("0.1", None),
    ],
)
def test_cost_is_a_whole_number_of_pico_dollars(dollars: object, pico: int | None) -> None:
    """Sums of floats drift; sums of integers don't."""
    assert pico_dollars(dollars) == pico
