"""What the demo's model says, and how it comes."""

import asyncio
import json
from typing import Final

from bot.loopback.script import Answer, Body, Tokens

REVERSED: Final = """\
Three ways, from the plainest to the laziest.
```python
colours = ["red", "green", "blue"]

colours.reverse()             # in place
backwards = colours[::-1]     # a new list
lazily = reversed(colours)    # an iterator, no copy
```
Use `reverse()` when nobody else holds the list, the slice when somebody does.
"""
PLANETS: Final = """\
| Planet | Moons | Day in hours |
|---|---:|---:|
| Earth | 1 | 24 |
| Mars | 2 | 25 |
| Jupiter | 97 | 10 |
"""
LIBRARIAN: Final = """\
All the maps are on the third shelf, sorted by how lost one is.
Mira (laughing): Yours is the empty one.
"""
NOTE: Final = "Ann's rehearsals are on Tuesdays at seven"
"""What the model keeps by a tool."""
NOTED: Final = "I'll remember that here: rehearsals on Tuesdays at seven."
LONG_WAY: Final = """\
Tides begin with the Moon, and the Moon began with a collision.
Some four and a half billion years ago a body the size of Mars came by.
"""
SHORT_WAY: Final = "The Moon pulls the sea towards it, and the Earth turns underneath."
STORY: Final = """\
Once upon a time there was a lighthouse that was afraid of the dark.
Every evening it lit its lamp a little earlier, and every morning it put it out a little later.
The ships found this charming, but the oil did not last.
So one night the lamp went out, and the lighthouse saw the stars for the first time.
It has kept a window free of glass ever since.
"""
STOOD_IN: Final = "Seven times six is forty-two."
SAGA: Final = """\
Rome was not built in a day, and neither was this sentence.
Its process is about to be killed.
What the model had sent by then stands in the log, and what was not yet posted still arrives.
Once.
"""
LOST: Final = """\
Discord will keep this message and never say so.
This one must not follow, since nobody knows whether the first one is there.
"""

PIECE: Final = 5
"""Characters of one delta: about a token."""
PIECE_SECONDS: Final = 0.012
"""Between two deltas."""


def streamed(
    text: str,
    *,
    seconds: float = PIECE_SECONDS,
    held_from: str = "",
    end: asyncio.Event | None = None,
) -> Answer:
    """Return an answer that streams `text`; a gate that nobody opens stands before `held_from`.

    Args:
        text: What the model says.
        seconds: Between two pieces.
        held_from: Where the stream falls silent; empty: nowhere.
        end: What the stream's end waits for.
    """
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    gates: dict[int, asyncio.Event] = {}
    if held_from:
        gates[text.index(held_from) // PIECE] = asyncio.Event()
    if end is not None:
        gates[len(pieces)] = end
    tokens = Tokens(input_tokens=40, output_tokens=len(pieces))
    return Answer(pieces=tuple(pieces), delay_seconds=seconds, gates=gates, usage=tokens)


def calling(name: str, **arguments: str) -> Answer:
    """Return an answer that says nothing and calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": "call_demo", "function": function}
    deltas: list[Body] = [
        {"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "tool_calls"},
    ]
    usage = {"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52}
    payloads: list[Body] = [
        *({"choices": [delta]} for delta in deltas),
        {"choices": [], "usage": usage},
    ]
    return Answer(payloads=(*map(json.dumps, payloads), "[DONE]"))
