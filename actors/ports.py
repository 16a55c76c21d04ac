"""What the actors need of the outside: the log, time, and Discord; HTTP stands in `http_port`.

Protocols and plain structs only. The adapters: `actors.cluster` (log over Ray),
`actors.delivery.single_attempt` (hikari), `bot.clock`.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from actors.voice import Hook, Voice
from actors.webhook_port import Card, WebhookCalls
from events.base import (
    Append,
    Appended,
    ChannelId,
    GuildId,
    MessageId,
    Position,
    Recorded,
    Scope,
    StreamId,
    TurnId,
)
from events.delivery import Outcome, Purpose
from events.log import Subscription
from events.scene import ServerEmoji


class Clock(Protocol):
    """Time, so that tests can move it."""

    def now(self) -> datetime:
        """Return the wall clock: aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; cancellable."""
        ...


class LogPort(Protocol):
    """A process's connection to the event log.

    Appends of one process leave one batch at a time; what arrives meanwhile is the next batch.
    A lost log actor is waited for and what it did not acknowledge is sent again.
    """

    async def append(self, append: Append) -> Appended:
        """Append and return when durable, with all that this process appended before it.

        Raises:
            ConcurrencyError: `expected_seq` is wrong.
            FencedError: The turn is at a later epoch.
            StoppedError: `unless_stopped`, and the turn has a stop.
        """
        ...

    async def read(self, stream: StreamId, after: int = 0) -> list[Recorded]:
        """Return the events of `stream` whose seq is above `after`, oldest first."""
        ...

    async def read_all(
        self, after: Position, *, kinds: Collection[str] = (), limit: int = 10_000
    ) -> list[Recorded]:
        """Return up to `limit` events above `after`, of `kinds` (empty: all), oldest first."""
        ...

    def subscribe(
        self, streams: Collection[StreamId] | None, after: Position = Position(0)
    ) -> Subscription:
        """Push events of `streams` (None: all) above `after`; survives a restart of the log."""
        ...


class File(Struct, frozen=True, kw_only=True):
    """A file of a message."""

    name: str
    """Its name, with the ending that tells its kind."""
    data: bytes
    """What is in it."""


class Button(Struct, frozen=True, kw_only=True):
    """A button below a message, in Discord's secondary style."""

    custom_id: str
    """What Discord says was pressed; 1 to 100 characters."""
    label: str
    """What stands on it; 1 to 80 characters."""
    is_disabled: bool = False
    """Whether it can't be pressed."""


class Draft(Struct, frozen=True, kw_only=True):
    """A message ready to be posted."""

    channel_id: ChannelId
    """The destination."""
    content: str
    """1 to 2000 UTF-16 code units; may be empty where there are files or a card."""
    card: Card | None = None
    """What stands above the text."""
    prefix: str = ""
    """What of the content says who speaks, where nothing else shows it."""
    hook: Hook | None = None
    """The webhook to post through, chosen by the sender; None is the bot's own account."""
    reply_to: MessageId | None = None
    """The message it replies to, in the same channel."""
    mentions: tuple[int, ...] = ()
    """The only users whom the text may ping."""
    files: tuple[File, ...] = ()
    """Its files, at most 10."""
    buttons: tuple[Button, ...] = ()
    """The buttons below it, at most 5; a message that is refused for them is posted without."""


class Posted(Struct, frozen=True, kw_only=True, tag=True):
    """Discord returned the message."""

    message_id: MessageId
    """Its id."""
    channel_id: ChannelId
    """Where it stands."""
    tries: int
    """Requests written, from 1."""
    ms: float
    """Milliseconds from the first write, waits for rate limits included."""


class NotPosted(Struct, frozen=True, kw_only=True, tag=True):
    """The message was not confirmed."""

    outcome: Outcome
    """What is known."""
    reason: str
    """A word or two: `stopped`, `http_503`, `connection_reset`, `timeout`, `rate_limited`, …"""
    code: int | None = None
    """Discord's error code, where it gave one."""
    http_status: int | None = None
    """The response's status, where one came."""
    tries: int = 0
    """Requests written."""
    ms: float = 0.0
    """Milliseconds until the outcome was known."""


class StopSignal(Protocol):
    """A turn's stop, as a process last heard of it by push."""

    def is_set(self) -> bool:
        """Return whether the turn has been stopped."""
        ...

    async def wait(self) -> object:
        """Return once it has."""
        ...


class Quote(Struct, frozen=True, kw_only=True):
    """The beginning of a message that another one replies to."""

    author_name: str
    """Who wrote it."""
    beginning: str
    """Its first words on one line; empty where it has no text."""


class HistoryMessage(Struct, frozen=True, kw_only=True):
    """A message of a channel's past, as context for the model."""

    message_id: MessageId
    """Its id."""
    author_id: int
    """Who wrote it."""
    author_name: str
    """Their display name there."""
    author_handle: str = ""
    """Their unique name at Discord, where that is another one."""
    is_own: bool
    """Whether this bot wrote it."""
    is_bot: bool = False
    """Whether an application's account wrote it, or a webhook."""
    is_persona_like: bool = False
    """Whether it came through a webhook of an application, as the bot's personas speak."""
    content: str
    """Its text as last edited, mentions of users resolved to names."""
    reply: Quote | None = None
    """What it replies to."""
    extras: tuple[str, ...] = ()
    """What comes with it beside the text, such as `attachment: cat.png, image/png, 12 KiB`."""


class Messenger(Protocol):
    """Discord's REST, one attempt at a time."""

    @property
    def webhooks(self) -> WebhookCalls:
        """What the bot's webhooks are set up through."""
        ...

    async def ready(self, draft: Draft, stop: StopSignal | None = None) -> float | NotPosted:
        """Wait until a post of `draft` would not be refused for its rate.

        Returns:
            The milliseconds waited; or, where `stop` came first or the wait would be longer
            than 30 s, what that makes of the post.
        """
        ...

    async def post(
        self, draft: Draft, stop: StopSignal | None = None, *, waited_ms: float | None = None
    ) -> Posted | NotPosted:
        """Write one POST and return its one outcome; never raises for what Discord does.

        Only a 429 is repeated, for at most 30 s in all, and not once `stop` is set.

        Args:
            draft: The message.
            stop: Ends waits, and is checked last thing before the request is written.
            waited_ms: What `ready` returned, part of the 30 s; None where it was not asked.
        """
        ...

    async def edit_buttons(
        self,
        channel_id: ChannelId,
        message_id: MessageId,
        buttons: tuple[Button, ...],
        hook: Hook | None = None,
    ) -> str | None:
        """Put `buttons` below an own message, in place of those there; by the webhook it is from.

        Returns:
            None, or why it failed, in a word or two; that is logged too.
        """
        ...

    async def delete(
        self, channel_id: ChannelId, message_id: MessageId, hook: Hook | None = None
    ) -> bool:
        """Delete a message, as the bot or through a webhook; return whether it is gone."""
        ...

    async def typing(self, channel_id: ChannelId) -> None:
        """Show the typing indicator; a failure is logged and forgotten."""
        ...

    async def history(
        self, channel_id: ChannelId, *, before: MessageId | None, limit: int
    ) -> list[HistoryMessage]:
        """Return up to `limit` messages older than `before`, oldest first; empty on failure."""
        ...

    async def emojis(self, guild_id: GuildId) -> tuple[ServerEmoji, ...] | None:
        """Return the custom emojis of a guild, None on failure."""
        ...


class SendRequest(Struct, frozen=True, kw_only=True):
    """A turn asks the sender to post one message."""

    turn_id: TurnId
    """The turn."""
    scope: Scope
    """Its scope."""
    epoch: int
    """The turn's epoch; the sender refuses an older one."""
    flush: int
    """The flush it comes from; 0 for a notice."""
    piece: int
    """Index of the piece in that flush."""
    purpose: Purpose = "answer"
    """What it carries."""
    part: int = 0
    """Where a piece takes several messages, those before its last count from 1; the last is 0."""
    draft: Draft
    """What to post."""
    voice: Voice | None = None
    """In whose name, where it is not the bot's own."""
    looks: tuple[Voice, ...] = ()
    """What else its persona can look like, where the message is to look as its last one did."""
    reply_card: Card | None = None
    """What a webhook says first, alone, where the draft replies to a message."""
    owed: bool = False
    """The flush that a graceful stop owes: it is posted although the turn has a stop."""
    pacing_ms: float = 0.0
    """Milliseconds the turn waited for pacing."""


class Sent(Struct, frozen=True, kw_only=True, tag=True):
    """The attempt has a receipt."""

    attempt: int
    """Its ordinal."""
    flush: int
    """The flush it came from."""
    piece: int
    """The piece of it."""
    message_id: MessageId
    """The message."""
    part: int = 0
    """Which message of the piece, where it takes several; 0 is the last."""


class NotSent(Struct, frozen=True, kw_only=True, tag=True):
    """No receipt: nothing was attempted, or the attempt failed."""

    flush: int
    """The flush it came from."""
    piece: int
    """The piece of it."""
    attempt: int | None
    """Its ordinal; None where nothing was attempted."""
    outcome: Outcome | Literal["stopped", "fenced", "retracted"]
    """What is known; `stopped` and `fenced` where nothing was attempted, `retracted` where the
    message was withdrawn."""
    reason: str
    """Why."""
    code: int | None = None
    """Discord's error code."""


SendResult = Sent | NotSent
"""What became of a send request."""


class SenderPort(Protocol):
    """The one actor that speaks to Discord."""

    async def send(self, request: SendRequest) -> SendResult:
        """Record an attempt, post once, record its outcome, return it."""
        ...

    async def settle(self, turn_id: TurnId, scope: Scope, epoch: int) -> list[SendResult]:
        """Give every attempt of the turn an outcome and return them all, oldest first.

        Attempts in flight are waited for; attempts that nobody has in flight become
        `unconfirmed`. From here on requests of an epoch below `epoch` are refused.
        """
        ...

    async def retract(
        self, turn_id: TurnId, scope: Scope, epoch: int, attempts: tuple[int, ...]
    ) -> list[SendResult]:
        """Delete the messages of `attempts`, newest first, and return what each is by now.

        A message that Discord would not delete stays `Sent`. Nothing is deleted for a turn of
        which any message is unconfirmed, nor for an older epoch.
        """
        ...

    async def typing(self, channel_id: ChannelId) -> None:
        """Show the typing indicator."""
        ...

    async def history(
        self, channel_id: ChannelId, *, before: MessageId | None, limit: int
    ) -> list[HistoryMessage]:
        """Return up to `limit` messages older than `before`, oldest first; empty on failure."""
        ...

    async def emojis(self, guild_id: GuildId) -> tuple[ServerEmoji, ...]:
        """Return the custom emojis of a guild, as they were lately; none on failure."""
        ...
