"""What says which message is answered, where Discord lets no reply be made; pure."""

from typing import Final

from actors.webhook_port import Card
from events.turn import TriggerReceived

AUTHOR_UNITS: Final = 256
"""Most of a card's line, cut by code points (Discord's API reference, embed limits)."""


def reply_card(trigger: TriggerReceived) -> Card | None:
    """Return the line above an answer to `trigger`, None where there is no message to answer."""
    if trigger.message_id is None:
        return None
    guild = trigger.guild_id or "@me"
    return Card(
        text=f"Replying to {trigger.author_name}"[: AUTHOR_UNITS // 2],
        url=f"https://discord.com/channels/{guild}/{trigger.channel_id}/{trigger.message_id}",
    )
