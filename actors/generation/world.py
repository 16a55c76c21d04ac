"""What every turn of a process shares: the ports, and the bot's own words."""

from collections.abc import Callable

from msgspec import Struct

from actors.ports import Clock, LogPort, SenderPort, Transport
from events.generation import ErrorType


class Notices(Struct, frozen=True, kw_only=True):
    """The bot's own words, where a turn has to say something that no model said."""

    provider_failed: Callable[[ErrorType, str], str]
    """Takes an error's type and its display-safe code."""
    tool_call: str
    """A model called a tool, and there are none."""
    empty: str
    """A model answered nothing."""
    given_up: str
    """A trigger failed too often."""


class World(Struct, frozen=True, kw_only=True):
    """What every turn of a process shares."""

    log: LogPort
    """The event log."""
    sender: SenderPort
    """The one actor that speaks to Discord."""
    transport: Transport
    """HTTP to providers."""
    clock: Clock
    """Time."""
    notices: Notices
    """The bot's own words."""
    code_version: str
    """Version of the code at hand."""
