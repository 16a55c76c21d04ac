"""The models of each guild's turns, with the keys that they are asked with, as the router holds it.

A guild's own provider is paid by the guild or not asked: where its key can't be had its models are
left out, and no key of the operator's, no other provider and no fallback that nobody chose takes
their place. Where a guild has chosen nothing, the configuration file's route holds, whole.

Keys are read when a guild's choices change and at the start, not when a turn begins, which must not
wait for a disk. A turn keeps the key that it began with.
"""

import asyncio
from collections.abc import Iterator

import structlog
from msgspec import Struct

from actors.credentials import CredentialError, CredentialStore
from actors.providers.adapter import ModelRoute
from actors.providers.registry import known_kind
from actors.rules.model_choices import GATE
from events.base import GuildId
from events.settings import ProviderSaved
from events.turn import TriggerReceived
from projections.guild_models import Models, chosen_model, part_model
from projections.guilds import Guild, Guilds

_log = structlog.get_logger(__name__)


class Route(Struct, frozen=True, kw_only=True):
    """Which models a turn asks."""

    models: tuple[ModelRoute, ...]
    """The first tried first; none where nothing that was chosen can be asked."""
    is_shuffled: bool = False
    """Whether one of them, drawn, is asked first."""


class GuildRoutes:
    """Knows every guild's keys, and makes routes of its choices."""

    def __init__(self, credentials: CredentialStore, file: Route) -> None:
        self._credentials = credentials
        self._file = file
        self._offered = {f"{one.provider}/{one.model}": one for one in file.models}
        self._keys: dict[GuildId, dict[str, str]] = {}

    @property
    def offered(self) -> tuple[str, ...]:
        """The models that the configuration file names, each `provider/model`."""
        return tuple(self._offered)

    async def load(self, guilds: Guilds) -> None:
        """Read the keys of every guild."""
        for guild_id, guild in guilds.items():
            await self.learn(guild_id, guild)

    async def learn(self, guild_id: GuildId, guild: Guild) -> None:
        """Read a guild's keys, and forget those that it has no longer."""
        known, keys = self._keys.get(guild_id, {}), dict[str, str]()
        for provider in guild.models.providers.values():
            try:
                keys[provider.credential] = known.get(
                    provider.credential
                ) or await asyncio.to_thread(self._credentials.reveal, provider.credential)
            except CredentialError as error:
                _log.error(
                    "provider_key_unusable",
                    guild_id=guild_id,
                    provider=provider.name,
                    reason=str(error),
                )
        self._keys[guild_id] = keys

    def of(self, trigger: TriggerReceived, persona: str, guild: Guild) -> Route:
        """Return what the turn of a trigger asks where that persona answers (P148, P149)."""
        models = guild.models
        first = chosen_model(models, persona, trigger.channel_id, trigger.parent_id)
        if first is None and models.fallbacks is None:
            return self._file
        asked = self._asked(
            trigger.guild_id, models, (*filter(None, (first,)), *(models.fallbacks or ()))
        )
        if first is None:
            return _route(*self._file.models[:1], *asked)
        if models.fallbacks is None and part_model(first)[0] not in models.providers:
            # The operator pays for it, and so for what stands in for it.
            return _route(*asked, *self._file.models)
        return _route(*asked)

    def _asked(
        self, guild_id: GuildId | None, models: Models, names: tuple[str, ...]
    ) -> Iterator[ModelRoute]:
        for name in names:
            provider, model = part_model(name)
            own = models.providers.get(provider)
            route = self._offered.get(name) if own is None else self._own(guild_id, own, model)
            if route is None:
                _log.warning("model_unusable", guild_id=guild_id, model=name)
            else:
                yield route

    def _own(
        self, guild_id: GuildId | None, provider: ProviderSaved, model: str
    ) -> ModelRoute | None:
        kind = known_kind(provider.wire)
        keys = {} if guild_id is None else self._keys.get(guild_id, {})
        key = keys.get(provider.credential)
        if kind is None or key is None:
            return None
        return ModelRoute(
            # Guilds may use the same names; what is known of their keys must not mix.
            provider=f"{provider.name}@{guild_id}",
            kind=kind,
            base_url=provider.base_url,
            api_key=key,
            model=model,
            gate=GATE,
        )


def _route(*models: ModelRoute) -> Route:
    return Route(models=tuple({(one.provider, one.model): one for one in models}.values()))
