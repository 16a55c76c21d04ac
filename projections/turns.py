"""One row a turn: what `rejoinder turns` lists.

`evolve` moves one row on; `rows` groups a log's events by turn. A figure that one of a turn's
reports lacks is unknown for the turn.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from events.base import ChannelId, GuildId, Recorded, TurnId
from events.delivery import Receipt
from events.generation import RequestOpened
from events.spending import UsageReport
from events.turn import TurnEnded, TurnStarted, TurnStatus
from projections.fold import turn_of


class TurnRow(Struct, frozen=True, kw_only=True):
    """A turn at a glance."""

    turn_id: TurnId
    """The turn."""
    started_at: datetime | None = None
    """When it started."""
    channel_id: ChannelId | None = None
    """Where it answers."""
    guild_id: GuildId | None = None
    """The guild; None in direct messages."""
    persona: str = ""
    """Who answers."""
    model: str = ""
    """`provider/model` that was asked last; before that, the first of the route."""
    status: TurnStatus | Literal["running"] = "running"
    """How it ended."""
    messages: int = 0
    """Messages that Discord confirmed, notices included while it runs."""
    reports: tuple[UsageReport, ...] = ()
    """What its requests used, one report a request."""
    duration: timedelta | None = None
    """From its start to its end; None while it runs."""

    @property
    def input_tokens(self) -> int | None:
        """Prompt tokens of all requests; None where unknown."""
        return _total(report.input_tokens for report in self.reports)

    @property
    def output_tokens(self) -> int | None:
        """Completion tokens of all requests; None where unknown."""
        return _total(report.output_tokens for report in self.reports)

    @property
    def cost_pico(self) -> int | None:
        """Cost in 10**-12 US dollars; None where unknown."""
        return _total(report.cost_pico for report in self.reports)


def initial(turn_id: TurnId) -> TurnRow:
    """Return the row of a turn of which nothing is known."""
    return TurnRow(turn_id=turn_id)


def evolve(state: TurnRow, recorded: Recorded) -> TurnRow:
    """Return the row after one more event, of this turn or of any other."""
    return _moved(state, recorded) if turn_of(recorded) == state.turn_id else state


def _moved(state: TurnRow, recorded: Recorded) -> TurnRow:
    match recorded.event:
        case TurnStarted() as started:
            return _start(state, started, recorded.recorded_at)
        case RequestOpened(provider=provider, model=model):
            return replace(state, model=f"{provider}/{model}")
        case UsageReport() as report:
            name = (report.request, report.correlation)
            others = tuple(one for one in state.reports if (one.request, one.correlation) != name)
            return replace(state, reports=(*others, report))
        case Receipt():
            return replace(state, messages=state.messages + 1)
        case TurnEnded() as ended:
            began = state.started_at
            duration = recorded.recorded_at - began if began else None
            return replace(state, status=ended.status, messages=ended.messages, duration=duration)
        case _:
            return state


def rows(events: Iterable[Recorded]) -> list[TurnRow]:
    """Return a row for each turn in `events`, in the order in which they first appear."""
    table: dict[TurnId, TurnRow] = {}
    for recorded in events:
        turn_id = turn_of(recorded)
        if turn_id is not None:
            table[turn_id] = evolve(table.get(turn_id) or initial(turn_id), recorded)
    return list(table.values())


def _start(row: TurnRow, started: TurnStarted, at: datetime) -> TurnRow:
    return replace(
        row,
        started_at=at,
        channel_id=started.channel_id,
        guild_id=started.guild_id,
        persona=started.persona,
        model=row.model or next(iter(started.models), ""),
    )


def _total(values: Iterable[int | None]) -> int | None:
    known = list(values)
    if not known:
        return None
    return sum(value for value in known if value is not None) if None not in known else None
