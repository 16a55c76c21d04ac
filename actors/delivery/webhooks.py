"""The bot's webhooks, a few a channel, found again or made when a message needs one.

Tokens live in this memory alone: after a restart the bot asks Discord for its webhooks again. What
cannot be had is remembered for a while with its reason, so that not every message asks in vain.
Looking up holds a lock of its own, not the one that pictures need.
"""

import asyncio
from collections import OrderedDict
from typing import Final, TypeVar

import structlog
from msgspec import Struct

from actors.ports import Clock
from actors.webhook_port import Place, Refusal, Webhook, WebhookCalls
from events.base import ChannelId

NAME: Final = "Rejoinder"
"""What the webhooks are called in a guild's settings; each message has a name of its own."""
FAILURE_SECONDS: Final = 900.0
"""How long a channel without a webhook is not asked for one."""
CHANNELS_KEPT: Final = 4096
"""Channels remembered; of others Discord tells again."""

V = TypeVar("V")

_log = structlog.get_logger(__name__)


class _Failure(Struct, frozen=True):
    refusal: Refusal
    until: float


class WebhookPool:
    """The webhooks of every channel that a message went to."""

    def __init__(self, calls: WebhookCalls, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock
        self._parents: OrderedDict[ChannelId, ChannelId | None] = OrderedDict()
        self._slots: OrderedDict[ChannelId, list[Webhook]] = OrderedDict()
        self._failures: OrderedDict[ChannelId, _Failure] = OrderedDict()
        self._lookup = asyncio.Lock()

    async def parent(self, channel_id: ChannelId) -> ChannelId | None:
        """Return the channel whose webhooks reach `channel_id`; None where none does."""
        if channel_id not in self._parents:
            place = await self._calls.place(channel_id)
            if not isinstance(place, Place):
                return None
            _keep(self._parents, channel_id, place.parent_id)
        return self._parents[channel_id]

    async def slots(self, parent_id: ChannelId) -> list[Webhook] | Refusal:
        """Return the channel's webhooks, at least one, oldest first."""
        async with self._lookup:
            known = self._slots.get(parent_id)
            if known:
                return known
            failure = self._failures.get(parent_id)
            if failure is not None and failure.until > self._clock.monotonic():
                return failure.refusal
            found = await self._calls.owned(parent_id)
            if isinstance(found, Refusal):
                return self._failed(parent_id, found)
            _keep(self._slots, parent_id, found)
            if not found:
                made = await self._make(parent_id)
                if isinstance(made, Refusal):
                    return self._failed(parent_id, made)
            return self._slots[parent_id]

    async def add(self, parent_id: ChannelId) -> Webhook | Refusal:
        """Make one more webhook for the channel."""
        async with self._lookup:
            return await self._make(parent_id)

    def forget(self, webhook_id: int) -> None:
        """Take note that a webhook is no more."""
        for slots in self._slots.values():
            slots[:] = [one for one in slots if one.webhook_id != webhook_id]

    def known(self, webhook_id: int) -> Webhook | None:
        """Return a webhook whose token is at hand."""
        every = (one for slots in self._slots.values() for one in slots)
        return next((one for one in every if one.webhook_id == webhook_id), None)

    def worked(self, channel_id: ChannelId) -> None:
        """Take note that a message arrived: what failed there before may be tried again."""
        self._failures.pop(self._parents.get(channel_id) or channel_id, None)

    async def _make(self, parent_id: ChannelId) -> Webhook | Refusal:
        made = await self._calls.create(parent_id, NAME)
        if isinstance(made, Webhook):
            slots = self._slots.get(parent_id, [])
            _keep(self._slots, parent_id, [*slots, made])
        return made

    def _failed(self, parent_id: ChannelId, refusal: Refusal) -> Refusal:
        is_known = parent_id in self._failures
        tell = _log.warning if is_known or not refusal.is_definite else _log.error
        tell("no_webhook", channel_id=parent_id, reason=refusal.reason, code=refusal.code)
        if refusal.is_definite:
            until = self._clock.monotonic() + FAILURE_SECONDS
            _keep(self._failures, parent_id, _Failure(refusal, until))
        return refusal


def _keep(memory: "OrderedDict[ChannelId, V]", channel_id: ChannelId, value: V) -> None:
    memory[channel_id] = value
    memory.move_to_end(channel_id)
    if len(memory) > CHANNELS_KEPT:
        memory.popitem(last=False)
