"""What was sent for a turn, and what is known of it."""

from events.delivery import SendFailed
from events.generation import Flush, Piece
from projections import attempts
from projections.attempts import Attempts
from projections.fold import fold
from tests.projections.histories import OTHER_TURN, TURN, History, attempt, receipt

FLUSH = Flush(
    flush=1,
    text="Hi\nthere",
    boundary="final",
    start=10,
    end=18,
    pieces=(
        Piece(content="Hi", start=10, end=12),
        Piece(content="there", start=13, end=18),
    ),
    withheld={"blank": 1},
)


def folded(history: History) -> Attempts:
    """Return the attempts of the turn after a history."""
    return fold(attempts.evolve, attempts.initial(TURN), history.events)


def test_an_attempt_is_open_until_it_has_an_outcome() -> None:
    """An open attempt at a recovery is one that nobody knows the outcome of."""
    history = History().of_delivery(attempt(1, 1), attempt(2, 1, 1), receipt(1))

    state = folded(history)

    assert [one.sent.attempt for one in state.open] == [2]
    assert [one.sent.attempt for one in state.settled] == [1]


def test_an_unconfirmed_attempt_is_not_settled() -> None:
    """It may stand in Discord, so nothing may follow it."""
    history = History().of_delivery(
        attempt(1, 1),
        SendFailed(attempt=1, outcome="unconfirmed", reason="timeout"),
        attempt(2, 1, 1),
        SendFailed(attempt=2, outcome="definite_refusal", reason="http_403"),
    )

    state = folded(history)

    assert [one.sent.attempt for one in state.unconfirmed] == [1]
    assert [one.sent.attempt for one in state.settled] == [2]


def test_delivered_text_is_told_by_the_pieces_of_its_flush() -> None:
    """A range says what was said, whatever a message's fences look like."""
    history = History().of_turn(FLUSH).of_delivery(attempt(1, 1, 1), receipt(1))

    state = folded(history)

    assert state.delivered == ((13, 18),)
    assert state.messages == {(1, 1): 1001}


def test_a_notice_delivers_no_text_of_the_answer() -> None:
    """The bot's own words are not the model's."""
    history = History().of_turn(FLUSH)
    history.of_delivery(attempt(1, 0, is_notice=True), receipt(1))

    state = folded(history)

    assert state.delivered == ()
    assert [one.sent.attempt for one in state.settled] == [1]


def test_the_first_outcome_stands() -> None:
    """An attempt has one outcome; another one would be a bug in the sender."""
    late = SendFailed(attempt=1, outcome="unconfirmed", reason="sender_lost")
    history = History().of_delivery(attempt(1, 1), receipt(1), late)

    assert folded(history).unconfirmed == ()


def test_attempts_of_other_turns_do_not_matter() -> None:
    """Turns share one log."""
    history = History().of_delivery(attempt(1, 1), receipt(1), turn=OTHER_TURN)

    assert folded(history) == attempts.initial(TURN)
