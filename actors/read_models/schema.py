"""The tables of a read model, the views of figures, and opening a file that has them.

People see `events`, the views of `views.py` and `money.py`, `turns`, `usage` and
`decision_quality`; what those stand on is kept in a schema of its own. The bodies are stored in
today's version of each kind, so that a view never meets an old shape: when a version moves, the
whole model is built again.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

import duckdb
from duckdb import DuckDBPyConnection

from actors.read_models.facts import FACTS_VERSION
from actors.read_models.lock_holder import locked_by_another
from actors.read_models.money import HOLD_TABLE, MONEY_VIEW_NAMES, MONEY_VIEWS
from actors.read_models.views import VIEW_NAMES, view_statements
from events.base import Position
from events.codec import EVENT_TYPES, kind_of
from events.decisions import DecisionStatus

TABLES: Final = (
    """CREATE TABLE events(
        position UBIGINT, stream VARCHAR, seq UBIGINT, kind VARCHAR, version USMALLINT,
        recorded_at TIMESTAMP, turn_id UUID, channel_id UBIGINT, guild_id UBIGINT, body JSON)""",
    "CREATE SCHEMA facts",
    """CREATE TABLE facts.turn_rows(
        turn_id UUID, first_position UBIGINT, trigger_id VARCHAR, started_at TIMESTAMP,
        ended_at TIMESTAMP, channel_id UBIGINT, guild_id UBIGINT, persona VARCHAR, model VARCHAR,
        status VARCHAR, stop_reason VARCHAR, messages BIGINT, requests BIGINT, unconfirmed BIGINT,
        recovered BIGINT)""",
    """CREATE TABLE facts.usage_rows(
        position UBIGINT, day DATE, turn_id UUID, channel_id UBIGINT, guild_id UBIGINT,
        request BIGINT, provider VARCHAR, model VARCHAR, is_measured BOOLEAN, input_tokens BIGINT,
        output_tokens BIGINT, cache_read_tokens BIGINT, cache_write_tokens BIGINT,
        cost_pico BIGINT, correlation VARCHAR)""",
    HOLD_TABLE,
    "CREATE TABLE facts.checkpoint(position UBIGINT)",
    "CREATE TABLE facts.schema_version(fingerprint VARCHAR)",
    "INSERT INTO facts.checkpoint VALUES (0)",
)
"""In this order in an empty file."""

USD: Final = """CREATE OR REPLACE MACRO usd(pico) AS
    CAST(pico AS DECIMAL(26, 0)) * CAST('0.000000000001' AS DECIMAL(12, 12))"""
"""10**-12 dollars to dollars without a float in between; people may call it too."""

_USAGE_FIGURES: Final = """count(*) AS requests,
    sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens,
    count(*) FILTER (input_tokens IS NULL OR output_tokens IS NULL) AS tokens_unknown,
    sum(cache_read_tokens) AS cache_read_tokens,
    sum(cache_write_tokens) AS cache_write_tokens,
    sum(input_tokens) FILTER (cache_read_tokens IS NOT NULL) AS cache_known_input,
    sum(cache_read_tokens) FILTER (input_tokens IS NOT NULL) / nullif(
        sum(input_tokens) FILTER (cache_read_tokens IS NOT NULL), 0) AS cache_hit_ratio,
    usd(sum(cost_pico)) AS cost_usd,
    count(*) FILTER (cost_pico IS NULL) AS cost_unknown,
    count(*) FILTER (is_measured) AS measured,
    count(*) FILTER (NOT is_measured) AS estimated"""


def usage_sql(groups: Sequence[str]) -> str:
    """Return the query for usage per group of `groups`, columns of `facts.usage_rows`.

    A sum leaves unknown values out and is NULL where all are unknown; `tokens_unknown` and
    `cost_unknown` say how many it left out. The ratio counts only requests whose cache use is
    known, and is NULL, never 0, where none is (rules P1, P2).
    """
    named = "".join(f"{group}, " for group in groups)
    grouped = f" GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {named}{_USAGE_FIGURES} FROM facts.usage_rows{grouped}"  # noqa: S608 - our words


_STATUSES: Final = ", ".join(
    f"count(*) FILTER (status = '{status}') AS {status.replace('-', '_')}"
    for status in get_args(DecisionStatus)
)

FIGURE_VIEWS: Final = (
    f"CREATE OR REPLACE VIEW usage AS {usage_sql(('guild_id', 'model', 'provider', 'day'))}",
    """CREATE OR REPLACE VIEW turns AS
    SELECT turn_id, started_at, ended_at, channel_id, guild_id, persona, model,
        coalesce(status, 'open') AS status, stop_reason, messages, requests,
        input_tokens, output_tokens, cost_usd,
        CAST(epoch_us(ended_at) - epoch_us(started_at) AS DOUBLE) / 1000 AS duration_ms,
        unconfirmed, recovered
    FROM facts.turn_rows LEFT JOIN (
        SELECT turn_id, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
            CASE WHEN count(*) = count(cost_pico) THEN usd(sum(cost_pico)) END AS cost_usd
        FROM facts.usage_rows GROUP BY turn_id
    ) AS used USING (turn_id)""",
    f"""CREATE OR REPLACE VIEW decision_quality AS
    SELECT model, api_style, CAST(recorded_at AS DATE) AS day, count(*) AS calls, {_STATUSES},
        histogram(category) AS failures,
        quantile_disc(elapsed_ms, 0.5) AS p50_ms,
        quantile_disc(elapsed_ms, 0.95) AS p95_ms,
        count(*) FILTER (status = 'refused') / nullif(
            count(*) FILTER (status IN ('completed', 'refused')), 0) AS refusal_rate,
        count(*) FILTER (used_at > position) AS late_usage
    FROM (
        FROM decisions_answered
        QUALIFY row_number() OVER (PARTITION BY correlation ORDER BY position) = 1
    ) AS answered LEFT JOIN (
        SELECT correlation, min(position) AS used_at FROM usage_reports GROUP BY correlation
    ) AS used USING (correlation)
    GROUP BY model, api_style, day""",  # noqa: S608 - our words
)
"""A turn's cost is known only where each of its requests reported one (rule U21). A decision counts
once, by its end; usage that comes after it is late (rules P5, V1)."""

PUBLIC_TABLES: Final = (
    VIEW_NAMES | MONEY_VIEW_NAMES | {"events", "turns", "usage", "decision_quality"}
)
"""What people may read."""

PUBLIC_MACROS: Final = frozenset({"usd"})
"""What they may call beside DuckDB's own."""


def fingerprint() -> str:
    """Return what a file must bear so that this code may go on writing it."""
    versions = [f"{kind_of(one)} {one.version}" for one in EVENT_TYPES if one.version > 1]
    text = "\n".join([*TABLES, str(FACTS_VERSION), *versions])
    return hashlib.sha256(text.encode()).hexdigest()


def open_database(path: Path, memory_limit: str) -> DuckDBPyConnection:
    """Return a connection to the read model at `path`, its tables and views in place.

    A file that is damaged, or of another schema, is moved aside to `<name>.aside` (one such copy
    is kept) and an empty one made: everything in it stands in the log.

    Raises:
        LogLockedError: Another process has it open.
    """
    if path.exists():
        try:
            return _open_existing(path, memory_limit)
        except duckdb.Error as error:
            locked = locked_by_another(path, error)
            if locked is not None:
                raise locked from error
            if not os.access(path, os.R_OK | os.W_OK):
                raise  # no damage, and no better once it is moved
        move_aside(path)
    connection = _connect(path, memory_limit)
    for statement in TABLES:
        connection.execute(statement)
    connection.execute("INSERT INTO facts.schema_version VALUES (?)", [fingerprint()])
    return _with_views(connection)


def _open_existing(path: Path, memory_limit: str) -> DuckDBPyConnection:
    connection = _connect(path, memory_limit)
    try:
        found = connection.execute("SELECT fingerprint FROM facts.schema_version").fetchall()
        if found != [(fingerprint(),)]:
            raise duckdb.DataError("another schema version")
        counted = connection.execute(
            "SELECT (SELECT count(*) FROM events), (SELECT max(position) FROM events), "
            "(SELECT position FROM facts.checkpoint)"
        ).fetchone()
        assert counted is not None
        count, last, position = counted
        # Positions are contiguous from 1, so these three differ only where something was lost.
        if not count == (last or 0) == position:
            raise duckdb.DataError(f"{count} events up to {last}, checkpoint {position}")
        return _with_views(connection)
    except duckdb.Error:
        connection.close()
        raise


def _connect(path: Path, memory_limit: str) -> DuckDBPyConnection:
    connection = duckdb.connect(
        str(path),
        config={
            "threads": "2",
            "memory_limit": memory_limit,
            "max_temp_directory_size": "1GB",
            # Names in SQL are tables, never variables of the Python that happens to run it.
            "python_enable_replacements": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def _with_views(connection: DuckDBPyConnection) -> DuckDBPyConnection:
    for statement in (USD, *view_statements(), *FIGURE_VIEWS, *MONEY_VIEWS):
        connection.execute(statement)
    return connection


def move_aside(path: Path) -> Path:
    """Rename the file, and its WAL after it, over the copy that was moved before; return where."""
    aside = path.with_name(f"{path.name}.aside")
    for suffix in ("", ".wal"):
        origin, target = Path(f"{path}{suffix}"), Path(f"{aside}{suffix}")
        target.unlink(missing_ok=True)
        if origin.exists():
            origin.rename(target)
    return aside


def checkpoint_of(connection: DuckDBPyConnection) -> Position:
    """Return the position up to which the model holds the log."""
    row = connection.execute("SELECT position FROM facts.checkpoint").fetchone()
    assert row is not None
    return Position(row[0])
