"""The gateway: websocket sessions that identify, are told what happens, and resume.

A session outlives its connection: what happens meanwhile is kept and sent when the client
resumes. A new IDENTIFY drops the sessions of its shard that have no connection; one that still
has its own goes on beside it, as with Discord, so a process believed dead may go on hearing.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Literal

import msgspec
from aiohttp import WSMsgType, web
from msgspec import Struct

from bot.loopback.discord.address import Address
from bot.loopback.discord.announcements import GUILDS, Announcement
from bot.loopback.discord.connection import Connection
from bot.loopback.discord.entities import JsonObject
from bot.loopback.discord.payloads import (
    application_json,
    guild_create_json,
    member_json,
    own_user_json,
)
from bot.loopback.discord.world import World

Cut = Literal["close", "reset", "invalidate"]
"""A close frame after which clients resume; a TCP reset; an order to identify anew."""


class Opcode(IntEnum):
    """What a frame is (docs.discord.com, topics/opcodes-and-status-codes)."""

    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    PRESENCE = 3
    VOICE = 4
    RESUME = 6
    MEMBERS = 8
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11


class CloseCode(IntEnum):
    """Why the server closes; after the first a client resumes."""

    RECONNECT = 4000
    UNKNOWN_OPCODE = 4001
    DECODE_ERROR = 4002
    NOT_IDENTIFIED = 4003
    BAD_TOKEN = 4004
    ALREADY_IDENTIFIED = 4005


HEARTBEAT_MS = 41_250
"""What HELLO asks for."""
_KEPT_EVENTS = 10_000
_FOR_GOOD = {1000, 1001}


class Frame(Struct, frozen=True, kw_only=True):
    """What a client sends."""

    op: int
    """The opcode."""
    d: msgspec.Raw = msgspec.Raw(b"null")
    """The payload."""


class Identify(Struct, frozen=True, kw_only=True):
    """A new session is asked for."""

    token: str
    """The bot's token."""
    intents: int
    """What it wants to hear."""
    compress: bool = False
    """Whether payloads are compressed one by one."""
    shard: tuple[int, int] = (0, 1)
    """Its shard, and of how many."""


class Resume(Struct, frozen=True, kw_only=True):
    """An old session is asked for."""

    token: str
    """The bot's token."""
    session_id: str
    """The session."""
    seq: int
    """The last event it got."""


class RequestMembers(Struct, frozen=True, kw_only=True):
    """A guild's members are asked for."""

    guild_id: str
    """The guild."""
    nonce: str | None = None
    """A mark of the client's."""


class Session:
    """What a client identified for; its events are kept for a resume."""

    def __init__(self, session_id: str, identify: Identify) -> None:
        self.id = session_id
        self.shard = identify.shard
        self.intents = identify.intents
        self.seq = 0
        self.kept: deque[tuple[int, JsonObject]] = deque(maxlen=_KEPT_EVENTS)
        self.connection: Connection | None = None

    def dispatch(self, name: str, body: JsonObject) -> None:
        """Send an event, or keep it until the client is back."""
        self.seq += 1
        frame: JsonObject = {"op": Opcode.DISPATCH, "t": name, "s": self.seq, "d": body}
        self.kept.append((self.seq, frame))
        if self.connection is not None:
            self.connection.send(frame)

    def can_resume(self, seq: int) -> bool:
        """Return whether all events after `seq` are still there."""
        oldest = self.kept[0][0] if self.kept else self.seq + 1
        return oldest - 1 <= seq <= self.seq


class Gateway:
    """The sessions of one bot."""

    def __init__(
        self, world: World, token: str, address: Address, changed: Callable[[], None]
    ) -> None:
        self._world = world
        self._token = token
        self._address = address
        self._changed = changed
        self._sessions: dict[str, Session] = {}
        self._connections: set[Connection] = set()
        self.identified = 0
        """How many sessions have identified so far."""
        self.resumed = 0
        """How many times a session was resumed."""

    @property
    def connected(self) -> int:
        """How many sessions have a connection."""
        return sum(one.connection is not None for one in self._sessions.values())

    def publish(self, announcement: Announcement) -> None:
        """Tell every session that wants to know."""
        for session in self._sessions.values():
            body = announcement.body_for(session.intents)
            if body is not None:
                session.dispatch(announcement.name, body)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection."""
        query = request.query
        compress = query.get("compress")
        if query.get("encoding", "json") != "json" or compress not in {None, "zlib-stream"}:
            raise web.HTTPBadRequest(text="only encoding=json, compress=zlib-stream")
        websocket = web.WebSocketResponse(max_msg_size=0)
        await websocket.prepare(request)
        connection = Connection(request, websocket, is_stream_compressed=compress is not None)
        self._connections.add(connection)
        connection.send({"op": Opcode.HELLO, "d": {"heartbeat_interval": HEARTBEAT_MS}})
        try:
            await self._listen(connection)
        finally:
            self._connections.discard(connection)
            self._leave(connection)
            await connection.end()
        return websocket

    async def disconnect(self, how: Cut) -> None:
        """End every connection, so that clients resume; invalidated, they must identify anew."""
        connections = list(self._connections)
        for connection in connections:
            session = self._session_of(connection)
            if session is not None:
                session.connection = None
            if how == "reset":
                connection.reset()
            elif how == "invalidate":
                connection.send({"op": Opcode.INVALID_SESSION, "d": False})
                if session is not None:
                    del self._sessions[session.id]
        self._changed()
        if how == "close":
            await asyncio.gather(*(one.close(CloseCode.RECONNECT) for one in connections))

    async def close(self) -> None:
        """End every connection and session for good."""
        self._sessions.clear()
        await asyncio.gather(*(one.close(1001) for one in list(self._connections)))

    async def _listen(self, connection: Connection) -> None:
        async for message in connection.websocket:
            if message.type not in {WSMsgType.TEXT, WSMsgType.BINARY}:
                continue
            try:
                code = self._obey(connection, msgspec.json.decode(message.data, type=Frame))
            except msgspec.DecodeError:
                code = CloseCode.DECODE_ERROR
            if code is not None:
                await connection.close(code)

    def _obey(self, connection: Connection, frame: Frame) -> int | None:
        """Do what a client asks; return the code to close with, where that is the answer."""
        match frame.op:
            case Opcode.HEARTBEAT:
                connection.send({"op": Opcode.HEARTBEAT_ACK})
                return None
            case Opcode.IDENTIFY:
                return self._identify(connection, msgspec.json.decode(frame.d, type=Identify))
            case Opcode.RESUME:
                return self._resume(connection, msgspec.json.decode(frame.d, type=Resume))
            case Opcode.PRESENCE | Opcode.VOICE | Opcode.MEMBERS:
                session = self._session_of(connection)
                if session is None:
                    return CloseCode.NOT_IDENTIFIED
                if frame.op == Opcode.MEMBERS:
                    wanted = msgspec.json.decode(frame.d, type=RequestMembers)
                    self._send_members(session, wanted)
                return None
            case _:
                return CloseCode.UNKNOWN_OPCODE

    def _identify(self, connection: Connection, identify: Identify) -> int | None:
        if identify.token != self._token:
            return CloseCode.BAD_TOKEN
        if self._session_of(connection) is not None:
            return CloseCode.ALREADY_IDENTIFIED
        for old in list(self._sessions.values()):
            if old.connection is None and old.shard == identify.shard:
                del self._sessions[old.id]
        session = Session(f"session-{self._world.new_id():x}", identify)
        self._sessions[session.id] = session
        session.connection = connection
        connection.is_payload_compressed = identify.compress
        session.dispatch("READY", self._ready(session))
        for guild in self._world.guilds.values():
            if identify.intents & GUILDS:
                body = guild_create_json(self._world, guild) | {"unavailable": False}
                session.dispatch("GUILD_CREATE", body)
        self.identified += 1
        self._changed()
        return None

    def _ready(self, session: Session) -> JsonObject:
        application = application_json(self._world)
        return {
            "v": 10,
            "user": own_user_json(self._world.bot),
            "guilds": [{"id": str(one), "unavailable": True} for one in self._world.guilds],
            "session_id": session.id,
            "resume_gateway_url": self._address.gateway,
            "shard": list(session.shard),
            "application": {"id": application["id"], "flags": application["flags"]},
        }

    def _resume(self, connection: Connection, resume: Resume) -> int | None:
        if resume.token != self._token:
            return CloseCode.BAD_TOKEN
        session = self._sessions.get(resume.session_id)
        if session is None or not session.can_resume(resume.seq):
            connection.send({"op": Opcode.INVALID_SESSION, "d": False})
            return None
        for seq, frame in session.kept:
            if seq > resume.seq:
                connection.send(frame)
        session.connection = connection
        session.dispatch("RESUMED", {})
        self.resumed += 1
        self._changed()
        return None

    def _send_members(self, session: Session, wanted: RequestMembers) -> None:
        guild = self._world.guilds.get(int(wanted.guild_id) if wanted.guild_id.isdigit() else 0)
        if guild is None:
            return
        users = self._world.users.values()
        body: JsonObject = {
            "guild_id": str(guild.id),
            "members": [member_json(self._world, guild.id, user) for user in users],
            "chunk_index": 0,
            "chunk_count": 1,
        }
        if wanted.nonce is not None:
            body["nonce"] = wanted.nonce
        session.dispatch("GUILD_MEMBERS_CHUNK", body)

    def _session_of(self, connection: Connection) -> Session | None:
        for session in self._sessions.values():
            if session.connection is connection:
                return session
        return None

    def _leave(self, connection: Connection) -> None:
        """Note that a connection is gone; a client that said goodbye does not come back."""
        session = self._session_of(connection)
        if session is not None:
            session.connection = None
            if connection.websocket.close_code in _FOR_GOOD:
                del self._sessions[session.id]
            self._changed()
