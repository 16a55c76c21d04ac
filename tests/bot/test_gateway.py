"""The gateway against a Discord on loopback: real hikari, real HTTP and WebSocket."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from hikari.impl import GatewayBot

from bot import notices
from bot.commands.stop import stop_command
from bot.gateway import Gateway, GatewayError
from bot.loopback.discord.entities import Channel, Guild, User
from bot.loopback.discord.server import LoopbackDiscord
from bot.persona_settings import PersonaSettings
from bot.secret import Secret
from bot.settings import ChatSettings, DiscordSettings, LogSettings, Settings
from bot.show_markdown import Tables
from events.base import ChannelId, MessageId, TurnId
from events.turn import StopKind, TriggerReceived
from tests.bot.configuring import guild_settings


class FakeTables:
    """Knows the sources that it is given."""

    def __init__(self, sources: dict[MessageId, str]) -> None:
        self.sources = sources

    async def table_source(self, message_id: MessageId) -> str | None:
        """Return it."""
        return self.sources.get(message_id)


NO_TABLES = FakeTables({})


class FakeTriggers:
    """Notes what it is told; answers when it is let to."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[TriggerReceived] = asyncio.Queue()
        self.stops: list[tuple[ChannelId, str, StopKind]] = []
        self.is_stopping = asyncio.Event()
        self.running: TurnId | None = TurnId("0192")
        self.error: Exception | None = None
        self.may_return = asyncio.Event()
        self.may_return.set()
        self.returned = 0

    async def trigger(self, trigger: TriggerReceived) -> None:
        """Note a trigger."""
        self.heard.put_nowait(trigger)
        await self.may_return.wait()
        if self.error is not None:
            raise self.error
        self.returned += 1

    async def stop(self, channel_id: ChannelId, requester: str, kind: StopKind) -> TurnId | None:
        """Note a stop."""
        self.stops.append((channel_id, requester, kind))
        self.is_stopping.set()
        await self.may_return.wait()
        if self.error is not None:
            raise self.error
        return self.running


@pytest.fixture
async def discord() -> AsyncIterator[LoopbackDiscord]:
    """Yield a Discord."""
    async with LoopbackDiscord() as discord:
        yield discord


@pytest.fixture
def guild(discord: LoopbackDiscord) -> Guild:
    """Return a guild that the bot is in."""
    return discord.world.add_guild("Home")


@pytest.fixture
def channel(discord: LoopbackDiscord, guild: Guild) -> Channel:
    """Return a channel there."""
    return discord.world.add_channel(guild.id, "general")


@pytest.fixture
def ada(discord: LoopbackDiscord) -> User:
    """Return somebody who speaks there."""
    return discord.world.add_user("Ada")


@pytest.fixture
def triggers() -> FakeTriggers:
    """Return who is told."""
    return FakeTriggers()


def settings_for(discord: LoopbackDiscord, token: str | None = None) -> Settings:
    """Return settings that lead to `discord`."""
    return Settings(
        discord=DiscordSettings(token=Secret(token or discord.token), api_url=discord.api_url),
        log=LogSettings(directory=Path("data")),
        chat=ChatSettings(model="main/x"),
        personas=(PersonaSettings(name="Main"), PersonaSettings(name="Mira", triggers=("mira",))),
    )


def gateway_of(settings: Settings, triggers: FakeTriggers, tables: Tables = NO_TABLES) -> Gateway:
    """Return a gateway of a bot whose guilds have set nothing."""
    return Gateway(settings, triggers, tables, guild_settings(settings))


@pytest.fixture
async def gateway(
    discord: LoopbackDiscord, channel: Channel, triggers: FakeTriggers
) -> AsyncIterator[Gateway]:
    """Yield the connected gateway."""
    assert channel
    gateway = gateway_of(settings_for(discord), triggers)
    await gateway.start()
    yield gateway
    await gateway.aclose()


@pytest.mark.usefixtures("gateway")
async def test_a_mention_becomes_a_trigger_with_all_that_a_turn_needs(
    discord: LoopbackDiscord, guild: Guild, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """The way from Discord's payload to the fact in the log."""
    bob = discord.world.add_user("Bob")

    message = await discord.say(ada, channel, f"<@bot> greet <@{bob.id}>")
    trigger = await triggers.heard.get()

    assert trigger == TriggerReceived(
        trigger_id=trigger.trigger_id,
        trigger="mention",
        channel_id=channel.id,
        guild_id=guild.id,
        message_id=message.id,
        author_id=ada.id,
        author_name="Ada",
        content="greet @Bob",
        persona="Main",
    )
    assert trigger.trigger_id == str(message.id)


@pytest.mark.usefixtures("gateway")
async def test_replies_direct_messages_words_and_threads_are_heard(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """Every way of asking, as Discord tells of it."""
    said = await discord.say(discord.bot_user, channel, "Yes?")
    thread = discord.world.add_thread(channel.id, "aside")

    await discord.say(ada, channel, "go on", reply_to=said)
    await discord.say(ada, discord.world.add_dm(ada), "psst")
    await discord.say(ada, thread, "what says Mira?")

    heard = [await triggers.heard.get() for _ in range(3)]
    assert [(one.trigger, one.persona, one.guild_id is None) for one in heard] == [
        ("reply", "Main", False),
        ("direct", "Main", True),
        ("word", "Mira", False),
    ]
    assert heard[2].channel_id == thread.id


@pytest.mark.usefixtures("gateway")
async def test_what_is_not_meant_for_the_bot_is_not_heard(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """Neither talk among others, nor other bots, nor the bot itself."""
    robot = discord.world.add_user("Robot", is_bot=True)

    await discord.say(ada, channel, "good morning")
    await discord.say(robot, channel, "<@bot> loop?")
    await discord.say(discord.bot_user, channel, "<@bot> mira")
    last = await discord.say(ada, channel, "<@bot> now")

    assert (await triggers.heard.get()).message_id == last.id
    assert triggers.heard.empty()


@pytest.mark.usefixtures("gateway")
async def test_b60_an_event_that_comes_twice_is_handed_on_twice_under_one_id(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """The router tells them apart by the id: it alone knows what came before a restart."""
    message = await discord.say(ada, channel, "<@bot> hi")
    await discord.redeliver(message)

    first, second = await triggers.heard.get(), await triggers.heard.get()

    assert first == second


@pytest.mark.usefixtures("gateway")
async def test_a_slow_router_holds_up_neither_messages_nor_commands(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """B33: what stops an answer must not wait behind it."""
    triggers.may_return.clear()

    for text in ("one", "two", "three"):
        await discord.say(ada, channel, f"<@bot> {text}")
    heard = [(await triggers.heard.get()).content for _ in range(3)]
    await discord.command(ada, channel, "stop")
    await triggers.is_stopping.wait()

    assert heard == ["one", "two", "three"]
    assert triggers.returned == 0
    triggers.may_return.set()


@pytest.mark.usefixtures("gateway")
async def test_a_trigger_that_fails_does_not_stop_the_next(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """A lost actor is a matter of seconds; the gateway must outlive it."""
    triggers.error = RuntimeError("the router is gone")
    await discord.say(ada, channel, "<@bot> one")
    await triggers.heard.get()
    triggers.error = None

    await discord.say(ada, channel, "<@bot> two")

    assert (await triggers.heard.get()).content == "two"


@pytest.mark.usefixtures("gateway")
async def test_messages_are_heard_after_a_lost_connection(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """Discord closes every connection now and then; what was said meanwhile is replayed."""
    await discord.disconnect()

    await discord.say(ada, channel, "<@bot> hi")

    assert (await triggers.heard.get()).content == "hi"


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("running", "answer"),
    [(TurnId("0192"), notices.STOPPED), (None, notices.NOTHING_TO_STOP)],
)
async def test_stop_is_answered_at_once_and_in_private(
    discord: LoopbackDiscord,
    channel: Channel,
    ada: User,
    triggers: FakeTriggers,
    running: TurnId | None,
    answer: str,
) -> None:
    """Whoever stops wants to know that it worked; the channel needs no more noise."""
    triggers.running = running

    invocation = await discord.command(ada, channel, "stop")
    response = await invocation.response

    assert (response.content, response.is_ephemeral) == (answer, True)
    assert triggers.stops == [(channel.id, str(ada.id), "stop")]
    assert discord.messages(channel.id) == []


@pytest.mark.usefixtures("gateway")
async def test_p139_kill_is_a_command_of_its_own(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """It drops what a stop would still say."""
    response = await (await discord.command(ada, channel, "kill")).response

    assert response.content == notices.STOPPED
    assert triggers.stops == [(channel.id, str(ada.id), "kill")]


@pytest.mark.usefixtures("gateway")
async def test_stop_works_in_direct_messages(
    discord: LoopbackDiscord, ada: User, triggers: FakeTriggers
) -> None:
    """Answers run there too."""
    direct = discord.world.add_dm(ada)

    response = await (await discord.command(ada, direct, "stop")).response

    assert response.content == notices.STOPPED
    assert triggers.stops == [(direct.id, str(ada.id), "stop")]


@pytest.mark.usefixtures("gateway")
async def test_a_stop_that_fails_says_so(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """Silence would look like Discord's own "did not respond"."""
    triggers.error = RuntimeError("the router is gone")

    response = await (await discord.command(ada, channel, "stop")).response

    assert (response.content, response.is_ephemeral) == (notices.STOP_FAILED, True)


async def test_a_slow_stop_is_promised_in_time_and_told_in_the_end(
    discord: LoopbackDiscord,
    channel: Channel,
    ada: User,
    triggers: FakeTriggers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Discord forgets a command that is not answered within three seconds."""
    impatient = partial(stop_command, patience_seconds=0.01)
    monkeypatch.setattr("bot.gateway.stop_command", impatient)
    triggers.may_return.clear()
    gateway = gateway_of(settings_for(discord), triggers)
    await gateway.start()

    invocation = await discord.command(ada, channel, "stop")
    await discord.until(lambda: invocation.is_deferred)
    triggers.may_return.set()
    response = await invocation.response

    assert (response.content, response.is_ephemeral) == (notices.STOPPED, True)
    await gateway.aclose()


async def test_a_bot_that_ends_takes_no_trigger_and_still_stops(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers, gateway: Gateway
) -> None:
    """While it drains, answers still run, and people may still want them stopped."""
    gateway.refuse_triggers()

    await discord.say(ada, channel, "<@bot> hi")
    response = await (await discord.command(ada, channel, "stop")).response

    assert response.content == notices.STOPPED
    assert triggers.heard.empty()


async def test_closing_waits_for_what_was_heard(
    discord: LoopbackDiscord, channel: Channel, ada: User, triggers: FakeTriggers
) -> None:
    """A trigger that was heard and not recorded would be lost."""
    gateway = gateway_of(settings_for(discord), triggers)
    await gateway.start()
    triggers.may_return.clear()
    await discord.say(ada, channel, "<@bot> hi")
    await triggers.heard.get()

    closing = asyncio.create_task(gateway.aclose())
    await discord.until(lambda: discord.sessions == 0)
    assert triggers.returned == 0
    triggers.may_return.set()
    await closing

    assert triggers.returned == 1


async def test_a_gateway_that_never_started_closes(discord: LoopbackDiscord) -> None:
    """Whatever failed before it, the way out is the same."""
    await gateway_of(settings_for(discord), FakeTriggers()).aclose()


async def test_a_refused_token_is_named(discord: LoopbackDiscord) -> None:
    """The operator should not have to read hikari's traceback."""
    gateway = gateway_of(settings_for(discord, "MTIz.aBcDeF.made-up"), FakeTriggers())

    with pytest.raises(GatewayError) as caught:
        await gateway.start()

    assert str(caught.value) == "Discord refuses discord.token"
    await gateway.aclose()


async def test_a_discord_that_cant_be_reached_is_named(
    discord: LoopbackDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong address or no network, still so after hikari's own retries."""
    monkeypatch.setattr("bot.gateway.GatewayBot", partial(GatewayBot, max_retries=0))
    settings = settings_for(discord)
    await discord.close()
    gateway = gateway_of(settings, FakeTriggers())

    with pytest.raises(GatewayError, match=r"can't be reached at discord\.api_url"):
        await gateway.start()

    await gateway.aclose()
