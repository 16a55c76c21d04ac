"""Discord's rate limits, as headers and refusals, on a clock that is moved by hand."""

import aiohttp
import pytest

from bot.loopback.discord.entities import Channel
from bot.loopback.discord.server import LoopbackDiscord
from tests.bot.loopback.client import Answer, Client
from tests.fakes import ManualClock


@pytest.fixture
def place(still_discord: LoopbackDiscord) -> Channel:
    """Give a channel of the Discord whose limits are on."""
    still_discord.limits.enforce = True
    return still_discord.world.add_channel(still_discord.world.add_guild("HQ").id, "general")


def remaining(answer: Answer) -> str:
    """Return what the bucket has left."""
    return answer.headers["X-RateLimit-Remaining"]


async def test_the_sixth_post_in_five_seconds_is_refused(
    still_discord: LoopbackDiscord, place: Channel, clock: ManualClock
) -> None:
    """This is the limit that long answers meet."""
    async with aiohttp.ClientSession() as session:
        client = Client(still_discord, session)
        first = await client.post(place.id, "1")
        await clock.advance(2.0)
        others = [await client.post(place.id, str(n)) for n in range(2, 6)]

        refused = await client.post(place.id, "6")
        await clock.advance(3.0)
        later = await client.post(place.id, "6")

    assert [remaining(one) for one in (first, *others)] == ["4", "3", "2", "1", "0"]
    assert first.headers["X-RateLimit-Limit"] == "5"
    assert float(first.headers["X-RateLimit-Reset-After"]) == 5.0
    assert float(others[0].headers["X-RateLimit-Reset-After"]) == 3.0
    assert refused.status == 429
    assert (refused.json["retry_after"], refused.json["global"]) == (3.0, False)
    assert (refused.headers["Retry-After"], remaining(refused)) == ("3", "0")
    assert refused.headers["X-RateLimit-Scope"] == "user"
    assert refused.headers["X-RateLimit-Bucket"] == first.headers["X-RateLimit-Bucket"]
    assert later.status == 200
    assert len(still_discord.messages(place.id)) == 6
    assert [post.outcome for post in still_discord.posts].count("limited") == 1


async def test_channels_have_limits_of_their_own(
    still_discord: LoopbackDiscord, place: Channel
) -> None:
    """One busy channel must not hold up another."""
    assert place.guild_id is not None
    other = still_discord.world.add_channel(place.guild_id, "other")
    async with aiohttp.ClientSession() as session:
        client = Client(still_discord, session)
        for number in range(5):
            await client.post(place.id, str(number))

        assert (await client.post(place.id, "6")).status == 429
        assert (await client.post(other.id, "1")).status == 200


async def test_a_webhook_takes_five_posts_in_two_seconds(
    still_discord: LoopbackDiscord, place: Channel, clock: ManualClock
) -> None:
    """Alters speak through webhooks, whose limit is another one."""
    hook = still_discord.world.add_webhook(place, "Mira", None)
    path = f"/webhooks/{hook.id}/{hook.token}"
    async with aiohttp.ClientSession() as session:
        client = Client(still_discord, session)
        statuses = [
            (await client.call("POST", path, {"content": "x"}, params={"wait": "true"})).status
            for _ in range(6)
        ]
        await clock.advance(2.0)
        later = await client.call("POST", path, {"content": "x"})

    assert statuses == [200] * 5 + [429]
    assert later.status == 204


async def test_the_global_limit_is_fifty_a_second_for_the_whole_bot(
    still_discord: LoopbackDiscord, place: Channel, clock: ManualClock
) -> None:
    """A global 429 is told apart by its header and body; webhooks do not count."""
    hook = still_discord.world.add_webhook(place, "Mira", None)
    async with aiohttp.ClientSession() as session:
        client = Client(still_discord, session)
        for _ in range(50):
            assert (await client.call("GET", "/users/@me")).status == 200

        refused = await client.post(place.id, "hello")
        by_hook = await client.call("POST", f"/webhooks/{hook.id}/{hook.token}", {"content": "x"})
        await clock.advance(1.0)
        later = await client.post(place.id, "hello")

    assert (refused.status, refused.json["global"]) == (429, True)
    assert refused.headers["X-RateLimit-Global"] == "true"
    assert refused.headers["X-RateLimit-Scope"] == "global"
    assert by_hook.status == 204
    assert later.status == 200


async def test_without_enforcement_the_headers_promise_plenty(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """Without headers hikari would let one request of a route out at a time."""
    answers = [await client.post(channel.id, str(number)) for number in range(8)]

    assert [one.status for one in answers] == [200] * 8
    assert {remaining(one) for one in answers} == {"9999"}
    assert len(discord.messages(channel.id)) == 8
