"""Tool calls out of their fragments, in the dialects of OpenAI-compatible endpoints.

A call comes in pieces: a slot is opened by its `index` or its `id`, the name comes once, the
arguments as a JSON text in any number of parts. Some endpoints leave the index out, resend the
name, send the arguments as an object, or use the older `function_call`.
"""

from typing import Final

from actors.providers.carried import carry
from actors.providers.json_text import (
    JsonObject,
    dump,
    is_list,
    is_object,
    object_of,
    text_of,
)
from actors.providers.surrogates import clean
from events.generation import FunctionCall

CALLS_LIMIT: Final = 256 * 1024
"""Characters that the names and arguments of one response's calls may have."""
SLOTS_LIMIT: Final = 128
"""Calls, or other blocks, that one response may have."""
_WANTED_BACK: Final = ("thought_signature", "extra_content")
"""Fields of a call, beside those of the format, that Google behind it refuses to go on without."""


class _Slot:
    def __init__(self) -> None:
        self.call_id = ""
        self.name = ""
        self.is_name_complete = False
        self.arguments: list[str] = []
        self.extra: JsonObject = {}


class ToolCalls:
    """Collects the calls of one response."""

    def __init__(self) -> None:
        self._slots: dict[int, _Slot] = {}
        self._size = 0
        self.is_oversized = False
        """Whether the calls exceed what is taken; nothing more is collected then."""

    def feed(self, delta: JsonObject) -> None:
        """Take what one delta, or one whole message, says of tool calls."""
        calls = delta.get("tool_calls")
        for one in calls if is_list(calls) else [calls]:
            if is_object(one):
                function = object_of(one.get("function"))
                key = self._key(one)
                self._add(key, function, text_of(one.get("id")))
                if key in self._slots:
                    self._keep(self._slots[key], one)
        legacy = delta.get("function_call")
        if is_object(legacy):
            self._add(0, legacy, "")

    @property
    def is_open(self) -> bool:
        """Whether a call has begun."""
        return bool(self._slots)

    def take(self, kind: str, of_message: JsonObject) -> list[FunctionCall]:
        """Return the calls of all named slots, the lowest first, and forget them.

        Args:
            kind: The wire format that gets back what the calls carry.
            of_message: What it wants back with their message; the first call carries it.
        """
        named = [slot for _, slot in sorted(self._slots.items()) if slot.name]
        self._slots.clear()
        return [
            FunctionCall(
                name=clean(slot.name),
                arguments=clean("".join(slot.arguments)) or "{}",
                call_id=clean(slot.call_id) or None,
                carried=carry(kind, _carried(slot, {} if at else of_message)),
            )
            for at, slot in enumerate(named)
        ]

    def _key(self, call: JsonObject) -> int:
        index = call.get("index")
        if isinstance(index, int) and not isinstance(index, bool):
            return index
        call_id = text_of(call.get("id"))
        if not call_id:
            return 0
        same = (key for key, slot in self._slots.items() if slot.call_id == call_id)
        return next(same, max(self._slots, default=-1) + 1)

    def _keep(self, slot: _Slot, call: JsonObject) -> None:
        extra = {name: call[name] for name in _WANTED_BACK if call.get(name)}
        if extra:
            self._size += len(dump(extra))
            slot.extra.update(extra)

    def _add(self, key: int, function: JsonObject, call_id: str) -> None:
        name = text_of(function.get("name"))
        arguments = function.get("arguments")
        is_text = isinstance(arguments, str)
        part = arguments if is_text else "" if arguments is None else dump(arguments)
        self._size += len(call_id) + len(name) + len(part)
        if self._size > CALLS_LIMIT or (key not in self._slots and len(self._slots) == SLOTS_LIMIT):
            self.is_oversized = True
        if self.is_oversized:
            return
        is_first = key not in self._slots
        slot = self._slots.setdefault(key, _Slot())
        slot.call_id = slot.call_id or call_id
        # A name that the slot opened with is whole: some endpoints resend it with every fragment.
        if name and not slot.is_name_complete and name != slot.name:
            slot.name += name
            slot.is_name_complete = is_first
        if is_text:
            slot.arguments.append(part)
        elif part:
            slot.arguments = [part]


def _carried(slot: _Slot, of_message: JsonObject) -> JsonObject:
    return {**of_message, "call": slot.extra} if slot.extra else of_message
