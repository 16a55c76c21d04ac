"""The custom emojis of guilds, kept for some minutes: every turn asks, and they rarely change."""

from typing import Final

from actors.ports import Clock, Messenger
from events.base import GuildId
from events.scene import ServerEmoji

KEPT_SECONDS: Final = 300.0
"""How long what was found is good; what could not be found is asked for again as late."""
GUILDS_KEPT: Final = 1_000
"""Guilds remembered; the one that was asked for first goes."""


class GuildEmojis:
    """Asks a messenger, at most once in a while for each guild."""

    def __init__(self, messenger: Messenger, clock: Clock) -> None:
        self._messenger = messenger
        self._clock = clock
        self._found: dict[GuildId, tuple[float, tuple[ServerEmoji, ...]]] = {}

    async def of(self, guild_id: GuildId) -> tuple[ServerEmoji, ...]:
        """Return the emojis of a guild; on failure what was known last, or none."""
        until, known = self._found.get(guild_id, (0.0, ()))
        now = self._clock.monotonic()
        if now < until:
            return known
        found = await self._messenger.emojis(guild_id)
        known = known if found is None else found
        self._found.pop(guild_id, None)
        self._found[guild_id] = (now + KEPT_SECONDS, known)
        if len(self._found) > GUILDS_KEPT:
            del self._found[next(iter(self._found))]
        return known
