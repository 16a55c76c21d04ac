"""Tokens and cost as reported."""

import pytest

from actors.providers.usage import anthropic_usage, google_usage, pico_dollars, usage_of
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


OTHERS: dict[str, tuple[Usage | None, Usage | None]] = {
    "W1": (
        usage_of(
            {
                "prompt_tokens": 1200,
                "prompt_tokens_details": {"cached_tokens": 1024},
                "completion_tokens": 88,
            }
        ),
        Usage(input_tokens=1200, cache_read_tokens=1024, output_tokens=88),
    ),
    "W2": (
        usage_of(
            {
                "prompt_tokens": 1200,
                "prompt_tokens_details": {"cached_tokens": 0},
                "completion_tokens": 88,
            }
        ),
        Usage(input_tokens=1200, cache_read_tokens=0, output_tokens=88),
    ),
    "W3": (
        usage_of({"prompt_tokens": 1200, "completion_tokens": 88}),
        Usage(input_tokens=1200, output_tokens=88),
    ),
    "W4": (
        usage_of(
            {
                "prompt_tokens": 2006,
                "prompt_tokens_details": {"cached_tokens": 1920, "cache_write_tokens": 0},
                "completion_tokens": 300,
                "completion_tokens_details": {"reasoning_tokens": 120},
                "cost": 0.00423,
            }
        ),
        Usage(
            input_tokens=2006,
            cache_read_tokens=1920,
            cache_write_tokens=0,
            output_tokens=300,
            reasoning_tokens=120,
            cost_pico=4_230_000_000,
        ),
    ),
    "W5": (
        anthropic_usage(
            {
                "input_tokens": 12,
                "cache_read_input_tokens": 30000,
                "cache_creation_input_tokens": 512,
                "output_tokens": 410,
            }
        ),
        Usage(
            input_tokens=30524, cache_read_tokens=30000, cache_write_tokens=512, output_tokens=410
        ),
    ),
    "W6": (
        anthropic_usage(
            {
                "input_tokens": 900,
                "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": None,
                "output_tokens": 5,
            }
        ),
        Usage(input_tokens=900, cache_read_tokens=0, output_tokens=5),
    ),
    "W7": (
        anthropic_usage({"input_tokens": 900, "output_tokens": 5}),
        Usage(input_tokens=900, output_tokens=5),
    ),
    "U17-writes-by-their-time-to-live": (
        anthropic_usage(
            {
                "input_tokens": 1,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 2,
                    "ephemeral_1h_input_tokens": 3,
                },
            }
        ),
        Usage(input_tokens=6, cache_write_tokens=5),
    ),
    "W8": (
        google_usage(
            {
                "promptTokenCount": 5000,
                "cachedContentTokenCount": 4096,
                "toolUsePromptTokenCount": 40,
                "candidatesTokenCount": 200,
                "thoughtsTokenCount": 650,
            }
        ),
        Usage(input_tokens=5040, cache_read_tokens=4096, output_tokens=850, reasoning_tokens=650),
    ),
    "W9": (
        usage_of(
            {
                "prompt_tokens": 1000,
                "prompt_cache_hit_tokens": 640,
                "prompt_cache_miss_tokens": 360,
                "completion_tokens": 50,
            }
        ),
        Usage(input_tokens=1000, cache_read_tokens=640, output_tokens=50),
    ),
    "W10": (
        usage_of(
            {
                "prompt_tokens": 100,
                "prompt_tokens_details": {"cached_tokens": 140},
                "completion_tokens": 0,
            }
        ),
        Usage(input_tokens=100, cache_read_tokens=100, output_tokens=0),
    ),
    "W11": (
        usage_of(
            {
                "prompt_tokens": 194,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 100},
                "completion_tokens": 2,
                "cost": 0,
                "cost_details": {"upstream_inference_cost": 0.19},
            }
        ),
        Usage(
            input_tokens=194,
            cache_read_tokens=0,
            cache_write_tokens=100,
            output_tokens=2,
            cost_pico=0,
        ),
    ),
    "W12": (usage_of({"prompt_tokens": True, "completion_tokens": "7"}), None),
    "TU4": (
        usage_of({"usage": {"prompt_tokens": 2, "completion_tokens": 3}, "prompt_tokens": 1}),
        Usage(input_tokens=2, output_tokens=3),
    ),
    "TU5": (
        usage_of({"prompt_tokens": 0, "completion_tokens": 0, "cost": 0.01}),
        Usage(input_tokens=0, output_tokens=0, cost_pico=10_000_000_000),
    ),
    "TU6": (usage_of({"prompt_tokens": 0, "completion_tokens": 0}), None),
    "TU7": (
        usage_of({"prompt_tokens": 1000, "cache_read_input_tokens": 300}),
        Usage(input_tokens=1000, cache_read_tokens=300),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_each_family_reports_in_its_own_way_and_means_the_same(name: str) -> None:
    """Input is all that was read, whoever counted it; a part of it is never added to it."""
    read, expected = OTHERS[name]

    assert read == expected


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
