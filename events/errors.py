"""The errors of the log, one reaction a line.

EventLogError
├── ConcurrencyError      re-read the stream, decide again
├── FencedError           an older epoch: stop, say nothing more
├── StoppedError          the turn has a durable stop: do not send
├── LogUnavailableError   nothing is known of the append: it may be repeated as it is
├── LogLockedError        another process holds the file: name it to the operator
└── CodecError            an event that this code can't read: name it to the operator
"""

from typing_extensions import override


class EventLogError(Exception):
    """Base of everything that a log raises on purpose."""


class ConcurrencyError(EventLogError):
    """The stream does not end where the writer believed."""

    def __init__(self, stream: str, expected_seq: int, actual_seq: int) -> None:
        super().__init__(stream, expected_seq, actual_seq)
        self.stream = stream
        self.expected_seq = expected_seq
        self.actual_seq = actual_seq

    @override
    def __str__(self) -> str:
        return f"{self.stream} ends at seq {self.actual_seq}, expected {self.expected_seq}"


class FencedError(EventLogError):
    """The append carries an epoch that a recovery has since left behind."""

    def __init__(self, stream: str, epoch: int, current_epoch: int) -> None:
        super().__init__(stream, epoch, current_epoch)
        self.stream = stream
        self.epoch = epoch
        self.current_epoch = current_epoch

    @override
    def __str__(self) -> str:
        return f"{self.stream} is at epoch {self.current_epoch}, append carries {self.epoch}"


class StoppedError(EventLogError):
    """The append asked for a turn without a stop, and a stop is durable."""

    def __init__(self, stream: str, position: int) -> None:
        super().__init__(stream, position)
        self.stream = stream
        self.position = position

    @override
    def __str__(self) -> str:
        return f"{self.stream} was stopped at position {self.position}"


class LogUnavailableError(EventLogError):
    """The log did not answer; the append may or may not have landed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    @override
    def __str__(self) -> str:
        return f"the event log does not answer: {self.reason}"


class LogLockedError(EventLogError):
    """Another process has the log's file open."""

    def __init__(self, path: str, holder: int | None) -> None:
        super().__init__(path, holder)
        self.path = path
        self.holder = holder

    @override
    def __str__(self) -> str:
        who = "another process" if self.holder is None else f"process {self.holder}"
        return f"{self.path} is held by {who}"


class CodecError(EventLogError):
    """A stored event that the code at hand can't decode."""

    def __init__(self, kind: str, version: int, reason: str) -> None:
        super().__init__(kind, version, reason)
        self.kind = kind
        self.version = version
        self.reason = reason

    @override
    def __str__(self) -> str:
        return f"event {self.kind} version {self.version}: {self.reason}"
