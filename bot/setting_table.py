"""What can be set about an answer: one row a setting, with the words and bounds that people see.

The commands' options, their validation and their views are made from it; what kind of value a
setting takes is read from `TurnSettings` itself. A setting is added there and here, nowhere else.
"""

from typing import Final, Literal

from msgspec import Struct, inspect
from msgspec.structs import fields

from events.turn import TurnSettings
from projections.guilds import Value

Kind = Literal["switch", "number", "choice", "text"]
"""What a setting takes."""


class Row(Struct, frozen=True, kw_only=True):
    """One setting."""

    name: str
    """The field of `TurnSettings`."""
    title: str
    """What people call it."""
    says: str
    """What it does, 100 characters at most."""
    least: int | None = None
    """Least number, or least length of a text."""
    most: int | None = None
    """Most, likewise."""
    off: str = ""
    """What a number of 0 means, where it is no number."""

    @property
    def kind(self) -> Kind:
        """What it takes."""
        match _TYPES[self.name]:
            case inspect.BoolType():
                return "switch"
            case inspect.IntType():
                return "number"
            case inspect.LiteralType():
                return "choice"
            case _:
                return "text"

    @property
    def choices(self) -> tuple[str, ...]:
        """What a choice is among."""
        node = _TYPES[self.name]
        return tuple(map(str, node.values)) if isinstance(node, inspect.LiteralType) else ()

    def fault(self, value: Value) -> str | None:
        """Return why it can't have this value, None where it can."""
        size = len(value) if isinstance(value, str) else int(value)
        if self.kind == "choice" and value not in self.choices:
            return f"{self.title} is one of: {', '.join(self.choices)}."
        if self.least is not None and size < self.least:
            return f"{self.title}: at least {self.least}."
        if self.most is not None and size > self.most:
            return f"{self.title}: at most {self.most}."
        return None

    def shown(self, value: Value) -> str:
        """Return a value in words."""
        if isinstance(value, bool):
            return "on" if value else "off"
        return self.off if self.off and value == 0 else str(value)


TABLE: Final = (
    Row(
        name="live_streaming",
        title="Live streaming",
        says="Post the answer piece by piece while it is written. Off: all of it at the end.",
    ),
    Row(
        name="paced_messages",
        title="Paced messages",
        says="Pause between messages as somebody who types. Needs live streaming.",
    ),
    Row(
        name="sentence_splitting",
        title="Sentence splitting",
        says="Give each sentence a message of its own. Needs live streaming.",
    ),
    Row(
        name="force_lowercase",
        title="Force lowercase",
        says="Write everything in lower case.",
    ),
    Row(
        name="punctuation_splits",
        title="Punctuation splits",
        says="Split or drop some commas, semicolons and marks. Needs live streaming.",
    ),
    Row(
        name="send_message_limit",
        title="Message limit",
        says="Most messages that one answer may take; 0 is no limit.",
        least=0,
        most=40,
        off="no limit",
    ),
    Row(
        name="stops_at_speakers",
        title="Stop at other speakers",
        says="End the answer where the model begins to speak for somebody else.",
    ),
    Row(
        name="uses_emojis",
        title="Emojis",
        says="Let the answer use emojis, the server's own included.",
    ),
    Row(
        name="keeps_unknown_emojis",
        title="Unknown emojis",
        says="Leave names of emojis that this server does not have as they are. Off: drop them.",
    ),
    Row(
        name="repeats_emojis",
        title="Repeat emojis",
        says="Let a persona use an emoji again that stands in its last five messages.",
    ),
)
"""Every setting, in the order in which people see them."""

ROWS: Final = {row.name: row for row in TABLE}
"""The same by name."""

_TYPES: Final = {one.name: inspect.type_info(one.type) for one in fields(TurnSettings)}
