"""A turn's stop, by push: the fold of its channel's stream from the trigger on."""

import asyncio
from contextlib import suppress

from actors.ports import LogPort
from events.base import ChannelId, Position, TurnId, channel_stream
from projections import stops
from projections.fold import fold
from projections.stops import Stops


class StopWatch:
    """Follows a channel for one turn; its `ports.StopSignal`."""

    def __init__(
        self, log: LogPort, turn_id: TurnId, channel_id: ChannelId, after: Position
    ) -> None:
        self._subscription = log.subscribe((channel_stream(channel_id),), after)
        self._seen = asyncio.Event()
        self._task = asyncio.create_task(self._follow())
        self.stops: Stops = stops.initial(turn_id)
        """The stops of the turn so far."""

    def is_set(self) -> bool:
        """Return whether the turn has been stopped."""
        return self._seen.is_set()

    async def wait(self) -> object:
        """Return once it has."""
        return await self._seen.wait()

    async def aclose(self) -> None:
        """End the subscription."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self._subscription.aclose()

    async def _follow(self) -> None:
        async for batch in self._subscription:
            self.stops = fold(stops.evolve, self.stops, batch)
            if self.stops.first is not None:
                self._seen.set()
