"""How long a turn waits, and how often it tries."""

from msgspec import Struct


class TurnLimits(Struct, frozen=True, kw_only=True):
    """Patience of every turn of a process."""

    first_token_seconds: float = 300.0
    """Longest wait for the first word of a response, thoughts included."""
    idle_seconds: float = 120.0
    """Longest silence after it; comments that keep a connection open are silence."""
    tool_seconds: float = 300.0
    """Longest time that a tool may take."""
    iterations: int = 100
    """Most responses with tool calls in a turn."""
    still_working_after: int = 20
    """Responses with tool calls after which people are told that the turn is still at it."""
    tool_failures: int = 5
    """Failed tool calls in a row that end the turn."""
    empty_retries: int = 2
    """How often a model that said nothing is asked again."""
    empty_retry_seconds: float = 1.0
    """Pause before that."""
