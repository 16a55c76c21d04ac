"""What a long answer costs."""

import time

import pytest

from actors.text import core


def _seconds_a_character(text: str, *, live: bool) -> float:
    best = float("inf")
    for _ in range(3):
        state = core.initial(core.TextConfig(live_streaming=live))
        start = time.process_time()
        for at in range(0, len(text), 4):
            state, _ = core.step(state, text[at : at + 4])
        core.finish(state, "final")
        best = min(best, time.process_time() - start)
    return best / len(text)


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize(
    "unit",
    ["word and <b> `it`\n", "abcd ", "```\nx = 1\n```\n", "<think>hm</think>x", "</aaaaaaaaa"],
)
def test_the_cost_of_a_character_does_not_grow_with_the_answer(unit: str, live: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Rescanning what was scanned would make the end of a long answer crawl."""
    short, long = (unit * (size // len(unit)) for size in (10_000, 80_000))

    assert _seconds_a_character(long, live=live) < 4 * _seconds_a_character(short, live=live)
