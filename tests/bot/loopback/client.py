"""Clients that know nothing of the loopback but its address: aiohttp, a raw socket, hikari."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import hikari
import msgspec
from msgspec import Struct

from bot.loopback.discord.server import LoopbackDiscord


class Answer(Struct, frozen=True, kw_only=True):
    """A response."""

    status: int
    """HTTP status."""
    json: Any
    """The decoded body; None where it is no JSON."""
    text: str
    """The body."""
    headers: Mapping[str, str]
    """The headers."""


class Client:
    """A bare HTTP client of the API."""

    def __init__(self, discord: LoopbackDiscord, session: aiohttp.ClientSession) -> None:
        self._discord = discord
        self._session = session

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request with the bot's token, or another one, and read the response."""
        token = self._discord.token if token is None else token
        async with self._session.request(
            method,
            f"{self._discord.api_url}{path}",
            data=None if body is None else msgspec.json.encode(body),
            headers={"Authorization": f"Bot {token}", "Content-Type": "application/json"},
            params=params,
        ) as response:
            text = await response.text()
            is_json = response.content_type == "application/json" and text
            return Answer(
                status=response.status,
                json=msgspec.json.decode(text) if is_json else None,
                text=text,
                headers=response.headers,
            )

    async def post(self, channel_id: int, content: str, **fields: object) -> Answer:
        """Post a message."""
        path = f"/channels/{channel_id}/messages"
        return await self.call("POST", path, {"content": content, **fields})


@asynccontextmanager
async def raw_post(
    discord: LoopbackDiscord, channel_id: int, body: bytes
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter], None]:
    """Open a socket on which the head of a post has been written, and `body` after it."""
    port = int(discord.api_url.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST /api/v10/channels/{channel_id}/messages HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bot {discord.token}\r\nContent-Type: application/json\r\n"
        "Content-Length: 20\r\n\r\n"
    )
    writer.write(head.encode() + body)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


@asynccontextmanager
async def hikari_bot(
    discord: LoopbackDiscord, intents: hikari.Intents = hikari.Intents.ALL
) -> AsyncGenerator[hikari.GatewayBot, None]:
    """Give an unmodified bot that is not started yet, and close it in the end."""
    bot = hikari.GatewayBot(
        discord.token,
        rest_url=discord.api_url,
        intents=intents,
        banner=None,
        suppress_optimization_warning=True,
        force_color=False,
        logs=None,
    )
    try:
        yield bot
    finally:
        if bot.is_alive:
            await bot.close()
