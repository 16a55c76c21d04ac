"""What every turn of a process shares: the ports, and the bot's own words."""

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from actors.generation.limits import TurnLimits
from actors.http_port import Transport
from actors.ports import Clock, LogPort, SenderPort
from actors.spending.registrations import Registrations
from actors.tools.registry import ToolRegistry
from events.generation import ErrorType


class Notices(Struct, frozen=True, kw_only=True):
    """The bot's own words, where a turn has to say something that no model said."""

    provider_failed: Callable[[ErrorType, str], str]
    """Takes an error's type and its display-safe code."""
    fell_back: Callable[[str, Sequence[tuple[str, str]]], str]
    """Takes the model that answered, and those that failed before it with their codes."""
    still_working: str
    """A model has called many tools, and goes on."""
    tools_failed: str
    """Tools failed too often in a row."""
    too_long: str
    """Said after an answer that took more messages than one may."""
    too_many_tools: str
    """A model called tools without an end."""
    empty: str
    """A model answered nothing."""
    no_model: str
    """What was chosen to be asked can't be."""
    given_up: str
    """A trigger failed too often."""
    is_notice: Callable[[str], bool]
    """Takes a message of the bot's own; whether it is one of these, and no answer."""


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
    tools: ToolRegistry = ToolRegistry()
    """What models may call; a turn names those that its model is told of."""
    limits: TurnLimits = TurnLimits()
    """Patience."""
    registrations: Registrations = field(default_factory=Registrations)
    """What extensions have registered with this process."""
