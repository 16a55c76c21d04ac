"""Reading a log at rest: the CLI's way where no bot runs."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from actors.errors import FailureError, RefusalError
from actors.read_models.catch_up import catch_up
from actors.read_models.read_models import ReadModels
from actors.read_models.stored import row_of
from events.errors import CodecError, LogLockedError
from events.turn import TurnEnded
from tests.actors.read_models.samples import History, holding, turn_id

_TABLE = """CREATE TABLE events(position UBIGINT, stream VARCHAR, seq UBIGINT, kind VARCHAR,
    version USMALLINT, recorded_at TIMESTAMP, turn_id UUID, channel_id UBIGINT, guild_id UBIGINT,
    body JSON)"""


def write_log(path: Path, history: History) -> None:
    """Write a log's file as the log does, from scratch."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as log:
        log.execute(_TABLE)
        with log.appender("events") as appender:
            appender.append_rows([row_of(recorded) for recorded in history.events])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Where the log's file is to stand."""
    return tmp_path / "events.duckdb"


def test_a_log_at_rest_is_read_to_its_end_and_only_what_is_new(
    models: ReadModels, source: Path
) -> None:
    """The second command after a demo must not read everything again."""
    history = History().turn(1, ending=TurnEnded(status="completed"))
    write_log(source, history)
    first = catch_up(models, source)
    history.turn(2)
    write_log(source, history)

    last = catch_up(models, source)

    assert (first, last) == (7, len(history.events))
    assert models.turn_ids() == [turn_id(1), turn_id(2)]
    assert catch_up(models, source) == last


def test_a_log_whose_wal_was_left_behind_is_read_whole(models: ReadModels, source: Path) -> None:
    """A killed bot leaves its last commits in the WAL."""
    history = History().turn(1)
    write_log(source, History())
    rows = [
        (*row_of(one)[:5], row_of(one)[5].isoformat(), None, 1, 2, row_of(one)[9])
        for one in history.events
    ]
    program = (
        "import duckdb, os, sys; connection = duckdb.connect(sys.argv[1]); "
        "connection.executemany('INSERT INTO events VALUES (?,?,?,?,?,?,?,?,?,?)', "
        "eval(sys.argv[2])); os._exit(0)"
    )
    subprocess.run(  # noqa: S603 - our own Python
        [sys.executable, "-c", program, str(source), repr(rows)], check=True
    )
    assert source.with_name("events.duckdb.wal").exists()

    assert catch_up(models, source) == len(history.events)


@pytest.mark.parametrize("is_shorter", [True, False], ids=["shorter", "other-events"])
def test_a_model_that_is_ahead_of_its_log_is_built_again(
    models: ReadModels, source: Path, *, is_shorter: bool
) -> None:
    """A log that lost its end counts on from there: the model would keep what never was."""
    models.ingest(History().turn(1).turn(2).events)
    history = History().turn(1) if is_shorter else History().turn(1).turn(3).turn(4)
    write_log(source, history)

    assert catch_up(models, source) == len(history.events)

    assert turn_id(2) not in models.turn_ids()
    assert models.sql("SELECT count(*) FROM events").rows == ((len(history.events),),)


def test_a_log_that_is_not_there_is_named(models: ReadModels, source: Path) -> None:
    """A wrong directory in the configuration is the usual cause."""
    with pytest.raises(RefusalError, match=str(source)):
        catch_up(models, source)


def test_a_file_that_is_no_log_is_named_and_left_alone(models: ReadModels, source: Path) -> None:
    """The log itself is never moved or mended from here."""
    source.write_bytes(b"no database" * 1000)

    with pytest.raises(FailureError, match=str(source)):
        catch_up(models, source)

    assert source.read_bytes() == b"no database" * 1000


def test_an_event_of_a_newer_version_is_named(models: ReadModels, source: Path) -> None:
    """Guessing at an unknown shape would put wrong figures beside right ones."""
    write_log(source, History().turn(1))
    with duckdb.connect(str(source)) as log:
        log.execute("UPDATE events SET version = 99 WHERE kind = 'receipt'")

    with pytest.raises(CodecError, match="receipt version 99"):
        catch_up(models, source)


def test_b51_a_log_that_a_bot_holds_names_its_holder(models: ReadModels, source: Path) -> None:
    """`Could not set lock` tells nobody what to do."""
    write_log(source, History().turn(1))
    with holding(source) as holder, pytest.raises(LogLockedError) as refused:
        catch_up(models, source)

    assert str(refused.value) == f"{source} is held by process {holder}"
    assert catch_up(models, source) == 6
