"""A context for tools."""

import pytest

from actors.ports import HistoryMessage
from actors.tools.context import ToolContext
from events.base import ChannelId, MessageId, UserId
from tests.fakes import ManualClock


class Past:
    """A channel's history, and the notes that are kept."""

    def __init__(self) -> None:
        self.messages: list[HistoryMessage] = []
        """All of them, oldest first."""
        self.pages = 0
        """Pages that were read."""
        self.notes: list[str] = []
        """Notes kept."""

    def say(self, *contents: str) -> None:
        """Add messages; their ids count from 1."""
        self.messages += [
            HistoryMessage(
                message_id=MessageId(len(self.messages) + at),
                author_id=7,
                author_name="Ann",
                is_own=False,
                content=content,
            )
            for at, content in enumerate(contents, 1)
        ]

    async def history(self, before: MessageId | None, limit: int) -> list[HistoryMessage]:
        """Return a page."""
        self.pages += 1
        older = [one for one in self.messages if before is None or one.message_id < before]
        return older[-limit:]

    async def pin(self, note: str) -> None:
        """Keep a note."""
        self.notes.append(note)


@pytest.fixture
def past() -> Past:
    """An empty channel."""
    return Past()


@pytest.fixture
def context(past: Past) -> ToolContext:
    """A call in that channel, on the morning of 2026-01-01 in UTC."""
    return ToolContext(
        channel_id=ChannelId(1),
        guild_id=None,
        message_id=None,
        author_id=UserId(7),
        author_name="Ann",
        clock=ManualClock(),
        history=past.history,
        pin=past.pin,
    )
