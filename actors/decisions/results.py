"""What becomes of a decision call: one of seven results; errors never reach the asker.

completed, refused   answers in the order of the questions; refused: at least one is missing
denied               whoever pays said no; carries that error, which the asker shows
cancelled            the asker's own wish
invalid-input        not to be sent: malformed, too long, or to an address that may not be asked
unavailable          there is nobody to ask
failed               gone wrong, and logged already, once
"""

from typing import ClassVar, Literal

from msgspec import Struct

from actors.decisions.answers import Verdict
from actors.errors import LimitReachedError
from actors.spending.denials import RequestDeniedError
from events.decisions import DecisionFailure, DecisionStatus
from events.generation import Usage

Stage = Literal["resolution", "transport", "response", "validation", "execution"]
"""How far a call came before it failed."""
Coarse = Literal[
    "http", "authentication", "network", "timeout", "malformed", "unexpected", "credentials"
]
"""What went wrong, in the words of those who tell fewer cases apart."""

_COARSE: dict[DecisionFailure, Coarse] = {
    "credentials": "credentials",
    "network": "network",
    "timeout": "timeout",
    "authentication": "authentication",
    "malformed_response": "malformed",
    "unexpected": "unexpected",
}
_PASSING = frozenset({"network", "timeout", "throttled", "upstream"})


class _Result(Struct, frozen=True, kw_only=True):
    """What every result has."""

    status: ClassVar[DecisionStatus]
    """How the call ended."""
    error_logged: ClassVar[bool] = False
    """Whether a failure was logged; then nobody logs it again."""
    correlation: str
    """The call's id, in its events and its trace."""


class Answered(_Result, frozen=True, kw_only=True):
    """The model answered."""

    verdicts: tuple[Verdict, ...]
    """One a question, in their order."""
    usage: Usage | None
    """What it used; None: unknown."""
    request_id: str | None
    """The provider's id of the request."""
    model: str
    """The model that answered, as it says."""


class Completed(Answered, frozen=True, kw_only=True):
    """Every question has a probability."""

    status: ClassVar[DecisionStatus] = "completed"


class Refused(Answered, frozen=True, kw_only=True):
    """The model refused at least one question."""

    status: ClassVar[DecisionStatus] = "refused"


class Denied(_Result, frozen=True, kw_only=True):
    """Whoever would have paid refused."""

    status: ClassVar[DecisionStatus] = "denied"
    denial: RequestDeniedError
    """The refusal itself, the very object that was raised."""


class Cancelled(_Result, frozen=True, kw_only=True):
    """The asker's token was set, or nobody waits any more."""

    status: ClassVar[DecisionStatus] = "cancelled"


class InvalidInput(_Result, frozen=True, kw_only=True):
    """It was not sent, and would not be a second time."""

    status: ClassVar[DecisionStatus] = "invalid-input"
    reason: str
    """Why; quotes nothing of the input."""


class Unavailable(_Result, frozen=True, kw_only=True):
    """There is nobody to ask."""

    status: ClassVar[DecisionStatus] = "unavailable"
    reason: Literal["not-selected", "not-owned", "unsupported", "payer-unavailable"]
    """No model is chosen; the chosen one is not there for this scope; it can't decide; whoever
    pays for it is gone."""


class Failed(_Result, frozen=True, kw_only=True):
    """Something went wrong."""

    status: ClassVar[DecisionStatus] = "failed"
    error_logged: ClassVar[bool] = True
    category: DecisionFailure
    """What."""
    stage: Stage
    """Where."""
    http_status: int | None = None
    """The response's status, where it says more than the category."""
    retry_after_seconds: float | None = None
    """How long the provider asks to wait."""
    cause: LimitReachedError | None = None
    """The provider's limit, where it was one."""

    @property
    def coarse(self) -> Coarse:
        """The category, less fine."""
        return _COARSE.get(self.category, "http")

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.category in _PASSING


DecisionResult = Completed | Refused | Denied | Cancelled | InvalidInput | Unavailable | Failed
"""What became of a call."""
