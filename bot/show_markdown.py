"""Show Markdown: the button below a table's picture answers with the table's source.

The answer is for whoever pressed alone. What the source is, the log knows, so that a button of a
bot that was restarted meanwhile is answered like any other. Bots are not answered.
"""

import asyncio
from typing import Final, Protocol

import hikari
import structlog

from actors.delivery.table_button import SHOW_MARKDOWN
from actors.text.graphemes import units
from actors.text.table_blocks import MESSAGE_LIMIT, fenced
from bot import notices
from events.base import MessageId

PATIENCE_SECONDS: Final = 1.0
"""How long to wait before promising an answer: Discord drops one that is not there after 3 s."""
INLINE_LIMIT: Final = MESSAGE_LIMIT - 32
"""UTF-16 units up to which a source stands in the message; a longer one is a file."""
FILE_NAME: Final = "table.md"
"""The name of that file."""

_PRIVATE: Final = hikari.MessageFlag.EPHEMERAL
_log = structlog.stdlib.get_logger(__name__)


class Tables(Protocol):
    """Who knows the sources of tables."""

    async def table_source(self, message_id: MessageId) -> str | None:
        """Return the Markdown of the table in a message; None where it shows none any more."""
        ...


class ShowMarkdown:
    """Answers who presses the button."""

    def __init__(self, tables: Tables, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._tables = tables
        self._patience_seconds = patience_seconds

    async def hear(self, event: hikari.ComponentInteractionCreateEvent) -> None:
        """Answer a press, if it is one of this button by a person."""
        pressed = event.interaction
        if pressed.custom_id != SHOW_MARKDOWN.custom_id or pressed.user.is_bot:
            return
        try:
            await self._answer(pressed)
        except Exception:  # noqa: BLE001 - nobody is left to tell
            _log.exception("show_markdown_failed", message_id=int(pressed.message.id))

    async def _answer(self, pressed: hikari.ComponentInteraction) -> None:
        looking = asyncio.ensure_future(
            self._tables.table_source(MessageId(int(pressed.message.id)))
        )
        done, _ = await asyncio.wait({looking}, timeout=self._patience_seconds)
        if not done:
            await pressed.create_initial_response(
                hikari.ResponseType.DEFERRED_MESSAGE_CREATE, flags=_PRIVATE
            )
        text, file = _shown(await looking)
        attachment = hikari.UNDEFINED if file is None else file
        if done:
            await pressed.create_initial_response(
                hikari.ResponseType.MESSAGE_CREATE, text, flags=_PRIVATE, attachment=attachment
            )
        else:
            await pressed.edit_initial_response(text, attachment=attachment)


def _shown(source: str | None) -> tuple[str, hikari.Bytes | None]:
    """Return the words of the answer, and its file where it has one."""
    if source is None:
        return notices.TABLE_EXPIRED, None
    block = fenced(source)
    if units(block) <= INLINE_LIMIT:
        return block, None
    return notices.TABLE_ATTACHED, hikari.Bytes(source.strip().encode(), FILE_NAME)
