"""Events of usage and cost. Money is an integer number of 10**-12 US dollars."""

from typing import Literal

from events.base import Event


class UsageReport(Event, frozen=True, kw_only=True, tag="usage_report"):
    """What one provider request used. Stream: turn. Absent is unknown, never 0."""

    request: int
    """The request."""
    provider: str
    """The provider's name in the configuration."""
    model: str
    """The model's id at the provider."""
    measurement: Literal["measured", "estimated"]
    """Whether the provider reported it, or it was estimated from the text."""
    response_id: str | None = None
    """The provider's id of the response."""
    serving_provider: str | None = None
    """Who served a router's request."""
    input_tokens: int | None = None
    """Prompt tokens, cached ones included."""
    output_tokens: int | None = None
    """Completion tokens, reasoning included."""
    cache_read_tokens: int | None = None
    """Part of the input that came from the provider's cache."""
    cache_write_tokens: int | None = None
    """Part of the input that was written to the provider's cache."""
    reasoning_tokens: int | None = None
    """Part of the output that was reasoning."""
    cost_pico: int | None = None
    """Cost in 10**-12 US dollars, where known."""
