"""A log port and a messenger that behave, for tests of what is sent."""

import asyncio
from collections.abc import Awaitable, Collection

from typing_extensions import override

from actors.ports import Button, Draft, HistoryMessage, NotPosted, Posted, StopSignal
from actors.voice import Hook
from actors.webhook_port import Place, Refusal, Webhook, WebhookCalls
from events.base import (
    Append,
    Appended,
    ChannelId,
    Conflict,
    Fenced,
    GuildId,
    MessageId,
    Position,
    Recorded,
    Scope,
    Stopped,
    StreamId,
    TurnId,
    channel_stream,
    delivery_stream,
    turn_stream,
)
from events.codec import append_of
from events.errors import ConcurrencyError, FencedError, LogUnavailableError, StoppedError
from events.log import Subscription
from events.memory_log import MemoryLog
from events.scene import ServerEmoji
from events.turn import StopKind, StopRequested, TurnRecovered
from tests.fakes import ManualClock

TURN = TurnId("01920000-0000-7000-8000-000000000001")
OTHER_TURN = TurnId("01920000-0000-7000-8000-000000000002")
CHANNEL = ChannelId(11)
OTHER_CHANNEL = ChannelId(12)


class LogFace:
    """`LogPort` straight on a log, with what a test wants to see and to say."""

    def __init__(self, log: MemoryLog | None = None) -> None:
        self.log = log or MemoryLog()
        self.clock = ManualClock()
        self.watched: set[StreamId] = set()
        """Streams that somebody listens to."""
        self.listening = Gate()
        """Where a listener is that has dealt with all it was pushed."""
        self.deaf = 0
        """So many subscriptions break at once."""
        self.reads: list[StreamId] = []
        """Streams that were read, in order."""

    async def append(self, append: Append) -> Appended:
        """As the port."""
        [result] = await self.log.append([append])
        match result:
            case Appended():
                return result
            case Conflict(actual_seq=actual):
                raise ConcurrencyError(append.stream, append.expected_seq or 0, actual)
            case Fenced(current_epoch=current):
                raise FencedError(append.stream, append.epoch, current)
            case Stopped(position=position):
                raise StoppedError(append.stream, position)

    async def read(self, stream: StreamId, after: int = 0) -> list[Recorded]:
        """As the port."""
        self.reads.append(stream)
        return await self.log.read(stream, after)

    async def read_all(
        self, after: Position, *, kinds: Collection[str] = (), limit: int = 10_000
    ) -> list[Recorded]:
        """As the port."""
        return await self.log.read_all(after, kinds=kinds, limit=limit)

    def subscribe(
        self, streams: Collection[StreamId] | None, after: Position = Position(0)
    ) -> Subscription:
        """As the port."""
        self.watched |= set(streams or ())
        return _Ear(self, self.log.subscribe(streams, after))

    async def stop(self, turn_id: TurnId = TURN, stop: StopKind = "stop") -> None:
        """Record a stop."""
        event = StopRequested(turn_id=turn_id, requester="7", stop=stop)
        scope = Scope(turn_id=turn_id, channel_id=CHANNEL)
        await self.append(
            append_of(channel_stream(CHANNEL), [(event, self.clock.now())], scope=scope)
        )

    async def recover(self, epoch: int, turn_id: TurnId = TURN) -> None:
        """Record that the turn was taken over."""
        event = TurnRecovered(epoch=epoch, found="-", decision="deliver_rest")
        scope = Scope(turn_id=turn_id, channel_id=CHANNEL)
        await self.append(
            append_of(turn_stream(turn_id), [(event, self.clock.now())], scope=scope, epoch=epoch)
        )

    async def delivery(self, turn_id: TurnId = TURN) -> list[object]:
        """Return the events of the turn's delivery stream."""
        return [one.event for one in await self.log.read(delivery_stream(turn_id))]


class _Ear(Subscription):
    def __init__(self, face: LogFace, inner: Subscription) -> None:
        self._face = face
        self._inner = inner

    @override
    def __aiter__(self) -> "_Ear":
        return self

    @override
    async def __anext__(self) -> list[Recorded]:
        await self._face.listening.passed()
        if self._face.deaf:
            self._face.deaf -= 1
            raise LogUnavailableError("gone")
        return await anext(self._inner)

    @override
    async def watch(self, stream: StreamId, after: Position) -> None:
        self._face.watched.add(stream)
        await self._inner.watch(stream, after)

    @override
    async def unwatch(self, stream: StreamId) -> None:
        self._face.watched.discard(stream)
        await self._inner.unwatch(stream)

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


class Gate:
    """A place where calls are counted, and wait while it is shut."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._changed = asyncio.Event()
        self.reached = 0
        """Calls that came here."""

    def shut(self) -> None:
        """Let callers wait from here on."""
        self._open.clear()

    def open(self) -> None:
        """Let everybody pass."""
        self._open.set()

    async def until(self, reached: int = 1) -> None:
        """Return once so many calls have come."""
        while self.reached < reached:
            self._changed.clear()
            await self._changed.wait()

    async def passed(self, stop: StopSignal | None = None) -> bool:
        """Come here; return True once it is open, False where `stop` is set first."""
        self.reached += 1
        self._changed.set()
        ends: set[asyncio.Future[object]] = {asyncio.ensure_future(_done(self._open.wait()))}
        if stop is not None:
            ends.add(asyncio.ensure_future(_done(stop.wait())))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in ends:
                one.cancel()
        return stop is None or not stop.is_set()


async def _done(waiting: Awaitable[object]) -> object:
    return await waiting


class NoWebhooks(WebhookCalls):
    """A Discord in which no place has webhooks."""

    refusal = Refusal(reason="http_403", code=50013)

    @override
    async def place(self, channel_id: ChannelId) -> Place | Refusal:
        return Place(parent_id=None)

    @override
    async def owned(self, channel_id: ChannelId) -> list[Webhook] | Refusal:
        return self.refusal

    @override
    async def create(self, channel_id: ChannelId, name: str) -> Webhook | Refusal:
        return self.refusal

    @override
    async def dress(self, webhook: Webhook, image: bytes) -> Webhook | Refusal:
        return self.refusal

    @override
    async def own_avatar(self) -> str | Refusal:
        return self.refusal


class ScriptedMessenger:
    """A Discord that answers as told, and lets a test look in between."""

    def __init__(self) -> None:
        self.webhooks = NoWebhooks()
        """There are none."""
        self.readiness = Gate()
        """Where `ready` waits, as for a rate limit."""
        self.writing = Gate()
        """Where `post` waits, its request on the way."""
        self.typing_gate = Gate()
        """Where the typing indicator waits."""
        self.refuse_ready: NotPosted | None = None
        """What `ready` says instead of a wait."""
        self.outcomes: list[NotPosted | Exception] = []
        """What the next posts end in; posted where empty."""
        self.posted: list[Draft] = []
        """Drafts that a request was written for, in order."""
        self.edited: dict[MessageId, tuple[Button, ...]] = {}
        """Messages whose buttons were changed, and to what."""
        self.deleted: list[tuple[ChannelId, MessageId]] = []
        """Messages that a deletion was written for, in order."""
        self.undeletable: set[MessageId] = set()
        """Messages that stay."""
        self.typed: list[ChannelId] = []
        self.looked_up: list[GuildId] = []
        self.guild_emojis: tuple[ServerEmoji, ...] | None = None
        """Channels that typing was shown in."""
        self.waited: list[float | None] = []
        """What `ready` is said to have waited, a post."""

    async def ready(self, draft: Draft, stop: StopSignal | None = None) -> float | NotPosted:
        """Wait at the gate."""
        assert draft.channel_id
        if not await self.readiness.passed(stop):
            return NotPosted(outcome="pre_dispatch", reason="stopped")
        return self.refuse_ready or 5.0

    async def post(
        self, draft: Draft, stop: StopSignal | None = None, *, waited_ms: float | None = None
    ) -> Posted | NotPosted:
        """Write, wait at the gate, answer."""
        self.waited.append(waited_ms)
        if stop is not None and stop.is_set():
            return NotPosted(outcome="pre_dispatch", reason="stopped")
        self.posted.append(draft)
        await self.writing.passed()
        if self.outcomes:
            outcome = self.outcomes.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        return Posted(
            message_id=MessageId(1000 + len(self.posted)),
            channel_id=draft.channel_id,
            tries=1,
            ms=2.0,
        )

    async def edit_buttons(
        self,
        channel_id: ChannelId,
        message_id: MessageId,
        buttons: tuple[Button, ...],
        hook: Hook | None = None,
    ) -> str | None:
        """Remember the edit."""
        assert channel_id
        assert hook is None
        self.edited[message_id] = buttons
        return None

    async def delete(
        self, channel_id: ChannelId, message_id: MessageId, hook: Hook | None = None
    ) -> bool:
        """Delete, unless the message is said to stay."""
        assert hook is None
        self.deleted.append((channel_id, message_id))
        return message_id not in self.undeletable

    async def typing(self, channel_id: ChannelId) -> None:
        """Wait at the gate."""
        self.typed.append(channel_id)
        await self.typing_gate.passed()

    async def history(
        self, channel_id: ChannelId, *, before: MessageId | None, limit: int
    ) -> list[HistoryMessage]:
        """Return one message that says what was asked."""
        return [
            HistoryMessage(
                message_id=before or MessageId(1),
                author_id=7,
                author_name="Ann",
                is_own=False,
                content=f"{channel_id} {limit}",
            )
        ]

    async def emojis(self, guild_id: GuildId) -> tuple[ServerEmoji, ...] | None:
        """Return one emoji, or fail where none is set."""
        self.looked_up.append(guild_id)
        return self.guild_emojis
