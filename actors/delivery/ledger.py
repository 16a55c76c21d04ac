"""The delivery streams as the sender writes them: each attempt, and exactly one outcome of it."""

from collections.abc import Callable, Sequence

from actors.delivery.attempts import Attempts
from actors.delivery.lanes import TurnLane
from actors.ports import Clock, LogPort
from events.base import Appended, Event, Position, Scope, delivery_stream
from events.codec import append_of
from events.delivery import Receipt, SendFailed
from events.errors import ConcurrencyError, FencedError


class Ledger:
    """Writes and reads the delivery streams; tells how far the log has come."""

    def __init__(self, log: LogPort, clock: Clock, saw: Callable[[Position], None]) -> None:
        self._log = log
        self._clock = clock
        self._saw = saw

    async def record(
        self, turn: TurnLane, scope: Scope, attempt: int, outcome: Receipt | SendFailed
    ) -> None:
        """Record the one outcome of an attempt, unless another sender has recorded one.

        An outcome is a fact whatever epoch the turn is at: a recovery that came meanwhile
        forbids to speak, not to tell what was said. That there is one alone is kept by the seq.
        """
        while turn.attempts is None or turn.attempts.result(attempt) is None:
            try:
                await self.append(turn, scope, [outcome])
            except FencedError as error:
                turn.epoch = max(turn.epoch, error.current_epoch)
            except ConcurrencyError:
                stream = await self._log.read(delivery_stream(turn.turn_id))
                turn.attempts = Attempts(stream)

    async def append(
        self,
        turn: TurnLane,
        scope: Scope,
        events: Sequence[Event],
        *,
        unless_stopped: bool = False,
    ) -> None:
        """Append what the sender decided, at the turn's epoch and behind all that it knows."""
        attempts = turn.attempts
        assert attempts is not None
        now = self._clock.now()
        appended: Appended = await self._log.append(
            append_of(
                delivery_stream(turn.turn_id),
                [(event, now) for event in events],
                scope=scope,
                expected_seq=attempts.seq,
                epoch=turn.epoch,
                unless_stopped=unless_stopped,
            )
        )
        self._saw(appended.position)
        for event in events:
            attempts.take(event)

    async def load(self, turn: TurnLane, scope: Scope) -> Attempts:
        """Read what the log knows of the turn, and close what no sender has in flight."""
        turn.attempts = Attempts(await self._log.read(delivery_stream(turn.turn_id)))
        for attempt in turn.attempts.open:
            lost = SendFailed(attempt=attempt, outcome="unconfirmed", reason="sender_lost")
            await self.record(turn, scope, attempt, lost)
        return turn.attempts
