"""`/stop` and `/kill`: end the answer that is being written in the channel where they are called.

After `/stop` the bot still says what it had already written; after `/kill` it says nothing more,
and messages that waited for an answer there get none.
"""

import arc
import structlog

from bot import notices
from bot.commands.answering import PATIENCE_SECONDS, answer
from bot.triggers import Triggers
from events.base import ChannelId
from events.turn import StopKind

_log = structlog.stdlib.get_logger(__name__)


def stop_command(
    triggers: Triggers, *, patience_seconds: float = PATIENCE_SECONDS
) -> arc.SlashCommand[arc.GatewayClient]:
    """Return `/stop`, for one client."""

    @arc.slash_command("stop", "Stop the answer that is being written here.", autodefer=False)
    async def stop(context: arc.GatewayContext) -> None:
        await answer(context, _stop(triggers, context, "stop"), patience_seconds)

    return stop


def kill_command(
    triggers: Triggers, *, patience_seconds: float = PATIENCE_SECONDS
) -> arc.SlashCommand[arc.GatewayClient]:
    """Return `/kill`, for one client."""

    @arc.slash_command(
        "kill", "Drop the answer that is being written here, and what waits.", autodefer=False
    )
    async def kill(context: arc.GatewayContext) -> None:
        await answer(context, _stop(triggers, context, "kill"), patience_seconds)

    return kill


async def _stop(triggers: Triggers, context: arc.GatewayContext, kind: StopKind) -> str:
    channel_id = ChannelId(int(context.channel_id))
    requester = str(int(context.author.id))
    try:
        stopped = await triggers.stop(channel_id, requester, kind)
    except Exception:  # noqa: BLE001 - the router may fail in any way
        _log.exception("stop_failed", channel_id=channel_id)
        return notices.STOP_FAILED
    return notices.NOTHING_TO_STOP if stopped is None else notices.STOPPED
