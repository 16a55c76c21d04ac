"""What the model is given of a channel."""

import msgspec

from actors.generation.context import conversation
from actors.ports import HistoryMessage
from events.base import MessageId
from tests.stack import Stack


def said(number: int, content: str, *, is_own: bool = False) -> HistoryMessage:
    """Return a message of the past."""
    return HistoryMessage(
        message_id=MessageId(number),
        author_id=9,
        author_name="Bob",
        is_own=is_own,
        content=content,
    )


async def test_p175_messages_that_wait_for_their_own_turn_are_no_part_of_the_past() -> None:
    """Else they would be answered twice: here, and when their turn comes."""
    async with Stack() as stack:
        start = msgspec.structs.replace(await stack.ask("And?"), waiting=(MessageId(2),))
    past = [said(1, "Hi"), said(2, "I wait"), said(3, "Hello Bob", is_own=True), said(4, "  ")]

    items = conversation(start, past)

    assert [(item.role, item.content) for item in items] == [
        ("system", "Be kind.\n\nYou are Rejoinder."),
        ("user", "Bob: Hi"),
        ("model", "Hello Bob"),
        ("user", "Ann: And?"),
    ]
