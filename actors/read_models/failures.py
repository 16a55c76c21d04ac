"""What goes wrong with a read model, beside the refusals of `actors.errors`."""

from typing_extensions import override

from actors.errors import FailureError


class GapError(FailureError):
    """A batch does not join on to what is held: subscribe again from the checkpoint."""

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found

    @override
    def __str__(self) -> str:
        return f"the next event is position {self.expected}, the batch goes on at {self.found}"


class BrokenReadModelsError(FailureError):
    """The DuckDB instance is unusable until it is opened anew: close it and open it again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    @override
    def __str__(self) -> str:
        return f"the read models must be opened again: {self.reason}"
