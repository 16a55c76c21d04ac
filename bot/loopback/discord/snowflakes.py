"""Discord's ids: milliseconds since 2015 above 22 bits, here a counter, so that ids sort by age."""

from datetime import UTC, datetime, timedelta

from actors.ports import Clock

_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
_COUNTER_BITS = 22
_MILLISECOND = timedelta(milliseconds=1)


class Snowflakes:
    """Gives ids, each greater than the one before, even where the clock stands or goes back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def next(self) -> int:
        """Return the next id."""
        now = (self._clock.now() - _EPOCH) // _MILLISECOND
        self._last = max(self._last + 1, now << _COUNTER_BITS)
        return self._last


def created_at(snowflake: int) -> datetime:
    """Return when the id was given: UTC, to the millisecond."""
    return _EPOCH + (snowflake >> _COUNTER_BITS) * _MILLISECOND
