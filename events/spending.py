"""Events of usage and cost. Money is an integer number of 10**-12 US dollars."""

from typing import Literal

from events.base import Event

Basis = Literal["reported", "estimate", "zero", "none", "abandoned"]
"""What a hold's spending rests on: the provider's word, the estimate of an answer that came without
a cost, no request or a refused one, a request that broke off, a process that was lost."""


class UsageReport(Event, frozen=True, kw_only=True, tag="usage_report"):
    """What one provider request used. Absent is unknown, never 0.

    Stream: turn; of a decision outside a turn, guild or user.
    """

    request: int
    """The request; 0 for a decision."""
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
    correlation: str = ""
    """The decision that used it; empty for a request of a turn. Key, where it is there."""


class RequestDenied(Event, frozen=True, kw_only=True, tag="request_denied"):
    """Who would have paid for a request refused it; nothing was sent. Stream: turn."""

    request: int
    """The request that was not made."""
    provider: str
    """The provider's name in the configuration."""
    model: str
    """The model's id at the provider."""
    origin: Literal["hook", "translator"]
    """Refused before it left, or by the provider in words that an extension understood."""
    code: str
    """A display-safe word for why."""


class HoldOpened(Event, frozen=True, kw_only=True, tag="hold_opened"):
    """Money is set aside for a request that is about to leave. Stream: budget. Key: `hold_id`."""

    hold_id: str
    """Turn, epoch and request; unique in the log's streams of each payer."""
    estimate_pico: int
    """What is set aside, in 10**-12 US dollars."""
    provider: str
    """The provider's name in the configuration."""
    model: str
    """The model's id at the provider."""


class HoldSettled(Event, frozen=True, kw_only=True, tag="hold_settled"):
    """What became of the money. Stream: budget. Key: `hold_id`; the first settlement counts."""

    hold_id: str
    """The hold."""
    spent_pico: int
    """What counts as spent, in 10**-12 US dollars."""
    basis: Basis
    """What that rests on."""
