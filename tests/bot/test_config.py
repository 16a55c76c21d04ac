"""`/config` against a Discord on loopback: real hikari and arc, the real rules, a log in memory."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from bot import notices
from bot.commands.config import include_config
from bot.gateway import Gateway
from bot.guild_settings import GuildSettings
from bot.loopback.discord.entities import MEMBER_PERMISSIONS, Channel, Permission, User
from bot.loopback.discord.invoking import OptionValue
from bot.loopback.discord.server import LoopbackDiscord
from bot.persona_settings import PersonaSettings
from bot.secret import Secret
from bot.setting_table import TABLE
from bot.settings import ChatSettings, DiscordSettings, LogSettings, Settings
from events.base import GuildId, guild_stream
from events.turn import TurnSettings
from projections.guilds import settings_of
from tests.actors.log_ports import LocalEndpoint
from tests.bot.configuring import guild_settings
from tests.bot.test_gateway import NO_TABLES, FakeTriggers

MANAGER = int(MEMBER_PERMISSIONS | Permission.MANAGE_GUILD)


class Place:
    """A bot in a guild, and a member who may configure it."""

    def __init__(self, discord: LoopbackDiscord, guilds: GuildSettings, log: LocalEndpoint) -> None:
        guild = discord.world.add_guild("Home")
        self.discord = discord
        self.guilds = guilds
        self.log = log
        self.guild_id = GuildId(guild.id)
        self.channel: Channel = discord.world.add_channel(guild.id, "general")
        self.ada: User = discord.world.add_user("Ada")
        self.triggers = FakeTriggers()

    async def call(
        self, command: str, /, *, permissions: int = MANAGER, **options: OptionValue
    ) -> tuple[str, bool]:
        """Call a command; return the answer and whether it was private."""
        invocation = await self.discord.command(
            self.ada, self.channel, command, options=options, permissions=permissions
        )
        response = await invocation.response
        return response.content, response.is_ephemeral

    def in_force(self, persona: str = "") -> TurnSettings:
        """Return the settings in force."""
        return settings_of(self.guilds.of(self.guild_id), self.guilds.file, persona)


def settings_for(discord: LoopbackDiscord) -> Settings:
    """Return settings that lead to `discord`."""
    return Settings(
        discord=DiscordSettings(token=Secret(discord.token), api_url=discord.api_url),
        log=LogSettings(directory=Path("data")),
        chat=ChatSettings(model="main/x"),
        personas=(PersonaSettings(name="Main"), PersonaSettings(name="Mira", triggers=("mira",))),
    )


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    """Yield a bot that listens."""
    async with LoopbackDiscord() as discord:
        settings, log = settings_for(discord), LocalEndpoint()
        place = Place(discord, guild_settings(settings, log), log)
        gateway = Gateway(settings, place.triggers, NO_TABLES, place.guilds)
        await gateway.start()
        yield place
        await gateway.aclose()


def test_every_setting_has_one_row() -> None:
    """A setting without a row could be set by nobody."""
    assert [row.name for row in TABLE] == list(TurnSettings.__struct_fields__)
    assert all(len(row.says) <= 100 for row in TABLE)


async def test_discord_is_told_kinds_bounds_and_who_may(place: Place) -> None:
    """Its own interface then refuses most mistakes, and hides the command from others."""
    await place.call("config view")
    (config,) = [c for c in place.discord.registered_commands() if c.body.name == "config"]

    assert int(str(config.sent["default_member_permissions"])) == Permission.MANAGE_GUILD
    assert config.sent["contexts"] == [0]
    (setting,) = [one for one in config.body.options or () if one.name == "set"]
    assert {one.name: one.type for one in setting.options or ()} == {
        "live_streaming": 5,
        "paced_messages": 5,
        "sentence_splitting": 5,
        "force_lowercase": 5,
        "punctuation_splits": 5,
        "send_message_limit": 4,
        "stops_at_speakers": 5,
        "uses_emojis": 5,
        "keeps_unknown_emojis": 5,
        "repeats_emojis": 5,
        "persona": 3,
    }


@pytest.mark.parametrize("command", ["config view", "config set", "config reset"])
async def test_a_member_without_the_permission_is_refused(place: Place, command: str) -> None:
    """A guild can show the command to everybody; that must not let everybody configure."""
    every: dict[str, dict[str, OptionValue]] = {
        "config view": {},
        "config set": {"live_streaming": False},
        "config reset": {"setting": "everything"},
    }

    told = await place.call(command, permissions=int(MEMBER_PERMISSIONS), **every[command])

    assert told == (notices.MAY_NOT_CONFIGURE, True)
    assert await place.log.log.read(guild_stream(place.guild_id)) == []


async def test_a_change_says_from_what_to_what_and_holds(place: Place) -> None:
    """Who changed it can see that it worked."""
    told = await place.call("config set", live_streaming=False, send_message_limit=3)

    lines = (
        "**Live streaming**: on → off (set for this server).",
        "**Message limit**: no limit → 3 (set for this server).",
    )
    assert told == ("\n".join(lines), True)
    assert place.in_force() == TurnSettings(live_streaming=False, send_message_limit=3)


async def test_a_persona_can_differ_from_its_guild(place: Place) -> None:
    """And the view says which of them decided."""
    await place.call("config set", force_lowercase=True)

    await place.call("config set", force_lowercase=False, persona="Mira")

    assert (place.in_force().force_lowercase, place.in_force("mira").force_lowercase) == (
        True,
        False,
    )
    shown, _ = await place.call("config view", persona="Mira")
    assert "- **Force lowercase**: off (set for Mira)" in shown
    assert "- **Live streaming**: on (the bot's default)" in shown


async def test_a_reset_takes_the_choice_back(place: Place) -> None:
    """What the operator says in the file holds again."""
    await place.call("config set", force_lowercase=True, live_streaming=False)

    told, _ = await place.call("config reset", setting="force_lowercase")
    assert told == "**Force lowercase**: on → off (the bot's default)."
    assert not place.in_force().live_streaming

    await place.call("config reset", setting="everything")
    assert place.in_force() == TurnSettings()


@pytest.mark.parametrize("limit", [-1, 41])
async def test_a_value_out_of_bounds_is_refused(place: Place, limit: int) -> None:
    """Discord's interface is not the only one who calls."""
    told, _ = await place.call("config set", send_message_limit=limit, live_streaming=False)

    assert told.startswith("Message limit: at ")
    assert place.in_force() == TurnSettings()


async def test_a_persona_that_is_not_there_is_named(place: Place) -> None:
    """A typing mistake must not configure nobody."""
    told, _ = await place.call("config set", live_streaming=False, persona="Mirra")

    assert told == "There is no persona Mirra here."


async def test_personas_are_offered_while_one_types(place: Place) -> None:
    """Nobody should have to know how a name is written."""
    looking = await place.discord.complete(
        place.ada, place.channel, "config view", "persona", options={"persona": "MI"}
    )

    assert [one.value for one in await looking.choices] == ["Mira"]


async def test_a_change_survives_a_restart_of_the_bot(place: Place) -> None:
    """All of it is in the log."""
    await place.call("config set", send_message_limit=7)

    again = guild_settings(settings_for(place.discord), LocalEndpoint(place.log.log))
    await again.start()

    assert settings_of(again.of(place.guild_id), again.file).send_message_limit == 7


async def test_a_slow_log_is_waited_for_with_a_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Discord forgets a command that is not answered within three seconds."""
    impatient = partial(include_config, patience_seconds=0.01)
    monkeypatch.setattr("bot.gateway.include_config", impatient)
    async with LoopbackDiscord() as discord:
        settings, log = settings_for(discord), LocalEndpoint()
        place = Place(discord, guild_settings(settings, log), log)
        gateway = Gateway(settings, place.triggers, NO_TABLES, place.guilds)
        await gateway.start()
        log.lose_before = 5

        invocation = await discord.command(
            place.ada,
            place.channel,
            "config set",
            options={"live_streaming": False},
            permissions=MANAGER,
        )
        await discord.until(lambda: invocation.is_deferred)
        response = await invocation.response

        assert (response.content, response.is_ephemeral) == (
            "**Live streaming**: on → off (set for this server).",
            True,
        )
        await gateway.aclose()
