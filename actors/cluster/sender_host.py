"""The sender's outside: the one actor that holds a Discord token and writes with it."""

import asyncio
import os

from actors.cluster.adapters import ActorName, RayLogEndpoint
from actors.delivery.single_attempt import HikariMessenger
from actors.log_client import LogClient
from actors.log_lines import SetUpLog
from actors.ports import Clock, HistoryMessage, SendRequest, SendResult
from actors.sender import Sender
from events.base import ChannelId, GuildId, MessageId, Scope, TurnId
from events.scene import ServerEmoji


class SenderHost:
    """Hosts a `Sender`; a restarted one knows from the log what was attempted."""

    def __init__(
        self, log: ActorName, clock: Clock, api_url: str, token: str, set_up_log: SetUpLog
    ) -> None:
        set_up_log((token,))
        self._log = log.handle()
        self._clock = clock
        self._messenger = HikariMessenger(api_url=api_url, token=token, clock=clock)
        self._sender: Sender | None = None
        self._opening = asyncio.Lock()

    async def ready(self) -> int:
        """Open the client; return this process's id."""
        await self._opened()
        return os.getpid()

    async def send(self, request: SendRequest) -> SendResult:
        """As `SenderPort.send`."""
        return await (await self._opened()).send(request)

    async def settle(self, turn_id: TurnId, scope: Scope, epoch: int) -> list[SendResult]:
        """As `SenderPort.settle`."""
        return await (await self._opened()).settle(turn_id, scope, epoch)

    async def retract(
        self, turn_id: TurnId, scope: Scope, epoch: int, attempts: tuple[int, ...]
    ) -> list[SendResult]:
        """As `SenderPort.retract`."""
        return await (await self._opened()).retract(turn_id, scope, epoch, attempts)

    async def typing(self, channel_id: ChannelId) -> None:
        """As `SenderPort.typing`."""
        await (await self._opened()).typing(channel_id)

    async def history(
        self, channel_id: ChannelId, before: MessageId | None, limit: int
    ) -> list[HistoryMessage]:
        """As `SenderPort.history`."""
        return await (await self._opened()).history(channel_id, before=before, limit=limit)

    async def table_source(self, message_id: MessageId) -> str | None:
        """As `Sender.table_source`."""
        return await (await self._opened()).table_source(message_id)

    async def emojis(self, guild_id: GuildId) -> tuple[ServerEmoji, ...]:
        """As `SenderPort.emojis`."""
        return await (await self._opened()).emojis(guild_id)

    async def aclose(self) -> None:
        """Return once what is under way has its outcome."""
        if self._sender is not None:
            await self._sender.aclose()
            await self._messenger.aclose()

    async def _opened(self) -> Sender:
        async with self._opening:
            if self._sender is None:
                await self._messenger.start()
                log = LogClient(RayLogEndpoint(self._log), self._clock)
                self._sender = Sender(log, self._messenger, self._clock)
                self._sender.start()
        return self._sender
