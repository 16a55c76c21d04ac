"""Answers that are folded from a turn's events: its replay, and the verification of many."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from actors.generation.replay import Difference as ReplayDifference
from actors.generation.replay import Replay, replay
from actors.providers.adapter import StreamAdapter
from actors.providers.registry import provider_for
from bot.operations import (
    Balance,
    Difference,
    ReplayReport,
    TimelineLine,
    TurnFailure,
    VerifyReport,
)
from events.base import Recorded, TurnId
from events.turn import TurnEnded
from projections.fold import turn_of
from projections.timeline import TimelineEntry, timeline

Reader = Callable[[TurnId], Awaitable[list[Recorded]]]
"""Returns a turn's events, oldest first."""


def replay_report(events: Sequence[Recorded]) -> ReplayReport:
    """Return the report of the one turn that `events` are of, compared with today's code."""
    turn_id = _turn_of(events)
    replayed = replay(_own(events, turn_id), _reader_for)
    ended = next((one.event for one in events if isinstance(one.event, TurnEnded)), None)
    differences = replayed.differences
    return ReplayReport(
        turn_id=turn_id,
        status=ended.status if ended else "open",
        entries=tuple(_line(entry) for entry in timeline(turn_id, events)),
        balance=_balance(replayed) if ended else None,
        difference=_difference(differences[0]) if differences else None,
    )


async def verify_report(turn_ids: Sequence[TurnId], read: Reader) -> VerifyReport:
    """Replay the ended turns among `turn_ids` and return those that are not sound."""
    failures: list[TurnFailure] = []
    checked = 0
    for turn_id in turn_ids:
        events = _own(await read(turn_id), turn_id)
        if not any(isinstance(one.event, TurnEnded) for one in events):
            continue
        checked += 1
        replayed = replay(events, _reader_for)
        if not replayed.is_sound:
            failures.append(TurnFailure(turn_id=turn_id, problem=_problem(replayed)))
    return VerifyReport(checked=checked, failures=tuple(failures))


def _reader_for(kind: str) -> StreamAdapter:
    return provider_for(kind).reader()


def _turn_of(events: Sequence[Recorded]) -> TurnId:
    return next(turn for turn in map(turn_of, events) if turn is not None)


def _own(events: Sequence[Recorded], turn_id: TurnId) -> list[Recorded]:
    return [one for one in events if turn_of(one) == turn_id]


def _line(entry: TimelineEntry) -> TimelineLine:
    return TimelineLine(
        at=entry.at,
        offset_ms=entry.offset_ms,
        kind=entry.kind,
        stream=entry.stream,
        summary=entry.summary,
        detail=msgspec.json.encode(entry.detail).decode(),
    )


def _balance(replayed: Replay) -> Balance:
    balance = replayed.balance
    return Balance(
        received=balance.received,
        delivered=balance.delivered,
        withheld=balance.withheld,
        problem="; ".join(balance.problems),
    )


def _difference(difference: ReplayDifference) -> Difference:
    of_request = f" of request {difference.request}" if difference.request is not None else ""
    return Difference(
        where=f"{difference.what} {difference.number}{of_request}",
        recorded=difference.recorded or "nothing",
        computed=difference.replayed or "nothing",
        context=difference.before,
    )


def _problem(replayed: Replay) -> str:
    if not replayed.differences:
        return "; ".join(replayed.balance.problems)
    first = _difference(replayed.differences[0])
    return f"{first.where}: recorded {first.recorded}, today's code gives {first.computed}"
