"""The gate before people's SQL: what passes, what does not, and that a refusal explains itself."""

import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from actors.errors import SqlRefusedError
from actors.read_models.parsing import Parser
from actors.read_models.read_models import ReadModels
from actors.read_models.sql_gate import MAX_QUERY_CHARACTERS, SqlGate
from events.turn import TurnEnded
from tests.actors.read_models.samples import History, report


@pytest.fixture(scope="module")
def gate() -> Iterator[SqlGate]:
    """A gate that knows three tables and a macro."""
    opened = SqlGate({"events", "turns", "usage"}, {"usd"})
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `filled` stands, alone."""
    return tmp_path_factory.mktemp("filled")


@pytest.fixture(scope="module")
def filled(directory: Path) -> Iterator[ReadModels]:
    """A read model with one turn; no test changes it."""
    opened = ReadModels(directory / "read_models.duckdb")
    history = History().turn(1, reports=(report(),), ending=TurnEnded(status="completed"))
    opened.ingest(history.events)
    yield opened
    opened.close()


WRITES = [
    "DROP TABLE events",
    "/* harmless */ -- really\n DROP TABLE events",
    "DELETE FROM events",
    "INSERT INTO events SELECT * FROM events",
    "UPDATE events SET kind = 'x'",
    "MERGE INTO events USING turns ON true WHEN MATCHED THEN DELETE",
    "TRUNCATE events",
    "CREATE TABLE t(x INTEGER)",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE MACRO f() AS 1",
    "CREATE SECRET s (TYPE s3)",
    "ALTER TABLE events ADD COLUMN x INTEGER",
    "COPY events TO '/tmp/x.csv'",
    "COPY (SELECT 1) TO '/tmp/x.csv'",
    "EXPORT DATABASE '/tmp/x'",
    "IMPORT DATABASE '/tmp/x'",
    "ATTACH '/tmp/x.db'",
    "DETACH memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '9GB'",
    "RESET memory_limit",
    "PRAGMA version",
    "CALL pragma_version()",
    "CHECKPOINT",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "VACUUM",
    "ANALYZE",
    "USE facts",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "WITH x AS (DELETE FROM events RETURNING *) SELECT * FROM x",
    "WITH x AS (INSERT INTO events SELECT * FROM events RETURNING *) SELECT 1",
    "WITH x AS (UPDATE events SET kind = 'x' RETURNING *) SELECT 1",
    "WITH x AS (COPY (SELECT 1) TO '/tmp/x.csv') SELECT 1",
    "SELECT * FROM (WITH x AS (DELETE FROM events RETURNING *) SELECT * FROM x)",
    "SELECT (WITH x AS (DELETE FROM events RETURNING *) SELECT count(*) FROM x)",
    "SELECT 1 UNION ALL (WITH x AS (DELETE FROM events RETURNING 1) SELECT * FROM x)",
    "EXPLAIN ANALYZE DELETE FROM events",
    "EXPLAIN ANALYZE WITH x AS (DELETE FROM events RETURNING *) SELECT * FROM x",
    "EXPLAIN EXPLAIN SELECT 1",
    "DESCRIBE WITH x AS (DELETE FROM events RETURNING *) SELECT * FROM x",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE events",
    "SELECT 1 /* ; */; DROP TABLE events --",
    "EXPLAIN SELECT 1; DROP TABLE events",
    "",
    ";",
    "-- nothing",
    "SELECT $1",
    "SELECT ?",
]
"""Statements that are not one SELECT."""

REACHES_OUT = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_csv_auto('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_ndjson_objects('/etc/passwd')",
    "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM parquet_metadata('/etc/passwd')",
    "SELECT * FROM read_duckdb('/tmp/x.db')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM main.read_text('/etc/passwd')",
    "SELECT * FROM events, LATERAL (SELECT * FROM read_text('/etc/passwd'))",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT * FROM '/etc/passwd'",
    'SELECT * FROM "/etc/passwd"',
    'WITH a AS (WITH "/etc/passwd" AS (SELECT 1) SELECT 1) SELECT * FROM "/etc/passwd"',
    "DESCRIBE SELECT * FROM '/etc/passwd'",
    "SUMMARIZE '/etc/passwd'",
    "SELECT * FROM query('DELETE FROM events')",
    "SELECT * FROM query_table('/etc/passwd')",
    "SELECT * FROM json_execute_serialized_sql('x')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM which_secret('s3://x', 's3')",
    "SELECT * FROM pragma_database_size()",
    "SELECT * FROM checkpoint()",
    "SELECT * FROM pg_catalog.pg_settings",
    "SELECT * FROM facts.turn_rows",
    "SELECT * FROM memory.main.events",
    "SHOW DATABASES",
    "SHOW VARIABLES",
    "SELECT getenv('HOME')",
    "SELECT 'HOME'.getenv()",
    "SELECT current_setting('memory_limit')",
    "SELECT getvariable('x')",
    "SELECT nextval('s')",
    "SELECT write_log('x')",
    "SELECT setseed(0.5)",
    "SELECT system.main.sleep_ms(1000)",
    "SELECT pg_sleep(1)",
    "SELECT sum(1) OVER (ORDER BY getenv('HOME'))",
    "SELECT kind FROM events ORDER BY getenv('HOME')",
    "SELECT CASE WHEN true THEN getenv('HOME') END",
    "SELECT list_transform([1], lambda x: getenv('HOME'))",
    "SELECT 1 LIMIT (SELECT length(getenv('HOME')))",
    "SELECT * FROM unnest([getenv('HOME')])",
]
"""Queries for what lies outside the read model."""

UNBOUNDED = [
    "SELECT len(range(1000000000))",
    "SELECT generate_series(1, 1000000000)",
    "SELECT repeat('x', 1000000000)",
    "SELECT lpad('x', 1000000000, 'y')",
    "SELECT list_resize([1], 1000000000)",
    "SELECT printf('%1000000000d', 1)",
    "SELECT format('{:1000000000}', 1)",
]
"""Values that grow past any memory limit within one call."""

PASSES = [
    "SELECT 1",
    "select 1 -- ; DROP TABLE events",
    "SELECT '; DROP TABLE events'",
    "SELECT 1;",
    "FROM events",
    "TABLE usage",
    "VALUES (1), (2)",
    "SELECT * FROM main.events",
    "SELECT * FROM EVENTS",
    "WITH a AS (SELECT 1 AS x), b AS (SELECT * FROM A) SELECT x FROM b",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4) SELECT * FROM t",
    "SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3",
    "SELECT kind, count(*) FILTER (seq > 1) FROM events GROUP BY ALL HAVING count(*) > 0 LIMIT 5",
    "SELECT row_number() OVER w, lag(kind) OVER w FROM events WINDOW w AS (ORDER BY position)",
    "SELECT body->>'$.model', body->'model' FROM events WHERE kind = 'usage_report'",
    "FROM events e JOIN turns t USING (turn_id) ASOF JOIN turns u ON e.recorded_at >= u.started_at",
    "SELECT usd(1), now() - INTERVAL 1 DAY, random(), 1::DECIMAL(5, 2), [1, 2][1], {'a': 1}.a",
    "SELECT kind COLLATE nocase, kind IN ('a'), kind LIKE 'a%', EXISTS (SELECT 1) FROM events",
    "SELECT list_transform([1], lambda x: x + 1), [x FOR x IN [1] IF x > 0], 'a'.upper()",
    "SELECT * FROM range(10), generate_series(1, 2), unnest([1]), json_each('[]')",
    "SELECT * FROM (PIVOT events ON kind IN ('flush') USING count(*) GROUP BY turn_id)",
    "SELECT * FROM events USING SAMPLE 10%",
    "SELECT DISTINCT ON (kind) kind, seq FROM events ORDER BY kind, seq DESC NULLS LAST",
    "SELECT * FROM information_schema.columns",
    "SHOW TABLES",
    "DESCRIBE events",
    "SUMMARIZE turns",
    "EXPLAIN SELECT 1",
    "/* why */ explain analyze SELECT count(*) FROM events",
]
"""What an analyst writes."""


@pytest.mark.parametrize("query", [*WRITES, *REACHES_OUT, *UNBOUNDED])
def test_what_is_not_one_reading_select_is_refused_in_one_sentence(
    gate: SqlGate, query: str
) -> None:
    """Whatever gets past here is executed; and who is refused must know what to do instead."""
    with pytest.raises(SqlRefusedError) as refused:
        gate.check(query)

    sentence = str(refused.value)
    assert 10 < len(sentence) < 200
    assert "\n" not in sentence
    assert re.search(r"allowed|may|can't be parsed", sentence)
    assert str(pickle.loads(pickle.dumps(refused.value))) == sentence


@pytest.mark.parametrize("query", PASSES)
def test_a_query_that_only_reads_passes_and_runs(filled: ReadModels, query: str) -> None:
    """A gate that refuses ordinary SQL would be switched off."""
    table = filled.sql(query)

    assert table.columns
    assert table.as_of == filled.checkpoint()


@pytest.mark.parametrize("query", [*WRITES, *REACHES_OUT])
def test_a_refused_query_leaves_no_trace(filled: ReadModels, directory: Path, query: str) -> None:
    """The walls behind the gate are another matter: nothing may change by asking."""
    before = filled.sql("SELECT * FROM events").rows

    with pytest.raises(SqlRefusedError):
        filled.sql(query)

    assert filled.sql("SELECT * FROM events").rows == before
    assert {one.name for one in directory.iterdir()} <= {
        "read_models.duckdb",
        "read_models.duckdb.wal",
    }


def let_through(_: SqlGate, query: str) -> str:
    """Check nothing, to see what stands behind the gate."""
    return query


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM events",
        "WITH x AS (DELETE FROM events RETURNING *) SELECT * FROM x",
        "CREATE TABLE t AS SELECT 1",
        "COPY (SELECT 1) TO '/tmp/rejoinder-must-not-exist.csv'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "ATTACH '/tmp/rejoinder-must-not-exist.db'",
        "LOAD httpfs",
        "SET memory_limit = '9GB'",
        "SET enable_external_access = true",
    ],
)
def test_the_walls_behind_the_gate_hold_without_it(
    filled: ReadModels, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """A parser bug in the gate must not be the only thing between a person and the disk."""
    count = filled.sql("SELECT count(*) FROM events").rows
    with monkeypatch.context() as without_gate:
        without_gate.setattr(SqlGate, "check", let_through)

        with pytest.raises(SqlRefusedError):
            filled.sql(query)

    assert filled.sql("SELECT count(*) FROM events").rows == count
    assert not Path("/tmp/rejoinder-must-not-exist.csv").exists()  # noqa: S108 - it must not
    assert not Path("/tmp/rejoinder-must-not-exist.db").exists()  # noqa: S108 - it must not


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("DROP TABLE events", "DROP is not allowed"),
        ("WITH x AS (DELETE FROM events RETURNING *) SELECT 1", "DELETE is not allowed"),
        ("SELECT 1; SELECT 2", "the query holds 2 statements"),
        ("SELECT 1; DROP TABLE events", "the query holds more than a SELECT"),
        ("SELEC 1", 'syntax error at or near "SELEC"'),
        ("SELECT * FROM event", "did you mean events"),
        ("SELECT coutn(*) FROM events", "did you mean count()"),
        ("SELECT * FROM read_csv('x')", "FROM read_csv() is not allowed"),
        ("SELECT range(3)", "FROM range(…) is"),
        ("SELECT 1\0; DROP TABLE events", "a character that is no text"),
        ("SELECT '\ud800'", "a character that is no text"),
        ("SELECT " + "1" * MAX_QUERY_CHARACTERS, f"at most {MAX_QUERY_CHARACTERS}"),
    ],
)
def test_a_refusal_names_what_is_wrong(gate: SqlGate, query: str, told: str) -> None:
    """`not allowed` alone would send people to the source."""
    with pytest.raises(SqlRefusedError, match=re.escape(told)):
        gate.check(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT " + "(" * 60_000,
        "WITH a AS (" * 20,
        "SELECT " + "(WITH a AS (" * 500,
        "SELECT " + "not " * 16_000,
        "SELECT " + "[" * 60_000,
        "SELECT 1" + " + 1" * 16_000,
        "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
    ],
    ids=["parentheses", "ctes", "nested-ctes", "nots", "lists", "sums", "balanced"],
)
def test_a_query_that_would_choke_the_parser_is_refused_and_the_next_one_runs(
    filled: ReadModels, query: str
) -> None:
    """In the bot's own process the first overflows the stack, the second takes gigabytes."""
    with pytest.raises(SqlRefusedError) as refused:
        filled.sql(query)

    assert len(str(refused.value)) < 200
    assert filled.sql("SELECT 1").rows == ((1,),)


def test_ordinary_nesting_is_none_of_the_parsers_trouble(filled: ReadModels) -> None:
    """Queries that programs write are deep and long."""
    deep = "SELECT " + "(" * 60 + "1" + ")" * 60
    ctes = "WITH a0 AS (VALUES (1))" + "".join(
        f", a{number} AS (FROM a{number - 1})" for number in range(1, 40)
    )
    inside = "SELECT * FROM (" * 30 + "SELECT 1" + ")" * 30

    assert filled.sql(deep).rows == ((1,),)
    assert filled.sql(f"{ctes} FROM a39").rows == ((1,),)
    assert filled.sql(inside).rows == ((1,),)


def test_a_parser_that_is_lost_or_late_is_replaced() -> None:
    """One refused query must not cost the next."""
    parser = Parser(seconds=0.0)
    with pytest.raises(SqlRefusedError, match="within bounds"):
        parser.parse("SELECT 1")
    parser.close()
    others = psutil.Process().children()
    parser = Parser()
    assert parser.parse("SELECT 1")["error"] is False
    (process,) = [one for one in psutil.Process().children() if one not in others]
    process.kill()
    psutil.wait_procs([process])

    assert parser.parse("SELECT 2 -- \u2028 é \r\n")["error"] is False

    parser.close()
