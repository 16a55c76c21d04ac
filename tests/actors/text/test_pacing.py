"""How long paced messages take."""

from random import Random

import pytest
from typing_extensions import override

from actors.text.pacing import delay_seconds, pause_seconds, typing_seconds


class Draws(Random):
    """Draws that a test has chosen."""

    def __init__(self, *draws: float) -> None:
        super().__init__(0)
        self.left = list(draws)

    @override
    def random(self) -> float:
        return self.left.pop(0)


@pytest.mark.parametrize(
    ("content", "seconds"),
    [
        pytest.param("a" * 10, 0.75, id="V135 short"),
        pytest.param("a" * 75, 0.75, id="V135 at the least"),
        pytest.param("a" * 76, 0.76, id="V135 above it"),
        pytest.param("a" * 300, 3.0, id="V134"),
        pytest.param("a" * 400, 4.0, id="V135 at the most"),
        pytest.param("a" * 900, 4.0, id="V135 long"),
        pytest.param("```\nab\n```", 0.9375, id="V135 code"),
    ],
)
def test_v135_typing_takes_its_time(content: str, seconds: float) -> None:
    """Too fast looks like a machine, too slow like a broken one."""
    assert typing_seconds(content) == seconds


@pytest.mark.parametrize(
    ("draws", "seconds"),
    [((0.9, 0.0), 0.25), ((0.1, 0.0), 0.75), ((0.1, 0.8), 1.875), ((0.25, 0.8), 1.25)],
)
def test_v134_pauses_are_drawn_twice(draws: tuple[float, float], seconds: float) -> None:
    """The order of draws is what makes a replay wait as long."""
    assert pause_seconds(Draws(*draws)) == seconds


def test_d8_time_that_has_passed_is_not_waited_again() -> None:
    """A slow model has already made its reader wait."""
    assert delay_seconds("a" * 300, 1.0) == 2.0
    assert delay_seconds("a" * 300, 9.0) == 0.0
