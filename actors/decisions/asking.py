"""What a decision call is given: what is asked of whom, and the world that it is made with."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct, field
from typing_extensions import override

from actors.decisions.models import DecisionCatalog, DecisionReference, DecisionScope, Payers
from actors.decisions.questions import Question
from actors.http_port import Transport
from actors.ports import Clock, StopSignal
from actors.spending.registrations import Registrations
from events.generation import Usage

CALL_SECONDS: Final = 120.0
"""Longest that a call may take, connecting, headers and body together."""

OnUsage = Callable[[Usage], None]
"""Told of what a response used; at most once a call."""


class DecisionWorld(Struct, frozen=True, kw_only=True):
    """What calls are made with."""

    catalog: DecisionCatalog
    """Where models are registered."""
    transport: Transport
    """HTTP."""
    clock: Clock
    """Time."""
    fresh_id: Callable[[], str]
    """Returns a UUID that nobody had."""
    payers: Payers | None = None
    """Who pays for managed models; None: there are none."""
    registrations: Registrations = field(default_factory=Registrations)
    """Who holds the money, and who is told of usage."""
    call_seconds: float = CALL_SECONDS
    """Longest that a call may take."""


class Ask(Struct, frozen=True, kw_only=True):
    """What is asked of whom."""

    scope: DecisionScope
    """On whose account."""
    reference: DecisionReference | None
    """The chosen model; None: none is."""
    evidence: str
    """The text that is judged."""
    questions: Sequence[Question]
    """What is to be judged of it."""
    abort: StopSignal | None = None
    """Ends the call once set."""
    on_usage: OnUsage | None = None
    """Told of what the response used, before its answers are judged."""
    slot: str = "decision"
    """For which of a scope's choices."""

    @override
    def __repr__(self) -> str:
        return f"Ask({len(self.questions)} questions)"
