"""JSON as providers send it: read leniently, walked without trust.

msgspec reads what is JSON. The standard library reads what it refuses and providers send all the
same: half characters, NaN, numbers beyond a double.
"""

import json
from typing import Final

import msgspec
from typing_extensions import TypeIs

JsonObject = dict[str, object]
"""A JSON object whose values nobody has looked at."""

_decoder: Final = msgspec.json.Decoder()


class BadPayloadError(ValueError):
    """A payload that is no JSON object."""


def is_object(value: object) -> TypeIs[JsonObject]:
    """Return whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeIs[list[object]]:
    """Return whether `value` is a JSON array."""
    return isinstance(value, list)


def object_of(value: object) -> JsonObject:
    """Return `value`, or an empty object where it is none."""
    return value if is_object(value) else {}


def text_of(value: object) -> str:
    """Return `value`, or "" where it is no string."""
    return value if isinstance(value, str) else ""


def parse_object(text: str) -> JsonObject:
    """Return the JSON object that `text` is; its strings may hold half characters.

    Raises:
        BadPayloadError: It is no JSON, nested beyond measure, or no object.
    """
    value: object
    try:
        value = _decoder.decode(text)
    except (ValueError, RecursionError):
        value = _parse_leniently(text)
    if not is_object(value):
        raise BadPayloadError(f"a payload is a JSON object, not {type(value).__name__}")
    return value


def _parse_leniently(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPayloadError("a payload is JSON") from error


def dump(value: object) -> str:
    """Return `value` as compact JSON; half characters stay as they are."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
