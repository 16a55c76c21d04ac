"""One answer of a model, whichever model and key it takes.

What a request that failed has posted is withdrawn before another one speaks; where that can't be
done, or anything is unconfirmed, nobody else speaks. What tools did before stays: the next model
goes on from their results, so that no tool runs twice.
"""

from collections.abc import Sequence

import structlog
from msgspec import Struct

from actors.generation.reading import Reading
from actors.generation.running import Running
from actors.generation.start import Closed
from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition
from actors.rules.attempts import decide_next, pool
from actors.rules.degradation import Dropped, decide_dropped
from events.generation import AttemptKind, ProviderFault
from projections import keys

_log = structlog.get_logger(__name__)


class Failure(Struct, frozen=True, kw_only=True):
    """A request that another was made in place of."""

    model: str
    """The model's name."""
    fault: ProviderFault
    """What it ended in."""


class Asking:
    """Asks the models of a turn; the one that answered is asked again first."""

    def __init__(self, turn: Running, tools: tuple[ToolDefinition, ...]) -> None:
        start = turn.start
        self._turn = turn
        self._tools = tools
        self._pool = pool(start.models, start.seed, is_shuffled=start.is_shuffled)
        self._at = 0
        self._keys = start.keys
        self._tried: set[int] = set()
        self.failures: list[Failure] = []
        """Models that were given up, in their order; a change of keys is none."""

    async def ask(self, kind: AttemptKind, context: Sequence[ContextItem]) -> Reading | None:
        """Return the first answer, or the last failure; None where the turn was interrupted."""
        self._tried.clear()
        while True:
            first_flush = self._turn.answer.flushes + 1
            reading = await self._request(kind, context)
            reading = await self._degraded(reading, context)
            if reading.fault is None or self._turn.is_interrupted:
                return None if self._turn.is_interrupted else reading
            following = self._following(reading.fault)
            if following is None or not await self._is_withdrawn(first_flush):
                return None if self._turn.is_interrupted else reading
            if following == "fallback":
                self.failures.append(Failure(model=self._model.model, fault=reading.fault))
                self._at += 1
                self._tried.clear()
            kind = following

    @property
    def _model(self) -> ModelRoute:
        return self._pool[self._at]

    async def _request(self, kind: AttemptKind, context: Sequence[ContextItem]) -> Reading:
        return await self._read(self._with_key(self._model), kind, context)

    async def _degraded(self, reading: Reading, context: Sequence[ContextItem]) -> Reading:
        """Return how a request ended that was made again with less as long as it was refused.

        A form that nothing of an answer came for has said nothing to anybody, and left nothing.
        """
        has_called = any(item.result is not None for item in context)
        tried: list[Dropped] = [()]
        while reading.fault is not None and not reading.has_begun:
            route = reading.route
            dropped = decide_dropped(
                route.kind, reading.fault, reading.parameters, tried, has_called=has_called
            )
            if dropped is None or self._turn.is_interrupted:
                break
            tried.append(dropped)
            reading = await self._read(route, "degraded", context, dropped)
        return reading

    async def _read(
        self,
        route: ModelRoute,
        kind: AttemptKind,
        context: Sequence[ContextItem],
        dropped: Dropped = (),
    ) -> Reading:
        turn = self._turn
        turn.requests += 1
        reading = Reading(turn.world, turn.journal, turn.answer, route, turn.requests)
        await turn.until_interrupted(reading.run(kind, context, self._tools, dropped))
        if reading.closed is not None:
            now = turn.world.clock.now()
            self._keys = keys.close(self._keys, reading.closed, now)
            turn.closed.append(Closed(request=reading.closed, at=now))
        return reading

    def _with_key(self, model: ModelRoute) -> ModelRoute:
        """Return the model with a key that is free; where all rest, with any that was not tried."""
        index = self._free_key(model)
        if index is None:
            index = next(i for i in range(len(model.keys) or 1) if i not in self._tried)
        self._tried.add(index)
        return model.with_key(index)

    def _free_key(self, model: ModelRoute) -> int | None:
        now = self._turn.world.clock.now()
        count = len(model.keys) or 1
        return keys.choose(self._keys, model.provider, count, now, self._tried)

    def _following(self, fault: ProviderFault) -> AttemptKind | None:
        return decide_next(
            fault,
            keys_tried=len(self._tried),
            has_key=self._free_key(self._model) is not None,
            has_model=self._at + 1 < len(self._pool),
        )

    async def _is_withdrawn(self, first_flush: int) -> bool:
        answer = self._turn.answer
        answer.discard("superseded")
        flushes = range(first_flush, answer.flushes + 1)
        is_gone = await self._turn.deliverer.supersede(flushes)
        if not is_gone:
            _log.warning("messages_not_withdrawn", turn_id=self._turn.start.turn_id)
        return is_gone and not self._turn.is_interrupted
