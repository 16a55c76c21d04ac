"""Events of delivery: the promise to send, its one outcome, and what befalls the message later."""

from typing import Final, Literal

from events.base import ChannelId, Event, MessageId

Route = Literal["bot", "webhook"]
"""Who posts: the bot's own account, or a webhook."""

Purpose = Literal["answer", "notice", "reply_notice"]
"""The model's text, words of the bot itself, or the line that says which message is answered."""

SpeakerKind = Literal["bot", "appearance", "identity_sprite", "copied"]
"""Whose looks a message has: the bot's own, the persona's or a sprite's, a sprite's under its own
name, or somebody else's."""

Outcome = Literal["pre_dispatch", "definite_refusal", "unconfirmed"]
"""What became of an attempt that Discord did not confirm.

`pre_dispatch`: nothing left this process. `definite_refusal`: Discord accepted nothing.
`unconfirmed`: the request left and its result is unknown; it is never sent again.
"""


COMPONENTS_REFUSED: Final = "components_refused"
"""Reason of a `definite_refusal` that is about the message's buttons alone.

It is the one refusal after which the same message is posted once more, without them.
"""


class SendAttempt(Event, frozen=True, kw_only=True, tag="send_attempt"):
    """A message is about to be posted; durable before the request leaves. Stream: delivery."""

    attempt: int
    """Ordinal in the turn, from 1; joins it to its `receipt` or `send_failed`."""
    flush: int
    """The flush it comes from; 0 for a notice."""
    piece: int = 0
    """Index of the piece in that flush, from 0."""
    purpose: Purpose = "answer"
    """What it carries."""
    route: Route = "bot"
    """Who posts."""
    channel_id: ChannelId
    """The destination."""
    content: str
    """The content as posted."""
    identity: str | None = None
    """The name it is posted under, where it is not the bot's own."""
    reply_to: MessageId | None = None
    """The message it replies to."""
    attachments: tuple[str, ...] = ()
    """SHA-256 digests of attached files, in order."""
    pacing_ms: float = 0.0
    """Milliseconds waited for pacing."""
    lock_ms: float = 0.0
    """Milliseconds waited for locks."""
    rate_limit_ms: float = 0.0
    """Milliseconds waited for rate limits before the attempt."""
    sender: str = ""
    """Which life of the sender attempts it, so that no other takes the append for its own."""
    part: int = 0
    """Where a piece takes several messages, those before its last count from 1; the last is 0 and
    stands for the piece."""
    buttons: tuple[str, ...] = ()
    """Custom ids of the buttons below it, in order."""
    prefix: str = ""
    """What of the content says who speaks, where the route shows no name."""
    webhook_id: int | None = None
    """The webhook, where one posts."""


class Receipt(Event, frozen=True, kw_only=True, tag="receipt"):
    """Discord accepted an attempt. Stream: delivery."""

    attempt: int
    """The attempt."""
    message_id: MessageId
    """The message that now exists."""
    destination_id: ChannelId
    """The channel or thread it stands in."""
    route: Route = "bot"
    """Who posted."""
    webhook_id: int | None = None
    """The authoring webhook."""
    identity: str | None = None
    """The name it was delivered under, where it is not the bot's own."""
    speaker_kind: SpeakerKind = "bot"
    """Whose appearance it has."""
    sprite: str | None = None
    """The sprite it was delivered with."""
    ms: float = 0.0
    """Milliseconds at Discord, waits for rate limits included."""
    tries: int = 1
    """Requests written; more than 1 only after 429."""
    persona: str | None = None
    """Whose words they are, where the message shows its name."""
    is_generic: bool = False
    """Whether it shows Discord's own picture, for want of the persona's."""


class Retraction(Event, frozen=True, kw_only=True, tag="retraction"):
    """Messages of a failed request are withdrawn, so that another may speak in their place.

    Recorded twice: before the first deletion, and when all were tried. To delete again does no
    harm, so a retraction that was begun by a process that died is brought to its end.
    """

    attempts: tuple[int, ...]
    """The attempts whose messages are withdrawn."""
    is_done: bool = False
    """Whether their deletion is over."""
    kept: tuple[int, ...] = ()
    """Those of them that Discord would not delete: their messages still stand."""


class SendFailed(Event, frozen=True, kw_only=True, tag="send_failed"):
    """An attempt was not confirmed. Stream: delivery."""

    attempt: int
    """The attempt."""
    outcome: Outcome
    """What is known of it."""
    reason: str
    """Why, in a word or two: `stopped`, `http_503`, `connection_reset`, `timeout`, …"""
    code: int | None = None
    """Discord's error code, where it gave one."""
    http_status: int | None = None
    """The response's status, where one came."""
    ms: float = 0.0
    """Milliseconds until the outcome was known."""
    tries: int = 0
    """Requests written."""


class ButtonDisabled(Event, frozen=True, kw_only=True, tag="button_disabled"):
    """A button's time was up, and its message was edited. Stream: channel; key: the message."""

    message_id: MessageId
    """The message below which it stands."""
    failure: str | None = None
    """Why the edit failed, in a word or two; it is not tried again. None where it did not."""
