"""Typing and history over real sockets: welcome, never insisted on."""

import asyncio

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from actors.delivery.single_attempt import HikariMessenger
from actors.ports import Draft, Quote
from bot.loopback.discord.entities import Attachment, WebhookId
from bot.loopback.discord.faults import Fault
from bot.loopback.discord.server import LoopbackDiscord
from events.base import ChannelId, MessageId
from tests.fakes import ManualClock


def draft(channel_id: ChannelId, content: str = "hello") -> Draft:
    """A message."""
    return Draft(channel_id=channel_id, content=content)


async def test_typing_is_shown(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """Somebody who waits sees that an answer is coming."""
    await messenger.typing(channel)

    assert [one for one, _ in discord.typing] == [channel]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(route="any", status=500),
        Fault(route="any", status=429, retry_after=5.0),
        Fault(route="any", action="reset"),
    ],
    ids=["500", "429", "reset"],
)
async def test_b32_a_typing_that_fails_is_told_and_forgotten(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId, fault: Fault
) -> None:
    """The indicator is decoration: no answer may fail on it, and it is not insisted on."""
    discord.fail(fault)

    with capture_logs() as logs:
        await messenger.typing(channel)

    assert [one["event"] for one in logs] == ["typing_failed"]
    assert len(discord.requests) == 1


async def test_history_is_the_past_of_a_channel_oldest_first_with_names_for_mentions(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """The model reads names, not ids, in the order in which things were said."""
    ann, bob = discord.world.add_user("Ann"), discord.world.add_user("Bob")
    await discord.say(ann, channel, "too old")
    await discord.say(ann, channel, f"hey <@{bob.id}>, and <@999999999999999999>")
    await messenger.post(draft(channel, "I am here"))
    asked = await discord.say(bob, channel, "what?")

    past = await messenger.history(channel, before=MessageId(asked.id), limit=2)

    assert [one.content for one in past] == ["hey @Bob, and <@999999999999999999>", "I am here"]
    assert [one.is_own for one in past] == [False, True]
    assert past[0].author_name == "Ann"
    assert past[0].author_id == ann.id
    everything = await messenger.history(channel, before=None, limit=50)
    assert len(everything) == 4


async def test_history_tells_what_stands_beside_a_text_and_who_relayed_it(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """A file that the model is not told of is one it can't ask for."""
    ann = discord.world.add_user("Ann")
    written = await discord.say(ann, channel, "look")
    file = Attachment(id=1, filename="cat.png", content_type="image/png", data=bytes(2048))
    card = {"title": "Cats", "description": "all\nof them"}
    discord.world.store(replace(written, attachments=(file,), embeds=(card,)))
    relayed = await discord.say(ann, channel, "relayed", reply_to=written)
    discord.world.store(replace(relayed, webhook_id=WebhookId(5)))

    first, second = await messenger.history(channel, before=None, limit=2)

    assert first.extras == (
        "attachment: cat.png, image/png, 2 KiB",
        "embed: Cats \u2013 all of them",
    )
    assert (first.reply, first.is_persona_like) == (None, False)
    assert second.reply == Quote(author_name="Ann", beginning="look")
    assert (second.extras, second.is_persona_like) == ((), True)


async def test_history_that_can_not_be_had_is_empty_and_told_without_content(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """A turn can answer without the past; it can't if looking there breaks it."""
    discord.fail(Fault(route="any", status=403, code=50001))

    with capture_logs() as logs:
        past = await messenger.history(channel, before=None, limit=5)

    assert past == []
    [told] = logs
    assert (told["event"], told["code"]) == ("history_failed", 50001)


async def test_history_waits_out_a_short_limit(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """Reading may be repeated; the context is worth a second."""
    await discord.say(discord.world.add_user("Ann"), channel, "hi")
    discord.fail(Fault(route="any", status=429, retry_after=1.0))
    looking = asyncio.create_task(messenger.history(channel, before=None, limit=5))

    await clock.until_someone_sleeps()
    await clock.advance(1.0)

    assert [one.content for one in await looking] == ["hi"]
