"""The tools that every bot has: the time, the channel's past, a note to itself.

They need no other service. A zone's rules come from the machine's own database or from the
`tzdata` package; a slim container or Windows has neither unless it is installed, and then only UTC
is known: the model is told so instead of being given a wrong time.

A note is a fact in the channel's stream. It notifies nobody and is not shown in Discord: only the
model of each later turn in that channel is given it, and the tool's own words say so.
"""

from datetime import UTC
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Meta

from actors.ports import HistoryMessage
from actors.tools.context import ToolContext
from actors.tools.registry import Tool, ToolError, tool
from events.base import MessageId

SEARCH_PAGES: Final = 5
"""Pages of the past that one search reads."""
PAGE: Final = 100
"""Messages of a page: what Discord hands out at once."""
EXCERPT: Final = 300
"""Characters of a message that a search returns."""
NOTE_LIMIT: Final = 500
"""Characters of a note."""

Query = Annotated[str, Meta(min_length=1, max_length=100)]
Limit = Annotated[int, Meta(ge=1, le=20)]
Note = Annotated[str, Meta(min_length=1, max_length=NOTE_LIMIT)]


async def current_time(context: ToolContext, zone: str = "UTC") -> dict[str, str]:
    """Return the current date and time in a time zone.

    Args:
        context: The turn that asks.
        zone: A name of the IANA time zone database, such as Europe/Vienna or Asia/Tokyo.
    """
    now = context.clock.now()
    if zone.upper() != "UTC":
        try:
            now = now.astimezone(ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            message = f"no time zone {zone[:64]!r} is known here; it is {now:%Y-%m-%d %H:%M} in UTC"
            raise ToolError(message) from error
    else:
        now = now.astimezone(UTC)
    return {"time": f"{now:%Y-%m-%d %H:%M:%S}", "weekday": f"{now:%A}", "offset": f"{now:%z}"}


async def search_history(
    context: ToolContext, query: Query, limit: Limit = 5
) -> dict[str, int | list[dict[str, Any]]]:
    """Search the older messages of this channel for words, the newest match first.

    Args:
        context: The turn that asks.
        query: Words that all have to stand in a message, in any case.
        limit: The most messages to return.
    """
    words = query.casefold().split()
    found: list[dict[str, Any]] = []
    searched, before = 0, context.message_id
    for _ in range(SEARCH_PAGES):
        page = await context.history(before, PAGE)
        searched += len(page)
        found += [_shown(one) for one in reversed(page) if _has(one, words)]
        if len(found) >= limit or len(page) < PAGE:
            break
        before = MessageId(min(one.message_id for one in page))
    return {"searched": searched, "found": found[:limit]}


async def pin_note(context: ToolContext, note: Note) -> dict[str, str]:
    """Keep a short note for later conversations in this channel. It reminds nobody by itself.

    Args:
        context: The turn that asks.
        note: What to keep in mind, as a sentence that can be read alone.
    """
    await context.pin(note)
    return {"status": "kept", "shown": "to you alone, in later turns of this channel"}


BUILTIN: Final[tuple[Tool, ...]] = (
    tool(current_time, is_idempotent=True),
    tool(search_history, is_idempotent=True),
    tool(pin_note, is_idempotent=True, needs_follow_up=False),
)
"""All of them. A note that is kept again is the same note."""


def _has(message: HistoryMessage, words: list[str]) -> bool:
    content = message.content.casefold()
    return all(word in content for word in words)


def _shown(message: HistoryMessage) -> dict[str, Any]:
    return {
        "message_id": str(message.message_id),
        "author": message.author_name,
        "content": message.content[:EXCERPT],
    }
