"""What a tool is given of the turn that calls it."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from actors.ports import Clock, HistoryMessage
from events.base import ChannelId, GuildId, MessageId, UserId


class ToolContext(Struct, frozen=True, kw_only=True):
    """The place, the asker, and the ports that tools may use."""

    channel_id: ChannelId
    """Where the turn answers."""
    guild_id: GuildId | None
    """The guild; None in direct messages."""
    message_id: MessageId | None
    """The message that is answered; None for a command."""
    author_id: UserId
    """Who asked."""
    author_name: str
    """The asker's display name there."""
    clock: Clock
    """Time."""
    history: Callable[[MessageId | None, int], Awaitable[list[HistoryMessage]]]
    """Takes a message and a number: returns up to so many older messages, oldest first."""
    pin: Callable[[str], Awaitable[None]]
    """Keeps a note for the channel's later turns; returns once it is durable."""
