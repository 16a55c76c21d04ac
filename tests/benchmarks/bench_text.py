"""What the text path costs: characters a second, and whether a long answer costs more.

Run on demand: `python -m tests.benchmarks.bench_text`. The ratio of the cost of a character in a
long and in a short answer is what can be compared between machines.
"""

import time
from typing import Final

from actors.text import core
from events.base import UserId
from events.scene import Participant, ServerEmoji

ROUNDS: Final = 3
SHORT: Final = 10_000
LONG: Final = 400_000
STEP: Final = 4
"""Characters of a small chunk: about a token."""

PROSE: Final = (
    "Well, I had not thought of that. It *does* look odd, though: the numbers (all three) agree.\n"
    "Let me see... no, they don't! See https://example.org/a?b=1 for more.\n\n"
    '"Fine," she said, and **left** :wave: without a word.\n'
)
CODE: Final = (
    "Try this:\n```python\nfor item in items:\n    total += item.price * item.count\n"
    '    print(f"{total:.2f}")\n```\nThe `total` is then right.\n'
)
CJK: Final = (
    "\u4eca\u65e5\u306f\u3044\u3044\u5929\u6c17\u3067\u3059\u306d\u3002\u6563\u6b69\u306b\u884c\u304d\u307e\u305b\u3093\u304b\uff1f\n"
    "\u300c\u306f\u3044\u3001\u884c\u304d\u307e\u3057\u3087\u3046\u300d\u3068\u5f7c\u5973\u306f\u8a00\u3063\u305f\u3002\n"
)
CORPORA: Final = {"prose": PROSE, "code": CODE, "cjk": CJK}
CONFIG: Final = core.TextConfig(
    persona="Ren",
    aliases=("Lil", "ren-bot"),
    participants=tuple(Participant(user_id=UserId(n), names=(f"User{n}",)) for n in range(1, 13)),
    sprites=("mad", "shy"),
    emojis=tuple(ServerEmoji(name=f"emoji_{n}", emoji_id=n) for n in range(1, 51)),
)


def seconds(text: str, step: int, rounds: int) -> float:
    """Return the CPU seconds that a text takes in chunks of `step`, the fastest of some."""
    best = float("inf")
    for _ in range(rounds):
        state = core.initial(CONFIG)
        start = time.process_time()
        for at in range(0, len(text), step):
            state, _ = core.step(state, text[at : at + step])
        core.finish(state, "final")
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Print the figures."""
    print(f"corpus   chunks      characters/s   cost of a character, {LONG:,} : {SHORT:,}")  # noqa: T201 - a report
    for name, unit in CORPORA.items():
        short = unit * (SHORT // len(unit))
        long = unit * (LONG // len(unit))
        for label, step in (("by 4", STEP), ("whole", LONG)):
            few = seconds(short, step, ROUNDS) / len(short)
            many = seconds(long, step, 1) / len(long)
            print(f"{name:8} {label:8} {1 / many:15,.0f}   {many / few:.2f}")  # noqa: T201 - a report


if __name__ == "__main__":
    main()
