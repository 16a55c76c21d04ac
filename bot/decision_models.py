"""The decision models that the configuration file names, as a catalog.

A file has no rows and thus no row numbers: a model's are derived from what it is. Renamed, moved or
given another protocol it is another model, and what was chosen before is no longer there.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from actors.decisions.catalogue import CATALOGUE_URL, LONGEST_LIST, admitted_models
from actors.decisions.models import (
    DecisionModel,
    DecisionModelOption,
    DecisionReference,
    DecisionScope,
    ReadKey,
    Registered,
)
from actors.gate.fetching import Fetcher
from bot.decision_settings import DecisionSettings
from bot.secret import Secret

_NUMBER_BYTES: Final = 7
"""A number fits a signed 64-bit integer, and JSON readers that only have doubles come close."""


class ConfiguredModels:
    """The operator's models, there for every guild and person.

    A native model whose longest input the file does not tell is there once OpenRouter's list of
    models has told it; a list that could not be had is asked for again by the next call.
    """

    def __init__(self, models: Mapping[str, DecisionSettings], fetcher: Fetcher) -> None:
        self._rows = {name: _registered(name, one) for name, one in models.items()}
        self._fetcher = fetcher
        self._listed: dict[str, DecisionModel] | None = None

    async def registered(self, scope: DecisionScope) -> Sequence[Registered]:  # noqa: ARG002 - they are for all
        """Return those whose longest input is known.

        Raises:
            RemoteUrlPolicyError, TransportError, MalformedAnswerError: The list can't be had.
        """
        rows = tuple(self._rows.values())
        if all(row.option.model.input_tokens for row in rows):
            return rows
        listed = await self._list()
        known = (_measured(row, listed) for row in rows)
        return tuple(row for row in known if row.option.model.input_tokens)

    def reference(self, name: str) -> DecisionReference:
        """Return the choice of the model that the file calls `name`."""
        return self._rows[name].option.reference

    async def _list(self) -> Mapping[str, DecisionModel]:
        if self._listed is None:
            found = await self._fetcher.get(CATALOGUE_URL, limit_bytes=LONGEST_LIST)
            self._listed = {one.codename: one for one in admitted_models(found.body)}
        return self._listed


def _measured(row: Registered, listed: Mapping[str, DecisionModel]) -> Registered:
    model = row.option.model
    if model.input_tokens:
        return row
    option = replace(row.option, model=listed.get(model.codename, model))
    return replace(row, option=option)


def _registered(name: str, one: DecisionSettings) -> Registered:
    model = DecisionModel(codename=one.model, input_tokens=one.input_tokens)
    return Registered(
        option=DecisionModelOption(model=model, reference=_reference(name, one)),
        kind="custom" if one.is_custom else "openrouter",
        api_style=one.api_style,
        base_url=one.base_url,
        read_key=_key_of(one.api_key),
        requires_key=not one.is_custom,
        allow_private=one.allow_private,
    )


def _reference(name: str, one: DecisionSettings) -> DecisionReference:
    model_id = _number("model", name, one.api_style, one.base_url, one.model)
    if not one.is_custom:
        return DecisionReference(provider="openrouter", model_id=model_id)
    return DecisionReference(
        provider=f"custom:{_number('connection', name)}",
        model_id=model_id,
        custom_endpoint_id=_number("endpoint", name, one.api_style, one.base_url),
    )


def _number(*parts: str) -> int:
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return int.from_bytes(digest[:_NUMBER_BYTES], "big") + 1


def _key_of(secret: Secret) -> ReadKey:
    async def read() -> str:
        return secret.reveal()

    return read
