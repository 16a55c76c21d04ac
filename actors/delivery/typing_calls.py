"""Typing indicators under way: one a channel, and none that would outlive the message it announces.

Discord takes an indicator away when a message comes; one that arrives behind it stays for ten
seconds, and people wait for words that nobody writes.
"""

import asyncio
from typing import Final

from actors.ports import Clock, Messenger
from events.base import ChannelId

GRACE_SECONDS: Final = 0.5
"""Longest time that a message waits for an indicator under way in its channel."""


class TypingCalls:
    """The calls of one sender."""

    def __init__(self, messenger: Messenger, clock: Clock) -> None:
        self._messenger = messenger
        self._clock = clock
        self._calls: dict[ChannelId, asyncio.Task[None]] = {}

    async def show(self, channel_id: ChannelId) -> None:
        """Show the indicator, unless a call is under way; return once that is done."""
        if channel_id in self._calls:
            return
        task = asyncio.create_task(self._messenger.typing(channel_id))
        self._calls[channel_id] = task
        task.add_done_callback(lambda _: self._calls.pop(channel_id, None))
        await asyncio.wait({task})

    async def make_way(self, channel_id: ChannelId) -> None:
        """Let an indicator under way arrive before the message does, or give it up."""
        call = self._calls.get(channel_id)
        if call is None:
            return
        grace = asyncio.ensure_future(self._clock.sleep(GRACE_SECONDS))
        await asyncio.wait({call, grace}, return_when=asyncio.FIRST_COMPLETED)
        grace.cancel()
        call.cancel()

    async def aclose(self) -> None:
        """Return once no call is under way."""
        await asyncio.gather(*self._calls.values(), return_exceptions=True)
