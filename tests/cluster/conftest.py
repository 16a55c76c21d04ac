"""One local Ray for all tests here, and one bot's actors on it, without a gateway."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from actors.cluster.local_ray import start_local_ray, stop_local_ray
from actors.cluster.runtime import Runtime
from bot.app import runtime_spec
from bot.clock import SystemClock
from bot.settings import load
from tests.cluster.outside import Outside


@pytest.fixture(scope="session")
def local_ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A local Ray, ended by its own id; gives the directory that names it."""
    directory = tmp_path_factory.mktemp("ray")
    start_local_ray(directory, "tests")
    yield directory
    stop_local_ray(directory)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def outside() -> AsyncIterator[Outside]:
    """Discord and a provider."""
    async with Outside() as one:
        yield one


def settings_text(outside: Outside, more: str = "") -> str:
    """Return a configuration for a bot that lives on `outside`."""
    return f"""
[discord]
token = {{ env = "DISCORD_TOKEN" }}
api_url = "{outside.discord.api_url}"

[providers.main]
kind = "openai"
base_url = "{outside.provider.base_url}"
api_keys = ["sk-not-to-be-seen"]

[chat]
model = "main/loopback"
history_messages = 5
paced_messages = false
{more}
"""


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def runtime(
    local_ray: Path, outside: Outside, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Runtime]:
    """A bot's actors; tests kill them and find them restarted."""
    assert local_ray
    file = tmp_path_factory.mktemp("bot") / "rejoinder.toml"
    file.write_text(settings_text(outside))
    one = Runtime(runtime_spec(load(file, {"DISCORD_TOKEN": outside.discord.token}), SystemClock()))
    await one.start()
    yield one
    await one.aclose()
