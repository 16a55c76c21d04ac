"""The figures that every surface asks for, as SQL over the read model.

Each function takes a connection in a transaction of its own; `read_models` gives it one.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from duckdb import DuckDBPyConnection

from actors.errors import RefusalError
from actors.read_models.figures import columns_of, plain_row
from actors.read_models.schema import checkpoint_of, usage_sql
from actors.read_models.stored import SELECT_EVENTS, naive, recorded_of
from actors.table import Table
from events.base import (
    ChannelId,
    Recorded,
    TurnId,
    channel_stream,
    delivery_stream,
    turn_stream,
)

USAGE_GROUPS: Final = {
    "guild": "guild_id",
    "model": "model",
    "provider": "provider",
    "day": "day",
}
"""The words that usage can be grouped by, and their columns."""

_NAMED_IN_A_REFUSAL: Final = 3

_TURN_EVENTS: Final = f"""{SELECT_EVENTS}
    WHERE (stream IN ($turn, $delivery) AND position >= $first)
    OR (stream = $channel AND kind = 'trigger_received' AND body->>'$.trigger_id' = $trigger)
    OR (stream = $channel AND kind = 'stop_requested' AND body->>'$.turn_id' = $turn_id)
    ORDER BY position"""


def _table(connection: DuckDBPyConnection, sql: str, parameters: dict[str, Any]) -> Table:
    as_of = checkpoint_of(connection)
    connection.execute(sql, parameters)
    columns = columns_of(connection.description)
    rows = tuple(plain_row(row) for row in connection.fetchall())
    return Table(columns=columns, rows=rows, as_of=as_of)


def turns(connection: DuckDBPyConnection, limit: int, channel_id: ChannelId | None) -> Table:
    """Return the latest `limit` turns, of one channel or all, the newest first."""
    latest = connection.execute(
        "SELECT min(turn_id), max(turn_id), list(turn_id) FROM ("
        "SELECT turn_id FROM facts.turn_rows WHERE $channel IS NULL OR channel_id = $channel "
        "ORDER BY turn_id DESC LIMIT $limit)",
        {"channel": channel_id, "limit": limit},
    ).fetchone()
    assert latest is not None
    first, last, ids = latest
    return _table(
        connection,
        # The bounds say the same as the list, but let DuckDB skip the usage of all other turns.
        "FROM turns WHERE turn_id BETWEEN $first AND $last AND list_contains($ids, turn_id) "
        "ORDER BY started_at DESC NULLS LAST, turn_id DESC",
        {"first": first, "last": last, "ids": ids or []},
    )


def usage(connection: DuckDBPyConnection, by: Sequence[str]) -> Table:
    """Return usage grouped by some of `USAGE_GROUPS`; by none, one row of totals.

    Raises:
        RefusalError: A word of `by` is none of them.
    """
    for word in by:
        if word not in USAGE_GROUPS:
            raise RefusalError(
                f"usage can't be grouped by {word!r}; allowed are {', '.join(USAGE_GROUPS)}"
            )
    groups = tuple(dict.fromkeys(USAGE_GROUPS[word] for word in by))
    order = f" ORDER BY {', '.join(groups)}" if groups else ""
    return _table(connection, usage_sql(groups) + order, {})


def budgets(connection: DuckDBPyConnection, month: str) -> Table:
    """Return what each payer has spent and set aside in `month` (`YYYY-MM`), by payer."""
    return _table(
        connection,
        "FROM budgets WHERE month = $month ORDER BY payer",
        {"month": month},
    )


def turn_ids(connection: DuckDBPyConnection, since: datetime | None) -> list[TurnId]:
    """Return the turns that started at `since` (aware) or later, the oldest first."""
    rows = connection.execute(
        "SELECT turn_id FROM facts.turn_rows WHERE started_at IS NOT NULL "
        "AND ($since IS NULL OR started_at >= $since) ORDER BY started_at, turn_id",
        {"since": None if since is None else naive(since)},
    ).fetchall()
    return [TurnId(str(turn_id)) for (turn_id,) in rows]


def turn_events(connection: DuckDBPyConnection, prefix: str) -> list[Recorded]:
    """Return all that the log has on one turn, oldest first.

    That is both its streams, and from its channel's the trigger it answers and its stops.

    Args:
        connection: A connection in a transaction.
        prefix: The turn's id or a beginning of it that no other turn has.

    Raises:
        RefusalError: No turn, or more than one, begins so.
    """
    turn_id, first, trigger_id, channel_id = _only_turn(connection, prefix)
    rows = connection.execute(
        _TURN_EVENTS,
        {
            "turn": turn_stream(turn_id),
            "delivery": delivery_stream(turn_id),
            "first": first,
            "channel": None if channel_id is None else channel_stream(channel_id),
            "trigger": trigger_id,
            "turn_id": turn_id,
        },
    ).fetchall()
    return [recorded_of(row) for row in rows]


def _only_turn(
    connection: DuckDBPyConnection, prefix: str
) -> tuple[TurnId, int, str | None, ChannelId | None]:
    wanted = prefix.strip().lower()
    if not wanted:
        raise RefusalError("a turn is named by its id or the beginning of it, not by nothing")
    found = connection.execute(
        "SELECT turn_id::VARCHAR, first_position, trigger_id, channel_id, count(*) OVER () "
        "FROM facts.turn_rows WHERE starts_with(turn_id::VARCHAR, $prefix) "
        "ORDER BY turn_id LIMIT $limit",
        {"prefix": wanted, "limit": _NAMED_IN_A_REFUSAL},
    ).fetchall()
    if not found:
        raise RefusalError(f"no turn's id begins with {prefix!r}")
    count = found[0][4]
    if count > 1:
        named = ", ".join(row[0] for row in found)
        raise RefusalError(f"{count} turns' ids begin with {prefix!r}, such as {named}")
    turn_id, first, trigger_id, channel_id, _ = found[0]
    return TurnId(turn_id), first, trigger_id, channel_id
