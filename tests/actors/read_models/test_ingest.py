"""How events get in: once, in order, across restarts, and from files that are no good."""

import pickle
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from actors.read_models.failures import BrokenReadModelsError, GapError
from actors.read_models.read_models import ReadModels
from actors.read_models.stored import recorded_of, row_of
from events.errors import LogLockedError
from events.turn import TurnEnded
from tests.actors.read_models.samples import History, holding, report, turn_id


def sample() -> History:
    """Return a log of three turns, one of them open."""
    history = History()
    history.turn(1, reports=(report(input_tokens=5),), ending=TurnEnded(status="completed"))
    history.turn(2)
    return history.turn(3, ending=TurnEnded(status="error", error="http_500"))


def contents(models: ReadModels) -> list[object]:
    """Return all that can be asked of a model."""
    queries = ("FROM events", "FROM turns ORDER BY ALL", "FROM usage ORDER BY ALL")
    return [models.sql(query).rows for query in queries]


def test_what_went_in_is_held_in_order_and_the_checkpoint_is_its_last(models: ReadModels) -> None:
    """A subscription goes on from the checkpoint, so it must not be ahead of the rows."""
    history = sample()

    models.ingest(history.events)

    assert models.checkpoint() == len(history.events)
    rows = models.sql("SELECT position, stream, seq, kind FROM events ORDER BY position").rows
    assert rows == tuple(row_of(one)[:4] for one in history.events)
    assert [recorded_of(row_of(one)) for one in history.events] == history.events


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_how_a_log_is_cut_into_batches_changes_nothing(tmp_path: Path, size: int) -> None:
    """Batches are cut by load and by restarts; figures must not depend on that."""
    history = sample()
    whole = ReadModels(tmp_path / "whole.duckdb")
    whole.ingest(history.events)
    cut = ReadModels(tmp_path / "cut.duckdb")

    for start in range(0, len(history.events), size):
        cut.ingest(history.events[start : start + size])

    assert contents(cut) == contents(whole)
    whole.close()
    cut.close()


def test_a_batch_that_was_held_already_changes_nothing(models: ReadModels) -> None:
    """A subscriber that restarts may be handed what it had."""
    history = sample()
    models.ingest(history.events)
    before = contents(models)

    models.ingest(history.events)
    models.ingest(history.events[3:9])
    models.ingest([])

    assert contents(models) == before


def test_a_batch_that_overlaps_adds_only_what_is_missing(models: ReadModels) -> None:
    """Half of a batch may have landed before."""
    history = sample()
    models.ingest(history.events[:10])

    models.ingest(history.events[5:])

    assert models.sql("SELECT count(*), count(DISTINCT position) FROM events").rows == (
        (len(history.events), len(history.events)),
    )


@pytest.mark.parametrize("batch", [slice(6, 9), slice(0, 20, 2)], ids=["before", "within"])
def test_a_gap_is_refused_and_nothing_of_the_batch_is_kept(
    models: ReadModels, batch: slice
) -> None:
    """A model that skips events is wrong for ever and does not know it."""
    history = sample()
    models.ingest(history.events[:5])
    before = contents(models)

    with pytest.raises(GapError, match="the next event is position 6") as refused:
        models.ingest(history.events[batch])

    assert contents(models) == before
    assert models.checkpoint() == 5
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
    broken = BrokenReadModelsError("why")
    assert str(pickle.loads(pickle.dumps(broken))) == str(broken)


def fail(_: object) -> list[object]:
    """Fail as a bug would."""
    raise ArithmeticError


def test_a_batch_that_fails_halfway_leaves_nothing_behind(
    models: ReadModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows without their checkpoint would be added twice by the next try."""
    history = sample()
    models.ingest(history.events[:5])
    before = contents(models)

    with monkeypatch.context() as broken:
        broken.setattr("actors.read_models.ingest.fold_usage", fail)
        with pytest.raises(ArithmeticError):
            models.ingest(history.events)

    assert contents(models) == before
    models.ingest(history.events)
    assert models.checkpoint() == len(history.events)


def test_a_restart_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    """Reading the whole log anew at every start would take minutes."""
    history = sample()
    path = tmp_path / "read_models.duckdb"
    first = ReadModels(path)
    first.ingest(history.events[:11])
    first.close()

    second = ReadModels(path)

    assert second.checkpoint() == 11
    second.ingest(history.events)
    assert second.checkpoint() == len(history.events)
    second.close()
    assert not path.with_name("read_models.duckdb.aside").exists()


def garbage(path: Path) -> None:
    """Overwrite the file with what was never a database."""
    path.write_bytes(b"no database" * 1000)


def empty(path: Path) -> None:
    """Leave a file of no bytes, as a full disk does."""
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    """Turn over bytes in the blocks."""
    blocks = bytearray(path.read_bytes())
    for place in range(12_288, len(blocks), 499):
        blocks[place] ^= 0xFF
    path.write_bytes(blocks)


def other_version(path: Path) -> None:
    """Let it bear another schema's fingerprint."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE facts.schema_version SET fingerprint = 'older'")


def lost_rows(path: Path) -> None:
    """Lose events but not the checkpoint."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM events WHERE position > 7")


def foreign(path: Path) -> None:
    """Put somebody else's database there."""
    path.unlink()
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE events(x INTEGER)")


@pytest.mark.parametrize("damage", [garbage, empty, flipped, other_version, lost_rows, foreign])
def test_a_file_that_is_no_good_is_moved_aside_and_built_again(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """All of it stands in the log, so no damage here may stop the bot or bend a figure."""
    history = sample()
    path = tmp_path / "read_models.duckdb"
    models = ReadModels(path)
    models.ingest(history.events)
    sound = contents(models)
    models.close()
    damage(path)
    damaged = path.read_bytes()

    models = ReadModels(path)

    assert models.checkpoint() == 0
    models.ingest(history.events)
    assert contents(models) == sound
    assert path.with_name("read_models.duckdb.aside").read_bytes() == damaged
    models.close()


def test_b51_a_file_that_another_process_holds_is_left_alone_and_its_holder_named(
    tmp_path: Path,
) -> None:
    """Moving the file away under a running bot would cost it its figures."""
    path = tmp_path / "read_models.duckdb"
    ReadModels(path).close()
    with holding(path) as holder, pytest.raises(LogLockedError) as refused:
        ReadModels(path)

    assert refused.value.holder == holder
    assert not path.with_name("read_models.duckdb.aside").exists()
    ReadModels(path).close()


def test_a_model_knows_whether_it_agrees_with_the_log(models: ReadModels) -> None:
    """A log that lost its end gives the positions away again."""
    history = sample()
    models.ingest(history.events)
    other = History().turn(9).turn(8).turn(7)

    assert models.agrees_with(history.events[10])
    assert not models.agrees_with(other.events[10])


def test_a_rebuilt_model_begins_at_0_and_can_be_fed_again(models: ReadModels) -> None:
    """It is the cure for whatever does not agree with the log."""
    history = sample()
    models.ingest(history.events)
    before = contents(models)

    models.rebuild()

    assert models.checkpoint() == 0
    assert models.turn_ids() == []
    models.ingest(history.events)
    assert contents(models) == before
    assert models.turn_ids() == [turn_id(1), turn_id(2), turn_id(3)]
