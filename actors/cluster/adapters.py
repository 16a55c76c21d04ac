"""The ports over Ray handles.

A lost actor shows as any `RayError` that is not the actor's own exception. The log and the sender
are restarted by Ray, and both know a repeated call when they see one, so their adapters call again
until they are answered; a turn's actor is not, and its loss is the router's to handle.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

import ray
import structlog
import uuid_utils
from msgspec import Struct
from ray.exceptions import RayError, RayTaskError
from typing_extensions import override

from actors.errors import ActorError
from actors.generation.start import StartTurn, TurnResult
from actors.log_client import Endpoint, Feed, Watch
from actors.ports import Clock, HistoryMessage, SenderPort, SendRequest, SendResult
from actors.warm_pool import HostLostError, TurnHost
from events.base import (
    ChannelId,
    GuildId,
    MessageId,
    Position,
    Recorded,
    Scope,
    StreamId,
    TurnId,
)
from events.errors import EventLogError, LogUnavailableError
from events.scene import ServerEmoji

Handle = Any
"""A Ray actor handle; Ray gives its methods no types."""
RETIRE_SECONDS: Final = 2.0
"""How long a turn's actor that ends may take to let reporters of usage finish."""


class ActorName(Struct, frozen=True, kw_only=True):
    """Where an actor finds another one.

    Actors that Ray restarts are given names, not handles: their arguments must outlive whoever
    made them.
    """

    name: str
    """Unique in its namespace."""
    namespace: str
    """The bot's instance id."""

    def handle(self) -> Handle:
        """Return the actor's handle; asks Ray, so not on an event loop.

        Raises:
            ValueError: There is no such actor.
        """
        handle: Handle = cast("Any", ray.get_actor)(self.name, self.namespace)
        return handle


RECONNECT_SECONDS: Final = 0.05
"""Pause before a call to an actor that was just lost."""

OPEN_SECONDS: Final = 2.0
"""Longest wait for a feed to open."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


def is_lost(error: RayError) -> bool:
    """Return whether the actor is gone, rather than having raised something."""
    return not isinstance(error, RayTaskError)


async def _log_call(call: Awaitable[T]) -> T:
    """Return what the log answers; that it could not is a LogUnavailableError."""
    try:
        return await call
    except RayTaskError as error:
        if isinstance(error.cause, EventLogError):
            raise LogUnavailableError(str(error.cause)) from error
        raise
    except RayError as error:
        raise LogUnavailableError(type(error).__name__) from error


class RayLogEndpoint(Endpoint):
    """`Endpoint` on an `EventLogHost` actor."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    @override
    async def append(self, batch: bytes) -> bytes:
        return await _log_call(self._handle.append.remote(batch))

    @override
    async def read(self, stream: StreamId, after: int) -> list[Recorded]:
        return await _log_call(self._handle.read.remote(stream, after))

    @override
    async def read_all(self, after: Position, kinds: tuple[str, ...], limit: int) -> list[Recorded]:
        return await _log_call(self._handle.read_all.remote(after, kinds, limit))

    @override
    def feed(self, watches: tuple[Watch, ...]) -> Feed:
        return _RayFeed(self._handle, watches)


class _RayFeed(Feed):
    """A streaming call to the log's actor; its first, empty batch says that it is open.

    A streaming call that meets an actor in the moment of its death can stay silent for ever
    (seen with Ray 2.60), so one that is not open in time counts as lost.
    """

    def __init__(self, handle: Handle, watches: tuple[Watch, ...]) -> None:
        self._handle = handle
        self._name = str(uuid_utils.uuid7())
        self._is_lost = False
        self._settled = asyncio.Event()
        self._stream = handle.feed.options(num_returns="streaming").remote(self._name, watches)

    @override
    def __aiter__(self) -> AsyncIterator[list[Recorded]]:
        return self._batches()

    async def _batches(self) -> AsyncIterator[list[Recorded]]:
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await (await anext(self._stream))
            self._settled.set()
            async for reference in self._stream:
                yield await reference
        except RayTaskError:
            raise
        except (RayError, TimeoutError) as error:
            raise LogUnavailableError(type(error).__name__) from error
        finally:
            self._is_lost = True
            self._settled.set()

    async def _until_open(self) -> None:
        await self._settled.wait()
        if self._is_lost:
            raise LogUnavailableError("the feed is closed")

    @override
    async def watch(self, stream: StreamId, after: Position) -> None:
        await self._until_open()
        await _log_call(self._handle.watch.remote(self._name, stream, after))

    @override
    async def unwatch(self, stream: StreamId) -> None:
        await self._until_open()
        await _log_call(self._handle.unwatch.remote(self._name, stream))

    @override
    async def aclose(self) -> None:
        with suppress(RayError):
            ray.cancel(self._stream)


async def answered(call: Awaitable[T]) -> T:
    """Return what an actor answers; what it raises on purpose is raised, as it was there."""
    try:
        return await call
    except RayTaskError as error:
        if isinstance(error.cause, ActorError | EventLogError):
            raise error.cause from error
        raise


async def until_answered(call: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Repeat `call` until its actor answers, as `answered` does."""
    while True:
        try:
            return await answered(call())
        except RayTaskError:
            raise
        except RayError as error:
            _log.debug("actor_unavailable", reason=type(error).__name__)
        await clock.sleep(RECONNECT_SECONDS)


class RaySender(SenderPort):
    """`SenderPort` on a `SenderHost` actor.

    `send` may be repeated: the sender answers a request that it has an attempt for with that
    attempt's outcome, and an attempt of an earlier life without one is unconfirmed.
    """

    def __init__(self, handle: Handle, clock: Clock) -> None:
        self._handle = handle
        self._clock = clock

    @override
    async def send(self, request: SendRequest) -> SendResult:
        return await until_answered(lambda: self._handle.send.remote(request), self._clock)

    @override
    async def settle(self, turn_id: TurnId, scope: Scope, epoch: int) -> list[SendResult]:
        return await until_answered(
            lambda: self._handle.settle.remote(turn_id, scope, epoch), self._clock
        )

    @override
    async def retract(
        self, turn_id: TurnId, scope: Scope, epoch: int, attempts: tuple[int, ...]
    ) -> list[SendResult]:
        return await until_answered(
            lambda: self._handle.retract.remote(turn_id, scope, epoch, attempts), self._clock
        )

    @override
    async def typing(self, channel_id: ChannelId) -> None:
        with suppress(RayError):
            await self._handle.typing.remote(channel_id)

    @override
    async def history(
        self, channel_id: ChannelId, *, before: MessageId | None, limit: int
    ) -> list[HistoryMessage]:
        return await until_answered(
            lambda: self._handle.history.remote(channel_id, before, limit), self._clock
        )

    @override
    async def emojis(self, guild_id: GuildId) -> tuple[ServerEmoji, ...]:
        return await until_answered(lambda: self._handle.emojis.remote(guild_id), self._clock)


class RayTurnHost(TurnHost):
    """`TurnHost` on a `ChannelTurnHost` actor."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    @override
    async def run(self, start: StartTurn) -> TurnResult:
        try:
            return await self._handle.run.remote(start)
        except RayError as error:
            raise HostLostError(type(error).__name__) from error

    @override
    async def retire(self) -> None:
        with suppress(RayError, TimeoutError):
            await asyncio.wait_for(self._handle.aclose.remote(), RETIRE_SECONDS)
        with suppress(RayError):
            ray.kill(self._handle)
