"""Who and what a turn's text may name: recorded with the turn, so that a replay reads the same."""

from msgspec import Struct

from events.base import UserId


class Participant(Struct, frozen=True, kw_only=True):
    """Somebody else in the conversation: a member or another persona."""

    user_id: UserId | None = None
    """The member's id; None for a persona."""
    names: tuple[str, ...]
    """Names they go by, the one that is shown first; at least one."""


class ServerEmoji(Struct, frozen=True, kw_only=True):
    """A custom emoji that the bot may use."""

    name: str
    """Its shortcode, without colons."""
    emoji_id: int
    """Discord's id."""
    is_animated: bool = False
    """Whether it moves, which its tag has to say."""


class Scene(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the text rules know of the place and the company of one turn."""

    aliases: tuple[str, ...] = ()
    """Other names and trigger words of the persona."""
    sprites: tuple[str, ...] = ()
    """Keys of the persona's sprites."""
    participants: tuple[Participant, ...] = ()
    """Everybody else who takes part, personas included."""
    emojis: tuple[ServerEmoji, ...] = ()
    """Custom emojis of the guild."""
    recent_emojis: tuple[str, ...] = ()
    """Shortcodes used in the persona's last five messages, lower case."""
    seen_labels: tuple[str, ...] = ()
    """Speaker labels that the channel's past holds."""
