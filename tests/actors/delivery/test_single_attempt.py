"""One post, over real sockets and the real hikari: how often it is written, and what it ends in."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal

import pytest

from actors.delivery.single_attempt import HikariMessenger
from actors.ports import Draft, NotPosted, Posted
from bot.loopback.discord.faults import Fault
from bot.loopback.discord.server import LoopbackDiscord
from events.base import ChannelId, MessageId
from tests.fakes import ManualClock

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def draft(channel_id: ChannelId, content: str = "hello") -> Draft:
    """A message."""
    return Draft(channel_id=channel_id, content=content)


@asynccontextmanager
async def raw_server(serve: Serve) -> AsyncGenerator[int]:
    """Give the port of a TCP server that does as told."""
    tasks: set[asyncio.Task[object]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def test_t130_a_message_that_discord_returns_is_sent(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """The id of the message is the proof that it stands in the channel."""
    outcome = await messenger.post(draft(channel))

    [stored] = discord.messages(channel)
    assert isinstance(outcome, Posted)
    assert (outcome.message_id, outcome.channel_id, outcome.tries) == (stored.id, channel, 1)
    assert stored.content == "hello"


@pytest.mark.parametrize(
    ("fault", "reason", "stored"),
    [
        pytest.param(Fault(status=500, when="after"), "http_500", 1, id="B18-500-after"),
        pytest.param(Fault(status=502, when="after"), "http_502", 1, id="B18-502-after"),
        pytest.param(Fault(status=503, when="after"), "http_503", 1, id="B18-503-after"),
        pytest.param(Fault(status=504, when="after"), "http_504", 1, id="B18-504-after"),
        pytest.param(Fault(status=503, html=True), "http_503", 0, id="B18-503-html"),
        pytest.param(Fault(status=500), "http_500", 0, id="T130-500-before"),
        pytest.param(Fault(status=408), "http_408", 0, id="T130-408"),
        pytest.param(Fault(status=307), "http_307", 0, id="T132-redirect"),
        pytest.param(Fault(action="reset", when="after"), "connection_reset", 1, id="B17-after"),
        pytest.param(Fault(action="reset"), "connection_reset", 0, id="B17-before"),
        pytest.param(Fault(action="reset", when="unread"), "connection_reset", 0, id="B17-unread"),
        pytest.param(Fault(action="garbage", when="after"), "no_message", 1, id="B18-200-html"),
    ],
)
async def test_a_post_whose_fate_is_unknown_is_written_once_and_unconfirmed(
    messenger: HikariMessenger,
    discord: LoopbackDiscord,
    channel: ChannelId,
    fault: Fault,
    reason: str,
    stored: int,
) -> None:
    """Discord may have taken it: writing it again would show it twice."""
    discord.fail(fault)

    outcome = await messenger.post(draft(channel))

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.reason, outcome.tries) == ("unconfirmed", reason, 1)
    assert len(discord.posts) == 1
    assert len(discord.messages(channel)) == stored


@pytest.mark.parametrize("when", ["before", "after"])
async def test_t130_a_request_that_hangs_is_unconfirmed_after_its_time(
    discord: LoopbackDiscord,
    clock: ManualClock,
    channel: ChannelId,
    when: Literal["before", "after"],
) -> None:
    """A connection that is alive and silent must not hold a channel for ever."""
    discord.fail(Fault(action="hang", when=when))
    async with HikariMessenger(
        api_url=discord.api_url, token=discord.token, clock=clock, request_seconds=0.1
    ) as messenger:
        outcome = await messenger.post(draft(channel))

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.reason) == ("unconfirmed", "timeout")
    assert len(discord.posts) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, 50035), (401, None), (403, 50013), (403, 50001), (404, 10003), (413, None)],
    ids=["B26-50035", "T130-401", "B24-50013", "B24-50001", "B24-10003", "T130-413"],
)
async def test_t130_what_discord_refuses_is_refused_for_good(
    messenger: HikariMessenger,
    discord: LoopbackDiscord,
    channel: ChannelId,
    status: int,
    code: int | None,
) -> None:
    """A permanent refusal that is tried again never ends, and counts against the bot."""
    discord.fail(Fault(status=status, code=code))

    outcome = await messenger.post(draft(channel))

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.code) == ("definite_refusal", code)
    assert (outcome.reason, outcome.http_status) == (f"http_{status}", status)
    assert len(discord.posts) == 1


async def test_t130_a_connection_that_is_refused_has_carried_nothing(
    clock: ManualClock,
) -> None:
    """Nothing left this process, so the message may be attempted again."""
    async with LoopbackDiscord() as gone:
        api_url, token = gone.api_url, gone.token
    async with HikariMessenger(api_url=api_url, token=token, clock=clock) as messenger:
        outcome = await messenger.post(draft(ChannelId(1)))

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.reason) == ("pre_dispatch", "connection_refused")
    assert outcome.tries == 0


async def test_t130_a_tls_handshake_that_fails_has_carried_nothing(
    discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """The request is written only once the connection is up."""
    api_url = discord.api_url.replace("http://", "https://")
    async with HikariMessenger(api_url=api_url, token=discord.token, clock=clock) as messenger:
        outcome = await messenger.post(draft(channel))

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.reason) == ("pre_dispatch", "tls")
    assert discord.posts == []


async def test_t130_a_connection_that_never_opens_has_carried_nothing(
    discord: LoopbackDiscord, clock: ManualClock
) -> None:
    """Here the server takes the connection and stays silent in the handshake."""

    async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)

    async with (
        raw_server(silent) as port,
        HikariMessenger(
            api_url=f"https://127.0.0.1:{port}",
            token=discord.token,
            clock=clock,
            request_seconds=0.1,
        ) as messenger,
    ):
        outcome = await messenger.post(draft(ChannelId(1)))

    assert isinstance(outcome, NotPosted)
    assert outcome.outcome == "pre_dispatch"
    assert outcome.tries == 0


async def test_v155_a_stop_while_the_connection_opens_keeps_the_request_back(
    discord: LoopbackDiscord, clock: ManualClock
) -> None:
    """Between check and first byte lies a handshake: the stop must reach in there."""
    opened = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        opened.set()
        await reader.read(-1)

    stop = asyncio.Event()
    async with (
        raw_server(silent) as port,
        HikariMessenger(
            api_url=f"https://127.0.0.1:{port}", token=discord.token, clock=clock
        ) as messenger,
    ):
        posting = asyncio.create_task(messenger.post(draft(ChannelId(1)), stop))
        await opened.wait()
        stop.set()
        outcome = await posting

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.reason) == ("pre_dispatch", "stopped")
    assert outcome.tries == 0


async def test_t132_a_stop_does_not_tear_down_a_request_that_has_left(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """Cutting it would turn a message that arrives into one that nobody knows of."""
    stop = asyncio.Event()
    discord.fail(Fault(action="hang", when="after"))
    posting = asyncio.create_task(messenger.post(draft(channel), stop))
    await discord.until(lambda: discord.held == 1)

    stop.set()
    await asyncio.sleep(0)
    discord.release()

    assert isinstance(await posting, Posted)


async def test_t132_a_kept_alive_connection_that_dies_under_a_post_is_not_written_to_again(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """HTTP clients repeat requests on stale connections in silence; for a POST that doubles."""
    await messenger.post(draft(channel, "first"))
    discord.fail(Fault(action="reset", when="after"))

    outcome = await messenger.post(draft(channel, "second"))

    assert isinstance(outcome, NotPosted)
    assert outcome.outcome == "unconfirmed"
    assert [post.content for post in discord.posts] == ["first", "second"]


async def test_an_idle_connection_that_the_server_closed_costs_no_message(
    clock: ManualClock, discord: LoopbackDiscord
) -> None:
    """Servers close idle connections; that must not look like a lost message."""
    requests = 0
    body = b'{"id": "77"}'

    async def answer_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        await reader.readuntil(b"\r\n\r\n")
        requests += 1
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        writer.write(head.encode() + b"\r\n\r\n" + body)
        await writer.drain()

    async with (
        raw_server(answer_and_close) as port,
        HikariMessenger(
            api_url=f"http://127.0.0.1:{port}", token=discord.token, clock=clock
        ) as messenger,
    ):
        outcomes = [await messenger.post(draft(ChannelId(1))) for _ in range(3)]

    assert requests == 3
    assert all(isinstance(outcome, Posted) for outcome in outcomes)


async def test_t132_a_redirect_is_not_followed(
    clock: ManualClock, discord: LoopbackDiscord
) -> None:
    """A 307 asks for the same POST again: a second copy, wherever it leads."""
    requests = 0

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        while await reader.read(65536):
            requests += 1
            head = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /again\r\nContent-Length: 0"
            writer.write(head + b"\r\n\r\n")
            await writer.drain()

    async with (
        raw_server(redirect) as port,
        HikariMessenger(
            api_url=f"http://127.0.0.1:{port}", token=discord.token, clock=clock
        ) as messenger,
    ):
        outcome = await messenger.post(draft(ChannelId(1)))

    assert isinstance(outcome, NotPosted)
    assert outcome.outcome == "unconfirmed"
    assert requests == 1


async def test_t130_a_message_of_a_shape_that_hikari_can_not_build_is_sent_all_the_same(
    clock: ManualClock, discord: LoopbackDiscord
) -> None:
    """Discord adds fields and types at will; the message stands in the channel regardless."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"id": "77", "type": "hologram"}'
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        writer.write(head.encode() + b"\r\n\r\n" + body)
        await writer.drain()

    async with (
        raw_server(answer) as port,
        HikariMessenger(
            api_url=f"http://127.0.0.1:{port}", token=discord.token, clock=clock
        ) as messenger,
    ):
        outcome = await messenger.post(draft(ChannelId(1)))

    assert isinstance(outcome, Posted)
    assert outcome.message_id == 77


async def test_b23_a_message_pings_nobody_but_whom_its_draft_names(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """A model can be talked into writing @everyone; it must not ring."""
    text = "hi @everyone <@&222222222222222222> <@333333333333333333>"

    await messenger.post(Draft(channel_id=channel, content=text, mentions=(444444444444444444,)))
    await messenger.post(Draft(channel_id=channel, content=text))

    named, unnamed = (post.body for post in discord.posts)
    assert named is not None
    assert unnamed is not None
    assert named["allowed_mentions"] == {
        "parse": [],
        "users": ["444444444444444444"],
    }
    assert unnamed["allowed_mentions"] == {"parse": [], "users": []}
    assert named["content"] == text


async def test_v150_a_reply_refers_without_pinging_and_b19_without_a_nonce(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """The message replied to may be gone by then; that must not cost the answer."""
    outcome = await messenger.post(
        Draft(channel_id=channel, content="yes", reply_to=MessageId(555555555555555555))
    )

    [post] = discord.posts
    assert isinstance(outcome, Posted)
    assert post.body is not None
    assert post.body["message_reference"] == {
        "message_id": "555555555555555555",
        "fail_if_not_exists": False,
    }
    assert post.body["allowed_mentions"] == {"parse": [], "users": []}
    assert "nonce" not in post.body


async def test_v155_a_stop_before_the_write_writes_nothing(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """The last check is right before the request."""
    stop = asyncio.Event()
    stop.set()

    outcome = await messenger.post(draft(channel), stop, waited_ms=0.0)

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.tries) == ("pre_dispatch", 0)
    assert discord.posts == []
