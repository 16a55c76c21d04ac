"""A Discord on loopback, and the messenger under test."""

from collections.abc import AsyncIterator

import pytest

from actors.delivery.single_attempt import HikariMessenger
from bot.loopback.discord.server import LoopbackDiscord
from events.base import ChannelId
from tests.fakes import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """Time that stands still: waits last until the test says so."""
    return ManualClock()


@pytest.fixture
async def discord(clock: ManualClock) -> AsyncIterator[LoopbackDiscord]:
    """A Discord on loopback, in the same time."""
    async with LoopbackDiscord(clock=clock) as discord:
        yield discord


@pytest.fixture
def channel(discord: LoopbackDiscord) -> ChannelId:
    """A channel."""
    guild = discord.world.add_guild("Home")
    return discord.world.add_channel(guild.id, "talk").id


@pytest.fixture
async def messenger(discord: LoopbackDiscord, clock: ManualClock) -> AsyncIterator[HikariMessenger]:
    """A messenger for it."""
    async with HikariMessenger(
        api_url=discord.api_url, token=discord.token, clock=clock
    ) as messenger:
        yield messenger
