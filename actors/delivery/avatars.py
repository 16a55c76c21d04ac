"""Which webhook shows which picture.

A picture with an https address travels with each message. One that is a file on this machine has
to be put on the webhook itself, so it is chosen, put on and posted with under one lock a channel.
Which webhook wears what is known only from Discord's answer to having put it on; it is used again
in every thread of the channel. Where putting it on would take long, another webhook gets it, and
where that can't be had, the message shows Discord's own picture: all that before it is posted.
"""

import asyncio
import hashlib
from collections import OrderedDict
from pathlib import Path
from typing import Final

import structlog
from msgspec import Struct

from actors.delivery.webhooks import WebhookPool
from actors.webhook_port import Refusal, Webhook, WebhookCalls
from events.base import ChannelId

IMAGE_BYTES: Final = 10 * 1024 * 1024
"""Largest picture; a larger one is ignored."""
GENERIC_URL: Final = "https://cdn.discordapp.com/embed/avatars/0.png"
"""Discord's picture for whoever has none."""
WORN_KEPT: Final = 4096
"""Webhooks whose picture is remembered; others are dressed anew."""

_log = structlog.get_logger(__name__)


class Look(Struct, frozen=True, kw_only=True):
    """A webhook to post through, and the picture to name in the post."""

    webhook: Webhook
    """The webhook."""
    avatar_url: str | None = None
    """The picture; None is the webhook's own, which is the right one."""
    is_generic: bool = False
    """Whether it stands in for a picture that could not be put on."""


class Wardrobe:
    """What the bot's webhooks wear."""

    def __init__(self, calls: WebhookCalls, pool: WebhookPool) -> None:
        self._calls = calls
        self._pool = pool
        self._worn: OrderedDict[int, str] = OrderedDict()
        self._own_avatar: str | None = None

    async def look(self, parent_id: ChannelId, image: str) -> Look | Refusal:
        """Return how to show `image` in the channel; for a file the channel's lock is held."""
        slots = await self._pool.slots(parent_id)
        if isinstance(slots, Refusal):
            return slots
        if image.startswith("https://"):
            return Look(webhook=slots[0], avatar_url=image)
        data = await asyncio.to_thread(_read, image) if image else None
        if data is None:
            return Look(webhook=slots[0], avatar_url=await self._bots_own())
        return await self._wear(parent_id, slots, data)

    async def _bots_own(self) -> str:
        if self._own_avatar is None:
            found = await self._calls.own_avatar()
            self._own_avatar = found if isinstance(found, str) else None
        return self._own_avatar or GENERIC_URL

    async def _wear(self, parent_id: ChannelId, slots: list[Webhook], data: bytes) -> Look:
        digest = hashlib.sha256(data).hexdigest()
        for webhook in slots:
            if self._worn.get(webhook.webhook_id) == digest:
                return Look(webhook=webhook)
        free = [one for one in slots if one.webhook_id not in self._worn]
        for webhook in [*free, slots[0]][:2]:
            if await self._dress(webhook, data, digest):
                return Look(webhook=webhook)
        added = await self._pool.add(parent_id)
        if isinstance(added, Webhook) and await self._dress(added, data, digest):
            return Look(webhook=added)
        _log.warning("avatar_deferred", channel_id=parent_id)
        return Look(webhook=slots[0], avatar_url=GENERIC_URL, is_generic=True)

    async def _dress(self, webhook: Webhook, data: bytes, digest: str) -> bool:
        self._worn.pop(webhook.webhook_id, None)
        dressed = await self._calls.dress(webhook, data)
        if isinstance(dressed, Refusal) or dressed.avatar is None:
            return False
        self._worn[webhook.webhook_id] = digest
        if len(self._worn) > WORN_KEPT:
            self._worn.popitem(last=False)
        return True


def _read(path: str) -> bytes | None:
    try:
        with Path(path).open("rb") as file:
            data = file.read(IMAGE_BYTES + 1)
    except OSError as error:
        _log.warning("avatar_unreadable", path=path, error=type(error).__name__)
        return None
    return data if 0 < len(data) <= IMAGE_BYTES else None
