"""Each way of failing, seen at the socket: what a client meets, and what the channel shows."""

import asyncio

import aiohttp
import pytest

from bot.loopback.discord.entities import Channel
from bot.loopback.discord.faults import Fault, When
from bot.loopback.discord.server import LoopbackDiscord
from tests.bot.loopback.client import Client, raw_post
from tests.fakes import ManualClock

BODY = b'{"content": "hello"}'


def contents(discord: LoopbackDiscord, channel: Channel) -> list[str]:
    """Return what stands in the channel."""
    return [message.content for message in discord.messages(channel.id)]


@pytest.mark.parametrize(
    ("status", "when", "shown"),
    [
        pytest.param(500, "after", ["hello"], id="B18-500-after-acceptance"),
        pytest.param(502, "after", ["hello"], id="B18-502-after-acceptance"),
        pytest.param(503, "before", [], id="503-before"),
        pytest.param(504, "unread", [], id="504-unread"),
    ],
)
async def test_a_status_replaces_the_answer_and_when_says_whether_the_message_stands(
    discord: LoopbackDiscord,
    channel: Channel,
    client: Client,
    status: int,
    when: When,
    shown: list[str],
) -> None:
    """A client that takes any 5xx for "not sent" posts twice."""
    discord.fail(Fault(action="status", status=status, when=when))

    answer = await client.post(channel.id, "hello")

    assert (answer.status, answer.json["code"]) == (status, 0)
    assert contents(discord, channel) == shown
    (post,) = discord.posts
    assert (post.outcome, post.status) == ("faulted", status)
    assert (post.message_id is not None) == (when == "after")


@pytest.mark.parametrize(
    ("when", "shown"),
    [
        pytest.param("after", ["hello"], id="B17-reset-after-acceptance"),
        pytest.param("before", [], id="reset-before"),
    ],
)
async def test_a_reset_is_a_real_one(
    discord: LoopbackDiscord, channel: Channel, when: When, shown: list[str]
) -> None:
    """An orderly end and an RST reach a client as different exceptions."""
    discord.fail(Fault(action="reset", when=when))

    async with raw_post(discord, channel.id, BODY) as (reader, _):
        with pytest.raises(ConnectionResetError):
            await reader.read()

    assert contents(discord, channel) == shown
    (post,) = discord.posts
    assert (post.outcome, post.status, post.content) == ("reset", None, "hello")


async def test_an_unread_reset_comes_before_the_body_is_written(
    discord: LoopbackDiscord, channel: Channel
) -> None:
    """Here a client may know that nothing was accepted, and must not take it for sent."""
    discord.fail(Fault(action="reset", when="unread"))

    async with raw_post(discord, channel.id, b"") as (reader, _):
        with pytest.raises(ConnectionResetError):
            await reader.read()

    (post,) = discord.posts
    assert (post.outcome, post.body) == ("reset", None)
    assert contents(discord, channel) == []


async def test_a_reset_reaches_an_ordinary_client_as_a_broken_connection(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """Hikari stands on aiohttp; its retries hang on this class of error."""
    discord.fail(Fault(action="reset", when="after"))

    with pytest.raises(aiohttp.ClientConnectionError):
        await client.post(channel.id, "hello")

    assert (await client.post(channel.id, "again")).status == 200
    assert contents(discord, channel) == ["hello", "again"]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_held_request_goes_on_when_it_is_released(
    discord: LoopbackDiscord, channel: Channel, client: Client, when: When
) -> None:
    """A stop while a post hangs is tested by holding the post."""
    discord.fail(Fault(action="hang", when=when))
    posting = asyncio.create_task(client.post(channel.id, "hello"))
    await discord.until(lambda: discord.held == 1)
    shown_meanwhile = contents(discord, channel)

    discord.release()
    answer = await posting

    assert answer.status == 200
    assert shown_meanwhile == (["hello"] if when == "after" else [])
    assert contents(discord, channel) == ["hello"]
    assert discord.held == 0


async def test_closing_the_server_gives_up_what_is_held(channel: Channel) -> None:
    """A test that ends while a request hangs must not wait for it."""
    del channel
    async with LoopbackDiscord() as other, aiohttp.ClientSession() as session:
        place = other.world.add_channel(other.world.add_guild("HQ").id, "general")
        other.fail(Fault(action="hang"))
        posting = asyncio.create_task(Client(other, session).post(place.id, "hello"))
        await other.until(lambda: other.held == 1)

        await other.close()

        with pytest.raises(aiohttp.ClientConnectionError):
            await posting
        assert other.messages(place.id) == []


async def test_a_slow_answer_comes_after_its_seconds(
    still_discord: LoopbackDiscord, clock: ManualClock
) -> None:
    """A budget of seconds is tested on a clock that is moved by hand."""
    place = still_discord.world.add_channel(still_discord.world.add_guild("HQ").id, "general")
    still_discord.fail(Fault(action="slow", when="after", seconds=40.0))
    async with aiohttp.ClientSession() as session:
        posting = asyncio.create_task(Client(still_discord, session).post(place.id, "hello"))
        await clock.until_someone_sleeps()
        assert contents(still_discord, place) == ["hello"]
        assert not posting.done()

        await clock.advance(40.0)

        assert (await posting).status == 200
    (post,) = still_discord.posts
    assert post.finished is not None
    assert post.finished - post.time == 40.0


@pytest.mark.parametrize(
    ("when", "shown"),
    [
        pytest.param("after", ["hello"], id="B18-garbage-after-acceptance"),
        pytest.param("before", [], id="garbage-before"),
    ],
)
async def test_garbage_is_a_200_that_says_nothing(
    discord: LoopbackDiscord, channel: Channel, client: Client, when: When, shown: list[str]
) -> None:
    """A 2xx without a message is no receipt."""
    discord.fail(Fault(action="garbage", when=when, body=b"<html>"))

    answer = await client.post(channel.id, "hello")

    assert (answer.status, answer.text, answer.json) == (200, "<html>", None)
    assert contents(discord, channel) == shown


@pytest.mark.parametrize(
    ("fault", "scope", "is_global"),
    [
        pytest.param(Fault(status=429, retry_after=0.3, shared=True), "shared", False, id="B30a"),
        pytest.param(Fault(status=429, retry_after=172800.0), "user", False, id="B30b"),
        pytest.param(
            Fault(status=429, retry_after=0.3, is_global=True), "global", True, id="global"
        ),
    ],
)
async def test_a_rate_limit_fault_says_how_long_in_header_and_body(
    discord: LoopbackDiscord,
    channel: Channel,
    client: Client,
    fault: Fault,
    scope: str,
    *,
    is_global: bool,
) -> None:
    """T133 waits the larger of the two; the header is rounded up to whole seconds."""
    discord.fail(fault)

    answer = await client.post(channel.id, "hello")

    assert answer.status == 429
    assert answer.json["retry_after"] == fault.retry_after
    assert answer.json["global"] is is_global
    assert answer.headers["X-RateLimit-Scope"] == scope
    assert float(answer.headers["Retry-After"]) >= (fault.retry_after or 0.0)
    assert ("X-RateLimit-Global" in answer.headers) == is_global


async def test_b30c_a_ban_is_a_page_of_html(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """A client that parses every 429 as JSON falls over just when it must be quiet."""
    discord.fail(Fault(status=429, html=True))

    answer = await client.post(channel.id, "hello")

    assert (answer.status, answer.headers["Content-Type"]) == (429, "text/html")
    assert "1015" in answer.text


async def test_a_fault_meets_only_the_requests_it_fits_and_only_so_often(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """Several turns run at once; a fault for one must not hit another."""
    assert channel.guild_id is not None
    other = discord.world.add_channel(channel.guild_id, "other")
    discord.fail(Fault(status=403, code=50013, times=2, channel_id=channel.id))
    discord.fail(Fault(route="typing", status=503, times=None))

    spared = await client.post(other.id, "fine")
    met = [(await client.post(channel.id, "hello")).status for _ in range(3)]
    typing = [(await client.call("POST", f"/channels/{other.id}/typing")).status for _ in range(3)]
    discord.heal()
    healed = await client.call("POST", f"/channels/{other.id}/typing")

    assert spared.status == 200
    assert met == [403, 403, 200]
    assert typing == [503, 503, 503]
    assert healed.status == 204
    assert [place for place, _ in discord.typing] == [other.id]


async def test_a_fault_of_any_route_meets_look_ups_too(
    discord: LoopbackDiscord, client: Client
) -> None:
    """Discord may be down before the bot has started."""
    discord.fail(Fault(route="any", status=503))

    first = await client.call("GET", "/gateway/bot")
    second = await client.call("GET", "/gateway/bot")

    assert (first.status, second.status) == (503, 200)


async def test_t103_a_fault_can_complain_of_one_part_of_the_form(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """What is refused for its buttons alone may be posted without them."""
    discord.fail(Fault(status=400, field="components"))

    answer = await client.post(channel.id, "hello")

    assert (answer.status, answer.json["code"]) == (400, 50035)
    assert list(answer.json["errors"]) == ["components"]
    assert contents(discord, channel) == []
