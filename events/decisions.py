"""Events of decision models: what was asked, and how it ended; never the evidence or a question.

Stream: turn, where a turn asks; else guild or user. Both bear the call's correlation id, as does
the `usage_report` between them, which may also follow the answer: a caller who has stopped waiting
records the end at once, and what the response used when it comes.
"""

from typing import Literal

from events.base import Event

ApiStyle = Literal["openrouter-decisions", "system-one", "openai-decisions"]
"""The protocol that an endpoint speaks."""

DecisionStatus = Literal[
    "completed",
    "refused",
    "denied",
    "cancelled",
    "invalid-input",
    "unavailable",
    "failed",
]
"""How a call ended: answered, not answered by the model's wish, by the payer's, by the asker's; not
to be sent; nobody to ask; gone wrong."""

DecisionFailure = Literal[
    "credentials",
    "network",
    "timeout",
    "authentication",
    "payment_required",
    "model_unavailable",
    "throttled",
    "upstream",
    "malformed_request",
    "malformed_response",
    "unexpected",
]
"""What went wrong."""


class DecisionRequested(Event, frozen=True, kw_only=True, tag="decision_requested"):
    """A decision model is about to be asked; whoever pays has agreed."""

    correlation: str
    """The call's id; unique."""
    slot: str
    """What it is asked for: `decision`, `nudge-checker`, …"""
    provider: str
    """Who serves it: `openrouter` or `custom`."""
    api_style: ApiStyle
    """The protocol."""
    model: str
    """The model's id at its provider."""
    model_id: int
    """The model's number in the registry."""
    registration_id: int | None = None
    """The registration's, for a model that a guild or user brought."""
    custom_endpoint_id: int | None = None
    """The endpoint's, for a custom one."""
    question_count: int
    """Questions, 1 to 64."""
    body_bytes: int
    """Bytes of the body as sent."""


class DecisionAnswered(Event, frozen=True, kw_only=True, tag="decision_answered"):
    """A call that was sent has ended, whichever way. One a `decision_requested`."""

    correlation: str
    """The call."""
    api_style: ApiStyle
    """The protocol."""
    model: str
    """The model that was asked."""
    status: DecisionStatus
    """How it ended."""
    category: DecisionFailure | None = None
    """What went wrong, where something did."""
    stage: str | None = None
    """Where: `transport`, `response`, `validation` or `execution`."""
    http_status: int | None = None
    """The response's status, where one came and it was no 200."""
    answer_count: int = 0
    """Questions that have a probability."""
    refusal_count: int = 0
    """Questions that the model refused."""
    actual_model: str | None = None
    """The model that answered, as it says."""
    provider_request_id: str | None = None
    """The provider's id of the request."""
    elapsed_ms: int
    """Milliseconds from the call's start."""
    limit_source: str | None = None
    """Which of the provider's limits refused it."""
    media_minimum_pico: int | None = None
    """The balance, in 10**-12 US dollars, that the limit demands for media."""
