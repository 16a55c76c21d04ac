"""Which way a message takes: the bot's own account, or a webhook under a name and a picture.

Direct messages, places without webhooks and whatever the bot says as itself take the bot's way. So
does a message whose webhook can't be had or was refused: an alter's then says in its text who
speaks, since nothing else shows it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from msgspec.structs import replace

from actors.delivery.appearances import Appearances
from actors.delivery.attempts import Second
from actors.delivery.avatars import Wardrobe
from actors.delivery.webhooks import WebhookPool
from actors.ports import Button, Clock, Draft, LogPort, Messenger, SendRequest
from actors.voice import Hook, Voice, named
from actors.webhook_port import Refusal
from events.base import ChannelId
from events.delivery import Receipt
from projections.table_messages import TableMessage

LOCKS_KEPT: Final = 1024
"""Locks kept while nobody holds them."""


class Routes:
    """The ways to every channel."""

    def __init__(self, messenger: Messenger, log: LogPort, clock: Clock) -> None:
        self._messenger = messenger
        calls = messenger.webhooks
        self.pool = WebhookPool(calls, clock)
        """The webhooks."""
        self.appearances = Appearances(log, calls, clock)
        """How the personas looked."""
        self._wardrobe = Wardrobe(calls, self.pool)
        self._locks: OrderedDict[ChannelId, asyncio.Lock] = OrderedDict()

    @asynccontextmanager
    async def held(self, request: SendRequest) -> AsyncGenerator[None]:
        """Hold what the message's picture needs, from its choice until the last post with it."""
        voice = request.voice
        if voice is None or not voice.image or voice.image.startswith("https://"):
            yield
            return
        parent_id = await self._parent(request)
        async with self._lock(parent_id or request.draft.channel_id):
            yield

    async def routed(self, request: SendRequest, second: Second | None) -> SendRequest:
        """Return the request with the way that its message takes.

        Args:
            request: What to post, as it was asked for.
            second: What an earlier refusal of the same message permits; None for its first post.
        """
        voice = request.voice
        if voice is None:
            return request
        parent_id = None if second == "bot" else await self._parent(request)
        if parent_id is None:
            return _as_bot(request, voice)
        look = await self._wardrobe.look(parent_id, voice.image)
        if isinstance(look, Refusal):
            return _as_bot(request, voice)
        webhook_id, channel_id = look.webhook.webhook_id, request.draft.channel_id
        hook = Hook(
            webhook_id=webhook_id,
            token=look.webhook.token,
            name=await self.appearances.name(channel_id, voice, webhook_id),
            avatar_url=look.avatar_url,
            is_thread=parent_id != channel_id,
            is_generic=look.is_generic,
        )
        draft = replace(request.draft, hook=hook, reply_to=None)
        return replace(request, draft=draft)

    async def take_back(self, receipt: Receipt) -> bool:
        """Delete a message by the way it came, else as the bot; return whether it is gone."""
        channel_id, message_id = receipt.destination_id, receipt.message_id
        hook = await self._hook(channel_id, receipt.webhook_id)
        if hook is not None and await self._messenger.delete(channel_id, message_id, hook):
            return True
        return await self._messenger.delete(channel_id, message_id)

    async def edit_buttons(self, message: TableMessage, buttons: tuple[Button, ...]) -> str | None:
        """Change a message's buttons by the way it came; return why that failed, None if not."""
        channel_id = message.destination_id
        hook = await self._hook(channel_id, message.webhook_id)
        if hook is None and message.webhook_id is not None:
            return "no_webhook"
        return await self._messenger.edit_buttons(channel_id, message.message_id, buttons, hook)

    async def _hook(self, channel_id: ChannelId, webhook_id: int | None) -> Hook | None:
        """Return the way of a message that a webhook posted, None where there is none any more."""
        parent_id = await self.pool.parent(channel_id) if webhook_id is not None else None
        if parent_id is None or webhook_id is None:
            return None
        await self.pool.slots(parent_id)
        webhook = self.pool.known(webhook_id)
        if webhook is None:
            return None
        return Hook(webhook_id=webhook_id, token=webhook.token, is_thread=parent_id != channel_id)

    async def _parent(self, request: SendRequest) -> ChannelId | None:
        if request.scope.guild_id is None:
            return None
        return await self.pool.parent(request.draft.channel_id)

    def _lock(self, channel_id: ChannelId) -> asyncio.Lock:
        lock = self._locks.setdefault(channel_id, asyncio.Lock())
        self._locks.move_to_end(channel_id)
        idle = [one for one, known in self._locks.items() if not known.locked()]
        for one in idle[: max(0, len(self._locks) - LOCKS_KEPT)]:
            if one != channel_id:
                del self._locks[one]
        return lock


def _as_bot(request: SendRequest, voice: Voice) -> SendRequest:
    if not voice.is_alter:
        return request
    content = request.draft.content
    prefix = named(content, voice.persona.strip())
    draft: Draft = replace(request.draft, content=prefix + content, prefix=prefix)
    return replace(request, draft=draft)
