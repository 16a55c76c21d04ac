"""The contract of an event log; `memory_log` and `duckdb_log` keep it."""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from events.base import Append, AppendResult, Position, Recorded, StreamId


class Subscription(Protocol):
    """Events pushed as they become durable: non-empty batches, in order of position.

    Each watched stream is delivered from its `after` on, each event once. Events that were
    durable when the watch began come first.
    """

    def __aiter__(self) -> AsyncIterator[list[Recorded]]:
        """Return itself."""
        ...

    async def __anext__(self) -> list[Recorded]:
        """Return the next batch, as soon as there is one."""
        ...

    async def watch(self, stream: StreamId, after: Position) -> None:
        """Also deliver `stream`, from the first event whose position is above `after`."""
        ...

    async def unwatch(self, stream: StreamId) -> None:
        """Deliver `stream` no longer."""
        ...

    async def aclose(self) -> None:
        """End the iteration and forget the subscriber."""
        ...


class EventLog(Protocol):
    """An append-only log of streams with one total order."""

    async def append(self, batch: Sequence[Append]) -> list[AppendResult]:
        """Append each of `batch` or refuse it; return when all accepted ones are durable.

        Appends are judged one after another in the order given, each as a whole. A repeat of an
        append with `expected_seq` that already landed, body for body, is `Appended` again.

        Returns:
            One result an append, in order.

        Raises:
            LogUnavailableError: The disk failed; nothing of `batch` is known to be durable.
        """
        ...

    async def read(self, stream: StreamId, after: int = 0) -> list[Recorded]:
        """Return the events of `stream` whose seq is above `after`, oldest first."""
        ...

    async def read_all(
        self, after: Position, *, kinds: Collection[str] = (), limit: int = 10_000
    ) -> list[Recorded]:
        """Return up to `limit` events above position `after`, oldest first.

        Args:
            after: Exclusive lower bound.
            kinds: Only these kinds; empty means all.
            limit: Most events to return.
        """
        ...

    async def head(self) -> Position:
        """Return the position of the last durable event, 0 in an empty log."""
        ...

    def subscribe(
        self, streams: Collection[StreamId] | None, after: Position = Position(0)
    ) -> Subscription:
        """Push the events of `streams` (None: of all) whose position is above `after`."""
        ...

    async def aclose(self) -> None:
        """End all subscriptions and close the store; what was acknowledged stays durable."""
        ...
