"""In whose name messages go out, and what a refusal permits: over real sockets to a Discord."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.delivery.single_attempt import HikariMessenger
from actors.ports import Draft, NotSent, SendRequest, SendResult, Sent
from actors.sender import Sender
from actors.voice import Voice, voice_of
from actors.webhook_port import Card
from bot.loopback.discord.entities import BOT_PERMISSIONS, Permission, StoredMessage
from bot.loopback.discord.faults import Fault
from bot.loopback.discord.server import LoopbackDiscord
from events.base import ChannelId, GuildId, MessageId, Scope
from events.delivery import Receipt, Retraction, SendAttempt, SendFailed
from events.settings import Persona, Sprite
from tests.actors.delivery.fakes import TURN, LogFace

MAIN = Persona(name="Rejoinder")
PICTURE = "https://example.org/touko.png"
ALTER = Persona(
    name="Touko",
    avatar=PICTURE,
    sprites=(
        Sprite(key="mad", image="https://example.org/mad.png"),
        Sprite(key="Genocide Jack", image="https://example.org/jack.png", is_identity=True),
    ),
)
CARD = Card(text="Replying to Ann", url="https://discord.com/channels/1/2/3")


class Desk:
    """A sender before a real Discord on loopback."""

    def __init__(self, discord: LoopbackDiscord, messenger: HikariMessenger) -> None:
        self.discord = discord
        self.log = LogFace()
        self.messenger = messenger
        self.sender = Sender(self.log, messenger, self.log.clock)
        guild = discord.world.add_guild("Home")
        self.guild_id = GuildId(guild.id)
        self.channel = ChannelId(discord.world.add_channel(guild.id, "talk").id)
        self._ordinal = 0

    async def say(
        self,
        text: str = "Hm.",
        *,
        voice: Voice | None = None,
        channel: ChannelId | None = None,
        reply_to: MessageId | None = None,
    ) -> SendResult:
        """Ask for the turn's next message; an alter's where no voice is named."""
        self._ordinal += 1
        place = channel or self.channel
        return await self.sender.send(
            SendRequest(
                turn_id=TURN,
                scope=Scope(turn_id=TURN, channel_id=place, guild_id=self.guild_id),
                epoch=0,
                flush=self._ordinal,
                piece=0,
                draft=Draft(channel_id=place, content=text, reply_to=reply_to),
                voice=voice or voice_of((MAIN, ALTER), ALTER),
                reply_card=CARD if reply_to else None,
            )
        )

    def messages(self, channel: ChannelId | None = None) -> list[StoredMessage]:
        """Return what stands in the channel."""
        return list(self.discord.messages(channel or self.channel))

    async def kinds(self) -> list[str]:
        """Return the delivery stream in short."""
        found: list[str] = []
        for event in await self.log.delivery():
            match event:
                case SendAttempt():
                    found.append(f"{event.purpose} by {event.route}")
                case SendFailed():
                    found.append(f"{event.outcome} {event.code}")
                case _:
                    found.append(type(event).__name__)
        return found

    async def receipts(self) -> list[Receipt]:
        """Return the receipts."""
        return [one for one in await self.log.delivery() if isinstance(one, Receipt)]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """A sender, closed at the end."""
    async with LoopbackDiscord() as discord:
        log_clock = LogFace().clock
        async with HikariMessenger(
            api_url=discord.api_url, token=discord.token, clock=log_clock
        ) as messenger:
            desk = Desk(discord, messenger)
            yield desk
            await desk.sender.aclose()


async def test_t118_an_alter_speaks_under_its_own_name_and_picture(desk: Desk) -> None:
    """People must see who talks to them, and the log who did."""
    result = await desk.say("Hello, @everyone")

    [message] = desk.messages()
    [receipt] = await desk.receipts()
    assert isinstance(result, Sent)
    assert (message.author.username, message.author.avatar) == ("Touko", PICTURE)
    assert message.allowed_mentions is not None
    assert not message.pings.users
    assert (receipt.route, receipt.webhook_id) == ("webhook", message.webhook_id)
    assert (receipt.identity, receipt.persona, receipt.speaker_kind) == (
        "Touko",
        "Touko",
        "appearance",
    )


async def test_t121_a_webhook_is_made_once_and_found_again_after_a_restart(desk: Desk) -> None:
    """A channel has room for 15; and no token may be kept on disk."""
    await desk.say()
    await desk.say()
    await desk.sender.aclose()
    desk.sender = Sender(desk.log, desk.messenger, desk.log.clock)
    await desk.say()

    assert len(desk.discord.world.channel_webhooks(desk.channel)) == 1
    assert len(desk.messages()) == 3
    [hook] = desk.discord.world.channel_webhooks(desk.channel)
    assert hook.token not in str([str(one) for one in await desk.log.delivery()])


async def test_t121_a_channel_without_webhooks_is_not_asked_again_for_a_quarter_hour(
    desk: Desk,
) -> None:
    """Each message would else begin with a request that is known to fail."""
    permissions = BOT_PERMISSIONS & ~Permission.MANAGE_WEBHOOKS
    desk.discord.world.set_bot_permissions(desk.channel, permissions)

    await desk.say("One.")
    await desk.say("Two.")

    asked = [one for one in desk.discord.requests if one.kind == "webhook_setup"]
    assert [one.content for one in desk.messages()] == ["**Touko:** One.", "**Touko:** Two."]
    assert len(asked) <= 2


async def test_v158_a_thread_is_reached_through_its_parents_webhook(desk: Desk) -> None:
    """Threads have no webhooks of their own."""
    thread = ChannelId(desk.discord.world.add_thread(desk.channel, "aside").id)

    await desk.say(channel=thread)

    [message] = desk.messages(thread)
    [receipt] = await desk.receipts()
    assert message.author.username == "Touko"
    assert receipt.destination_id == thread
    assert len(desk.discord.world.channel_webhooks(desk.channel)) == 1


async def test_v151_a_reply_is_announced_under_the_same_name(desk: Desk) -> None:
    """A webhook can't reply: the line above is the only link to the question."""
    question = await desk.discord.say(desk.discord.world.owner, desk.channel, "Who?")

    await desk.say("Me.", reply_to=MessageId(question.id))
    await desk.say("And you?")

    _, notice, body, more = desk.messages()
    assert notice.embeds[0]["author"] == {"name": CARD.text, "url": CARD.url}
    assert (notice.author.username, body.content, more.content) == ("Touko", "Me.", "And you?")
    assert notice.webhook_id == body.webhook_id
    assert await desk.kinds() == [
        "reply_notice by webhook",
        "Receipt",
        *["answer by webhook", "Receipt"] * 2,
    ]


@pytest.mark.parametrize("code", [10015, 50027])
async def test_v152_a_webhook_that_is_no_more_is_replaced_once(desk: Desk, code: int) -> None:
    """Somebody tidied up; the persona goes on speaking."""
    await desk.say("One.")
    desk.discord.fail(Fault(route="webhook", status=404, code=code))

    result = await desk.say("Two.")

    assert isinstance(result, Sent)
    assert [one.content for one in desk.messages()] == ["One.", "Two."]
    assert (await desk.kinds())[2:] == [
        "answer by webhook",
        f"definite_refusal {code}",
        "answer by webhook",
        "Receipt",
    ]


async def test_v152_after_a_second_refusal_the_bot_says_it_once(desk: Desk) -> None:
    """The text is not lost, and it says whose it is."""
    desk.discord.fail(Fault(route="webhook", status=404, code=10015, times=2))

    result = await desk.say("Two.")

    [message] = desk.messages()
    assert isinstance(result, Sent)
    assert (message.content, message.webhook_id) == ("**Touko:** Two.", None)
    assert await desk.kinds() == [
        *["answer by webhook", "definite_refusal 10015"] * 2,
        "answer by bot",
        "Receipt",
    ]


async def test_t164_the_notice_goes_when_the_body_falls_back(desk: Desk) -> None:
    """The bot's own message replies by itself."""
    question = await desk.discord.say(desk.discord.world.owner, desk.channel, "Who?")
    desk.discord.fail(Fault(route="webhook", action="slow"))
    desk.discord.fail(Fault(route="webhook", status=400, code=50035))

    await desk.say("Me.", reply_to=MessageId(question.id))

    _, body = desk.messages()
    assert (body.content, body.reply_to) == ("**Touko:** Me.", question.id)
    assert (await desk.kinds())[-4:] == ["Retraction", "Retraction", "answer by bot", "Receipt"]


@pytest.mark.parametrize("fault", ["503", "reset"])
async def test_v153_an_unconfirmed_webhook_post_permits_nothing(desk: Desk, fault: str) -> None:
    """It may stand in the channel: any second post could double it."""
    desk.discord.fail(
        Fault(route="webhook", action="reset", when="after")
        if fault == "reset"
        else Fault(route="webhook", status=503, when="after")
    )

    result = await desk.say("One.")
    after = await desk.say("Two.")

    assert isinstance(result, NotSent)
    assert isinstance(after, NotSent)
    assert (result.outcome, after.reason) == ("unconfirmed", "unconfirmed")
    assert await desk.kinds() == ["answer by webhook", "unconfirmed None"]
    assert len(desk.messages()) == 1


@pytest.mark.parametrize("code", [10003, 50001])
async def test_v156_a_place_that_is_gone_gets_one_post(desk: Desk, code: int) -> None:
    """There is nobody left to tell."""
    desk.discord.fail(Fault(route="webhook", status=404, code=code))

    result = await desk.say()

    assert isinstance(result, NotSent)
    assert result.code == code
    assert await desk.kinds() == ["answer by webhook", f"definite_refusal {code}"]


async def test_t151_a_picture_of_a_file_is_put_on_once(desk: Desk, tmp_path: Path) -> None:
    """Edits of a webhook are scarce: two in ten minutes or so."""
    image = tmp_path / "touko.png"
    image.write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 40)
    thread = ChannelId(desk.discord.world.add_thread(desk.channel, "aside").id)
    voice = Voice(persona="Touko", name="Touko", image=str(image), is_alter=True)

    await desk.say(voice=voice)
    await desk.say(voice=voice, channel=thread)

    [hook] = desk.discord.world.channel_webhooks(desk.channel)
    edits = [one for one in desk.discord.requests if one.method == "PATCH"]
    assert hook.avatar is not None
    assert len(edits) == 1
    assert [one.author.avatar for one in desk.messages()] == [hook.avatar]


async def test_v164_a_picture_that_would_take_long_is_done_without(
    desk: Desk, tmp_path: Path
) -> None:
    """The text is what people wait for; the receipt says what they saw."""
    image = tmp_path / "touko.png"
    image.write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 40)
    await desk.say()
    late = Fault(route="webhook_setup", status=429, retry_after=60.0, times=3)
    desk.discord.fail(late)

    result = await desk.say(
        voice=Voice(persona="Touko", name="Touko", image=str(image), is_alter=True)
    )

    assert isinstance(result, Sent)
    assert [one.is_generic for one in await desk.receipts()] == [False, True]
    assert len(desk.messages()) == 2


async def test_v167_superseded_messages_are_deleted(desk: Desk) -> None:
    """Two answers to one question would stand side by side."""
    await desk.say("One.")
    await desk.say("Two.")
    desk.discord.fail(Fault(route="delete", status=404, code=10015, times=1))

    results = await desk.sender.retract(
        TURN, Scope(turn_id=TURN, channel_id=desk.channel, guild_id=desk.guild_id), 0, (1, 2)
    )

    assert [type(one) for one in results] == [NotSent, NotSent]
    assert desk.messages() == []
    told = [one for one in await desk.log.delivery() if isinstance(one, Retraction)]
    assert told == [Retraction(attempts=(2, 1)), Retraction(attempts=(2, 1), is_done=True)]
