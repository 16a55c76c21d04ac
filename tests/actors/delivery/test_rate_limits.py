"""When the next request may be written."""

import pytest

from actors.delivery import rate_limits
from actors.delivery.outcomes import TooMany
from actors.delivery.rate_limits import RateLimits, Route

HERE: Route = ("messages", 1)
THERE: Route = ("messages", 2)


def headers(remaining: object, reset_after: object) -> dict[str, str]:
    """A response's headers of its bucket."""
    return {
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset-After": str(reset_after),
    }


def test_a_bucket_holds_its_own_route_back_until_it_resets() -> None:
    """Other channels have buckets of their own."""
    limits = RateLimits()

    limits.learn(HERE, headers(0, 2.5), now=10.0)

    assert limits.delay(HERE, 11.0) == 1.5
    assert limits.delay(HERE, 12.5) == 0.0
    assert limits.delay(THERE, 11.0) == 0.0


def test_a_bucket_with_requests_left_holds_nothing_back() -> None:
    """Waiting without need would slow every answer."""
    limits = RateLimits()

    limits.learn(HERE, headers(1, 2.5), now=10.0)

    assert limits.delay(HERE, 10.0) == 0.0


@pytest.mark.parametrize(
    "said", [{}, headers("x", 1), headers(0, "soon"), headers(0, "nan"), headers(0, -1)]
)
def test_headers_that_make_no_sense_are_no_limit(said: dict[str, str]) -> None:
    """A proxy that mangles headers must not silence a channel."""
    limits = RateLimits()

    limits.learn(HERE, said, now=0.0)

    assert limits.delay(HERE, 0.0) == 0.0


def test_t133_a_refusal_holds_its_route_back_and_a_global_one_every_route() -> None:
    """What Discord said is kept until it is over, by whoever asks."""
    limits = RateLimits()

    limits.refused(HERE, TooMany(seconds=2.0), now=0.0)
    before = limits.delay(THERE, 0.0)
    limits.refused(HERE, TooMany(seconds=5.0, is_global=True), now=0.0)
    limits.refused(HERE, TooMany(seconds=1.0, is_global=True), now=0.0)

    assert before == 0.0
    assert limits.delay(THERE, 1.0) == 4.0
    assert limits.delay(HERE, 1.0) == 4.0


def test_places_in_a_second_are_given_out_one_by_one() -> None:
    """Whoever waits leaves in the order of asking, not all at once when a second is over."""
    limits = RateLimits(per_second=2)

    waits = [limits.reserve(0.0, longest=30.0) for _ in range(5)]

    assert waits == [0.0, 0.0, 1.0, 1.0, 2.0]
    assert limits.reserve(5.0, longest=30.0) == 0.0


def test_a_place_that_is_too_far_off_is_not_taken() -> None:
    """Who gives up must not make others wait longer."""
    limits = RateLimits(per_second=1)
    limits.reserve(0.0, longest=30.0)

    refused = limits.reserve(0.0, longest=0.5)

    assert refused is None
    assert limits.reserve(0.0, longest=30.0) == 1.0


def test_buckets_that_have_reset_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot sees more channels in a year than it should remember."""
    monkeypatch.setattr(rate_limits, "BUCKETS_KEPT", 2)
    limits = RateLimits()

    for number in range(100):
        limits.learn(("messages", number), headers(0, 1.0), now=float(number * 2))

    assert len(limits) <= 2
