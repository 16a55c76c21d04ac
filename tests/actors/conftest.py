"""A sender over fakes."""

from collections.abc import AsyncIterator

import pytest

from actors.sender import Sender
from tests.actors.delivery.fakes import LogFace, ScriptedMessenger


@pytest.fixture
def log() -> LogFace:
    """A log in memory."""
    return LogFace()


@pytest.fixture
def messenger() -> ScriptedMessenger:
    """A Discord that does as told."""
    return ScriptedMessenger()


@pytest.fixture
async def sender(log: LogFace, messenger: ScriptedMessenger) -> AsyncIterator[Sender]:
    """A sender, closed at the end."""
    sender = Sender(log, messenger, log.clock)
    yield sender
    messenger.readiness.open()
    messenger.writing.open()
    messenger.typing_gate.open()
    await sender.aclose()
