"""`/stop`: ends the answer that is being written in the channel where it is called."""

import asyncio
from typing import Final

import arc
import hikari
import structlog

from bot import notices
from bot.triggers import Triggers
from events.base import ChannelId

PATIENCE_SECONDS: Final = 1.0
"""How long to wait before promising an answer: Discord drops a command unanswered for 3 s."""

_log = structlog.stdlib.get_logger(__name__)
_PRIVATE: Final = hikari.MessageFlag.EPHEMERAL


def stop_command(
    triggers: Triggers, *, patience_seconds: float = PATIENCE_SECONDS
) -> arc.SlashCommand[arc.GatewayClient]:
    """Return the command, for one client."""

    @arc.slash_command("stop", "Stop the answer that is being written here.", autodefer=False)
    async def stop(context: arc.GatewayContext) -> None:
        channel_id = ChannelId(int(context.channel_id))
        requester = str(int(context.author.id))
        stopping = asyncio.ensure_future(_stop(triggers, channel_id, requester))
        done, _ = await asyncio.wait({stopping}, timeout=patience_seconds)
        if not done:
            await context.defer(flags=_PRIVATE)
        await context.respond(await stopping, flags=_PRIVATE)

    return stop


async def _stop(triggers: Triggers, channel_id: ChannelId, requester: str) -> str:
    try:
        stopped = await triggers.stop(channel_id, requester, "stop")
    except Exception:  # noqa: BLE001 - the router may fail in any way
        _log.exception("stop_failed", channel_id=channel_id)
        return notices.STOP_FAILED
    return notices.NOTHING_TO_STOP if stopped is None else notices.STOPPED
