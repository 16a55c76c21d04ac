"""What guilds set, in tests: the real rules and the real log client on a log in memory."""

from actors.guild_configurations import Changed, GuildConfigurations
from actors.guild_routes import GuildRoutes, Route
from actors.providers.adapter import ModelRoute
from actors.rules.configuration import Refused
from actors.rules.model_choices import GuildChange
from bot.clock import SystemClock
from bot.entrusted_keys import credentials_of
from bot.guild_settings import GuildSettings
from bot.settings import Settings
from events.base import GuildId, UserId
from events.settings import Persona
from projections.guilds import Guilds
from tests.actors.log_ports import LocalEndpoint, log_client

MAIN = ModelRoute(provider="main", kind="openai", base_url="http://x", api_key="", model="x")
"""What the configuration file has."""


class LocalConfigurator:
    """What the router does with changes, in this process."""

    def __init__(
        self, personas: tuple[Persona, ...], endpoint: LocalEndpoint, routes: GuildRoutes
    ) -> None:
        self.configurations = GuildConfigurations(
            log_client(endpoint), SystemClock(), personas, routes
        )

    async def configure(
        self, guild_id: GuildId, change: GuildChange, by: UserId
    ) -> Changed | Refused:
        """Change what a guild has set."""
        return await self.configurations.change(guild_id, change, by)

    async def guilds(self) -> Guilds:
        """Return what every guild has set, from the log."""
        await self.configurations.load()
        return self.configurations.all


def guild_settings(settings: Settings, endpoint: LocalEndpoint | None = None) -> GuildSettings:
    """Return what holds in the guilds of a bot with these settings, on that log."""
    personas = tuple(one.persona() for one in settings.personas)
    routes = GuildRoutes(credentials_of(settings), Route(models=(MAIN,)))
    configurator = LocalConfigurator(personas, endpoint or LocalEndpoint(), routes)
    return GuildSettings(configurator, personas, settings.chat.turn_settings())
