"""A batch of events into the tables, within a transaction that the caller has begun.

Rows go through DuckDB's appender: an INSERT a row is fifty times slower.
"""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from duckdb import DuckDBPyConnection

from actors.read_models.facts import (
    TurnRow,
    UsageRow,
    cells,
    fold_turns,
    fold_usage,
    marked_turns,
)
from actors.read_models.failures import GapError
from actors.read_models.money import fold_holds
from actors.read_models.stored import Row, row_of
from events.base import Position, Recorded


def unseen(batch: Sequence[Recorded], checkpoint: Position) -> Sequence[Recorded]:
    """Return the part of `batch`, oldest first, that stands above `checkpoint`.

    Raises:
        GapError: An event between `checkpoint` and the end of `batch` is missing.
    """
    fresh = [recorded for recorded in batch if recorded.position > checkpoint]
    for expected, recorded in enumerate(fresh, start=checkpoint + 1):
        if recorded.position != expected:
            raise GapError(expected, recorded.position)
    return fresh


def write(connection: DuckDBPyConnection, fresh: Sequence[Recorded]) -> None:
    """Add `fresh`, of at least one event, and move the checkpoint to its last."""
    _append(connection, "events", [row_of(recorded) for recorded in fresh])
    _write_turns(connection, fresh)
    _write_usage(connection, fold_usage(fresh))
    holds = fold_holds(fresh)
    if holds:
        _append(connection, "facts.hold_rows", [cells(row) for row in holds])
    connection.execute("UPDATE facts.checkpoint SET position = ?", [fresh[-1].position])


def _append(connection: DuckDBPyConnection, table: str, rows: Sequence[Row]) -> None:
    with connection.appender(table) as appender:
        appender.append_rows(rows)


def _write_turns(connection: DuckDBPyConnection, fresh: Sequence[Recorded]) -> None:
    ids = marked_turns(fresh)
    if not ids:
        return
    known = _known_turns(connection, ids)
    rows = fold_turns(known, fresh)
    changed = {turn_id: row for turn_id, row in rows.items() if row != known.get(turn_id)}
    stale = [turn_id for turn_id in changed if turn_id in known]
    if stale:
        connection.execute(
            "DELETE FROM facts.turn_rows WHERE turn_id BETWEEN $first AND $last "
            "AND turn_id IN (SELECT unnest($ids::UUID[]))",
            _between(stale),
        )
    if changed:
        _append(connection, "facts.turn_rows", [cells(row) for row in changed.values()])


def _known_turns(connection: DuckDBPyConnection, ids: set[uuid.UUID]) -> dict[uuid.UUID, TurnRow]:
    found = connection.execute(
        "SELECT * FROM facts.turn_rows WHERE turn_id BETWEEN $first AND $last "
        "AND turn_id IN (SELECT unnest($ids::UUID[]))",
        _between(ids),
    ).fetchall()
    names = TurnRow.__struct_fields__
    return {row[0]: TurnRow(**dict(zip(names, row, strict=True))) for row in found}


def _write_usage(connection: DuckDBPyConnection, rows: Sequence[UsageRow]) -> None:
    decisions = [row.correlation for row in rows if row.correlation]
    if decisions:
        connection.execute(
            "DELETE FROM facts.usage_rows WHERE correlation IN (SELECT unnest($1::VARCHAR[]))",
            [decisions],
        )
    keyed = [row for row in rows if row.turn_id is not None and not row.correlation]
    if keyed:
        connection.execute(
            "DELETE FROM facts.usage_rows WHERE turn_id BETWEEN $first AND $last "
            "AND (turn_id, request) IN (SELECT unnest($ids::UUID[]), unnest($requests::BIGINT[]))",
            _between(row.turn_id for row in keyed) | {"requests": [row.request for row in keyed]},
        )
    if rows:
        _append(connection, "facts.usage_rows", [cells(row) for row in rows])


def _between(ids: Iterable[uuid.UUID | None]) -> dict[str, Any]:
    """Return the parameters of a look-up by turn.

    The bounds matter: ids sort by time as the rows do, so that DuckDB skips all row groups of
    older turns by their statistics, without an index.
    """
    spelled = [str(one) for one in ids]
    return {"first": min(spelled), "last": max(spelled), "ids": spelled}
