"""How often Discord is asked for a guild's emojis."""

from actors.delivery.guild_emojis import KEPT_SECONDS, GuildEmojis
from events.base import GuildId
from events.scene import ServerEmoji
from tests.actors.delivery.fakes import ScriptedMessenger
from tests.fakes import ManualClock

GUILD = GuildId(1)
MUG = (ServerEmoji(name="mug", emoji_id=1),)


async def test_emojis_are_remembered_for_some_minutes() -> None:
    """Every turn asks; Discord limits how often it answers."""
    messenger, clock = ScriptedMessenger(), ManualClock()
    messenger.guild_emojis = MUG
    emojis = GuildEmojis(messenger, clock)

    assert [await emojis.of(GUILD), await emojis.of(GUILD)] == [MUG, MUG]
    assert messenger.looked_up == [GUILD]

    await clock.advance(KEPT_SECONDS)
    messenger.guild_emojis = None

    assert await emojis.of(GUILD) == MUG
    assert messenger.looked_up == [GUILD, GUILD]
