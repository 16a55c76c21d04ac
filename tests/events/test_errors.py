"""The log's errors cross processes and keep their data."""

import pickle

import pytest

from events import errors
from events.errors import (
    CodecError,
    ConcurrencyError,
    EventLogError,
    FencedError,
    LogLockedError,
    LogUnavailableError,
    StoppedError,
)

SAMPLES: list[tuple[EventLogError, str]] = [
    (ConcurrencyError("turn/1", 3, 5), "turn/1 ends at seq 5, expected 3"),
    (FencedError("turn/1", 0, 2), "turn/1 is at epoch 2, append carries 0"),
    (StoppedError("delivery/1", 17), "delivery/1 was stopped at position 17"),
    (LogUnavailableError("disk full"), "the event log does not answer: disk full"),
    (LogLockedError("events.duckdb", 4711), "events.duckdb is held by process 4711"),
    (LogLockedError("events.duckdb", None), "events.duckdb is held by another process"),
    (CodecError("flush", 3, "newer"), "event flush version 3: newer"),
]


@pytest.mark.parametrize(("error", "sentence"), SAMPLES, ids=lambda one: type(one).__name__)
def test_b56_an_error_survives_pickling(error: EventLogError, sentence: str) -> None:
    """Ray carries errors between processes; one that can't be unpickled hides its cause."""
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert vars(copy) == vars(error)
    assert str(copy) == str(error) == sentence


def test_b56_every_error_of_the_log_is_among_the_samples() -> None:
    """A new error must not be forgotten here."""
    known = {
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, EventLogError) and one is not EventLogError
    }

    assert {type(error) for error, _ in SAMPLES} == known
