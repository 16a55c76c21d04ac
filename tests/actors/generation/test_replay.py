"""A turn's record, and what today's code makes of it."""

import base64

import msgspec
import pytest
from msgspec.structs import replace

from actors.generation.replay import Replay, replay, verify
from actors.text.core import TEXT_VERSION
from events.base import Event
from events.generation import (
    Chunk,
    Flush,
    Piece,
    ProcessedChunk,
    ProviderFault,
    RawChunk,
    RequestClosed,
)
from events.turn import StopObserved, TurnRecovered, TurnStatus
from tests.actors.generation.echo import (
    HELLO,
    ShoutingReader,
    crashed,
    done,
    failed,
    flushes,
    reader_for,
)
from tests.projections.histories import (
    History,
    attempt,
    ended,
    opened,
    raw,
    receipt,
    said,
    sent,
    started,
)

WHOLE = ended(received=11, delivered=10, messages=2, withheld={"blank": 1})


def by_hand() -> History:
    """Return a turn of two messages, every event of it written down here."""
    first = Flush(
        flush=1,
        text="Hello\n",
        boundary="newline",
        start=0,
        end=6,
        pieces=(Piece(content="Hello", start=0, end=5),),
        withheld={"blank": 1},
    )
    last = Flush(
        flush=2,
        text="world",
        boundary="final",
        start=6,
        end=11,
        pieces=(Piece(content="world", start=6, end=11),),
    )
    history = History().of_turn(started(), opened())
    history.of_turn(raw("Hello\n", "wor"), said("Hello\n", "wor"), first)
    history.of_delivery(attempt(1, 1, content="Hello"), receipt(1))
    history.of_turn(raw("ld", "[DONE]"), said("ld"), done())
    history.of_turn(raw(end="done"), RequestClosed(request=1, end="done"), last)
    history.of_delivery(attempt(2, 2, content="world"), receipt(2))
    return history.of_turn(WHOLE)


def replayed(history: History) -> Replay:
    """Return the replay of a history."""
    return replay(history.events, reader_for)


def test_a_turn_as_today_would_do_it_shows_no_difference() -> None:
    """A false alarm on every turn would make verify worthless."""
    result = replayed(by_hand())

    assert result.differences == ()
    assert result.is_sound
    assert (result.chunks, result.flushes, result.attempts) == (4, 2, 2)
    assert (result.code_version, result.text_version) == ("0.1.0", TEXT_VERSION)


def test_how_payloads_were_batched_does_not_matter() -> None:
    """Load decides how many payloads share an event."""
    history = History().of_turn(started(), opened(), raw("Hello\nw", "orld", end="eof"))
    history.of_turn(said("Hello\nw"), said("orld"), done(), *flushes(*HELLO), WHOLE)

    assert replayed(history).differences == ()


def test_an_adapter_that_reads_otherwise_is_found_at_its_first_chunk() -> None:
    """This is what verify is for: yesterday's traffic against today's code."""
    result = replay(by_hand().events, lambda _: ShoutingReader())

    chunk, flush, sending = result.differences
    assert (chunk.what, chunk.request, chunk.number, chunk.fields) == (
        "processed_chunk",
        1,
        1,
        ("text",),
    )
    assert chunk.recorded == '{"type":"text","text":"Hello\\n"}'
    assert chunk.replayed == '{"type":"text","text":"HELLO\\n"}'
    assert (flush.what, flush.number, flush.fields) == ("flush", 1, ("text", "pieces"))
    assert (sending.what, sending.number, sending.replayed) == ("send_attempt", 1, '"HELLO"')
    assert [one.position for one in result.differences] == [4, 5, 6]


def test_a_difference_comes_with_what_stood_before_it() -> None:
    """The place alone says little; the text around it says most."""
    history = by_hand()
    index = next(i for i, one in enumerate(history.events) if _is_flush(one.event, 2))
    flush = history.events[index].event
    assert isinstance(flush, Flush)
    history.events[index] = replace(history.events[index], event=replace(flush, text="World"))

    (difference,) = replayed(history).differences

    assert (difference.what, difference.number, difference.fields) == ("flush", 2, ("text",))
    assert difference.position == history.events[index].position
    assert len(difference.before) == 1
    assert '"Hello\\n"' in difference.before[0]


@pytest.mark.parametrize(
    "field", ["boundary", "start", "end", "pieces", "withheld", "flush"], ids=str
)
def test_every_field_of_a_flush_is_compared(field: str) -> None:
    """A message that is cut elsewhere is a difference, though its text be the same."""
    history = by_hand()
    index = next(i for i, one in enumerate(history.events) if _is_flush(one.event, 1))
    changed = {
        "boundary": "overflow",
        "start": 1,
        "end": 7,
        "pieces": (),
        "withheld": {"blank": 2},
        "flush": 3,
    }[field]
    event = msgspec.structs.replace(history.events[index].event, **{field: changed})
    history.events[index] = replace(history.events[index], event=event)

    assert replayed(history).differences[0].fields == (field,)


def test_a_message_that_was_no_piece_is_a_difference() -> None:
    """Whatever was posted must be derivable from what came."""
    history = by_hand().of_delivery(attempt(3, 2, 1, content="more"), receipt(3))

    (difference,) = replayed(history).differences

    assert (difference.what, difference.number) == ("send_attempt", 3)
    assert (difference.recorded, difference.replayed) == ('"more"', None)


def test_a_notice_is_not_compared() -> None:
    """No model wrote it."""
    history = by_hand().of_delivery(attempt(3, 0, content="Sorry", is_notice=True), receipt(3))

    assert replayed(history).differences == ()


def test_a_flush_that_is_missing_on_record_is_a_difference() -> None:
    """A turn that completed has flushed all that it received."""
    history = History().of_turn(started(), opened(), raw(*HELLO, end="eof"), said(*HELLO), done())
    history.of_turn(flushes(*HELLO)[0], WHOLE)

    (difference,) = replayed(history).differences

    assert (difference.what, difference.number, difference.recorded) == ("flush", 2, None)
    assert difference.position is None


def test_a_turn_that_another_text_core_cut_is_compared_in_its_chunks_alone() -> None:
    """That its messages differ was decided when the version was raised."""
    beginning = started(text_version=TEXT_VERSION - 1)
    history = History().of_turn(beginning, opened(), raw(*HELLO, end="eof"), said(*HELLO), done())
    history.of_turn(flushes(*HELLO)[0], WHOLE)

    assert replayed(history).differences == ()


def test_an_unknown_wire_format_is_a_difference_and_no_crash() -> None:
    """One old turn must not keep verify from the others."""
    history = History().of_turn(started(), opened(kind="gone"), raw("x"), said("x"))

    (difference,) = replayed(history).differences

    assert (difference.what, difference.recorded) == ("reader", '"gone"')


def test_bytes_that_were_no_text_are_read_as_they_were() -> None:
    """They are kept in base64, and the adapter saw replacement characters."""
    kept = base64.b64encode(b"a\xff").decode()
    payloads = RawChunk(request=1, payloads=("x", kept), base64=(1,), end="eof")
    history = History().of_turn(started(), opened(), payloads, said("x", "a\ufffd"), done())
    history.of_turn(*flushes("xa\ufffd"), ended(received=3, withheld={"crash": 3}))

    assert replayed(history).is_sound


def test_an_error_body_is_read_as_one() -> None:
    """A status that is not 2xx makes the payload an error."""
    body = RawChunk(
        request=1, payloads=("no",), http_status=402, retry_after_seconds=1.5, end="done"
    )
    fault = ProviderFault(
        type="api_error", code="402", retryable=False, message="no", retry_after_ms=1_500
    )
    error = ProcessedChunk(request=1, chunks=(Chunk(type="error", error=fault),))
    history = History().of_turn(started(), opened(), body, error)
    history.of_turn(ended("error", stop_reason="provider_error"))

    assert replayed(history).is_sound


def test_what_an_adapter_held_back_comes_with_the_end() -> None:
    """A half of a character may wait for its other half until the body ends."""
    history = History().of_turn(started(), opened(), raw("^Hi"), raw(end="eof"), said("Hi"), done())
    history.of_turn(*flushes("Hi"), ended(received=2, withheld={"crash": 2}))

    assert replayed(history).is_sound


def test_a_request_that_failed_is_followed_by_another() -> None:
    """A turn may ask several models; each answer has its own reader."""
    history = History().of_turn(started(), opened(1), raw(request=1, end="connection_lost"))
    history.of_turn(failed(1), opened(2), raw(*HELLO, request=2, end="eof"))
    history.of_turn(said(*HELLO, request=2), done(2), *flushes(*HELLO))
    history.of_delivery(*sent(flushes(*HELLO))).of_turn(WHOLE)

    result = replayed(history)

    assert result.is_sound
    assert result.chunks == 4


def test_an_error_after_text_flushes_the_rest() -> None:
    """What the model has said is delivered before the notice."""
    made = flushes(*HELLO, how="error")
    history = History().of_turn(started(), opened(), raw(*HELLO, end="connection_lost"))
    history.of_turn(said(*HELLO), failed(), *made).of_delivery(*sent(made))
    history.of_turn(
        ended(
            "error",
            stop_reason="provider_error",
            received=11,
            delivered=10,
            messages=2,
            withheld={"blank": 1},
        )
    )

    assert replayed(history).is_sound


def stopped(*, flushed: bool) -> History:
    """Return a turn that a stop ended, its rest flushed or given up."""
    made = flushes(*HELLO, how="stop" if flushed else None)
    history = History().of_turn(started(), opened(), raw(*HELLO), said(*HELLO), made[0])
    history.of_turn(raw(end="stopped"), RequestClosed(request=1, end="stopped"))
    history.of_turn(StopObserved(position=1, stop="stop", requester="31"), *made[1:])
    history.of_delivery(*sent(made))
    rest = {} if flushed else {"stop": 5}
    return history.of_turn(
        ended(
            "stopped_by_user",
            received=11,
            delivered=10 if flushed else 5,
            messages=len(made),
            withheld={"blank": 1, **rest},
        )
    )


@pytest.mark.parametrize("flushed", [True, False], ids=["flushed", "discarded"])
def test_a_stopped_turn_is_replayed_as_it_ended(flushed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A graceful stop flushes the rest, a follow-up gives it up; the record tells which."""
    assert replayed(stopped(flushed=flushed)).is_sound


def test_a_delivery_that_failed_gives_up_the_rest_though_the_answer_was_whole() -> None:
    """Nothing follows a message of which nobody knows whether it stands."""
    made = flushes(*HELLO)[:1]
    history = History().of_turn(started(), opened(), raw(*HELLO, end="eof"), said(*HELLO), done())
    history.of_turn(*made)
    history.of_turn(ended("unconfirmed", received=11, withheld={"blank": 1, "unconfirmed": 10}))

    assert replayed(history).is_sound


@pytest.mark.parametrize("flushed", [0, 1, 2])
def test_a_recovered_turn_shows_no_difference(flushed: int) -> None:
    """A crash is no reason why a turn could not be verified."""
    history = crashed(flushed=flushed)
    history.of_turn(TurnRecovered(epoch=1, found="text received", decision="deliver_rest"))
    made = flushes(*HELLO)
    history.of_turn(*made[flushed:]).of_delivery(*sent(made))
    history.of_turn(
        ended("recovered", received=11, delivered=10, messages=2, withheld={"blank": 1})
    )

    assert replayed(history).is_sound


def test_a_recovery_keeps_what_the_lost_process_had_ended_by_itself() -> None:
    """A rest that was flushed after an error stays flushed as it was."""
    made = flushes(*HELLO, how="error")
    history = History().of_turn(started(), opened(), raw(*HELLO, end="connection_lost"))
    history.of_turn(said(*HELLO), failed(), *made)
    history.of_turn(TurnRecovered(epoch=1, found="text received", decision="deliver_rest"))
    history.of_delivery(*sent(made))
    history.of_turn(
        ended("recovered", received=11, delivered=10, messages=2, withheld={"blank": 1})
    )

    assert replayed(history).is_sound


def test_a_turn_that_is_run_again_reads_its_new_request() -> None:
    """The first try received nothing, so nothing of it is left."""
    history = History().of_turn(started(), opened(1))
    history.of_turn(TurnRecovered(epoch=1, found="no chunk received", decision="run_again"))
    history.of_turn(opened(2), raw(*HELLO, request=2, end="eof"), said(*HELLO, request=2), done(2))
    made = flushes(*HELLO)
    history.of_turn(*made).of_delivery(*sent(made)).of_turn(WHOLE)

    assert replayed(history).is_sound


def test_the_settings_of_then_are_used() -> None:
    """A guild that changes its mode does not change its past."""
    made = flushes("Hello\nworld", live=False)
    history = History().of_turn(started(live=False), opened(), raw(*HELLO, end="eof"))
    history.of_turn(said(*HELLO), done(), *made).of_delivery(*sent(made))
    history.of_turn(ended(received=11, delivered=11, messages=1))

    assert replayed(history).is_sound


@pytest.mark.parametrize("status", ["completed", "error"])
def test_verify_returns_what_is_not_sound(status: TurnStatus) -> None:
    """An operator is told of the turns that differ or do not balance, and of no others."""
    lost = by_hand()
    lost.events[-1] = replace(
        lost.events[-1], event=ended(status, received=11, delivered=9, messages=2)
    )

    (unsound,) = verify([by_hand().events, lost.events, stopped(flushed=True).events], reader_for)

    assert unsound.is_same
    assert "delivered is 9 in turn_ended, 10 in its events" in unsound.balance.problems


def test_a_replay_can_be_printed_as_json() -> None:
    """`replay --json` and the console print it as it is."""
    result = replay(by_hand().events, lambda _: ShoutingReader())

    assert msgspec.json.decode(msgspec.json.encode(result))["differences"][0]["number"] == 1


def _is_flush(event: Event, number: int) -> bool:
    return isinstance(event, Flush) and event.flush == number
