"""What a provider wants back with a call that it made, kept with the call and sent to it alone.

Signatures, blocks of reasoning and other fields that only the provider can read. They ride in
`FunctionCall.carried`, so that they are in the log and survive a crash. They are marked with the
wire format that they came in: another one is never shown them.
"""

from typing import Final

from actors.providers.json_text import BadPayloadError, JsonObject, dump, object_of, parse_object
from actors.providers.surrogates import clean
from events.generation import FunctionCall

CARRIED_LIMIT: Final = 1024 * 1024
"""Characters that are carried for one call; a half of what was signed is worth nothing."""


def carry(kind: str, fields: JsonObject) -> str:
    """Return what `FunctionCall.carried` holds of `fields`; empty where there are none."""
    written = clean(dump({kind: fields})) if fields else ""
    return written if len(written) <= CARRIED_LIMIT else ""


def carried(kind: str, call: FunctionCall) -> JsonObject:
    """Return the fields that `call` carries for the wire format `kind`; none where it is not."""
    if not call.carried:
        return {}
    try:
        return object_of(parse_object(call.carried).get(kind))
    except BadPayloadError:
        return {}
