"""How a slash command is answered: in private, in time, and only to whom it may listen."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

import arc
import hikari
from msgspec import Struct

from events.base import GuildId, UserId

PATIENCE_SECONDS: Final = 1.0
"""How long to wait before promising an answer: Discord drops a command unanswered for 3 s."""
LONGEST_ANSWER: Final = 2_000
"""Characters of a message."""

_PRIVATE: Final = hikari.MessageFlag.EPHEMERAL
_MAY_CONFIGURE: Final = hikari.Permissions.MANAGE_GUILD | hikari.Permissions.ADMINISTRATOR


class Configurer(Struct, frozen=True, kw_only=True):
    """A member who may change what their guild has set."""

    guild_id: GuildId
    """The guild."""
    user_id: UserId
    """The member."""


def configurer_of(
    caller: arc.GatewayContext | hikari.ModalInteraction,
) -> Configurer | None:
    """Return who calls, None where they may not change what the guild has set.

    Discord hides such commands from others, but a guild can lift that in its settings. In direct
    messages there is nothing to change.
    """
    member = caller.member
    if caller.guild_id is None or not isinstance(member, hikari.InteractionMember):
        return None
    # What an interaction says of its member holds for its channel, and counts the owner in.
    if not member.permissions & _MAY_CONFIGURE:
        return None
    return Configurer(guild_id=GuildId(int(caller.guild_id)), user_id=UserId(int(member.id)))


async def answer(
    context: arc.GatewayContext, words: Coroutine[Any, Any, str], patience_seconds: float
) -> None:
    """Answer with `words` for the caller's eyes alone, promising them first where they take long.

    Raises:
        Exception: What `words` raises; whoever hears of it answers.
    """
    working = asyncio.ensure_future(words)
    done, _ = await asyncio.wait({working}, timeout=patience_seconds)
    if not done:
        await context.defer(flags=_PRIVATE)
    await context.respond(
        clipped(await working),
        flags=_PRIVATE,
        mentions_everyone=False,
        user_mentions=False,
        role_mentions=False,
    )


def clipped(text: str) -> str:
    """Return as much of `text` as one message holds."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    if len(encoded) <= 2 * LONGEST_ANSWER:
        return text
    return encoded[: 2 * (LONGEST_ANSWER - 1)].decode("utf-16-le", "ignore") + "…"
