"""Stops as the sender hears of them: pushed by the log, for the channels it sends in.

A stop that is durable before an attempt refuses the attempt in the log itself; so what is heard
here need not be complete. It ends waits at once, and keeps back a request in the moment between
its attempt and its first byte.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from actors.ports import Clock, LogPort
from events.base import ChannelId, Position, channel_stream
from events.log import Subscription
from events.turn import StopRequested

IDLE_SECONDS: Final = 300.0
"""A channel that nothing was sent in for longer is no longer listened to."""

_log = structlog.get_logger(__name__)


class StopWatch:
    """Listens to the channels that messages go to."""

    def __init__(self, log: LogPort, clock: Clock, heard: Callable[[StopRequested], None]) -> None:
        self._log = log
        self._clock = clock
        self._heard = heard
        self._used: Final[dict[ChannelId, float]] = {}
        self._position = Position(0)
        self._subscription: Subscription | None = None
        self._listener: asyncio.Task[None] | None = None

    def saw(self, position: Position) -> None:
        """Take note that the log has come as far as `position`."""
        self._position = max(self._position, position)

    async def watch(self, channel_id: ChannelId) -> None:
        """Hear the stops of a channel from here on.

        Nothing is listened to before the first position is known: from position 0 on, the log
        would push the channel's whole past.
        """
        is_heard = channel_id in self._used
        if self._position == 0:
            return
        self._used[channel_id] = self._clock.monotonic()
        if is_heard:
            return
        stream = channel_stream(channel_id)
        if self._subscription is None:
            self._subscription = self._log.subscribe([stream], self._position)
            self._listener = asyncio.create_task(self._listen(self._subscription))
        else:
            await self._subscription.watch(stream, self._position)
        await self._forget_idle()

    async def aclose(self) -> None:
        """Listen no longer."""
        subscription, listener = self._subscription, self._listener
        self._subscription = self._listener = None
        self._used.clear()
        if listener is not None:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)
        if subscription is not None:
            await subscription.aclose()

    async def _listen(self, subscription: Subscription) -> None:
        try:
            async for batch in subscription:
                for recorded in batch:
                    self.saw(recorded.position)
                    if isinstance(recorded.event, StopRequested):
                        self._heard(recorded.event)
        except Exception:  # noqa: BLE001 - whatever it is, nobody else would tell
            _log.exception("stops_unheard")
        if self._subscription is subscription:
            # The next message listens anew; until then the log alone refuses what is stopped.
            self._subscription = None
            self._used.clear()

    async def _forget_idle(self) -> None:
        now = self._clock.monotonic()
        idle = [one for one, used in self._used.items() if used < now - IDLE_SECONDS]
        for channel_id in idle:
            del self._used[channel_id]
            if self._subscription is not None:
                await self._subscription.unwatch(channel_stream(channel_id))
