"""The demo's world: a loopback Discord with a channel and a member, a scripted provider, a bot."""

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec
from msgspec import Struct
from PIL import Image

from bot.app import Bot
from bot.demo.screen import Screen
from bot.loopback.discord.entities import Channel, StoredMessage, User
from bot.loopback.discord.server import LoopbackDiscord
from bot.loopback.provider import LoopbackProvider
from bot.settings import load
from events.base import Event, Position, Recorded

TOKEN_NAME: Final = "DISCORD_TOKEN"  # noqa: S105 - a variable's name
CONFIG: Final = """\
# Written by `rejoinder demo`. The other commands read its log through this file.
[discord]
token = {{ env = "{token}" }}
api_url = "{api_url}"

[log]
directory = "data"

[providers.loopback]
kind = "openai"
base_url = "{base_url}"

[chat]
model = "loopback/scripted"
fallbacks = ["loopback/understudy"]

[[personas]]
name = "Rejoinder"

[[personas]]
name = "Mira"
avatar = "mira.png"
triggers = ["Mira"]
prompt = "You are Mira, who runs the ship's library."
sprites = {{ laughing = "mira-laughing.png" }}
"""
PICTURES: Final = {"mira.png": "#33658a", "mira-laughing.png": "#f6ae2d"}
"""An alter's faces, each of one colour."""
PICTURE_SIZE: Final = (64, 64)
"""Pixels."""
EVENT_SECONDS: Final = 20.0
"""Longest wait for anything that a scene waits for."""


class _Author(Struct, frozen=True, kw_only=True):
    name: str


class _Embed(Struct, frozen=True, kw_only=True):
    author: _Author


class _Button(Struct, frozen=True, kw_only=True):
    label: str


class _Row(Struct, frozen=True, kw_only=True):
    components: tuple[_Button, ...]


class Stage:
    """Everything that a scene plays on."""

    def __init__(self, screen: Screen, directory: Path) -> None:
        self.screen = screen
        """Where the audience looks."""
        self.directory = directory
        """Where configuration and log stay."""
        self.discord = LoopbackDiscord()
        """Discord."""
        self.provider = LoopbackProvider()
        """The model provider."""
        self.bot: Bot
        """The real bot."""
        self.channel: Channel
        """Where it all happens."""
        self.ann: User
        """Who asks."""
        self._exits = AsyncExitStack()
        self._shown = 0
        self._showing: asyncio.Task[None] | None = None

    @property
    def config(self) -> Path:
        """The configuration file that is left behind."""
        return self.directory / "rejoinder.toml"

    async def __aenter__(self) -> Self:
        await self._exits.enter_async_context(self.discord)
        await self._exits.enter_async_context(self.provider)
        guild = self.discord.world.add_guild(name="Demo")
        self.channel = self.discord.world.add_channel(guild.id, name="general")
        self.ann = self.discord.world.add_user("Ann")
        await asyncio.to_thread(self._write_config)
        settings = load(self.config, {TOKEN_NAME: self.discord.token})
        self.bot = Bot(settings)
        self._exits.push_async_callback(self.bot.aclose)
        await self.bot.start()
        await self.discord.until_ready()
        self._showing = asyncio.create_task(self._show_messages())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._showing is not None:
            self._showing.cancel()
            with suppress(asyncio.CancelledError):
                await self._showing
        self.discord.release()
        await self._exits.aclose()

    def _write_config(self) -> None:
        self.directory.mkdir(parents=True)
        for name, colour in PICTURES.items():
            Image.new("RGB", PICTURE_SIZE, colour).save(self.directory / name)
        self.config.write_text(
            CONFIG.format(
                token=TOKEN_NAME, api_url=self.discord.api_url, base_url=self.provider.base_url
            )
        )

    async def ask(self, content: str) -> StoredMessage:
        """Let Ann write in the channel."""
        return await self.discord.say(self.ann, self.channel, content)

    async def until(self, kind: type[Event], after: Position, count: int = 1) -> Recorded:
        """Return event number `count` of that kind behind `after`, once it is in the log."""
        subscription = self.bot.runtime.log().subscribe(None, after)
        seen = 0
        try:
            async with asyncio.timeout(EVENT_SECONDS):
                async for batch in subscription:
                    for one in batch:
                        seen += isinstance(one.event, kind)
                        if seen == count:
                            return one
        finally:
            await subscription.aclose()
        raise AssertionError

    def said(self) -> list[str]:
        """Return what the bot has said, oldest first."""
        own = self.discord.bot_user.id
        return [one.content for one in self.messages() if one.author.id == own]

    def messages(self) -> list[StoredMessage]:
        """Return all that stands in the channel, oldest first."""
        return self.discord.messages(self.channel.id)

    async def _show_messages(self) -> None:
        while True:
            await self.discord.until(lambda: len(self.messages()) > self._shown, timeout=None)
            self.show_new()

    def show_new(self) -> None:
        """Print what the channel holds and the screen does not."""
        messages = self.messages()
        for message in messages[self._shown :]:
            is_bot = message.author.is_bot
            asker = self.ann.display_name or self.ann.username
            replies_to = asker if message.reply_to is not None else None
            mention = f"<@{self.discord.bot_user.id}>"
            self.screen.message(
                message.author.display_name or message.author.username,
                message.content.replace(mention, "@Rejoinder"),
                is_bot=is_bot,
                replies_to=replies_to,
                below=beneath(message),
            )
        self._shown = len(messages)


def beneath(message: StoredMessage) -> list[str]:
    """Return a line for each embed and file of a message, and for each button below it."""
    embeds = msgspec.convert(message.embeds, tuple[_Embed, ...])
    rows = msgspec.convert(message.components, tuple[_Row, ...])
    files = [f"▣ {file.filename}, {len(file.data):,} bytes" for file in message.attachments]
    heads = [f"↱ {embed.author.name}" for embed in embeds]
    return [*heads, *files, *(f"[ {button.label} ]" for row in rows for button in row.components)]
