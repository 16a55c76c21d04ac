"""The typing indicator of a turn: shown from its start until its last messages are queued."""

import asyncio
from typing import Final

from actors.ports import Clock, SenderPort
from events.base import ChannelId

KEEPALIVE_SECONDS: Final = 8.0
"""Discord shows the indicator for 10 s after each call."""
PATIENCE_SECONDS: Final = 1.0
"""Longest that a call under way may hold up the end."""


class TypingIndicator:
    """Keeps the indicator alive; ending it waits for the call under way, so none comes later."""

    def __init__(self, sender: SenderPort, clock: Clock, channel_id: ChannelId) -> None:
        self._sender = sender
        self._clock = clock
        self._channel_id = channel_id
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._keep())

    async def end(self) -> None:
        """Show it no longer."""
        self._over.set()
        patience = asyncio.ensure_future(self._clock.sleep(PATIENCE_SECONDS))
        await asyncio.wait({self._task, patience}, return_when=asyncio.FIRST_COMPLETED)
        for task in (self._task, patience):
            task.cancel()
        await asyncio.gather(self._task, patience, return_exceptions=True)

    async def _keep(self) -> None:
        while not self._over.is_set():
            await self._sender.typing(self._channel_id)
            pause = asyncio.ensure_future(self._clock.sleep(KEEPALIVE_SECONDS))
            over = asyncio.ensure_future(self._over.wait())
            await asyncio.wait({pause, over}, return_when=asyncio.FIRST_COMPLETED)
            for task in (pause, over):
                task.cancel()
