"""`/stop`: ends the answer that is being written in the channel where it is called."""

import arc
import structlog

from bot import notices
from bot.commands.answering import PATIENCE_SECONDS, answer
from bot.triggers import Triggers
from events.base import ChannelId

_log = structlog.stdlib.get_logger(__name__)


def stop_command(
    triggers: Triggers, *, patience_seconds: float = PATIENCE_SECONDS
) -> arc.SlashCommand[arc.GatewayClient]:
    """Return the command, for one client."""

    @arc.slash_command("stop", "Stop the answer that is being written here.", autodefer=False)
    async def stop(context: arc.GatewayContext) -> None:
        channel_id = ChannelId(int(context.channel_id))
        requester = str(int(context.author.id))
        await answer(context, _stop(triggers, channel_id, requester), patience_seconds)

    return stop


async def _stop(triggers: Triggers, channel_id: ChannelId, requester: str) -> str:
    try:
        stopped = await triggers.stop(channel_id, requester, "stop")
    except Exception:  # noqa: BLE001 - the router may fail in any way
        _log.exception("stop_failed", channel_id=channel_id)
        return notices.STOP_FAILED
    return notices.NOTHING_TO_STOP if stopped is None else notices.STOPPED
