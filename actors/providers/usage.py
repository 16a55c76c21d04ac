"""Tokens and cost as the wire formats report them.

None is unknown, 0 was reported as 0. Input includes what came from a cache, output includes
reasoning. Figures that are negative, no numbers or beyond any sense make their field unknown.
"""

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from actors.providers.json_text import JsonObject, is_object, object_of
from events.generation import Usage

_PICO: Final = Decimal(10) ** 12
_MOST_TOKENS: Final = 2**53
_MOST_DOLLARS: Final = 1_000_000


def usage_of(value: object) -> Usage | None:
    """Return what the `usage` of a chat completion reports; None where it gives no count.

    Where a proxy adds Anthropic's cache counts to a prompt's total, they are parts of it.
    """
    raw = _inner(object_of(value), "usage")
    reported_input = _tokens(raw, "prompt_tokens", "promptTokens")
    completion = _tokens(raw, "completion_tokens", "completionTokens")
    details = _details(raw, "prompt_tokens_details", "promptTokensDetails")
    read = _tokens(details, "cached_tokens", "cachedTokens")
    if read is None:
        read = _tokens(
            raw, "prompt_cache_hit_tokens", "promptCacheHitTokens", "cache_read_input_tokens"
        )
    written = _tokens(details, "cache_write_tokens", "cacheWriteTokens")
    if written is None:
        written = _tokens(raw, "cache_creation_input_tokens")
    reasoning = _tokens(
        _details(raw, "completion_tokens_details", "completionTokensDetails"),
        "reasoning_tokens",
        "reasoningTokens",
    )
    output = _with_reasoning(
        completion, reasoning, reported_input, _tokens(raw, "total_tokens", "totalTokens")
    )
    return _reported(
        Usage(
            input_tokens=reported_input,
            output_tokens=output,
            cache_read_tokens=_at_most(read, reported_input),
            cache_write_tokens=_at_most(written, reported_input),
            reasoning_tokens=_at_most(reasoning, output),
            cost_pico=pico_dollars(raw.get("cost")),
        )
    )


def anthropic_usage(value: object) -> Usage | None:
    """Return what a `usage` of Anthropic reports, whose parts of the input are counted apart."""
    raw = _inner(object_of(value), "usage")
    read = _tokens(raw, "cache_read_input_tokens")
    written = _tokens(raw, "cache_creation_input_tokens")
    if written is None:
        parts = object_of(raw.get("cache_creation"))
        written = _sum(
            _tokens(parts, "ephemeral_5m_input_tokens"), _tokens(parts, "ephemeral_1h_input_tokens")
        )
    return _reported(
        Usage(
            input_tokens=_sum(_tokens(raw, "input_tokens"), read, written),
            output_tokens=_tokens(raw, "output_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )
    )


def google_usage(value: object) -> Usage | None:
    """Return what a `usageMetadata` reports: thoughts are output, what tools read is input."""
    raw = _inner(object_of(value), "usageMetadata")
    reported_input = _sum(_tokens(raw, "promptTokenCount"), _tokens(raw, "toolUsePromptTokenCount"))
    thoughts = _tokens(raw, "thoughtsTokenCount")
    return _reported(
        Usage(
            input_tokens=reported_input,
            output_tokens=_sum(_tokens(raw, "candidatesTokenCount"), thoughts),
            cache_read_tokens=_at_most(_tokens(raw, "cachedContentTokenCount"), reported_input),
            reasoning_tokens=thoughts,
        )
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


def _inner(raw: JsonObject, name: str) -> JsonObject:
    """Return the usage that stands inside of a usage, where a gateway wrapped it."""
    inner = raw.get(name)
    return inner if is_object(inner) and inner else raw


def _reported(usage: Usage) -> Usage | None:
    """Return the usage; None where it counts nothing, which says that nobody counted."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    is_empty = not usage.input_tokens and not usage.output_tokens
    return None if is_empty and usage.cost_pico is None else usage


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


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
