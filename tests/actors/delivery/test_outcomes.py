"""What a status, a header or a broken connection means for a message."""

import pytest

from actors.delivery.outcomes import (
    BAN_SECONDS,
    LEAST_SECONDS,
    Exchange,
    message_id_of,
    outcome_of,
    read_too_many,
)


def exchange(status: int | None, *, is_sent: bool = True, fault: str | None = None) -> Exchange:
    """An exchange that ended like this."""
    one = Exchange()
    one.status, one.is_sent, one.fault = status, is_sent, fault  # type: ignore[assignment] - a word
    return one


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 415, 499])
def test_t130_every_4xx_but_two_says_that_nothing_was_taken(status: int) -> None:
    """Refused text may be told of; text whose fate is unknown may not."""
    assert outcome_of(exchange(status)) == ("definite_refusal", f"http_{status}")


@pytest.mark.parametrize("status", [101, 302, 307, 408, 500, 502, 503, 504, 520, 599])
def test_t130_every_other_answer_leaves_the_fate_open(status: int) -> None:
    """A gateway can fail after what stands behind it took the message."""
    assert outcome_of(exchange(status)) == ("unconfirmed", f"http_{status}")


def test_t130_a_limit_is_a_refusal() -> None:
    """Of a 429 Discord took nothing, whoever gives up on it."""
    assert outcome_of(exchange(429)) == ("definite_refusal", "rate_limited")


@pytest.mark.parametrize(("is_sent", "outcome"), [(False, "pre_dispatch"), (True, "unconfirmed")])
def test_t130_without_an_answer_it_counts_whether_the_request_began_to_leave(
    *, is_sent: bool, outcome: str
) -> None:
    """The same reset means nothing before the first byte and everything after it."""
    broken = exchange(None, is_sent=is_sent, fault="connection_reset")

    assert outcome_of(broken) == (outcome, "connection_reset")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("timeout", "timeout"), ("client_error", "no_message"), (None, "no_message")],
)
def test_t130_a_good_status_without_a_message_is_unconfirmed(
    fault: str | None, reason: str
) -> None:
    """Something was taken, but nobody can say what stands in the channel."""
    assert outcome_of(exchange(200, fault=fault)) == ("unconfirmed", reason)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "2"}, b'{"retry_after": 1.5}', 2.0),
        ({"Retry-After": "1"}, b'{"retry_after": 1.5}', 1.5),
        ({}, b'{"retry_after": 0.3, "global": false}', 0.3),
        (
            {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "4.2"},
            b'{"retry_after": 1}',
            4.2,
        ),
        (
            {"X-RateLimit-Remaining": "3", "X-RateLimit-Reset-After": "4.2"},
            b'{"retry_after": 1}',
            1.0,
        ),
        ({"Retry-After": "soon"}, b'{"retry_after": 1}', 1.0),
        ({"Retry-After": "-5"}, b'{"retry_after": -1}', LEAST_SECONDS),
        ({}, b'{"retry_after": 0}', LEAST_SECONDS),
        ({"Retry-After": "inf"}, b'{"retry_after": 1}', 1.0),
    ],
)
def test_t133_the_longer_of_header_and_body_is_waited(
    headers: dict[str, str], body: bytes, seconds: float
) -> None:
    """Coming back too early is refused again, and counted."""
    too_many = read_too_many(headers, body)

    assert too_many.seconds == seconds
    assert not too_many.is_ban


def test_t133_a_global_limit_is_told_from_a_routes() -> None:
    """It pauses everything, so it must be recognized by either sign."""
    assert read_too_many({}, b'{"retry_after": 1, "global": true}').is_global
    assert read_too_many({"X-RateLimit-Global": "true"}, b'{"retry_after": 1}').is_global
    assert not read_too_many({}, b'{"retry_after": 1}').is_global


@pytest.mark.parametrize("body", [b"<html>1015</html>", b"", b"{}", b"[]", b'{"retry_after": []}'])
def test_b30c_a_429_that_is_not_discords_is_a_ban(body: bytes) -> None:
    """What stands before Discord seldom says how long; going on prolongs it."""
    too_many = read_too_many({"Retry-After": "5"}, body)

    assert too_many.is_ban
    assert too_many.seconds == BAN_SECONDS
    assert read_too_many({"Retry-After": "900"}, body).seconds == 900.0


@pytest.mark.parametrize(
    ("body", "message_id"),
    [
        ({"id": "123456789012345678"}, 123456789012345678),
        ({"id": 5}, None),
        ({"id": "x"}, None),
        ({"id": "²"}, None),
        ({"id": ""}, None),
        ({}, None),
        ([{"id": "1"}], None),
        (None, None),
    ],
)
def test_t130_a_message_is_what_has_an_id(body: object, message_id: int | None) -> None:
    """A receipt names a message that can be found; no other is written."""
    assert message_id_of(body) == message_id
