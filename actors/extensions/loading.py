"""Loads the extensions that the configuration names, in each process that runs turns.

An extension is a function that takes a registrar. Those in the tree are known here; others are
found as entry points of the group `rejoinder.extensions`. What breaks is named. It keeps the bot
from starting only where the configuration calls it required: an answer matters more than a figure,
but whoever relies on a cap must be able to say so.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Final

import structlog
from msgspec import Struct, field
from typing_extensions import override

from actors.errors import FailureError
from actors.extensions import budget
from actors.extensions.registrar import Registrar
from actors.ports import Clock, LogPort
from actors.spending.ledger import Ledger
from actors.spending.registrations import Registrations

GROUP: Final = "rejoinder.extensions"
"""The group of entry points that extensions are found in."""
IN_TREE: Final[Mapping[str, Callable[[Registrar], None]]] = {"budget": budget.register}
"""The extensions that come with the bot."""

_log = structlog.get_logger(__name__)


class ExtensionSpec(Struct, frozen=True, kw_only=True):
    """An extension that the configuration names."""

    name: str
    """Its name."""
    required: bool = False
    """Whether the bot must not start without it."""
    options: dict[str, str] = field(default_factory=dict[str, str])
    """What it is told."""


class ExtensionError(FailureError):
    """A required extension can't be loaded."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    @override
    def __str__(self) -> str:
        return f"the extension {self.name} can't be loaded: {self.reason}"


def registrations_of(specs: tuple[ExtensionSpec, ...], log: LogPort, clock: Clock) -> Registrations:
    """Let each of `specs` register, in order; what it registered before it broke is taken back.

    Raises:
        ExtensionError: A required one broke.
    """
    registrations, ledger = Registrations(), Ledger(log, clock)
    for spec in specs:
        given = Registrar(spec.options, registrations, ledger)
        try:
            _found(spec.name)(given)
        except Exception as error:
            given.dispose()
            reason = f"{type(error).__name__}: {error}"
            if spec.required:
                raise ExtensionError(spec.name, reason) from error
            _log.error("extension_not_loaded", extension=spec.name, reason=reason)
    return registrations


def _found(name: str) -> Callable[[Registrar], None]:
    if name in IN_TREE:
        return IN_TREE[name]
    found = next(iter(entry_points(group=GROUP, name=name)), None)
    if found is None:
        raise LookupError(f"no package offers it under {GROUP}; in the tree: {', '.join(IN_TREE)}")
    return found.load()
