"""Tokens and cost as a chat completion reports them.

None is unknown, 0 was reported as 0. Input includes what came from a cache, output includes
reasoning. Figures that are negative, no numbers or beyond any sense make their field unknown.
"""

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from actors.providers.json_text import JsonObject, object_of
from events.generation import Usage

_PICO: Final = Decimal(10) ** 12
_MOST_TOKENS: Final = 2**53
_MOST_DOLLARS: Final = 1_000_000


def usage_of(value: object) -> Usage | None:
    """Return what the `usage` of a payload reports; None where it gives neither in nor output."""
    raw = object_of(value)
    reported_input = _tokens(raw, "prompt_tokens", "promptTokens")
    completion = _tokens(raw, "completion_tokens", "completionTokens")
    if reported_input is None and completion is None:
        return None
    details = _details(raw, "prompt_tokens_details", "promptTokensDetails")
    read = _tokens(details, "cached_tokens", "cachedTokens")
    if read is None:
        read = _tokens(raw, "prompt_cache_hit_tokens", "promptCacheHitTokens")
    written = _tokens(details, "cache_write_tokens", "cacheWriteTokens")
    reasoning = _tokens(
        _details(raw, "completion_tokens_details", "completionTokensDetails"),
        "reasoning_tokens",
        "reasoningTokens",
    )
    output = _with_reasoning(
        completion, reasoning, reported_input, _tokens(raw, "total_tokens", "totalTokens")
    )
    return Usage(
        input_tokens=reported_input,
        output_tokens=output,
        cache_read_tokens=_at_most(read, reported_input),
        cache_write_tokens=_at_most(written, reported_input),
        reasoning_tokens=_at_most(reasoning, output),
        cost_pico=pico_dollars(raw.get("cost")),
    )


def pico_dollars(dollars: object) -> int | None:
    """Return an amount of US dollars in 10**-12 dollars; None where it is no sensible amount.

    The shortest decimal that reads back as the same double is what the provider wrote.
    """
    if isinstance(dollars, bool) or not isinstance(dollars, int | float):
        return None
    if not 0 <= dollars <= _MOST_DOLLARS:
        return None
    amount = Decimal(repr(dollars)) * _PICO
    return int(amount.to_integral_value(rounding=ROUND_HALF_EVEN))


def _details(raw: JsonObject, *names: str) -> JsonObject:
    for name in names:
        details = object_of(raw.get(name))
        if details:
            return details
    return {}


def _tokens(raw: JsonObject, *names: str) -> int | None:
    for name in names:
        value = raw.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if 0 <= value <= _MOST_TOKENS and value == int(value):
            return int(value)
    return None


def _with_reasoning(
    completion: int | None, reasoning: int | None, prompt: int | None, total: int | None
) -> int | None:
    """Return the output, reasoning included.

    xAI counts reasoning beside the completion tokens, others within them; the total tells which.
    """
    if completion is None or not reasoning or prompt is None or total is None:
        return completion
    is_beside = total == prompt + completion + reasoning
    return completion + reasoning if is_beside else completion


def _at_most(part: int | None, whole: int | None) -> int | None:
    return part if part is None or whole is None else min(part, whole)
