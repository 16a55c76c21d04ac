"""The two narrow tables behind `turns` and `usage`, as pure folds: one row a turn, one a request.

They could be views over the events' JSON. They are tables since both figures are asked for all the
time, and over a column of numbers they cost a tenth. Nothing here touches a database.
"""

import uuid
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from actors.read_models.stored import Row, naive, signed, turn_of, unsigned
from events.base import Recorded
from events.delivery import Receipt, SendFailed
from events.generation import RequestOpened
from events.spending import UsageReport
from events.turn import TurnEnded, TurnRecovered, TurnStarted

FACTS_VERSION: Final = 2
"""Raise it whenever a fold below changes: every read model is then built again."""


class TurnRow(Struct, frozen=True, kw_only=True):
    """What is known of one turn; its fields are the columns of `facts.turn_rows`, in order."""

    turn_id: uuid.UUID
    """The turn."""
    first_position: int
    """Position of its first event that is told of here."""
    trigger_id: str | None = None
    """The trigger it answers."""
    started_at: datetime | None = None
    """UTC, naive."""
    ended_at: datetime | None = None
    """UTC, naive; None while it is open."""
    channel_id: int | None = None
    """The channel."""
    guild_id: int | None = None
    """The guild; None in direct messages."""
    persona: str | None = None
    """Who answers."""
    model: str | None = None
    """`provider/model` of its latest request, of its route before the first."""
    status: str | None = None
    """How it ended; None while it is open."""
    stop_reason: str | None = None
    """Why, where the status alone does not say it."""
    messages: int = 0
    """Confirmed messages."""
    requests: int = 0
    """Provider requests."""
    unconfirmed: int = 0
    """Attempts whose outcome is unknown."""
    recovered: int = 0
    """How often it was taken over."""


class UsageRow(Struct, frozen=True, kw_only=True):
    """What one request used; its fields are the columns of `facts.usage_rows`, in order."""

    position: int
    """Position of the report that counts."""
    day: date
    """The UTC day of the report."""
    turn_id: uuid.UUID | None
    """The turn."""
    channel_id: int | None
    """The channel."""
    guild_id: int | None
    """The guild; None in direct messages."""
    request: int | None
    """The request's ordinal in the turn."""
    provider: str
    """The provider's name in the configuration."""
    model: str
    """The model's id at the provider."""
    is_measured: bool
    """Whether the provider reported it; else it was estimated."""
    input_tokens: int | None
    """None is unknown, here and below; 0 was reported."""
    output_tokens: int | None
    """Completion tokens."""
    cache_read_tokens: int | None
    """Part of the input that came from the cache."""
    cache_write_tokens: int | None
    """Part of the input that was written to the cache."""
    cost_pico: int | None
    """Cost in 10**-12 US dollars."""
    correlation: str = ""
    """The decision that used it; empty for a request of a turn."""


TURN_MARKS: Final = (TurnStarted, RequestOpened, Receipt, SendFailed, TurnRecovered, TurnEnded)
"""The events that a turn's row tells of."""


def evolve_turn(row: TurnRow, recorded: Recorded) -> TurnRow:
    """Return the row after one more event of its turn."""
    changes: dict[str, Any] = {}
    match recorded.event:
        case TurnStarted() as event:
            changes = {
                "trigger_id": event.trigger_id,
                "started_at": row.started_at or naive(recorded.recorded_at),
                "channel_id": unsigned(event.channel_id),
                "guild_id": unsigned(event.guild_id),
                "persona": event.persona,
                "model": row.model or next(iter(event.models), None),
            }
        case RequestOpened(provider=provider, model=model):
            changes = {"model": f"{provider}/{model}", "requests": row.requests + 1}
        case Receipt():
            changes = {"messages": row.messages + 1}
        case SendFailed(outcome="unconfirmed"):
            changes = {"unconfirmed": row.unconfirmed + 1}
        case TurnRecovered():
            changes = {"recovered": row.recovered + 1}
        case TurnEnded() as event:
            changes = {
                "ended_at": naive(recorded.recorded_at),
                "status": event.status,
                "stop_reason": event.stop_reason,
                "messages": event.messages,
            }
        case _:
            pass
    return msgspec.structs.replace(row, **changes)


def marked_turns(batch: Iterable[Recorded]) -> set[uuid.UUID]:
    """Return the turns whose row `batch` may change."""
    turns = (turn_of(recorded) for recorded in batch if isinstance(recorded.event, TURN_MARKS))
    return {turn_id for turn_id in turns if turn_id is not None}


def fold_turns(
    known: dict[uuid.UUID, TurnRow], batch: Iterable[Recorded]
) -> dict[uuid.UUID, TurnRow]:
    """Return the new rows of all turns that `batch`, oldest first, tells something of."""
    touched: dict[uuid.UUID, TurnRow] = {}
    for recorded in batch:
        turn_id = turn_of(recorded) if isinstance(recorded.event, TURN_MARKS) else None
        if turn_id is None:
            continue
        row = touched.get(turn_id) or known.get(turn_id) or _unseen(turn_id, recorded)
        touched[turn_id] = evolve_turn(row, recorded)
    return touched


def _unseen(turn_id: uuid.UUID, recorded: Recorded) -> TurnRow:
    return TurnRow(
        turn_id=turn_id,
        first_position=recorded.position,
        channel_id=unsigned(recorded.scope.channel_id),
        guild_id=unsigned(recorded.scope.guild_id),
    )


def usage_row(recorded: Recorded, report: UsageReport) -> UsageRow:
    """Return the row of one report; a figure that no column holds is unknown."""
    return UsageRow(
        position=recorded.position,
        day=recorded.recorded_at.astimezone(UTC).date(),
        turn_id=turn_of(recorded),
        channel_id=unsigned(recorded.scope.channel_id),
        guild_id=unsigned(recorded.scope.guild_id),
        request=signed(report.request),
        provider=report.provider,
        model=report.model,
        is_measured=report.measurement == "measured",
        input_tokens=signed(report.input_tokens),
        output_tokens=signed(report.output_tokens),
        cache_read_tokens=signed(report.cache_read_tokens),
        cache_write_tokens=signed(report.cache_write_tokens),
        cost_pico=signed(report.cost_pico),
        correlation=report.correlation,
    )


def fold_usage(batch: Iterable[Recorded]) -> list[UsageRow]:
    """Return the rows of `batch`: one a request of a turn or a decision, if repeated the latest."""
    latest: dict[object, UsageRow] = {}
    for recorded in batch:
        if isinstance(recorded.event, UsageReport):
            row = usage_row(recorded, recorded.event)
            in_turn = (row.turn_id, row.request) if row.turn_id else row.position
            latest[row.correlation or in_turn] = row
    return list(latest.values())


def cells(row: Struct) -> Row:
    """Return the row's fields in the order of its table's columns."""
    return msgspec.structs.astuple(row)
