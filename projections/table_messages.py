"""Messages that show a table as a picture above a button: where their sources stand in the log.

The source itself is the piece of a flush; nothing else keeps it. So whoever presses the button gets
it from the log, whichever process posted the message.
"""

from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import ChannelId, MessageId, Recorded, Scope, TurnId
from events.delivery import ButtonDisabled, Receipt, SendAttempt, SendFailed
from projections.fold import turn_of


class TableMessage(Struct, frozen=True, kw_only=True):
    """A confirmed message with a table's picture and a button."""

    message_id: MessageId
    """The message."""
    destination_id: ChannelId
    """The channel or thread it stands in."""
    turn_id: TurnId
    """The turn that posted it."""
    scope: Scope
    """Whom the turn concerns."""
    flush: int
    """The flush with the table's source."""
    piece: int
    """The piece of it that is the source."""
    webhook_id: int | None = None
    """The webhook that posted it, through which alone it can be edited; None is the bot itself."""
    posted_at: datetime
    """When Discord accepted it, UTC."""


class TableMessages(Struct, frozen=True, kw_only=True):
    """The table messages of a stretch of the log."""

    posted: dict[MessageId, TableMessage] = field(default_factory=dict[MessageId, TableMessage])
    """All of them, oldest first."""
    disabled: frozenset[MessageId] = frozenset()
    """Those whose button can't be pressed any more, or could not be edited."""
    attempted: dict[tuple[TurnId, int], SendAttempt] = field(
        default_factory=dict[tuple[TurnId, int], SendAttempt]
    )
    """Attempts with a button and without an outcome, by turn and ordinal."""


def initial() -> TableMessages:
    """Return the state of a log without tables."""
    return TableMessages()


def evolve(state: TableMessages, recorded: Recorded) -> TableMessages:
    """Return the state after one more event."""
    turn_id = turn_of(recorded)
    match recorded.event:
        case ButtonDisabled(message_id=message_id):
            return replace(state, disabled=state.disabled | {message_id})
        case SendAttempt(buttons=buttons) as sent if buttons and turn_id is not None:
            return replace(state, attempted={**state.attempted, (turn_id, sent.attempt): sent})
        case (Receipt() | SendFailed()) as outcome if turn_id is not None:
            name = (turn_id, outcome.attempt)
            sent = state.attempted.get(name)
            return state if sent is None else _settle(state, recorded, name, sent)
        case _:
            return state


def _settle(
    state: TableMessages, recorded: Recorded, name: tuple[TurnId, int], sent: SendAttempt
) -> TableMessages:
    attempted = {one: kept for one, kept in state.attempted.items() if one != name}
    state = replace(state, attempted=attempted)
    receipt = recorded.event
    if not isinstance(receipt, Receipt):
        return state
    message = TableMessage(
        message_id=receipt.message_id,
        destination_id=receipt.destination_id,
        turn_id=name[0],
        scope=recorded.scope,
        flush=sent.flush,
        piece=sent.piece,
        webhook_id=receipt.webhook_id,
        posted_at=recorded.recorded_at,
    )
    return replace(state, posted={**state.posted, receipt.message_id: message})
