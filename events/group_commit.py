"""One thread that makes batches durable, and whatever is queued meanwhile its next group.

A durable commit costs about the same for one row as for a hundred. So a batch never waits for a
timer: an idle log commits it at once, alone, and under load the groups grow by themselves.

Knows neither a store nor the rules; it owns the thread and the queue.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence

from events.base import Append, AppendResult
from events.errors import LogUnavailableError

MAX_GROUP = 4096
"""Most entries of one commit, unless a single batch has more: about 25 ms of work."""


class Job:
    """One batch on its way; the thread gives it either `results` or `error`."""

    def __init__(self, batch: Sequence[Append], done: "asyncio.Future[list[AppendResult]]") -> None:
        self.batch = batch
        """What is to be appended."""
        self.done = done
        """Resolved on the loop, once the batch is durable or refused."""
        self.results: list[AppendResult] = []
        """One result an append."""
        self.error: Exception | None = None
        """Why there are none."""
        self.size = sum(len(one.entries) for one in batch)
        """Entries in it."""

    def settle(self) -> None:
        """Hand the outcome to whoever waits; a caller that was cancelled waits no longer."""
        if self.done.done():
            return
        if self.error is not None:
            self.done.set_exception(self.error)
        else:
            self.done.set_result(self.results)


class GroupCommit:
    """The queue in front of one writer thread.

    `work` gets each group in the thread and must give every job its outcome; it is called again
    only when it has returned. `end` is called in the thread, once, after the last group.
    """

    def __init__(
        self,
        work: Callable[[list[Job]], None],
        end: Callable[[], None],
        *,
        max_group: int = MAX_GROUP,
    ) -> None:
        self._work = work
        self._end = end
        self._max_group = max_group
        self._queue: deque[Job] = deque()
        self._ready = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="event-log-writer", daemon=True)
        self._thread.start()

    async def submit(self, batch: Sequence[Append]) -> list[AppendResult]:
        """Return the results of `batch` once it is durable.

        Raises:
            LogUnavailableError: The queue is closed, or `work` said so.
        """
        job = Job(batch, asyncio.get_running_loop().create_future())
        with self._ready:
            if self._is_closed:
                raise LogUnavailableError("it is closed")
            self._queue.append(job)
            self._ready.notify()
        return await job.done

    async def aclose(self) -> None:
        """Let what is queued become durable, then end the thread."""
        with self._ready:
            self._is_closed = True
            self._ready.notify()
        await asyncio.to_thread(self._thread.join)

    def _take(self) -> list[Job]:
        with self._ready:
            while not self._queue and not self._is_closed:
                self._ready.wait()
            group: list[Job] = []
            size = 0
            while self._queue and (not group or size + self._queue[0].size <= self._max_group):
                group.append(self._queue.popleft())
                size += group[-1].size
            return group

    def _run(self) -> None:
        while group := self._take():
            self._work(group)
        self._end()
