"""OpenRouter's list of models that decide, read for how long an input each takes.

Entries that lack what a call depends on are left out one by one; a list that is none fails whole.
Prices are read as plain decimals: a number parser would take hexadecimal, blanks and infinities.

Pure; who fetches the list hands its bytes in.
"""

import re
from collections.abc import Iterator
from typing import Final

from actors.decisions.answers import LONGEST_MODEL, MalformedAnswerError
from actors.decisions.models import DecisionModel
from actors.providers.json_text import (
    BadPayloadError,
    JsonObject,
    is_list,
    is_object,
    object_of,
    parse_object,
    text_of,
)

CATALOGUE_URL: Final = "https://openrouter.ai/api/v1/models?output_modalities=decisions"
"""Where the list is; public."""
LONGEST_LIST: Final = 8 * 1024 * 1024
"""Most bytes of it."""
FEWEST_TOKENS: Final = 512
MOST_TOKENS: Final = 10_000_000
"""Between these a documented input is believed."""

_PRICE: Final = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,40})?")


def admitted_models(body: bytes) -> tuple[DecisionModel, ...]:
    """Return the models of the list `body` that can be asked, in its order.

    Raises:
        MalformedAnswerError: It is no list.
    """
    try:
        entries = parse_object(body.decode(errors="replace")).get("data")
    except BadPayloadError:
        entries = None
    if not is_list(entries):
        raise MalformedAnswerError("no list of models")
    return tuple(_admitted(entries))


def _admitted(entries: list[object]) -> Iterator[DecisionModel]:
    for entry in entries:
        if not is_object(entry) or not _can_decide(entry):
            continue
        name, length = text_of(entry.get("id")), entry.get("context_length")
        if isinstance(length, bool) or not isinstance(length, int):
            continue
        if 0 < len(name) <= LONGEST_MODEL and FEWEST_TOKENS <= length <= MOST_TOKENS:
            yield DecisionModel(codename=name, input_tokens=length)


def _can_decide(entry: JsonObject) -> bool:
    architecture, pricing = object_of(entry.get("architecture")), object_of(entry.get("pricing"))
    modalities = (
        ("output_modalities", "decisions"),
        ("input_modalities", "text"),
    )
    has_modalities = all(
        is_list(listed := architecture.get(name)) and wanted in listed
        for name, wanted in modalities
    )
    prices = (text_of(pricing.get(name)) for name in ("prompt", "completion"))
    return has_modalities and all(_PRICE.fullmatch(price) for price in prices)
