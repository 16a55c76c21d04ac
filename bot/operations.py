"""What an operator can ask of a bot, whether it runs or has left its log behind.

`bot.control` carries these over a Unix socket, `bot.offline` answers from files at rest. Both raise
`actors.errors.RefusalError` for what may not be asked and `FailureError` for what went wrong.
"""

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from actors.table import Table


class TimelineLine(Struct, frozen=True, kw_only=True):
    """One event of a turn, for people."""

    at: datetime
    """UTC: when it happened."""
    offset_ms: float
    """Milliseconds since the turn's first event."""
    kind: str
    """The event's kind."""
    stream: str
    """The stream it stands in."""
    summary: str
    """What it says, in a line."""
    detail: str = ""
    """The whole event as JSON."""


class Difference(Struct, frozen=True, kw_only=True):
    """The first place where today's code parts from the record."""

    where: str
    """The event: kind and ordinal."""
    recorded: str
    """What stands in the log."""
    computed: str
    """What today's code gives."""
    context: tuple[str, ...] = ()
    """What led up to it, oldest first."""


class Balance(Struct, frozen=True, kw_only=True):
    """Where a turn's characters went: received = delivered + the sum of withheld."""

    received: int
    """Code points received from the provider."""
    delivered: int
    """Code points in confirmed messages."""
    withheld: dict[str, int]
    """Code points that a rule withheld, by the rule's name."""
    problem: str = ""
    """Why it does not balance; empty where it does."""


class ReplayReport(Struct, frozen=True, kw_only=True):
    """A turn from the log alone."""

    turn_id: str
    """The turn."""
    status: str
    """How it ended; `open` where it has not."""
    entries: tuple[TimelineLine, ...]
    """What happened, oldest first."""
    balance: Balance | None = None
    """Where its text went; None where the turn has not ended."""
    difference: Difference | None = None
    """Where today's code parts from the record; None where it does not."""


class TurnFailure(Struct, frozen=True, kw_only=True):
    """A turn that `verify` finds fault with."""

    turn_id: str
    """The turn."""
    problem: str
    """What differs or does not balance, in a line."""


class VerifyReport(Struct, frozen=True, kw_only=True):
    """What replaying many turns showed."""

    checked: int
    """Turns replayed."""
    failures: tuple[TurnFailure, ...] = ()
    """Those that differ, oldest first."""


class Status(Struct, frozen=True, kw_only=True):
    """A running bot, as it sees itself."""

    pid: int
    """Its process."""
    version: str
    """The version of its code."""
    started_at: datetime
    """UTC: since when it runs."""
    running_turns: int
    """Turns that have not ended."""
    waiting_triggers: int
    """Triggers that wait for their channel."""
    position: int
    """The log's last event."""


class Operations(Protocol):
    """Everything the command line can ask for."""

    async def turns(self, limit: int) -> Table:
        """Return the most recent `limit` turns, the latest first."""
        ...

    async def replay(self, turn: str) -> ReplayReport:
        """Return the timeline of `turn`, compared with today's code.

        Raises:
            RefusalError: No such turn.
        """
        ...

    async def verify(self, since: datetime | None) -> VerifyReport:
        """Replay every ended turn that started at or after `since` (None: all)."""
        ...

    async def usage(self, by: tuple[str, ...]) -> Table:
        """Return usage and cost grouped by `by`: any of `guild`, `model`, `day`."""
        ...

    async def budgets(self, month: str) -> Table:
        """Return what each payer has spent and set aside in `month` (`YYYY-MM`, UTC)."""
        ...

    async def sql(self, query: str) -> Table:
        """Return what one read-only SELECT gives.

        Raises:
            SqlRefusedError: It is not one, or ran over a limit.
        """
        ...

    async def stop(self, channel_id: int, requester: str) -> str | None:
        """Stop the channel's running turn and return its id; None where nothing runs.

        Raises:
            RefusalError: No bot runs.
        """
        ...

    async def status(self) -> Status:
        """Return how the bot does.

        Raises:
            RefusalError: No bot runs.
        """
        ...
