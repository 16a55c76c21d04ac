"""Events of a turn's life: asked for, started, stopped, recovered, ended."""

from typing import Literal

from msgspec import Struct, field

from events.base import ChannelId, Event, GuildId, MessageId, TriggerId, TurnId, UserId
from events.scene import Scene

TriggerKind = Literal["mention", "reply", "direct", "word", "command"]
"""Why a message is a trigger: it mentions the bot, replies to it, is a DM, holds a trigger word."""

StopKind = Literal["stop", "follow_up", "operator", "shutdown", "kill"]
"""Who stops: a member, the trigger's own author by writing on, an operator, the bot's end.

`kill` is a member's stop too, after which not even what was already written is said.
"""

TurnStatus = Literal[
    "completed",
    "function_call",
    "error",
    "timeout",
    "stopped_by_user",
    "empty_response",
    "follow_up_interrupt",
    "unconfirmed",
    "recovered",
    "expired",
    "given_up",
]
"""How a turn ended."""

RecoveryDecision = Literal[
    "end_unconfirmed",
    "end_stopped",
    "end_refused",
    "deliver_rest",
    "go_on",
    "run_again",
    "expire",
    "give_up",
]
"""What a recovery does with a turn whose process is gone.

`go_on`: its tool calls are brought to an end, and the model is asked to continue.
"""


class TriggerReceived(Event, frozen=True, kw_only=True, tag="trigger_received"):
    """A Discord message or command asks for a turn. Stream: channel. Key: `trigger_id`."""

    trigger_id: TriggerId
    """Discord's id of the message or interaction; an id seen before is not queued again."""
    trigger: TriggerKind
    """Why it is a trigger."""
    channel_id: ChannelId
    """Where to answer."""
    guild_id: GuildId | None = None
    """The guild; None in direct messages."""
    message_id: MessageId | None = None
    """The message to reply to; None for a command."""
    author_id: UserId
    """Who asks."""
    author_name: str
    """The asker's display name there, as the model will see it."""
    content: str
    """The message's text, mentions resolved to names."""
    persona: str
    """The persona that is asked."""
    parent_id: ChannelId | None = None
    """The channel whose thread `channel_id` is; None where it is no thread."""
    quoted_author: str = ""
    """Who wrote the message that it replies to; empty where it is no reply, or that is gone."""
    quoted: str = ""
    """The beginning of that message."""
    extras: tuple[str, ...] = ()
    """What comes with it beside the text, a few words each: files, stickers, cards."""


class TriggerDropped(Event, frozen=True, kw_only=True, tag="trigger_dropped"):
    """A queued trigger will get no turn. Stream: channel. Key: `trigger_id`."""

    trigger_id: TriggerId
    """The trigger that leaves the queue."""
    reason: Literal["expired", "queue_full", "superseded", "given_up", "killed"]
    """Why: too old after a restart, too many waiting, replaced by a newer one, failed too often,
    emptied with its queue."""


class StopRequested(Event, frozen=True, kw_only=True, tag="stop_requested"):
    """Somebody stops one turn. Stream: channel. Key: `turn_id` and `stop`."""

    turn_id: TurnId
    """The turn that is to stop; a stop never outlives it."""
    requester: str
    """A user id in decimal, or `operator`, or `system`."""
    stop: StopKind
    """What kind of stop."""


class TurnSettings(Struct, frozen=True, kw_only=True):
    """The settings in force for one turn; defaults are those of a new guild."""

    live_streaming: bool = True
    """Post segments as they come; else all at the end."""
    paced_messages: bool = True
    """Pause between follow-up messages as a typist would."""
    sentence_splitting: bool = False
    """Also flush at sentence ends."""
    force_lowercase: bool = False
    """Lowercase the answer."""
    punctuation_splits: bool = False
    """Drop or split at some punctuation."""
    send_message_limit: int = 0
    """Most messages a turn may post; 0 is no limit."""
    stops_at_speakers: bool = False
    """End the answer where the model begins to speak for somebody else."""
    uses_emojis: bool = True
    """Let custom emojis, pictographs and shortcodes stand in the answer."""
    keeps_unknown_emojis: bool = False
    """Post shortcodes that name no emoji of the guild as they are; else drop them."""
    repeats_emojis: bool = False
    """Let the persona use a custom emoji that stands in one of its last five messages."""


class TurnStarted(Event, frozen=True, kw_only=True, tag="turn_started"):
    """A turn begins: all that its text core and its replay read. Stream: turn."""

    trigger_id: TriggerId
    """The trigger it answers."""
    channel_id: ChannelId
    """Where it answers."""
    guild_id: GuildId | None = None
    """The guild; None in direct messages."""
    message_id: MessageId | None = None
    """The message that the first post replies to."""
    author_id: UserId
    """Who asked."""
    author_name: str
    """The asker's display name."""
    prompt: str
    """The trigger's text."""
    persona: str
    """Who answers."""
    system_prompt: str
    """The system prompt in force, persona included."""
    models: tuple[str, ...]
    """The model route: `provider/model`, the first tried first."""
    settings: TurnSettings
    """Settings in force."""
    delivery_mode: Literal["persona", "user_impersonation"] = "persona"
    """Whether the persona speaks, or a user is impersonated."""
    seed: int
    """Seed of every random choice of the turn, 0 to 2**63 - 1."""
    code_version: str
    """Version of the code that ran the turn."""
    text_version: int
    """Version of the text core that cut the messages."""
    scene: Scene = Scene()
    """Who and what the text may name."""


class StopObserved(Event, frozen=True, kw_only=True, tag="stop_observed"):
    """The turn acted on a stop, at this point. Stream: turn."""

    position: int
    """Position of the `stop_requested` it acted on."""
    stop: StopKind
    """Its kind."""
    requester: str
    """Who asked for it."""


class TurnRecovered(Event, frozen=True, kw_only=True, tag="turn_recovered"):
    """The turn was taken over after its process was lost. Stream: turn. Raises the epoch."""

    epoch: int
    """The epoch from here on: how often the turn was recovered."""
    found: str
    """What the log showed, in a sentence."""
    decision: RecoveryDecision
    """What was decided on it."""


class TurnEnded(Event, frozen=True, kw_only=True, tag="turn_ended"):
    """The turn is over. Stream: turn. received = delivered + the sum of withheld."""

    status: TurnStatus
    """How it ended."""
    stop_reason: str | None = None
    """Why, where the status alone does not say it."""
    error: str | None = None
    """A display-safe code of the error; never a provider's prose."""
    delivered_text: str = ""
    """The visible text that Discord confirmed, as the model wrote it."""
    received: int = 0
    """Characters (code points) of text received from the provider, reasoning tags included."""
    delivered: int = 0
    """Characters of it that stand in confirmed messages."""
    withheld: dict[str, int] = field(default_factory=dict[str, int])
    """Characters of it that a rule withheld, by the rule's name."""
    messages: int = 0
    """Confirmed messages."""
    requests: int = 0
    """Provider requests."""
