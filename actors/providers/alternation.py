"""Turns of a conversation in strict alternation, as formats with two roles demand it.

Neighbours of the same role are one turn. A conversation that the model would open, because older
messages are out of sight, is opened by a notice instead.
"""

from typing import Final, Literal

from msgspec import Struct

from actors.providers.json_text import JsonObject

START: Final = "[The conversation starts here.]"
"""What stands before a model's words where nobody spoke before it."""


class Said(Struct, frozen=True, kw_only=True):
    """What one side says, in the parts that its format has."""

    role: Literal["user", "model"]
    """Whose turn it is."""
    parts: tuple[JsonObject, ...]
    """Texts, calls, results; at least one."""


def alternating(said: list[Said], start: JsonObject) -> list[Said]:
    """Return the turns, merged; `start` is what is put before a model that speaks first."""
    turns: list[Said] = []
    if said and said[0].role == "model":
        turns.append(Said(role="user", parts=(start,)))
    for one in said:
        if turns and turns[-1].role == one.role:
            turns[-1] = Said(role=one.role, parts=turns[-1].parts + one.parts)
        else:
            turns.append(one)
    return turns
