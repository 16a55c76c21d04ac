"""The tail mark's file, and the verdicts that are drawn from it."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.row import Row
from events.tail_mark import Mark, TailMark, base_position, chain_of, compare, mark_of
from tests.events.rows import row, rows

START = bytes(16)
BASE = Mark(first=1, last=0, chain=START)


def marks_of(*commits: list[Row]) -> list[Mark]:
    """Return a base and the mark of each commit."""
    marks = [BASE]
    for commit in commits:
        marks.append(mark_of(marks[-1].chain, commit))
    return marks


COMMITS = [rows(1, 3), rows(4, 4, "turn/1"), rows(5, 9, "turn/1") + rows(10, 10, "channel/2")]
ALL = [one for commit in COMMITS for one in commit]
MARKS = marks_of(*COMMITS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a path for a mark."""
    return tmp_path / "events.duckdb.tail"


def write(path: Path, marks: list[Mark]) -> None:
    """Write a mark's file, base first."""
    tail = TailMark(path)
    tail.restart(marks[0].last, marks[0].chain)
    for mark in marks[1:]:
        tail.add(mark)
    tail.close()


def read(path: Path) -> list[Mark]:
    """Return what a file holds."""
    tail = TailMark(path)
    tail.close()
    return list(tail.marks)


def test_marks_are_read_back(path: Path) -> None:
    """The file is all that is left of an acknowledgement after a crash."""
    write(path, MARKS)

    assert read(path) == MARKS


def test_a_new_start_replaces_everything(path: Path) -> None:
    """The file must not grow with the log."""
    write(path, MARKS)
    tail = TailMark(path)
    tail.restart(10, MARKS[-1].chain)
    size = path.stat().st_size
    tail.close()

    assert read(path) == [Mark(first=11, last=10, chain=MARKS[-1].chain)]
    assert size < 100


@settings(max_examples=40)
@given(cut=st.integers(1, 10_000))
def test_b50_a_torn_record_is_dropped_and_written_over(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    """A crash in the middle of the note must neither be believed nor block the next one."""
    path = tmp_path_factory.mktemp("torn") / "tail"
    write(path, MARKS)
    whole = path.read_bytes()
    size = max(0, len(whole) - cut)
    path.write_bytes(whole[:size])

    found = read(path)
    assert found == MARKS[: len(found)]
    if found and len(found) < len(MARKS):
        tail = TailMark(path)
        tail.add(MARKS[len(found)])
        tail.close()
        assert read(path) == MARKS[: len(found) + 1]


@settings(max_examples=40)
@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_b50_a_flipped_bit_costs_one_record_at_most(
    tmp_path_factory: pytest.TempPathFactory, at: int, bit: int
) -> None:
    """The records behind the damage still name their positions and streams."""
    path = tmp_path_factory.mktemp("flipped") / "tail"
    write(path, MARKS)
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 << bit
    path.write_bytes(bytes(data))

    found = read(path)

    assert len(found) == len(MARKS) - 1
    assert all(mark in MARKS for mark in found)


def test_a_whole_database_shows_no_damage() -> None:
    """The common case must not cry wolf."""
    found = compare(MARKS, 10, ALL)

    assert (found.head, found.chain, found.damage) == (10, MARKS[-1].chain, None)


def test_a_mark_that_lags_is_no_damage() -> None:
    """The commit landed and the process died before its note: it was never acknowledged."""
    found = compare(MARKS[:-1], 10, ALL)

    assert (found.head, found.chain, found.damage) == (10, MARKS[-1].chain, None)


@pytest.mark.parametrize(
    ("head", "missing", "streams"),
    [
        (4, 6, {"turn/1": 5, "channel/2": 1}),
        (3, 7, {"turn/1": 6, "channel/2": 1}),
        (0, 10, {"channel/1": 3, "turn/1": 6, "channel/2": 1}),
        (6, 4, {"turn/1": 3, "channel/2": 1}),
    ],
)
def test_b50_a_short_database_is_counted_to_the_event(
    head: int, missing: int, streams: dict[str, int]
) -> None:
    """The operator is told how many events are gone and whose."""
    found = compare(MARKS, head, ALL[:head])

    assert found.damage is not None
    assert (found.head, found.damage.missing) == (head, missing)
    assert (found.damage.first_missing, found.damage.last_missing) == (head + 1, 10)
    assert found.damage.streams == streams
    assert str(missing) in str(found.damage)


def test_b50_a_hole_in_the_middle_is_found() -> None:
    """Nothing but contiguous positions shows it."""
    found = compare(MARKS, 10, ALL[:3] + ALL[4:])

    assert found.damage is not None
    assert (found.damage.missing, found.damage.streams) == (1, {"turn/1": 1})
    assert (found.damage.first_missing, found.damage.last_missing) == (4, 4)
    assert found.damage.altered == 0


def test_b50_a_changed_body_is_found() -> None:
    """A flipped bit may leave every row in its place."""
    changed = [*ALL]
    changed[4] = changed[4]._replace(body='{"kind":"stop_observed"}')

    found = compare(MARKS, 10, changed)

    assert found.damage is not None
    assert (found.damage.missing, found.damage.altered) == (0, 6)


def test_b50_a_database_older_than_the_base_is_counted() -> None:
    """A main file put back from a backup lacks more than the write-ahead log held."""
    base = Mark(first=11, last=10, chain=MARKS[-1].chain)
    later = mark_of(base.chain, rows(11, 12))

    found = compare([base, later], 7, [])

    assert found.damage is not None
    assert (found.damage.missing, found.damage.streams) == (5, {"channel/1": 2})
    assert (found.damage.first_missing, found.damage.last_missing) == (8, 12)


def test_b50_events_without_any_mark_are_not_called_whole() -> None:
    """A mark that was deleted leaves no way to tell."""
    found = compare([], 10, ALL)

    assert found.damage is not None
    assert found.damage.missing == 0
    assert "nobody knows" in str(found.damage)
    assert compare([], 0, []).damage is None


def test_b50_an_unreadable_record_between_others_hides_no_loss() -> None:
    """Its positions are known by its neighbours, its streams are not."""
    marks = [MARKS[0], MARKS[1], MARKS[3]]

    assert compare(marks, 10, ALL).damage is None
    found = compare(marks, 3, ALL[:3])
    assert found.damage is not None
    assert (found.damage.missing, found.damage.streams) == (7, {"turn/1": 5, "channel/2": 1})


def test_the_chain_depends_on_every_field_that_is_vouched_for() -> None:
    """Position, stream, seq, kind and body: each of them is part of the fact."""
    one = row(1)
    others = [
        one._replace(position=2),
        one._replace(stream="channel/2"),
        one._replace(seq=2),
        one._replace(kind="flush"),
        one._replace(body="{}"),
    ]

    chains = {chain_of(START, [other]) for other in [one, *others]}

    assert len(chains) == 6
    assert base_position(MARKS) == 0
