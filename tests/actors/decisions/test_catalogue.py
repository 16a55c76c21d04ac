"""Which entries of a list of models are believed, by TD35 of the specification."""

from typing import Any

import msgspec
import pytest

from actors.decisions.answers import MalformedAnswerError
from actors.decisions.catalogue import admitted_models
from actors.decisions.models import DecisionModel


def entry(name: str = "acme/decide-1", **members: Any) -> dict[str, Any]:  # noqa: ANN401 - of JSON
    """Return an entry as OpenRouter writes it, with other members."""
    return {
        "id": name,
        "context_length": 32_768,
        "architecture": {"input_modalities": ["text"], "output_modalities": ["decisions"]},
        "pricing": {"prompt": "0.00000004", "completion": "0"},
    } | members


def price(prompt: object) -> dict[str, Any]:
    """Return an entry of that price."""
    return entry("bad", pricing={"prompt": prompt, "completion": "0"})


BAD = [
    entry("bad", architecture={"input_modalities": ["text"], "output_modalities": ["text"]}),
    entry("bad", architecture={"input_modalities": ["image"], "output_modalities": ["decisions"]}),
    entry("bad", context_length=0),
    entry("bad", context_length=511),
    entry("bad", context_length=10_000_001),
    entry("bad", context_length=True),
    entry("bad", context_length="32768"),
    *map(price, ("Infinity", "0x10", "", " 1", "-1", "1e3", "NaN", 1, None)),
    entry("bad", pricing=None),
    entry(""),
    entry("x" * 201),
    "bad",
]


def test_td35_only_whole_entries_are_admitted() -> None:
    """What an entry lacks, a call would find out by paying for it."""
    body = msgspec.json.encode({"data": [BAD[0], entry(), *BAD]})

    assert admitted_models(body) == (DecisionModel(codename="acme/decide-1", input_tokens=32_768),)


@pytest.mark.parametrize("body", [b'{"data":{}}', b"[]", b"<html>", b"{}", b"\xff"])
def test_d28_a_list_that_is_none_fails_whole(body: bytes) -> None:
    """An empty menu would say that there are no models."""
    with pytest.raises(MalformedAnswerError):
        admitted_models(body)
