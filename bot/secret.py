"""A value that may be used and never be shown."""

from typing_extensions import override


class Secret:
    """A token or key: no repr, message, traceback or JSON shows what it holds."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        # A key read from a file by way of the environment often ends in a newline.
        self._value = value.strip()

    def reveal(self) -> str:
        """Return the value, to be handed to whoever must send it and to nobody else."""
        return self._value

    def fits_header(self) -> bool:
        """Return whether an HTTP header takes it: printable ASCII without spaces."""
        value = self._value
        return value.isascii() and (not value or value.isprintable()) and " " not in value

    @override
    def __repr__(self) -> str:
        return "Secret(hidden)" if self._value else "Secret(empty)"

    def __bool__(self) -> bool:
        return bool(self._value)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    @override
    def __hash__(self) -> int:
        return hash((Secret, self._value))
