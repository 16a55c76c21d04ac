"""Shows what typical answers become: the messages that a reader would see, one after the other.

Run on demand: `python -m tests.benchmarks.show_answers [NAME]`. Each answer comes by four
characters, as a model sends them; what is printed is what would be posted, with the rules that
left something out.
"""

import sys
from typing import Final

from msgspec.structs import replace

from actors.text import core
from events.base import UserId
from events.scene import Participant, ServerEmoji

STEP: Final = 4
"""Characters of a chunk: about a token."""

CHAT: Final = """\
Ren: Oh, that again! :mug: Yes, I know what you mean...

Honestly, @Ann, I'd just *ask* them. (They don't bite. Mostly.) Worst case they say no, and then \
you know.

"If you never ask," as @grandma used to say, "the answer is always no." Good luck! :wave:
"""
REVIEW: Final = """\
<think>The loop is quadratic; also the default argument.</think>Two things stand out:

1. `def add(item, items=[])` shares one list between all calls. Use `None`:
```python
def add(item, items=None):
    items = [] if items is None else items
    items.append(item)
    return items
```
2. The loop in `find_pairs` looks at each pair twice, so it is O(n²). With a `set` it is O(n): \
see https://docs.python.org/3/library/stdtypes.html#set.

Also: the @property on line 12 is never read, and `__init__` has a `# type: ignore` that nothing \
needs anymore. Otherwise LGTM!
"""
LIST: Final = """\
Here are three places to start:

- **[Real Python](https://realpython.com)**: long tutorials, well explained.
- **[The docs](https://docs.python.org/3/)**: dry, but complete (and free).
- *Fluent Python*, 2nd ed.: the one book I'd buy.

## What then?
> Build something small that you need yourself.

No. 2 is what I use daily; see also <https://peps.python.org>.
"""
TABLE: Final = """\
Sure! Here's how they compare:

| Plan | Price | Seats |
|:-----|------:|:-----:|
| Free | $0 | 1 |
| Team | $12 | 10 |
| Org | $40 | no limit |

For you two, **Free** is enough. Ask me again when there are ten of you.
"""
ROLE_PLAY: Final = """\
レン (mad): 「またかよ\uff01」と彼は机を叩いた。*ドンッ* みんなが振り返る。
……。
レン (shy): 「……ごめん。」小さな声で言った。「言い過ぎた。怒ってる\uff1f」
彼女は首を横に振って、少し笑った。それから窓の外を見た。雨はもう止んでいた。
"""
ANSWERS: Final = {
    "chat": CHAT,
    "review": REVIEW,
    "list": LIST,
    "table": TABLE,
    "role play": ROLE_PLAY,
}
LIVE: Final = core.TextConfig(
    persona="Ren",
    aliases=("レン",),
    participants=(Participant(user_id=UserId(123456789012345678), names=("Ann",)),),
    sprites=("mad", "shy"),
    emojis=(ServerEmoji(name="mug", emoji_id=111111111111111111),),
)
MODES: Final = {
    "live": LIVE,
    "aggregated": replace(LIVE, live_streaming=False),
    "sentences": replace(LIVE, sentence_splitting=True),
}


def segments_of(text: str, config: core.TextConfig, step: int = STEP) -> list[core.Segment]:
    """Return what a stream gives that comes in chunks of `step`."""
    state = core.initial(config)
    segments: list[core.Segment] = []
    for at in range(0, len(text), step):
        state, some = core.step(state, text[at : at + step])
        segments += some
    return [*segments, *core.finish(state, "final")[1]]


def shown(segments: list[core.Segment]) -> str:
    """Return the messages as a reader would see them, and what was left out, by rule."""
    lines: list[str] = []
    withheld: dict[str, int] = {}
    for one in segments:
        for piece in one.pieces:
            first = "▣" if piece.is_table else "│"
            name = f"({one.modifier}) " if one.modifier else ""
            lines += [
                f"{first if index == 0 else ' '} {name if index == 0 else ''}{line}"
                for index, line in enumerate(piece.content.split("\n"))
            ]
        for rule, count in one.withheld.items():
            withheld[rule] = withheld.get(rule, 0) + count
    account = ", ".join(f"{rule} {count}" for rule, count in sorted(withheld.items()))
    return "\n".join([*lines, f"left out: {account or 'nothing'}"])


def main() -> None:
    """Print every answer, or the one that is named, in each mode."""
    asked = " ".join(sys.argv[1:])
    for name, text in ANSWERS.items():
        for mode, config in MODES.items():
            if asked in ("", name):
                print(f"== {name}, {mode}\n{shown(segments_of(text, config))}\n")  # noqa: T201 - a report


if __name__ == "__main__":
    main()
