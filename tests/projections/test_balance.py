"""Conservation: received is delivered, withheld by name, or on its way."""

from events.generation import Flush, Piece
from events.turn import TurnEnded
from projections.balance import balance
from tests.projections.histories import (
    OTHER_TURN,
    TURN,
    History,
    attempt,
    ended,
    receipt,
    said,
    started,
)

FIRST = Flush(
    flush=1,
    text="Hi\n",
    boundary="newline",
    start=0,
    end=3,
    pieces=(Piece(content="Hi", start=0, end=2),),
    withheld={"reasoning": 16, "blank": 1},
)
SECOND = Flush(
    flush=2,
    text="there",
    boundary="final",
    start=3,
    end=8,
    pieces=(Piece(content="there", start=3, end=8),),
)
TEXT = "<think>x</think>Hi\nthere"
WHOLE = ended(received=24, delivered=7, messages=2, withheld={"reasoning": 16, "blank": 1})


def history(*, second: bool = True) -> History:
    """Return a turn up to its end, its second message sent or not."""
    made = History().of_turn(started(), said(TEXT[:9], TEXT[9:]), FIRST, SECOND)
    made.of_delivery(attempt(1, 1), receipt(1))
    return made.of_delivery(attempt(2, 2), receipt(2)) if second else made


def problems(made: History, end: TurnEnded) -> list[str]:
    """Return what does not add up once the turn ended so."""
    return list(balance(TURN, made.of_turn(end).events).problems)


def test_a_turn_that_delivered_all_balances() -> None:
    """The ordinary case must not raise an alarm."""
    result = balance(TURN, history().of_turn(WHOLE).events)

    assert (result.received, result.delivered, result.in_flight) == (24, 7, 0)
    assert result.withheld == {"reasoning": 16, "blank": 1}
    assert result.is_balanced


def test_what_was_flushed_and_not_sent_needs_a_name() -> None:
    """A message that a stop held back is withheld, not lost."""
    named = ended(
        "stopped_by_user",
        received=24,
        delivered=2,
        messages=1,
        withheld={"reasoning": 16, "blank": 1, "stop": 5},
    )
    unnamed = ended(received=24, delivered=2, messages=1, withheld={"reasoning": 16, "blank": 1})

    assert problems(history(second=False), named) == []
    assert problems(history(second=False), unnamed) == [
        "5 characters neither delivered nor withheld"
    ]


def test_a_running_turn_has_text_in_flight() -> None:
    """Text on its way is not lost."""
    result = balance(TURN, history(second=False).events)

    assert (result.delivered, result.in_flight) == (2, 5)
    assert result.is_balanced


def test_a_wrong_claim_is_named() -> None:
    """`turn_ended` is a claim; its events are the proof."""
    claim = ended(received=23, delivered=7, messages=2, withheld={"reasoning": 15, "blank": 1})

    assert problems(history(), claim) == [
        "received is 23 in turn_ended, 24 in its events",
        "reasoning is 15 in turn_ended, 16 in its flushes",
        "1 characters neither delivered nor withheld",
    ]


def test_more_accounted_for_than_received_is_a_problem() -> None:
    """Counting a character twice hides the loss of another."""
    claim = ended(received=24, delivered=7, messages=2, withheld={"reasoning": 16, "blank": 2})

    assert "1 characters more accounted for than received" in problems(history(), claim)


def test_a_piece_in_two_messages_is_a_problem() -> None:
    """At most once is the first promise."""
    made = history().of_delivery(attempt(3, 2), receipt(3))

    assert problems(made, WHOLE) == ["piece 0 of flush 2 was delivered more than once"]


def test_an_attempt_without_an_outcome_is_a_problem_once_the_turn_ended() -> None:
    """Its message may stand in Discord, and nobody knows."""
    made = history().of_delivery(attempt(3, 0, is_notice=True))

    assert problems(made, WHOLE) == ["1 attempts without an outcome"]


def test_a_message_of_no_flush_is_a_problem() -> None:
    """Whatever was posted must be derivable from the log."""
    made = history().of_delivery(attempt(3, 9), receipt(3))

    assert "attempt 3 sent no piece of any flush" in problems(made, WHOLE)


def test_flushes_that_do_not_join_are_a_problem() -> None:
    """Text between two flushes would be in neither."""
    made = History().of_turn(said("Hithere"), SECOND)

    assert balance(TURN, made.events).problems == ("flush 2 begins at 3, not at 0",)


def test_a_flush_whose_pieces_miss_text_is_a_problem() -> None:
    """Only blanks may be in no piece."""
    holed = Flush(flush=1, text="Hi!", boundary="final", start=0, end=3, pieces=FIRST.pieces)

    result = balance(TURN, History().of_turn(said("Hi!"), holed).events)

    assert result.problems == ("flush 1 has 3 characters, 2 of them in pieces",)


def test_other_turns_do_not_matter() -> None:
    """Turns share one log."""
    made = history().of_turn(said("more"), turn=OTHER_TURN).of_turn(WHOLE)

    assert balance(TURN, made.events).is_balanced
