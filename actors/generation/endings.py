"""How a turn ends: each way says what became of every character that was received."""

from typing import Final

from actors.generation.running import Running
from events.base import turn_stream
from events.errors import FencedError
from events.turn import StopObserved, TurnEnded, TurnStatus

QUIET_CODES: Final = {10003: "channel_deleted", 50001: "missing_access"}
"""Discord's refusals that end a turn without a word: there is nobody to tell."""


class Endings:
    """Ends one turn."""

    def __init__(self, turn: Running) -> None:
        self._turn = turn

    async def interrupted(self) -> TurnStatus:
        """End by what interrupted the turn."""
        await self._turn.end_typing()
        if self._turn.journal.failed.is_set():
            await self._turn.journal.barrier()
        if self._turn.deliverer.ended.is_set():
            return await self._delivery_ended()
        return await self._stopped()

    async def unasked(self) -> TurnStatus:
        """End a turn that has no model to ask, and say so."""
        turn = self._turn
        await turn.end_typing()
        await turn.notify(turn.world.notices.no_model)
        return await self.end("error", stop_reason="no_model")

    async def end(
        self, status: TurnStatus, *, stop_reason: str | None = None, error: str | None = None
    ) -> TurnStatus:
        """Record the end and return `status`."""
        turn = self._turn
        deliverer = turn.deliverer
        withheld: dict[str, int] = {}
        for part in (deliverer.flush_withheld, deliverer.withheld, turn.answer.discarded):
            for rule, count in part.items():
                withheld[rule] = withheld.get(rule, 0) + count
        turn.journal.add(
            TurnEnded(
                status=status,
                stop_reason=stop_reason,
                error=error,
                delivered_text=deliverer.delivered_text,
                received=turn.answer.received,
                delivered=deliverer.delivered,
                withheld={rule: count for rule, count in sorted(withheld.items()) if count},
                messages=deliverer.messages,
                requests=turn.requests,
            )
        )
        await turn.journal.barrier()
        return status

    async def _stopped(self) -> TurnStatus:
        """End by a stop: what waits is withheld; the rest is flushed where that leaves no hole."""
        turn = self._turn
        stop = turn.stop.stops.first
        assert stop is not None
        turn.journal.add(
            StopObserved(position=stop.position, stop=stop.stop, requester=stop.requester)
        )
        await turn.deliverer.settled()
        if turn.deliverer.ended.is_set():
            return await self._delivery_ended()
        if turn.stop.stops.is_flush_owed and not turn.deliverer.withheld.get("stop"):
            turn.answer.finish("stop")
            await turn.deliverer.settled()
        else:
            turn.answer.discard("stop")
        if turn.deliverer.ended.is_set():
            return await self._delivery_ended()
        status = "follow_up_interrupt" if stop.stop == "follow_up" else "stopped_by_user"
        return await self.end(status, stop_reason=stop.stop)

    async def _delivery_ended(self) -> TurnStatus:
        """End after an attempt that nobody knows the outcome of, or that Discord refused."""
        turn = self._turn
        deliverer = turn.deliverer
        ending = deliverer.ending
        assert ending is not None
        if ending == "fenced":
            await turn.journal.barrier()
            start = turn.start
            raise FencedError(turn_stream(start.turn_id), start.epoch, start.epoch + 1)
        await deliverer.settled()
        turn.answer.discard(ending)
        if ending == "unconfirmed":
            return await self.end("unconfirmed", stop_reason=deliverer.reason)
        quiet = QUIET_CODES.get(deliverer.code or 0)
        if quiet is not None:
            return await self.end("stopped_by_user", stop_reason=quiet)
        return await self.end("error", stop_reason="send_refused", error=deliverer.reason)
