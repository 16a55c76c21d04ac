"""The HTTP side: reads requests, meets faults and limits, asks a handler, writes what it says.

The order is that of a real edge: a fault may strike before the body is read; then the token, the
rate limits and the handler; then a fault may still replace or swallow the answer.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import assert_never

import msgspec
from aiohttp import web

from actors.ports import Clock
from bot.loopback.discord.calls import Call, Kind, Reply, Route, Upload
from bot.loopback.discord.entities import JsonObject
from bot.loopback.discord.faults import Answer, Fault, Faults, answer_of
from bot.loopback.discord.journal import Journal, Outcome
from bot.loopback.discord.limits import Limits
from bot.loopback.discord.refusals import RefusedError
from bot.loopback.discord.sockets import reset

PREFIX = "/api/v10"
"""Where the API begins."""
BODY_LIMIT = 26 * 1024 * 1024
"""Bytes of a request, Discord's limit of uploads with some room."""
_MULTIPART = "multipart/form-data"


class Held:
    """The requests that hang, until somebody releases them."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._waiting: set[asyncio.Future[bool]] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def release(self, *, go_on: bool) -> None:
        """Let those that hang go on, or give them up."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(go_on)

    async def wait(self) -> bool:
        """Hang; return whether to go on."""
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        self._changed()
        try:
            return await waiter
        finally:
            self._waiting.discard(waiter)
            self._changed()


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """What every request passes."""

    token: str
    """The bot's token."""
    clock: Clock
    """Time."""
    journal: Journal
    """Where requests are recorded."""
    faults: Faults
    """What goes wrong."""
    limits: Limits
    """The rate limits."""
    held: Held
    """The requests that hang."""
    locate: Callable[[Route, Call], tuple[Kind, int | None]]
    """What a request does, and the channel it concerns; the body is not there yet."""


class Exchange:
    """One request and its answer."""

    def __init__(self, door: Door, route: Route, request: web.Request) -> None:
        self._door = door
        self._route = route
        self._request = request
        self._call = Call(params=dict(request.match_info), query=dict(request.query))
        self._kind: Kind
        self._kind, self._channel_id = door.locate(route, self._call)
        self._is_read = False
        self._done: tuple[Outcome, Answer, int | None] | None = None
        path = request.path.removeprefix(PREFIX)
        self._number = door.journal.open(request.method, path, self._kind, self._channel_id)

    async def answer(self) -> web.StreamResponse:
        """Answer the request."""
        fault = self._door.faults.take(self._kind, self._channel_id)
        try:
            return await (self._behave() if fault is None else self._misbehave(fault))
        except ConnectionError:
            # The client left while it was still sending the body.
            return self._reset()

    async def _misbehave(self, fault: Fault) -> web.StreamResponse:
        if fault.when != "unread":
            await self._read()
        if fault.when == "after":
            self._run()
        match fault.action:
            case "status" | "garbage":
                answer = answer_of(fault)
                self._close("faulted", answer.status, fault.code)
                return _response(answer)
            case "reset":
                return self._reset()
            case "hang":
                return await self._behave() if await self._door.held.wait() else self._reset()
            case "slow":
                await self._door.clock.sleep(fault.seconds)
                return await self._behave()
            case _:
                assert_never(fault.action)

    async def _behave(self) -> web.StreamResponse:
        await self._read()
        outcome, answer, code = self._run()
        self._close(outcome, answer.status, code)
        return _response(answer)

    async def _read(self) -> None:
        """Read the body, once."""
        if self._is_read:
            return
        self._is_read = True
        body, uploads = await _body_of(self._request)
        self._call = msgspec.structs.replace(self._call, body=body, uploads=uploads)
        try:
            self._door.journal.read(self._number, msgspec.json.decode(body, type=JsonObject))
        except (msgspec.DecodeError, msgspec.ValidationError):
            # A list of commands, nothing at all, or what the handler is about to refuse.
            return

    def _run(self) -> tuple[Outcome, Answer, int | None]:
        """Let the request have its effect, once; whoever asks again gets the same answer."""
        if self._done is None:
            self._done = self._decide()
        return self._done

    def _decide(self) -> tuple[Outcome, Answer, int | None]:
        headers: dict[str, str] = {}
        try:
            self._check_token()
            verdict = self._door.limits.check(self._route, self._kind, self._subject())
            if verdict.refusal is not None:
                return ("limited", verdict.refusal, None)
            headers = verdict.headers
            reply = self._route.handler(self._call)
        except RefusedError as refusal:
            body = msgspec.json.encode(refusal.body())
            answer = Answer(status=refusal.status, body=body, headers=headers)
            return ("refused", answer, refusal.code)
        if reply.message_id is not None:
            self._door.journal.effect(self._number, reply.message_id)
        return ("ok", _answer_of(reply, headers), None)

    def _check_token(self) -> None:
        given = self._request.headers.get("Authorization")
        if self._route.needs_token and given != f"Bot {self._door.token}":
            raise RefusedError(401, 0)

    def _subject(self) -> str:
        """Return Discord's major parameter: the channel, guild or webhook of the path."""
        params = self._call.params
        return next((params[one] for one in ("channel", "guild", "webhook") if one in params), "")

    def _reset(self) -> web.StreamResponse:
        self._close("reset", None)
        reset(self._request)
        # Nobody hears it: the connection is gone, and aiohttp drops what it cannot write.
        return web.Response()

    def _close(self, outcome: Outcome, status: int | None, code: int | None = None) -> None:
        self._door.journal.close(self._number, outcome, status, code)


def serve(door: Door, route: Route, app: web.Application) -> None:
    """Put a route into the application."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return await Exchange(door, route, request).answer()

    app.router.add_route(route.method, PREFIX + route.path, handle)


async def _body_of(request: web.Request) -> tuple[bytes, tuple[Upload, ...]]:
    if request.content_type != _MULTIPART:
        return await request.read(), ()
    body = b""
    uploads: list[Upload] = []
    form = await request.post()
    for name, field in form.items():
        if isinstance(field, web.FileField):
            with field.file as file:
                data = file.read()
            kind = field.content_type
            uploads.append(Upload(filename=field.filename, content_type=kind, data=data))
        elif name == "payload_json":
            body = field.encode() if isinstance(field, str) else bytes(field)
    return body, tuple(uploads)


def _answer_of(reply: Reply, headers: dict[str, str]) -> Answer:
    is_empty = reply.status == HTTPStatus.NO_CONTENT
    body = b"" if is_empty else msgspec.json.encode(reply.body)
    return Answer(status=reply.status, body=body, headers=headers)


def _response(answer: Answer) -> web.Response:
    headers = dict(answer.headers)
    if answer.body:
        headers["Content-Type"] = answer.content_type
    return web.Response(status=answer.status, body=answer.body, headers=headers)
