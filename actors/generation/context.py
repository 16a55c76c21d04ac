"""What the model is given: instructions, the channel's past, and the message to answer."""

from collections.abc import Collection, Sequence

from actors.generation.start import StartTurn
from actors.ports import HistoryMessage
from actors.providers.adapter import ContextItem
from events.base import MessageId


def conversation(start: StartTurn, history: Sequence[HistoryMessage]) -> tuple[ContextItem, ...]:
    """Return the context of a turn: the system prompt, then who said what, the trigger last.

    Members speak under their names, the persona without one. Messages that still wait for their
    own turn are left out, and so is the trigger where the history repeats it.
    """
    skipped: Collection[MessageId | None] = {*start.waiting, start.trigger.message_id}
    items = [ContextItem(role="system", content=start.instructions)]
    if start.notes:
        notes = "\n".join(f"- {note}" for note in start.notes)
        items.append(
            ContextItem(role="system", content=f"Notes you kept in this channel:\n{notes}")
        )
    for message in history:
        if message.message_id in skipped or not message.content.strip():
            continue
        if message.is_own:
            items.append(ContextItem(role="model", content=message.content))
        else:
            items.append(_said(message.author_name, message.content))
    items.append(_said(start.trigger.author_name, start.trigger.content))
    return tuple(items)


def _said(name: str, content: str) -> ContextItem:
    return ContextItem(role="user", content=f"{name}: {content}")
