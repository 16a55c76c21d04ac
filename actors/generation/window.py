"""What of a conversation fits into a model's window.

Tokens are estimated, 4 characters of prose or 3.5 of JSON each: no tokenizer is known of an
arbitrary model. Room for the answer is kept free. The oldest messages go first, each with the
answers to it, so that what remains begins with somebody's words; instructions, the message to
answer and what tools said about it always stay, and a window too small for those is the provider's
to refuse.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from actors.providers.adapter import ContextItem, ToolDefinition

ANSWER_TOKENS: Final = 8192
"""Room for the answer, the most that any request asks for; a quarter of the window, if less."""
PROSE_CHARACTERS: Final = 4.0
"""Characters a token of prose is taken for."""
JSON_CHARACTERS: Final = 3.5
"""Characters a token of JSON is taken for."""


class Fitted(Struct, frozen=True, kw_only=True):
    """A conversation that fits."""

    context: tuple[ContextItem, ...]
    """What remains, in order."""
    left_out: int
    """How many of the oldest messages are left out."""


def fit(context: Sequence[ContextItem], tools: Sequence[ToolDefinition], window: int) -> Fitted:
    """Return what of `context` fits beside `tools` into `window` tokens."""
    room = window - min(ANSWER_TOKENS, window // 4) - _tokens_of_tools(tools)
    room -= sum(map(tokens_of, context))
    asked = _asked(context)
    past = [index for index in range(asked) if context[index].role != "system"]
    dropped: set[int] = set()
    for index in past:
        is_answer = bool(dropped) and context[index].role == "model"
        if room >= 0 and not is_answer:
            break
        dropped.add(index)
        room += tokens_of(context[index])
    kept = tuple(item for index, item in enumerate(context) if index not in dropped)
    return Fitted(context=kept, left_out=len(dropped))


def tokens_of(item: ContextItem) -> int:
    """Return about how many tokens an item takes."""
    json = sum(len(call.name) + len(call.arguments) for call in item.calls)
    json += len(item.result.content) if item.result else 0
    return math.ceil(len(item.content) / PROSE_CHARACTERS) + math.ceil(json / JSON_CHARACTERS)


def _tokens_of_tools(tools: Sequence[ToolDefinition]) -> int:
    return math.ceil(sum(len(msgspec.json.encode(one)) for one in tools) / JSON_CHARACTERS)


def _asked(context: Sequence[ContextItem]) -> int:
    """Return where the message to answer stands: the last one that somebody wrote."""
    said = (
        index
        for index in range(len(context) - 1, -1, -1)
        if context[index].role == "user" and context[index].result is None
    )
    return next(said, 0)
