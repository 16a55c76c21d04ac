"""Google's function calls: whole, or with arguments that are told value by value.

A call that will continue names itself once; then come its arguments, each under a path such as
`$.place.cities[0]`, texts in any number of pieces; an empty call ends it. A signature stands on the
call that it is for, or on any other part of the response.
"""

import re
from typing import Final

from actors.providers.carried import carry
from actors.providers.json_text import JsonObject, dump, is_list, is_object, object_of, text_of
from actors.providers.surrogates import clean
from actors.providers.tool_calls import CALLS_LIMIT, SLOTS_LIMIT
from events.generation import FunctionCall

KIND: Final = "google"
SIGNATURE: Final = "thoughtSignature"

_PATH: Final = re.compile(r"\$(?:\.[^.\[\]]{1,128}|\[[0-9]{1,3}\]|\['[^']{1,128}'\]){1,16}")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[([0-9]+)\]|\['([^']+)'\]")
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")


class _Call:
    def __init__(self, function: JsonObject, signature: str) -> None:
        self.name = text_of(function.get("name"))
        self.call_id = text_of(function.get("id"))
        self.signature = signature
        self.arguments: JsonObject = dict(object_of(function.get("args")))
        self.is_open = function.get("willContinue") is True

    def finished(self, signature: str) -> FunctionCall:
        signature = self.signature or signature
        fields: JsonObject = {SIGNATURE: signature} if signature else {}
        if self.call_id:
            fields["id"] = self.call_id
        return FunctionCall(
            name=clean(self.name),
            arguments=clean(dump(self.arguments)),
            call_id=clean(self.call_id) or None,
            carried=carry(KIND, fields),
        )


class GoogleCalls:
    """Collects the calls of one response."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._size = 0
        self._signature = ""
        self.is_oversized = False
        """Whether the calls exceed what is taken; nothing more is collected then."""

    @property
    def is_open(self) -> bool:
        """Whether a call has begun."""
        return bool(self._calls)

    def feed(self, part: JsonObject) -> None:
        """Take what one part says of calls, and what signature it brings."""
        signature = text_of(part.get(SIGNATURE)) or text_of(part.get("thought_signature"))
        function = part.get("functionCall", part.get("function_call"))
        self._signature = self._signature or signature
        if not is_object(function):
            return
        self._size += len(dump(function))
        if self._size > CALLS_LIMIT or len(self._calls) > SLOTS_LIMIT:
            self.is_oversized = True
        elif self._calls and self._calls[-1].is_open and not function.get("name"):
            self._go_on(self._calls[-1], function)
        elif text_of(function.get("name")):
            self._calls.append(_Call(function, signature))

    def take(self) -> list[FunctionCall]:
        """Return the calls in their order, and forget them.

        The first one of a row is signed; where its own part was not, the response's signature is.
        """
        calls, self._calls = self._calls, []
        return [one.finished("" if at else self._signature) for at, one in enumerate(calls)]

    def _go_on(self, call: _Call, function: JsonObject) -> None:
        call.is_open = function.get("willContinue") is True
        parts = function.get("partialArgs")
        for one in parts if is_list(parts) else []:
            if is_object(one):
                _put(call.arguments, one)


def _put(arguments: JsonObject, told: JsonObject) -> None:
    """Put one value at its path; a text goes on from what is there."""
    path = text_of(told.get("jsonPath"))
    name = next((one for one in _VALUES if one in told), "")
    if not name or not _PATH.fullmatch(path):
        return
    value = None if name == "nullValue" else told[name]
    steps = [
        int(index) if index else field or quoted for field, index, quoted in _STEP.findall(path)
    ]
    holder: object = arguments
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if following is None:
            _set(holder, step, value)
        else:
            holder = _child(holder, step, [] if isinstance(following, int) else {})


def _child(holder: object, step: str | int, empty: object) -> object:
    child = _get(holder, step)
    if is_object(child) or is_list(child):
        return child
    _set(holder, step, empty)
    return empty


def _get(holder: object, step: str | int) -> object:
    if is_object(holder) and isinstance(step, str):
        return holder.get(step)
    if is_list(holder) and isinstance(step, int) and step < len(holder):
        return holder[step]
    return None


def _set(holder: object, step: str | int, value: object) -> None:
    old = _get(holder, step)
    if isinstance(old, str) and isinstance(value, str):
        value = old + value
    if is_object(holder) and isinstance(step, str):
        holder[step] = value
    elif is_list(holder) and isinstance(step, int):
        holder.extend([None] * (step + 1 - len(holder)))
        holder[step] = value
