"""How long a person would take: the waits before and between paced messages.

Durations only; whoever sends does the waiting. The first message of a segment follows the one
before it by the time that typing it takes, less what has passed; between further messages of the
segment there is also a pause, sometimes a longer one, as if in thought.
"""

from random import Random
from typing import Final

_PER_CHARACTER_MS: Final = 10
_LEAST_MS: Final = 750
_MOST_MS: Final = 4_000
_LEAST_CODE_MS: Final = 937.5
_THINKING_CHANCE: Final = 0.25
_PAUSE_MS: Final = 250
_PAUSE_SPAN_MS: Final = 1_250
_THINKING_FACTOR: Final = 1.5


def typing_seconds(content: str) -> float:
    """Return how long typing `content` takes, from 0.75 to 4 seconds."""
    least = _LEAST_CODE_MS if "```" in content else _LEAST_MS
    return max(least, min(_MOST_MS, _PER_CHARACTER_MS * len(content))) / 1_000


def delay_seconds(content: str, elapsed_seconds: float) -> float:
    """Return how long to wait before `content`, given the time since the last message was sent."""
    return max(0.0, typing_seconds(content) - max(0.0, elapsed_seconds))


def pause_seconds(rng: Random) -> float:
    """Return the pause behind a message that is not the last of its segment.

    Takes two draws: whether it is a thoughtful one, then how long it is.
    """
    is_thinking = rng.random() < _THINKING_CHANCE
    pause = int(_PAUSE_MS + rng.random() * _PAUSE_SPAN_MS)
    if is_thinking:
        return max(_THINKING_FACTOR * pause, _LEAST_MS) / 1_000
    return pause / 1_000
