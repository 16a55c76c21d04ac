"""A fake bot to ask, and its answers."""

from datetime import UTC, datetime

from actors.table import Column, Table
from bot.operations import (
    Balance,
    Difference,
    ReplayReport,
    Status,
    TimelineLine,
    TurnFailure,
    VerifyReport,
)

MORNING = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)

TURNS = Table(
    columns=(
        Column(name="channel_id", type="UBIGINT"),
        Column(name="persona", type="VARCHAR"),
        Column(name="cost", type="DECIMAL(18,6)", unit="USD"),
        Column(name="started", type="TIMESTAMP"),
        Column(name="reply", type="BOOLEAN"),
    ),
    rows=(
        (1187, "Mira", "0.001200", MORNING, True),
        (18446744073709551615, "名前\x1b[31m, \n", None, None, False),
    ),
    is_truncated=True,
)

REPLAY = ReplayReport(
    turn_id="0192",
    status="completed",
    entries=(
        TimelineLine(
            at=MORNING, offset_ms=0.0, kind="turn_started", stream="turn/0192", summary="by Ada"
        ),
        TimelineLine(
            at=MORNING,
            offset_ms=1234.4,
            kind="flush",
            stream="turn/0192",
            summary="newline \x1b[2J",
            detail='{"text":"Hello"}',
        ),
    ),
    balance=Balance(received=12, delivered=10, withheld={"stop": 2}),
)

DIFFERENCE = Difference(
    where="flush 1", recorded="Hello", computed="Hallo", context=("raw_chunk 1",)
)

STATUS = Status(
    pid=7,
    version="0.1.0",
    started_at=MORNING,
    running_turns=1,
    waiting_triggers=0,
    position=42,
)

BUDGETS = Table(
    columns=(
        Column(name="payer", type="VARCHAR"),
        Column(name="month", type="VARCHAR"),
        Column(name="spent_usd", type="DECIMAL(38,12)", unit="USD"),
        Column(name="open_usd", type="DECIMAL(38,12)", unit="USD"),
        Column(name="open_requests", type="BIGINT", unit="requests"),
    ),
    rows=(
        ("guild/42", "2026-12", "0.310000000000", "0.050000000000", 1),
        ("user/7", "2026-12", "0.020000000000", "0.000000000000", 0),
    ),
)


class FakeOperations:
    """Answers as prepared, and notes what it was asked; raises `error` where one is set."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.error: Exception | None = None
        self.stopped: str | None = "0192"
        self.report = REPLAY
        self.failures: tuple[TurnFailure, ...] = ()
        self.table = TURNS

    async def turns(self, limit: int) -> Table:
        """Return two rows."""
        self._note("turns", limit)
        return self.table

    async def replay(self, turn: str) -> ReplayReport:
        """Return the prepared report."""
        self._note("replay", turn)
        return self.report

    async def verify(self, since: datetime | None) -> VerifyReport:
        """Return the prepared failures."""
        self._note("verify", since)
        return VerifyReport(checked=3, failures=self.failures)

    async def usage(self, by: tuple[str, ...]) -> Table:
        """Return two rows."""
        self._note("usage", by)
        return self.table

    async def budgets(self, month: str) -> Table:
        """Return two payers."""
        self._note("budgets", month)
        return BUDGETS

    async def sql(self, query: str) -> Table:
        """Return two rows."""
        self._note("sql", query)
        return self.table

    async def stop(self, channel_id: int, requester: str) -> str | None:
        """Return the prepared turn."""
        self._note("stop", channel_id, requester)
        return self.stopped

    async def status(self) -> Status:
        """Return a status."""
        self._note("status")
        return STATUS

    def _note(self, *asked: object) -> None:
        self.asked.append(asked)
        if self.error is not None:
            raise self.error
