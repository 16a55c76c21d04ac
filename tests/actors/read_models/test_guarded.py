"""The limits of people's SQL, and that nothing else suffers from it."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from actors.errors import SqlRefusedError
from actors.read_models.guarded import Seats, SqlLimits, answer
from actors.read_models.read_models import ReadModels
from tests.actors.read_models.samples import History

FOREVER = "SELECT sum(range % 7) FROM range(1000000000000000)"
HOG = "SELECT list(a.range) FROM range(1000000000) a, range(1000000) b"


@contextmanager
def running(models: ReadModels, query: str, seconds: float) -> Generator[list[str]]:
    """Run `query` in a thread, entering once it runs; gives what it is refused with at last."""
    refusals: list[str] = []
    before = models.queries_running

    def ask() -> None:
        try:
            models.sql(query, SqlLimits(seconds=seconds))
        except SqlRefusedError as error:
            refusals.append(str(error))

    asker = threading.Thread(target=ask)
    asker.start()
    while models.queries_running == before:
        asker.join(0.001)
    yield refusals
    asker.join()


def test_a_query_that_runs_for_ever_is_stopped_in_time(models: ReadModels) -> None:
    """An accident with a cross join must cost its author ten seconds, not the bot its figures."""
    history = History().turn(1)
    begun = time.monotonic()

    with pytest.raises(SqlRefusedError, match=r"stopped after 0\.3 s"):
        models.sql(FOREVER, SqlLimits(seconds=0.3))

    assert time.monotonic() - begun < 5
    models.ingest(history.events)
    assert models.sql("SELECT count(*) FROM events").rows == ((len(history.events),),)


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
        "SELECT count(*) FROM range(1000000000) a, range(1000000000) b",
        "SELECT a.range FROM range(1000000000) a, range(1000000000) b WHERE a.range < 0",
        f"EXPLAIN ANALYZE {FOREVER}",
    ],
)
def test_every_way_to_run_for_ever_is_stopped(models: ReadModels, query: str) -> None:
    """A limit with a way around it is none."""
    with pytest.raises(SqlRefusedError, match="stopped after"):
        models.sql(query, SqlLimits(seconds=0.2))

    assert models.sql("SELECT 1").rows == ((1,),)


def test_a_query_that_wants_all_memory_is_refused_and_the_rest_goes_on(models: ReadModels) -> None:
    """The instance must outlive a greedy query, and so must the next ingest."""
    history = History().turn(1)

    with pytest.raises(SqlRefusedError, match="more memory than one query may use"):
        models.sql(HOG)

    models.ingest(history.events)
    assert models.sql("SELECT count(*) FROM events").rows == ((len(history.events),),)


def test_a_huge_result_is_cut_off_and_says_so(models: ReadModels) -> None:
    """A billion rows must neither fill the memory nor look like all of them."""
    table = models.sql("SELECT * FROM range(1000000000)", SqlLimits(rows=100))

    assert len(table.rows) == 100
    assert table.is_truncated


@pytest.mark.parametrize(("rows", "is_truncated"), [(99, True), (100, False), (101, False)])
def test_a_result_of_exactly_the_limit_is_whole(
    models: ReadModels, rows: int, *, is_truncated: bool
) -> None:
    """`cut off` must mean that something is missing."""
    table = models.sql("SELECT * FROM range(100)", SqlLimits(rows=rows))

    assert table.is_truncated is is_truncated
    assert len(table.rows) == min(rows, 100)


def test_a_result_of_few_huge_rows_is_cut_off_too(models: ReadModels) -> None:
    """One raw payload may have 4 MiB, so ten thousand rows of them are no small answer."""
    table = models.sql(
        "SELECT string_agg(range::VARCHAR, '') OVER () FROM range(1000)",
        SqlLimits(result_bytes=10_000),
    )

    assert table.is_truncated
    assert 0 < len(table.rows) < 100


def test_ingest_is_not_held_up_by_a_running_query(models: ReadModels) -> None:
    """The read model must not fall behind because somebody asks it a question."""
    history = History()
    for number in range(100):
        history.turn(number)

    with running(models, FOREVER, 3) as refusals:
        for start in range(0, len(history.events), 100):
            models.ingest(history.events[: start + 100])
        known = models.turns(limit=3).as_of
        is_running_still = not refusals

    assert is_running_still
    assert known == models.checkpoint() == len(history.events)
    assert refusals == ["the query was stopped after 3 s, at most 3 s"]


def test_what_must_go_on_takes_the_memory_that_queries_hold() -> None:
    """People's queries give way, whatever they cost: the events are what figures are made of."""
    with duckdb.connect(":memory:", config={"memory_limit": "100MB"}) as connection:
        connection.execute("SET temp_directory = ''")
        connection.execute("CREATE SCHEMA facts")
        connection.execute("CREATE TABLE facts.checkpoint AS SELECT 0 AS position")
        seats = Seats([connection.cursor()])
        tries: list[int] = []
        refusals: list[str] = []

        def act() -> str:
            tries.append(seats.running)
            if len(tries) == 1:
                connection.execute(HOG)
            return "done"

        def ask() -> None:
            with seats.take(1) as seat:
                try:
                    answer(seat, FOREVER, SqlLimits(seconds=20))
                except SqlRefusedError as error:
                    refusals.append(str(error))

        asker = threading.Thread(target=ask)
        asker.start()
        while not seats.running:
            asker.join(0.001)
        result = seats.with_precedence(act)
        asker.join()

        assert result == "done"
        assert tries == [1, 0]
        assert refusals == ["the query was stopped, since the bot itself needed the room"]
        seats.close()


def test_many_threads_may_ask_while_events_come_in(models: ReadModels) -> None:
    """The console, the CLI and the subscription meet in one object."""
    history = History()
    for number in range(100):
        history.turn(number)
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(10):
                counted = models.sql("SELECT count(*), max(position) FROM events")
                assert counted.rows[0] == (counted.as_of, counted.as_of or None)
                assert len(models.turns(limit=5).rows) <= 5
                models.usage(["day"])
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for end in range(0, len(history.events) + 1, 20):
        models.ingest(history.events[:end])
    for asker in askers:
        asker.join()

    assert failures == []
    assert models.checkpoint() == len(history.events)


def test_who_finds_no_free_connection_is_told_so(models: ReadModels) -> None:
    """Waiting without end would look like a bot that hangs."""
    with (
        running(models, FOREVER, 0.5),
        running(models, FOREVER, 0.5),
        pytest.raises(SqlRefusedError, match="other queries are running"),
    ):
        models.sql("SELECT 1", SqlLimits(seconds=0.05))

    assert models.sql("SELECT 1").rows == ((1,),)


def test_closing_ends_what_still_runs(tmp_path: Path) -> None:
    """A bot that stops must not wait for somebody's cross join."""
    models = ReadModels(tmp_path / "read_models.duckdb")

    with running(models, FOREVER, 20) as refusals:
        models.close()

    assert refusals == ["the query was stopped, since the bot itself needed the room"]
    ReadModels(tmp_path / "read_models.duckdb").close()
