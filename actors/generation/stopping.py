"""A turn's stop, by push: the first `stop_requested` in its channel that names it."""

import asyncio
from contextlib import suppress

from actors.ports import LogPort
from events.base import ChannelId, Position, Recorded, TurnId, channel_stream
from events.turn import StopRequested


class StopWatch:
    """Follows a channel's stream from the trigger on; `ports.StopSignal` of one turn."""

    def __init__(
        self, log: LogPort, turn_id: TurnId, channel_id: ChannelId, after: Position
    ) -> None:
        self._turn_id = turn_id
        self._subscription = log.subscribe((channel_stream(channel_id),), after)
        self._seen = asyncio.Event()
        self._task = asyncio.create_task(self._follow())
        self.request: StopRequested | None = None
        """The stop, once there is one."""
        self.position = Position(0)
        """Its place in the log."""

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
            for recorded in batch:
                self._look_at(recorded)

    def _look_at(self, recorded: Recorded) -> None:
        event = recorded.event
        if (
            isinstance(event, StopRequested)
            and event.turn_id == self._turn_id
            and self.request is None
        ):
            self.request, self.position = event, recorded.position
            self._seen.set()
