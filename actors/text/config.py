"""What the text path is told once a turn."""

from msgspec import Struct

from events.scene import Participant, ServerEmoji


class TextConfig(Struct, frozen=True, kw_only=True, cache_hash=True):
    """What the text path is told once a turn; without names nothing is done about labels."""

    live_streaming: bool = True
    """Flush lines and code blocks as they come; else all at the end."""
    most_messages: int = 0
    """Most messages of a stream; 0 is any number."""
    limit: int = 1950
    """Most UTF-16 units of a message, at least 20; code points are never more than those."""
    sentence_splitting: bool = False
    """Live, flush sentences too, each a message without its closing period."""
    force_lowercase: bool = False
    """Lowercase the answer."""
    punctuation_splits: bool = False
    """Live, drop or split at some punctuation."""
    seed: int = 0
    """Seed of every random choice of the turn."""
    persona: str = ""
    """Who speaks; without a name nothing is done about labels."""
    aliases: tuple[str, ...] = ()
    """Other names and trigger words of the speaker."""
    participants: tuple[Participant, ...] = ()
    """Everybody else in the conversation, personas included."""
    sprites: tuple[str, ...] = ()
    """Keys of the speaker's sprites."""
    is_impersonation: bool = False
    """Whether a user is impersonated: labels mean nothing then."""
    empty_retries: int = 2
    """How often the turn was retried for an empty answer; at 2 a wrong label is only dropped."""
    stops_at_speakers: bool = False
    """End the answer where the model begins to speak for somebody else."""
    seen_labels: tuple[str, ...] = ()
    """Labels that the history holds."""
    uses_emojis: bool = True
    """Let emojis stand; else drop them all."""
    emojis: tuple[ServerEmoji, ...] = ()
    """Custom emojis of the guild; without any, tags are left as they are."""
    keeps_unknown_emojis: bool = False
    """Leave shortcodes that name no emoji of the guild; else drop them."""
    worn_emojis: tuple[str, ...] = ()
    """Shortcodes, lower case, that were used lately and are dropped."""
    prefill: str = ""
    """What the model was made to begin with: where a stream repeats it, that is dropped."""
    is_reemitting: bool = False
    """Whether the provider sends text again that it has sent: what overlaps is dropped."""
