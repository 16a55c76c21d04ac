"""What a sender knows of the turns it speaks for and of the channels it speaks in."""

import asyncio

from actors.delivery.attempts import Attempts, Key
from actors.ports import SendRequest, SendResult
from events.base import TurnId
from events.turn import StopRequested
from projections.stops import owes_flush


class TurnLane:
    """What is known of one turn."""

    def __init__(self, turn_id: TurnId) -> None:
        self.turn_id = turn_id
        self.epoch = 0
        self.attempts: Attempts | None = None
        self.flights: dict[tuple[int, Key], asyncio.Task[SendResult]] = {}
        self.stopped = asyncio.Event()
        self.superseded = asyncio.Event()
        # Held from the look at the turn's attempts until the outcome of the next one is recorded:
        # whoever holds it and finds an attempt without outcome knows that it was lost.
        self.lock = asyncio.Lock()

    def signal(self, request: SendRequest) -> asyncio.Event:
        """Return what keeps the message back: any stop; for what is owed, one that owes nothing."""
        return self.superseded if request.owed else self.stopped

    def stop(self, stop: StopRequested) -> None:
        """Take a stop that names the turn."""
        self.stopped.set()
        if not owes_flush(stop.stop):
            self.superseded.set()


class ChannelLane:
    """The queue of messages to one channel."""

    def __init__(self) -> None:
        self.users = 0
        self.lock = asyncio.Lock()  # wakes its waiters in the order they came
        self.is_posting = False
