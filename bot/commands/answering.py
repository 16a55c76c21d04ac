"""How a slash command is built and answered: in private, in time, for whom it may listen to."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

import arc
import hikari
import structlog
from arc.abc.option import CommandOptionBase
from arc.command.option import StrOption
from msgspec import Struct

from bot import notices
from bot.guild_settings import GuildSettings
from events.base import GuildId, UserId
from projections.guild_models import key_of

PATIENCE_SECONDS: Final = 1.0
"""How long to wait before promising an answer: Discord drops a command unanswered for 3 s."""
LONGEST_ANSWER: Final = 2_000
"""Characters of a message."""

MOST_CHOICES: Final = 25
"""What Discord shows of choices."""

Option = CommandOptionBase[Any, arc.GatewayClient, Any]
"""An option of a command."""

_log = structlog.stdlib.get_logger(__name__)
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


async def answer_form(
    form: hikari.ModalInteraction, words: Coroutine[Any, Any, str], patience_seconds: float
) -> None:
    """Answer a form as `answer` does a command; a failure is told of too."""
    working = asyncio.ensure_future(words)
    done, _ = await asyncio.wait({working}, timeout=patience_seconds)
    if not done:
        await form.create_initial_response(
            hikari.ResponseType.DEFERRED_MESSAGE_CREATE, flags=_PRIVATE
        )
    try:
        told = clipped(await working)
    except Exception:  # noqa: BLE001 - the router may fail in any way
        _log.exception("form_failed", form=form.custom_id)
        told = notices.STOP_FAILED
    if done:
        await form.create_initial_response(
            hikari.ResponseType.MESSAGE_CREATE, told, flags=_PRIVATE, user_mentions=False
        )
    else:
        await form.edit_initial_response(told, user_mentions=False)


def clipped(text: str) -> str:
    """Return as much of `text` as one message holds."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    if len(encoded) <= 2 * LONGEST_ANSWER:
        return text
    return encoded[: 2 * (LONGEST_ANSWER - 1)].decode("utf-16-le", "ignore") + "…"


def subcommand(
    name: str, description: str, options: Iterable[Option], callback: Callable[..., Any]
) -> arc.SlashSubCommand[arc.GatewayClient]:
    """Return a subcommand whose callback takes each option by its name."""
    return arc.SlashSubCommand(
        name=name,
        description=description,
        options={option.name: option for option in options},
        callback=callback,
    )


def persona_option(
    guilds: GuildSettings, description: str, *, is_required: bool
) -> StrOption[arc.GatewayClient]:
    """Return an option that names a persona, which completes itself."""

    async def complete(data: arc.AutocompleteData[arc.GatewayClient, str]) -> list[str]:
        written = key_of(str(data.focused_value or ""))
        guild_id = None if data.guild_id is None else GuildId(int(data.guild_id))
        names = [one.name for one in guilds.personas(guild_id)]
        return [name for name in names if written in key_of(name)][:MOST_CHOICES]

    return StrOption[arc.GatewayClient](
        name="persona",
        arg_name="persona",
        description=description,
        is_required=is_required,
        autocomplete_with=complete,
    )
