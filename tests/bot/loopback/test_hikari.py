"""An unmodified hikari bot against the loopback, end to end, with arc's slash commands."""

import asyncio
import logging
from collections.abc import Iterator

import arc
import hikari
import pytest

from bot.loopback.discord.entities import Channel, User
from bot.loopback.discord.faults import Fault
from bot.loopback.discord.gateway import Cut
from bot.loopback.discord.server import LoopbackDiscord
from tests.bot.loopback.client import hikari_bot


@pytest.fixture(autouse=True)
def content(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail where hikari complains: an event that it cannot read, it only logs."""
    yield
    records = caplog.get_records("call")
    assert [one for one in records if one.levelno >= logging.ERROR] == []


async def start(discord: LoopbackDiscord, bot: hikari.GatewayBot, n: int = 1) -> None:
    """Start a bot."""
    await bot.start(check_for_updates=False)
    await discord.until_ready(n)


class Heard:
    """What people say, as a bot hears it."""

    def __init__(self, bot: hikari.GatewayBot) -> None:
        self._queue: asyncio.Queue[int] = asyncio.Queue()
        bot.subscribe(hikari.MessageCreateEvent, self._note)

    async def ids(self, count: int) -> list[int]:
        """Return the ids of the next `count` messages."""
        async with asyncio.timeout(10.0):
            return [await self._queue.get() for _ in range(count)]

    def is_empty(self) -> bool:
        """Return whether nothing else was heard."""
        return self._queue.empty()

    async def _note(self, event: hikari.MessageCreateEvent) -> None:
        if not event.is_bot:
            self._queue.put_nowait(event.message_id)


def texts(discord: LoopbackDiscord, channel: Channel) -> list[str]:
    """Return what stands in the channel."""
    return [message.content for message in discord.messages(channel.id)]


async def test_a_bot_starts_hears_types_reads_replies_and_edits(
    discord: LoopbackDiscord, channel: Channel, ann: User
) -> None:
    """This is the whole path of an answer."""
    async with hikari_bot(discord) as bot:

        async def answer(event: hikari.MessageCreateEvent) -> None:
            if event.is_bot:
                return
            await bot.rest.trigger_typing(event.channel_id)
            past = await bot.rest.fetch_messages(event.channel_id, before=event.message_id)
            words = " ".join(one.content or "" for one in past)
            reply = await bot.rest.create_message(
                event.channel_id, f"after {words}", reply=event.message_id
            )
            await reply.edit("done")

        bot.subscribe(hikari.MessageCreateEvent, answer)
        await discord.say(ann, channel, "before")
        await start(discord, bot)

        question = await discord.say(ann, channel, "hello <@bot>")

        await discord.until(lambda: texts(discord, channel)[-1] == "done")
    reply = discord.messages(channel.id)[-1]
    assert reply.reply_to == question.id
    assert reply.author.id == discord.bot_user.id
    assert discord.posts[0].content == "after before"
    assert discord.posts[0].body is not None
    assert discord.posts[0].body["allowed_mentions"] == {"parse": []}
    assert [place for place, _ in discord.typing] == [channel.id]


async def test_everything_that_is_looked_up_can_be_read(
    discord: LoopbackDiscord, channel: Channel, ann: User
) -> None:
    """Hikari's models are strict: a missing field is a KeyError in the bot."""
    assert channel.guild_id is not None
    guild_id = channel.guild_id
    discord.world.add_emoji(guild_id, "wave")
    discord.world.set_nickname(guild_id, ann.id, "Annie")
    thread = discord.world.add_thread(channel.id, "aside")
    said = await discord.say(ann, channel, "hello")
    async with hikari_bot(discord) as bot:
        await start(discord, bot)
        rest = bot.rest

        me, application = await rest.fetch_my_user(), await rest.fetch_application()
        guild, member = await rest.fetch_guild(guild_id), await rest.fetch_member(guild_id, ann.id)
        fetched, aside = await rest.fetch_channel(channel.id), await rest.fetch_channel(thread.id)
        message = await rest.fetch_message(channel.id, said.id)
        dm = await rest.create_dm_channel(ann.id)
        mine = await rest.fetch_my_guilds()
        cached = bot.cache.get_guild_channel(channel.id)

    assert me.id == application.id == discord.bot_user.id
    assert (guild.name, [emoji.name for emoji in guild.emojis.values()]) == (
        "Rejoinder HQ",
        ["wave"],
    )
    assert (member.display_name, message.content) == ("Annie", "hello")
    assert isinstance(fetched, hikari.GuildTextChannel)
    assert isinstance(aside, hikari.GuildThreadChannel)
    assert (dm.recipient.id, [one.id for one in mine]) == (ann.id, [guild_id])
    assert cached is not None


async def test_what_changes_while_it_runs_reaches_its_cache(
    discord: LoopbackDiscord, ann: User
) -> None:
    """A bot is put into guilds while it runs, and thrown out of channels."""
    async with hikari_bot(discord) as bot:
        heard = Heard(bot)
        await start(discord, bot)

        guild = discord.world.add_guild("Second")
        discord.world.add_role(guild.id, "helper")
        place = discord.world.add_channel(guild.id, "general")
        gone = discord.world.add_channel(guild.id, "gone")
        discord.world.add_thread(gone.id, "aside")
        discord.world.add_emoji(guild.id, "wave")
        discord.world.edit(await discord.say(ann, gone, "hi"))
        discord.world.remove(await discord.say(ann, gone, "oops"))
        discord.world.remove_channel(gone.id)
        await discord.say(ann, place, "hi")

        await heard.ids(3)
        cached = bot.cache.get_guild(guild.id)
        assert cached is not None
        assert [role.name for role in cached.get_roles().values()] == ["@everyone", "helper"]
        assert [emoji.name for emoji in cached.get_emojis().values()] == ["wave"]
        assert list(cached.get_channels()) == [place.id]


def commands(bot: hikari.GatewayBot) -> arc.GatewayClient:
    """Give the bot two slash commands, one that answers at once and one that promises."""
    client = arc.GatewayClient(bot)

    @client.include
    @arc.slash_command("stop", "Stop the answer")
    async def stop(
        ctx: arc.GatewayContext,
        whose: arc.Option[hikari.User | None, arc.UserParams("Whose answer")] = None,
    ) -> None:
        name = "nobody" if whose is None else whose.display_name
        await ctx.respond(f"stopped {name}", flags=hikari.MessageFlag.EPHEMERAL)

    @client.include
    @arc.slash_command("settle", "Think first", default_permissions=hikari.Permissions.MANAGE_GUILD)
    async def settle(ctx: arc.GatewayContext) -> None:
        await ctx.defer()
        await ctx.respond("first")
        await ctx.edit_initial_response("second")
        await ctx.respond("third")

    config = client.include_slash_group("config", "Settings")

    @config.include
    @arc.slash_subcommand("set", "Change one")
    async def change(
        ctx: arc.GatewayContext, count: arc.Option[int, arc.IntParams("How many")]
    ) -> None:
        can = ctx.member is not None and ctx.member.permissions & hikari.Permissions.MANAGE_GUILD
        await ctx.respond(f"{count} {bool(can)}")

    del stop, settle, change
    return client


async def test_a_slash_command_is_registered_invoked_and_answered(
    discord: LoopbackDiscord, channel: Channel, ann: User
) -> None:
    """/stop is how people end an answer."""
    async with hikari_bot(discord) as bot:
        commands(bot)
        await start(discord, bot)

        stopped = await discord.command(ann, channel, "stop", options={"whose": ann.id})
        private = await discord.command(ann, discord.world.add_dm(ann), "stop")
        settled = await discord.command(ann, channel, "settle")
        changed = await discord.command(
            ann,
            channel,
            "config set",
            options={"count": 3},
            permissions=int(hikari.Permissions.MANAGE_GUILD),
        )

        answer = await stopped.response
        assert (answer.content, answer.is_ephemeral) == ("stopped Ann", True)
        assert (await private.response).content == "stopped nobody"
        assert (await settled.response).content == "first"
        assert (await changed.response).content == "3 True"
        await discord.until(lambda: len(settled.answers) == 3)
        assert [one.content for one in settled.answers] == ["first", "second", "third"]
        assert "stopped Ann" not in texts(discord, channel)
        assert texts(discord, channel).count("second") == 1


async def test_a_second_start_finds_its_commands_unchanged(discord: LoopbackDiscord) -> None:
    """What Discord gives back must compare equal, or every start registers all anew."""
    for n, expected in ((1, ["GET", "PUT"]), (2, ["GET", "PUT", "GET"])):
        async with hikari_bot(discord) as bot:
            client = commands(bot)
            await start(discord, bot, n)
            await client.wait_until_started()
        done = [one.method for one in discord.requests if one.kind == "command"]
        assert done == expected

    assert {one.body.name for one in discord.registered_commands()} == {"stop", "settle", "config"}


async def test_commands_of_a_guild_are_offered_there_alone(
    discord: LoopbackDiscord, ann: User, channel: Channel
) -> None:
    """A command under trial in one guild must not turn up anywhere else."""
    assert channel.guild_id is not None
    async with hikari_bot(discord) as bot:
        client = arc.GatewayClient(bot, default_enabled_guilds=[channel.guild_id])

        @client.include
        @arc.slash_command("hello", "Greets")
        async def hello(ctx: arc.GatewayContext) -> None:
            await ctx.respond(f"hello {ctx.author.display_name}")

        del hello
        await start(discord, bot)

        invocation = await discord.command(ann, channel, "hello")

        assert (await invocation.response).content == "hello Ann"
        assert len(discord.registered_commands(channel.guild_id)) == 1
        assert discord.registered_commands() == []
        with pytest.raises(TimeoutError):
            await discord.command(ann, discord.world.add_dm(ann), "hello", timeout=0.01)


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_bot_that_is_cut_off_resumes_and_misses_nothing(
    discord: LoopbackDiscord, channel: Channel, ann: User, how: Cut
) -> None:
    """Gateway connections break several times a day."""
    async with hikari_bot(discord) as bot:
        heard = Heard(bot)
        await start(discord, bot)
        first = await discord.say(ann, channel, "before")

        await discord.disconnect(how)
        missed = await discord.say(ann, channel, "meanwhile")
        await discord.until(lambda: discord.resumed == 1)

        assert await heard.ids(2) == [first.id, missed.id]
        assert heard.is_empty()


async def test_an_invalidated_session_is_lost_with_what_it_missed(
    discord: LoopbackDiscord, channel: Channel, ann: User
) -> None:
    """Discord ends sessions for good, too; then only the history knows."""
    async with hikari_bot(discord) as bot:
        heard = Heard(bot)
        await start(discord, bot)

        await discord.disconnect("invalidate")
        await discord.say(ann, channel, "meanwhile")
        await discord.until_ready(2)
        later = await discord.say(ann, channel, "later")

        assert await heard.ids(1) == [later.id]
        assert discord.resumed == 0


async def test_b60_an_event_is_delivered_twice_on_request(
    discord: LoopbackDiscord, channel: Channel, ann: User
) -> None:
    """One message must start one turn, however often it comes."""
    async with hikari_bot(discord) as bot:
        heard = Heard(bot)
        await start(discord, bot)
        said = await discord.say(ann, channel, "hello")

        await discord.redeliver(said)

        assert await heard.ids(2) == [said.id, said.id]


async def test_a_restarted_bot_identifies_anew(
    discord: LoopbackDiscord, channel: Channel, ann: User
) -> None:
    """A new process knows no session; nothing of the old one may reach it."""
    async with hikari_bot(discord) as bot:
        await start(discord, bot)
    await discord.say(ann, channel, "to nobody")
    async with hikari_bot(discord) as bot:
        heard = Heard(bot)
        await start(discord, bot, 2)
        said = await discord.say(ann, channel, "to the new one")

        assert await heard.ids(1) == [said.id]
        assert discord.sessions == 1


async def test_hikari_executes_webhooks_and_uploads_files(
    discord: LoopbackDiscord, channel: Channel
) -> None:
    """Tables and sprites are posted as images, alters by webhook."""
    async with hikari_bot(discord) as bot:
        await start(discord, bot)
        webhook = await bot.rest.create_webhook(channel.id, "Rejoinder")
        assert webhook.token is not None

        posted = await bot.rest.execute_webhook(
            webhook.id,
            webhook.token,
            "hi",
            username="Mira",
            attachment=hikari.Bytes(b"image", "table.png"),
        )
        data = await posted.attachments[0].read()
        await bot.rest.delete_webhook_message(webhook.id, webhook.token, posted.id)
        with pytest.raises(hikari.NotFoundError) as refusal:
            await bot.rest.fetch_message(channel.id, posted.id)

    assert (posted.author.username, posted.attachments[0].filename) == ("Mira", "table.png")
    assert data == b"image"
    assert refusal.value.code == 10008


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        pytest.param(50035, 400, hikari.BadRequestError, id="B26"),
        pytest.param(50001, 403, hikari.ForbiddenError, id="B24-50001"),
        pytest.param(10003, 404, hikari.NotFoundError, id="B24-10003"),
    ],
)
async def test_refusals_reach_hikari_with_their_codes(
    discord: LoopbackDiscord,
    channel: Channel,
    code: int,
    status: int,
    kind: type[hikari.ClientHTTPResponseError],
) -> None:
    """The sender decides by the code."""
    discord.fail(Fault(status=status, code=code))
    async with hikari_bot(discord) as bot:
        await start(discord, bot)

        with pytest.raises(kind) as refusal:
            await bot.rest.create_message(channel.id, "hello")

    assert _code(refusal.value) == code
    assert len(discord.posts) == 1


def _code(error: hikari.HTTPResponseError) -> int:
    assert isinstance(error, hikari.BadRequestError | hikari.ForbiddenError | hikari.NotFoundError)
    return error.code
