"""Which messages show a table above a button, from the log alone."""

from msgspec.structs import replace

from events.base import MessageId
from events.delivery import ButtonDisabled, SendFailed
from projections import table_messages
from projections.balance import balance
from projections.fold import fold
from tests.projections.histories import TURN, History, attempt, receipt
from tests.projections.test_attempts import FLUSH

TABLE = replace(attempt(1, 1), buttons=("show",))


def test_t104_a_confirmed_message_with_a_button_tells_where_its_source_stands() -> None:
    """Nothing else than the log keeps it."""
    log = History().of_delivery(TABLE, receipt(1), attempt(2, 1, 1), receipt(2)).events

    [message] = fold(table_messages.evolve, table_messages.initial(), log).posted.values()

    assert (message.message_id, message.turn_id) == (MessageId(1_001), TURN)
    assert (message.flush, message.piece) == (1, 0)
    assert message.posted_at == log[1].recorded_at


def test_v165_what_was_not_confirmed_has_no_button_to_press() -> None:
    """The post after a refused one has none either."""
    refused = SendFailed(attempt=1, outcome="definite_refusal", reason="components_refused")
    log = History().of_delivery(TABLE, refused, attempt(2, 1), receipt(2)).events

    state = fold(table_messages.evolve, table_messages.initial(), log)

    assert (state.posted, state.attempted) == ({}, {})


def test_t106_a_disabled_button_is_not_disabled_again() -> None:
    """Each start would edit a day's messages."""
    gone = ButtonDisabled(message_id=MessageId(1_001))
    log = History().of_delivery(TABLE, receipt(1)).of_channel(gone).events

    assert fold(table_messages.evolve, table_messages.initial(), log).disabled == {1_001}


def test_t100_of_a_piece_in_several_messages_the_last_one_counts() -> None:
    """It would seem delivered before it is, or delivered twice."""
    first = replace(attempt(1, 1), part=1)
    log = History().of_turn(FLUSH).of_delivery(first, receipt(1)).events

    assert balance(TURN, log).delivered == 0

    whole = History().of_turn(FLUSH).of_delivery(first, receipt(1), attempt(2, 1), receipt(2))
    assert balance(TURN, whole.events).delivered == FLUSH.pieces[0].size
    assert not any("once" in one for one in balance(TURN, whole.events).problems)
