"""What a delivery stream says of its turn."""

from datetime import UTC, datetime

from msgspec.structs import replace

from actors.delivery.attempts import Attempts
from actors.ports import NotSent, Sent
from events.base import ChannelId, Event, MessageId, Position, Recorded, Scope, Seq, StreamId
from events.delivery import COMPONENTS_REFUSED, Outcome, Receipt, SendAttempt, SendFailed


def stream(*events: Event) -> list[Recorded]:
    """Events as a log returns them."""
    return [
        Recorded(
            position=Position(number),
            stream=StreamId("delivery/x"),
            seq=Seq(number),
            recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
            scope=Scope(),
            event=event,
        )
        for number, event in enumerate(events, 1)
    ]


def attempt(number: int, flush: int, piece: int = 0) -> SendAttempt:
    """An attempt."""
    return SendAttempt(
        attempt=number, flush=flush, piece=piece, channel_id=ChannelId(1), content="x"
    )


def receipt(number: int) -> Receipt:
    """Its receipt."""
    return Receipt(attempt=number, message_id=MessageId(100 + number), destination_id=ChannelId(1))


def failed(number: int, outcome: Outcome) -> SendFailed:
    """Its failure."""
    return SendFailed(attempt=number, outcome=outcome, reason="-")


def test_an_attempt_without_outcome_is_open() -> None:
    """It is in flight or lost; either way nothing is known of it yet."""
    attempts = Attempts(stream(attempt(1, 1), receipt(1), attempt(2, 2)))

    assert attempts.open == [2]
    assert attempts.seq == 3
    assert attempts.next_attempt == 3
    assert attempts.results == [Sent(attempt=1, flush=1, piece=0, message_id=MessageId(101))]


def test_a_message_is_known_by_flush_piece_and_purpose() -> None:
    """A notice of flush 0 and the model's text must not be taken for each other."""
    attempts = Attempts(stream(attempt(1, 1, 2), receipt(1)))

    assert isinstance(attempts.final((1, 2, "answer", 0)), Sent)
    assert attempts.final((1, 2, "notice", 0)) is None
    assert attempts.final((1, 0, "answer", 0)) is None


def test_only_what_never_left_may_be_attempted_again() -> None:
    """Everything else is final, whatever it ended in."""
    attempts = Attempts(
        stream(
            attempt(1, 1),
            failed(1, "pre_dispatch"),
            attempt(2, 2),
            failed(2, "definite_refusal"),
        )
    )

    assert attempts.final((1, 0, "answer", 0)) is None
    assert isinstance(attempts.final((2, 0, "answer", 0)), NotSent)
    assert not attempts.is_unconfirmed


def test_t103_a_message_refused_for_its_buttons_may_be_attempted_once_more_without() -> None:
    """The refusal after that is final, as is any other."""
    with_buttons = replace(attempt(1, 1), buttons=("show",))
    refused = replace(failed(1, "definite_refusal"), reason=COMPONENTS_REFUSED)
    again = (attempt(2, 1), replace(refused, attempt=2))
    key = (1, 0, "answer", 0)

    assert Attempts(stream(with_buttons, refused)).final(key) is None
    assert isinstance(Attempts(stream(with_buttons, refused, *again)).final(key), NotSent)
    plain = (with_buttons, failed(1, "definite_refusal"))
    assert isinstance(Attempts(stream(*plain)).final(key), NotSent)


def test_the_last_attempt_of_a_message_counts() -> None:
    """A message that got through on its second attempt is delivered."""
    attempts = Attempts(stream(attempt(1, 1), failed(1, "pre_dispatch"), attempt(2, 1), receipt(2)))

    assert isinstance(attempts.final((1, 0, "answer", 0)), Sent)
    assert len(attempts.results) == 2


def test_t135_one_unconfirmed_attempt_marks_the_turn() -> None:
    """It is terminal, also for whoever reads the stream after a restart."""
    attempts = Attempts(stream(attempt(1, 1), receipt(1), attempt(2, 2), failed(2, "unconfirmed")))

    assert attempts.is_unconfirmed


def test_t103_a_refusal_for_buttons_is_not_counted_against_the_webhook() -> None:
    """T136: the webhook that is refused afterwards is still replaced once."""
    hook = replace(attempt(1, 1), buttons=("show",), route="webhook", webhook_id=7)
    buttons = replace(failed(1, "definite_refusal"), reason=COMPONENTS_REFUSED, code=50035)
    again = replace(attempt(2, 1), route="webhook", webhook_id=7)
    gone = replace(failed(2, "definite_refusal"), code=10015)
    key = (1, 0, "answer", 0)

    assert Attempts(stream(hook, buttons)).second(key) is None
    assert Attempts(stream(hook, buttons, again, gone)).second(key) == "recreate"
    assert Attempts(stream(hook, buttons, again, gone)).goes_without_buttons(key)
