"""A running loopback Discord with one guild, one channel and one user."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot.loopback.discord.entities import Channel, User
from bot.loopback.discord.server import LoopbackDiscord
from tests.bot.loopback.client import Client
from tests.fakes import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """Give a clock that stands still."""
    return ManualClock()


@pytest.fixture
async def discord() -> AsyncIterator[LoopbackDiscord]:
    """Give a Discord on the real clock."""
    async with LoopbackDiscord() as running:
        yield running


@pytest.fixture
async def still_discord(clock: ManualClock) -> AsyncIterator[LoopbackDiscord]:
    """Give a Discord on the manual clock."""
    async with LoopbackDiscord(clock=clock) as running:
        yield running


@pytest.fixture
def channel(discord: LoopbackDiscord) -> Channel:
    """Give a text channel."""
    return discord.world.add_channel(discord.world.add_guild("Rejoinder HQ").id, "general")


@pytest.fixture
def ann(discord: LoopbackDiscord) -> User:
    """Give somebody."""
    return discord.world.add_user("Ann")


@pytest.fixture
async def client(discord: LoopbackDiscord) -> AsyncIterator[Client]:
    """Give a bare HTTP client."""
    async with aiohttp.ClientSession() as session:
        yield Client(discord, session)
