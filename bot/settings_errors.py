"""What is wrong with a configuration, in words that lead to its repair."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from typing_extensions import override


class Fault(Struct, frozen=True, kw_only=True):
    """One thing that is wrong."""

    key: str
    """Where, such as `chat.model` or `personas[1].name` (counted from 0); empty: the whole file."""
    problem: str
    """What is wrong; never the value of a secret."""
    allowed: str = ""
    """What would be right."""

    @override
    def __str__(self) -> str:
        where = f"{self.key}: " if self.key else ""
        remedy = f"; allowed: {self.allowed}" if self.allowed else ""
        return f"{where}{self.problem}{remedy}"


class SettingsError(Exception):
    """A configuration that can't be used; it names every fault that was found."""

    def __init__(self, path: Path, faults: Sequence[Fault], hint: str = "") -> None:
        super().__init__(path, faults, hint)
        self.path = path
        self.faults = tuple(faults)
        self.hint = hint

    @override
    def __str__(self) -> str:
        return "\n".join(f"{self.path}: {fault}" for fault in self.faults)
