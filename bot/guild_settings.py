"""What is in force in each guild, at hand in the bot's process.

The gateway judges every message of every guild by it, within milliseconds, so it can't ask the
router each time. It need not follow the log either: the router is the only writer of what guilds
set, and it is asked from here alone. Its answers, the whole at the start and the outcome of each
change, are all that there is to know; a router or log that was restarted in between changes
nothing of it.
"""

from typing import Final, Protocol

from actors.guild_configurations import Changed
from actors.rules.configuration import Refused
from actors.rules.model_choices import GuildChange
from events.base import GuildId, Position, UserId
from events.settings import Persona
from events.turn import TurnSettings
from projections.guilds import Guild, Guilds, personas_of

_BEFORE_ALL: Final = Position(0)


class Configurator(Protocol):
    """Who keeps what guilds set."""

    async def configure(
        self, guild_id: GuildId, change: GuildChange, by: UserId
    ) -> Changed | Refused:
        """Change what a guild has set, and return once it holds."""
        ...

    async def guilds(self) -> Guilds:
        """Return what every guild has set."""
        ...


class GuildSettings:
    """What holds in every guild, and the way to change it."""

    def __init__(
        self, configurator: Configurator, personas: tuple[Persona, ...], file: TurnSettings
    ) -> None:
        self._configurator = configurator
        self._personas = personas
        self.file = file
        """What holds where nobody has said otherwise."""
        self._guilds: dict[GuildId, Guild] = {}
        self._positions: dict[GuildId, Position] = {}

    async def start(self) -> None:
        """Learn what every guild has set; before it, all have set nothing."""
        self._guilds = dict(await self._configurator.guilds())

    def of(self, guild_id: GuildId | None) -> Guild:
        """Return what a guild has set; nothing in direct messages."""
        return self._guilds.get(guild_id, Guild()) if guild_id is not None else Guild()

    @property
    def credentials(self) -> frozenset[str]:
        """The ids of the keys that guilds' own providers have."""
        providers = (guild.models.providers.values() for guild in self._guilds.values())
        return frozenset(one.credential for several in providers for one in several)

    def personas(self, guild_id: GuildId | None) -> tuple[Persona, ...]:
        """Return the personas in force in a guild, or in direct messages; the main one first."""
        return personas_of(self.of(guild_id), self._personas)

    async def change(self, guild_id: GuildId, change: GuildChange, by: UserId) -> Changed | Refused:
        """Change what a guild has set, and return once it holds for the next message."""
        answer = await self._configurator.configure(guild_id, change, by)
        # Answers may overtake each other on their way.
        latest = self._positions.get(guild_id, _BEFORE_ALL)
        if isinstance(answer, Changed) and answer.position > latest:
            self._positions[guild_id] = answer.position
            self._guilds[guild_id] = answer.after
        return answer
