"""The gateway's protocol, spoken by hand: identify, heartbeat, resume, and what is refused."""

import zlib
from typing import Any

import aiohttp
import msgspec
import pytest

from bot.loopback.discord.announcements import MESSAGE_CONTENT
from bot.loopback.discord.entities import Channel, User
from bot.loopback.discord.server import LoopbackDiscord

ALL = (1 << 26) - 1
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, INVALID_SESSION, HELLO, ACK = 0, 1, 2, 6, 9, 10, 11


class Socket:
    """A websocket that has been told hello."""

    def __init__(self, websocket: aiohttp.ClientWebSocketResponse, *, is_zlib: bool) -> None:
        self.websocket = websocket
        self._inflate = zlib.decompressobj() if is_zlib else None

    async def send(self, op: int, payload: object) -> None:
        """Send a frame."""
        await self.websocket.send_bytes(msgspec.json.encode({"op": op, "d": payload}))

    async def frame(self) -> Any:  # noqa: ANN401 - decoded JSON
        """Return the next frame."""
        message = await self.websocket.receive(timeout=5.0)
        assert message.type in {aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY}, message
        data = message.data if self._inflate is None else self._inflate.decompress(message.data)
        return msgspec.json.decode(data)

    async def event(self, name: str) -> Any:  # noqa: ANN401 - decoded JSON
        """Return the next frame that is this event."""
        while True:
            frame = await self.frame()
            if frame["op"] == DISPATCH and frame["t"] == name:
                return frame

    async def closed(self) -> int | None:
        """Return the code the server closes with."""
        while True:
            message = await self.websocket.receive(timeout=5.0)
            if message.type is aiohttp.WSMsgType.CLOSE:
                return self.websocket.close_code


async def dial(
    discord: LoopbackDiscord, session: aiohttp.ClientSession, *, is_zlib: bool = False
) -> Socket:
    """Connect and read the hello."""
    url = f"{discord.api_url.removesuffix('/api/v10')}/gateway"
    params = {"v": "10", "encoding": "json"} | ({"compress": "zlib-stream"} if is_zlib else {})
    socket = Socket(await session.ws_connect(url, params=params), is_zlib=is_zlib)
    hello = await socket.frame()
    assert (hello["op"], hello["d"]["heartbeat_interval"] > 0) == (HELLO, True)
    return socket


async def identify(discord: LoopbackDiscord, socket: Socket, intents: int = ALL) -> Any:  # noqa: ANN401 - decoded JSON
    """Identify and return the ready frame."""
    await socket.send(IDENTIFY, {"token": discord.token, "intents": intents})
    return await socket.event("READY")


@pytest.mark.parametrize("is_zlib", [False, True])
async def test_a_session_hears_what_happens_compressed_or_not(
    discord: LoopbackDiscord, channel: Channel, ann: User, *, is_zlib: bool
) -> None:
    """Hikari asks for zlib-stream by default, other clients do not."""
    async with aiohttp.ClientSession() as session:
        socket = await dial(discord, session, is_zlib=is_zlib)
        ready = await identify(discord, socket)
        guild = await socket.event("GUILD_CREATE")
        await socket.send(HEARTBEAT, ready["s"])
        assert (await socket.frame())["op"] == ACK

        said = await discord.say(ann, channel, "hello")

        heard = await socket.event("MESSAGE_CREATE")
        assert heard["d"]["id"] == str(said.id)
        assert heard["d"]["member"]["roles"] == []
        assert guild["d"]["unavailable"] is False
        assert [one["id"] for one in guild["d"]["channels"]] == [str(channel.id)]


async def test_a_resume_brings_what_was_missed_in_order(
    discord: LoopbackDiscord, channel: Channel, ann: User
) -> None:
    """A message written while the bot was cut off must still be answered."""
    async with aiohttp.ClientSession() as session:
        socket = await dial(discord, session)
        ready = await identify(discord, socket)
        last = (await socket.event("GUILD_CREATE"))["s"]
        await socket.websocket.close(code=4000)
        await discord.until(lambda: discord.sessions == 0)
        missed = [await discord.say(ann, channel, text) for text in ("one", "two")]

        again = await dial(discord, session)
        resume = {
            "token": discord.token,
            "session_id": ready["d"]["session_id"],
            "seq": last,
        }
        await again.send(RESUME, resume)

        frames = [await again.frame() for _ in range(3)]
        assert [frame["t"] for frame in frames] == ["MESSAGE_CREATE", "MESSAGE_CREATE", "RESUMED"]
        assert [frame["d"]["id"] for frame in frames[:2]] == [str(one.id) for one in missed]
        assert [frame["s"] for frame in frames] == [last + 1, last + 2, last + 3]
        assert discord.resumed == 1


async def test_a_session_that_said_goodbye_or_was_replaced_is_not_resumed(
    discord: LoopbackDiscord,
) -> None:
    """A restarted bot identifies anew, and its old session is gone."""
    async with aiohttp.ClientSession() as session:
        for code in (1000, 4000):
            socket = await dial(discord, session)
            old = await identify(discord, socket)
            await socket.websocket.close(code=code)
            await discord.until(lambda: discord.sessions == 0)
            successor = await dial(discord, session)
            if code == 4000:
                await identify(discord, successor)
                successor = await dial(discord, session)
            resume = {"token": discord.token, "session_id": old["d"]["session_id"], "seq": 1}

            await successor.send(RESUME, resume)

            assert await successor.frame() == {"op": INVALID_SESSION, "d": False}
    await discord.until_ready(3)


@pytest.mark.parametrize(
    ("op", "payload", "code"),
    [
        pytest.param(IDENTIFY, {"token": "wrong", "intents": 0}, 4004, id="bad-token"),
        pytest.param(3, {}, 4003, id="not-identified"),
        pytest.param(77, {}, 4001, id="unknown-opcode"),
        pytest.param(IDENTIFY, "nonsense", 4002, id="no-identify"),
    ],
)
async def test_what_breaks_the_protocol_is_closed_with_its_code(
    discord: LoopbackDiscord, op: int, payload: object, code: int
) -> None:
    """Hikari decides by the code whether to come back."""
    async with aiohttp.ClientSession() as session:
        socket = await dial(discord, session)

        await socket.send(op, payload)

        assert await socket.closed() == code


async def test_without_its_intent_a_bot_reads_only_what_mentions_it(
    discord: LoopbackDiscord, channel: Channel, ann: User
) -> None:
    """A bot that forgets MESSAGE_CONTENT works nowhere but in a too friendly fake."""
    async with aiohttp.ClientSession() as session:
        socket = await dial(discord, session)
        await identify(discord, socket, ALL & ~MESSAGE_CONTENT)

        await discord.say(ann, channel, "just talk")
        await discord.say(ann, channel, "hello <@bot>")
        await discord.say(ann, discord.world.add_dm(ann), "psst")

        heard = [(await socket.event("MESSAGE_CREATE"))["d"] for _ in range(3)]
        texts = [one["content"] for one in heard]
        assert texts == ["", f"hello <@{discord.bot_user.id}>", "psst"]
        assert "guild_id" not in heard[2]


async def test_two_live_sessions_both_hear(
    discord: LoopbackDiscord, channel: Channel, ann: User
) -> None:
    """A process believed dead may still be connected."""
    async with aiohttp.ClientSession() as session:
        sockets = [await dial(discord, session) for _ in range(2)]
        for socket in sockets:
            await identify(discord, socket)
        await discord.until_ready(2)

        said = await discord.say(ann, channel, "hello")

        heard = [(await socket.event("MESSAGE_CREATE"))["d"]["id"] for socket in sockets]
        assert heard == [str(said.id)] * 2
        assert discord.sessions == 2
