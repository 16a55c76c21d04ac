"""What the sender needs of Discord around the posts of webhooks.

The adapter is `actors.delivery.webhook_calls`. Nothing in here posts a message.
A call that gave nothing says why in a `Refusal`.
"""

from typing import Protocol

from msgspec import Struct
from typing_extensions import override

from events.base import ChannelId, MessageId


class Refusal(Struct, frozen=True, kw_only=True):
    """A call gave nothing."""

    reason: str
    """A word or two, as in `NotPosted`."""
    code: int | None = None
    """Discord's error code, where it gave one."""
    is_definite: bool = True
    """Whether asking again soon is of no use."""


class Card(Struct, frozen=True, kw_only=True):
    """A line with a link above a message's text: what a reply looks like from a webhook."""

    text: str
    """The line."""
    url: str
    """Where it leads."""


class Place(Struct, frozen=True, kw_only=True):
    """Where a message is to stand."""

    parent_id: ChannelId | None
    """The channel whose webhooks reach it: a thread's parent, or itself; None where none does."""
    last_message_id: MessageId | None = None
    """The channel's newest message."""


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook of this bot, with what lets it post."""

    webhook_id: int
    """Discord's id."""
    token: str
    """What lets one post through it; never recorded."""
    avatar: str | None = None
    """Discord's hash of its picture."""

    @override
    def __repr__(self) -> str:
        return f"Webhook(webhook_id={self.webhook_id})"


class WebhookCalls(Protocol):
    """The calls around webhooks."""

    async def place(self, channel_id: ChannelId) -> Place | Refusal:
        """Look at a channel."""
        ...

    async def owned(self, channel_id: ChannelId) -> list[Webhook] | Refusal:
        """Return the webhooks of a channel that this bot made, oldest first."""
        ...

    async def create(self, channel_id: ChannelId, name: str) -> Webhook | Refusal:
        """Make a webhook."""
        ...

    async def dress(self, webhook: Webhook, image: bytes) -> Webhook | Refusal:
        """Give a webhook a picture."""
        ...

    async def own_avatar(self) -> str | Refusal:
        """Return the address of the bot's own picture."""
        ...
