"""The text of one turn on its way: chunk by chunk through the text core, flush by flush out."""

import asyncio
from collections.abc import Mapping
from typing import Literal

from actors.generation.deliverer import Deliverer
from actors.generation.journal import Journal
from actors.text import core
from events.generation import Flush


class Answer:
    """Holds the text state; each flush goes to the journal first, then to the deliverer."""

    def __init__(
        self,
        journal: Journal,
        deliverer: Deliverer,
        state: core.TextState,
        *,
        flushes: int = 0,
        received: int = 0,
        discarded: Mapping[str, int] | None = None,
    ) -> None:
        self._journal = journal
        self._deliverer = deliverer
        self._state = state
        self.flushes = flushes
        """Flushes so far."""
        self.received = received
        """Characters of text received, reasoning included."""
        self.discarded: dict[str, int] = dict(discarded or {})
        """Characters that never became a flush, by rule."""
        self.stop = asyncio.Event()
        """Set once the text path found that the answer ends, whatever the model goes on to say.

        A model that is asked again begins anew.
        """
        self.stop_reason = ""
        """Why, once `stop` is set."""

    def begin(self, config: core.TextConfig) -> None:
        """Take up what the turn's text is told, before there is any."""
        self._state = core.initial(config)

    def ask_again(self) -> None:
        """Take up that the model is asked once more because it said nothing."""
        self._state = core.asked_again(self._state)
        self.stop.clear()
        self.stop_reason = ""

    def write(self, text: str) -> None:
        """Take text as it came."""
        self.received += len(text)
        self._state, segments = core.step(self._state, text)
        self._emit(segments, owed=False)

    def finish(self, how: Literal["final", "stop", "tool_call", "error"]) -> None:
        """Flush what is buffered; after a stop it is the flush that is owed."""
        self._state, segments = core.finish(self._state, how)
        self._emit(segments, owed=how == "stop")

    def discard(self, rule: str) -> None:
        """Give up what is buffered."""
        self._state, dropped = core.discard(self._state, rule)
        for name, count in dropped.items():
            self.discarded[name] = self.discarded.get(name, 0) + count

    def _emit(self, segments: tuple[core.Segment, ...], *, owed: bool) -> None:
        for segment in segments:
            if segment.stop and not self.stop.is_set():
                self.stop_reason = segment.stop
                self.stop.set()
            self.flushes += 1
            flush: Flush = core.flush_event(segment, self.flushes)
            self._journal.add(flush)
            self._deliverer.put(flush, owed=owed)
