"""How the bot looked: in the last message of each channel, and each persona in its last own one.

The first tells which name the next message must have, since Discord draws consecutive messages of
one webhook and one name as one, under the first one's picture. The second lives longer: a persona
that others talked past still looks as it did.
"""

from datetime import datetime
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import ChannelId, MessageId, Recorded
from events.delivery import Receipt, SpeakerKind

CHANNELS_KEPT: Final = 2000
"""Channels whose last message is remembered."""
LOOKS_KEPT: Final = 2000
"""Looks remembered; the one that was put on first goes."""

K = TypeVar("K")
V = TypeVar("V")


class Shown(Struct, frozen=True, kw_only=True):
    """The bot's last message in a channel."""

    message_id: MessageId
    """The message."""
    webhook_id: int | None
    """Its webhook; None is the bot's own account."""
    name: str | None
    """The name that it shows, exactly."""
    persona: str | None
    """Whose words they are, where the message shows its name."""
    kind: SpeakerKind
    """Whose looks it has."""
    sprite: str | None
    """The sprite's key, where it is one."""
    at: datetime
    """When Discord accepted it, UTC."""


class Appearance(Struct, frozen=True, kw_only=True):
    """What is remembered."""

    last: dict[ChannelId, Shown] = field(default_factory=dict[ChannelId, Shown])
    """The last message, by channel or thread; the oldest first."""
    looks: dict[tuple[ChannelId, str], str | None] = field(
        default_factory=dict[tuple[ChannelId, str], str | None]
    )
    """The sprite's key, by place and persona; None is its base. The oldest first."""


def initial() -> Appearance:
    """Return the state of a log without messages."""
    return Appearance()


def evolve(state: Appearance, recorded: Recorded) -> Appearance:
    """Return the state after one more event."""
    if isinstance(recorded.event, Receipt):
        return after(state, recorded.event, recorded.recorded_at)
    return state


def after(state: Appearance, receipt: Receipt, at: datetime) -> Appearance:
    """Return the state after one more message."""
    place = receipt.destination_id
    shown = Shown(
        message_id=receipt.message_id,
        webhook_id=receipt.webhook_id,
        name=receipt.identity,
        persona=receipt.persona,
        kind=receipt.speaker_kind,
        sprite=receipt.sprite,
        at=at,
    )
    state = replace(state, last=_kept(state.last, place, shown, CHANNELS_KEPT))
    # Somebody else's looks are put on for a line; what the bot says as itself shows no persona.
    if receipt.persona is None or receipt.speaker_kind in ("copied", "bot"):
        return state
    looks = _kept(state.looks, (place, receipt.persona), receipt.sprite, LOOKS_KEPT)
    return replace(state, looks=looks)


def _kept(known: dict[K, V], key: K, value: V, limit: int) -> dict[K, V]:
    """Return `known` with `value` as its newest, and no more than `limit` of them."""
    kept = {one: old for one, old in known.items() if one != key}
    kept[key] = value
    if len(kept) > limit:
        del kept[next(iter(kept))]
    return kept
