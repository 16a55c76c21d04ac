"""The whole path of a turn, for the tests of turns."""

from collections.abc import AsyncIterator

import pytest

from tests.stack import Stack


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """The whole path, healthy, with a short patience towards Discord and the provider."""
    async with Stack(request_seconds=0.5, idle_seconds=0.5) as one:
        yield one
