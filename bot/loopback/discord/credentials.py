"""The bot's token: real ones begin with the bot's id in base64, and hikari insists on it."""

import base64
import binascii

BOT_ID = 1_000_000_000_000_000_001
"""The bot's id unless its token names another."""


def token_for(bot_id: int) -> str:
    """Return a token of the bot with this id."""
    return f"{base64.b64encode(str(bot_id).encode()).decode().rstrip('=')}.loopback.token"


def bot_id_of(token: str) -> int:
    """Return the id that a token begins with; `BOT_ID` where it begins with none."""
    first = token.split(".", maxsplit=1)[0]
    try:
        text = base64.b64decode(first + "=" * (-len(first) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return BOT_ID
    return int(text) if text.isdigit() else BOT_ID
