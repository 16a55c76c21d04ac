"""A scripted model provider on loopback: every wire format over real HTTP, each on its own path.

Tests and the demo talk to it as they would to the provider of that format. It answers from a
queue of scripted answers, else from a responder; records what was asked, and when and how each
exchange ended, so that a test can wait for "the provider's socket was closed". Its gates stand in
for time: a piece leaves when the test opens its gate.

Runs in whichever event loop enters it; `python -m bot.loopback.provider` gives it a process.
"""

import argparse
import asyncio
import itertools
import json
import signal
import socket
import struct
from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal, Self

from aiohttp import web
from msgspec.structs import replace

from actors.providers.adapter import ProviderKind
from bot.loopback.formats import completion, frames
from bot.loopback.script import Answer, Body, Fault, Responder, read_script, say

Ending = Literal["completed", "client_closed", "reset", "closed", "shut_down"]
"""How an exchange ended: whole, by the client, by a scripted fault, by the server's end."""

_LINGER_NOT: Final = struct.pack("ii", 1, 0)
_SHUTDOWN_SECONDS: Final = 0.01
"""Leaving waits this long for exchanges that run; aiohttp takes 0 for ever."""
_REQUEST_LIMIT: Final = 16 * 1024 * 1024
_CHAT: Final = "/chat/completions"
_ROOTS: Final[dict[ProviderKind, tuple[str, str]]] = {
    "openai": ("/v1", _CHAT),
    "openrouter": ("/openrouter/api/v1", _CHAT),
    "anthropic": ("/anthropic/v1", "/messages"),
    "custom": ("/custom/v1", _CHAT),
    "google": ("/google/v1beta", "/models/{model}:streamGenerateContent"),
}
"""The root of each API, and the path below it that answers."""


def greet(_request: Body) -> Answer:
    """Return the answer of a provider without a script."""
    return say("Hello! This is a scripted model on loopback, and it is glad that you ask.")


class ReceivedRequest:
    """One request that arrived, and what became of it."""

    def __init__(self, body: Body, headers: dict[str, str], peer_port: int) -> None:
        self.body = body
        """The JSON body."""
        self.headers = headers
        """The headers, names in lower case."""
        self.peer_port = peer_port
        """The client's port: the same for requests over one connection."""
        self.payloads_written = 0
        """Payloads handed to the socket so far."""
        self.ending: Ending | None = None
        """How the exchange ended; None while it runs, and where the server itself failed."""
        self.closed = asyncio.Event()
        """Set once the exchange ended."""

    def end(self, ending: Ending) -> None:
        """Note how the exchange ended; the first word counts."""
        if self.ending is None:
            self.ending = ending
        self.closed.set()


class _BrokenError(Exception):
    """The script broke the exchange."""


class LoopbackProvider:
    """An aiohttp server on 127.0.0.1; serves while it is entered."""

    def __init__(self, respond: Responder = greet, *, port: int = 0) -> None:
        self._respond = respond
        self._port = port
        self._script: deque[Answer] = deque()
        self._runner: web.AppRunner | None = None
        self._is_ending = False
        self._arrived = asyncio.Condition()
        self.requests: list[ReceivedRequest] = []
        """What was asked, oldest first."""

    @property
    def base_url(self) -> str:
        """The root of its `openai` API; its port is known once entered."""
        return self.base_url_of("openai")

    def base_url_of(self, kind: ProviderKind) -> str:
        """Return the root of the API that speaks `kind`, as a model route names it."""
        return f"http://127.0.0.1:{self._port}{_ROOTS[kind][0]}"

    def script(self, *answers: Answer) -> None:
        """Queue answers; each request takes one, and the responder answers when none is left."""
        self._script.extend(answers)

    async def received(self, count: int = 1) -> ReceivedRequest:
        """Return the request of that ordinal, from 1, once it has arrived."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=_REQUEST_LIMIT)
        for kind, (root, path) in _ROOTS.items():
            app.router.add_post(root + path, partial(self._serve, kind))
        self._is_ending = False
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._is_ending = True
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _serve(self, kind: ProviderKind, request: web.Request) -> web.StreamResponse:
        body: Body = await request.json()
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = ReceivedRequest(body, headers, _peer_port(request))
        async with self._arrived:
            self.requests.append(received)
            self._arrived.notify_all()
        answer = self._script.popleft() if self._script else self._respond(body)
        if answer.is_stream and _CHAT in request.path and not body.get("stream", False):
            answer = replace(answer, body=completion(answer), content_type="application/json")
        response = _response(answer)
        try:
            await _Exchange(request, response, answer, received).run(frames(answer, kind))
        except _BrokenError:
            pass
        except ConnectionError:
            received.end("client_closed")
        except asyncio.CancelledError:
            received.end("shut_down" if self._is_ending else "client_closed")
            raise
        else:
            received.end("completed")
        finally:
            received.closed.set()
        return response


class _Exchange:
    """Writes one answer to one socket."""

    def __init__(
        self,
        request: web.Request,
        response: web.StreamResponse,
        answer: Answer,
        received: ReceivedRequest,
    ) -> None:
        self._request = request
        self._response = response
        self._answer = answer
        self._received = received
        self._pending = bytearray()

    async def run(self, made: Sequence[bytes]) -> None:
        """Write the answer as the bytes that were made of it, or as much as its fault allows."""
        answer = self._answer
        if answer.fault is not None and answer.fault.after is None:
            await self._break(answer.fault)
        await self._response.prepare(self._request)
        for index, frame in enumerate(made):
            await self._hold(index)
            if answer.delay_seconds:
                await self._write_pending()
                await asyncio.sleep(answer.delay_seconds)
            await self._write(frame)
            self._received.payloads_written = index + 1
        await self._hold(len(made))
        await self._write_pending()
        if answer.fault is not None:
            await self._break(answer.fault)
        await self._response.write_eof()

    async def _hold(self, index: int) -> None:
        """Wait at the gate before payload `index`, and break where the script breaks there."""
        gate = self._answer.gates.get(index)
        if gate is not None:
            await self._write_pending()
            await gate.wait()
        fault = self._answer.fault
        if fault is not None and fault.after == index:
            await self._write_pending()
            await self._break(fault)

    async def _write(self, frame: bytes) -> None:
        if not self._answer.cut:
            await self._response.write(frame)
            return
        self._pending += frame
        whole = len(self._pending) - len(self._pending) % self._answer.cut
        await self._write_slices(whole)

    async def _write_pending(self) -> None:
        await self._write_slices(len(self._pending))

    async def _write_slices(self, size: int) -> None:
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        for at in range(0, size, max(1, self._answer.cut)):
            await self._response.write(taken[at : at + self._answer.cut])

    async def _break(self, fault: Fault) -> None:
        if fault.kind == "hang":
            await asyncio.Event().wait()
        transport = self._request.transport
        if transport is None:
            raise ConnectionResetError
        if fault.kind == "reset":
            while transport.get_write_buffer_size():  # noqa: ASYNC110 - a transport has no event for it
                await asyncio.sleep(0)
            peer: socket.socket = transport.get_extra_info("socket")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            transport.abort()
            self._received.end("reset")
        else:
            transport.close()
            self._received.end("closed")
        raise _BrokenError


def _peer_port(request: web.Request) -> int:
    transport = request.transport
    return 0 if transport is None else transport.get_extra_info("peername")[1]


def _response(answer: Answer) -> web.StreamResponse:
    kind = answer.content_type or ("application/json" if answer.is_failure else "text/event-stream")
    return web.StreamResponse(
        status=answer.status, headers={"Content-Type": kind, **answer.headers}
    )


async def serve(port: int, answers: Sequence[Answer]) -> None:
    """Serve until SIGINT or SIGTERM, with `answers` over and over; prints the base address first.

    Both are asked for by name: a shell that starts it in the background has SIGINT ignored.
    """
    ending = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ending.set)
    cycle = itertools.cycle(answers)

    def repeat(request: Body) -> Answer:
        return next(cycle, None) or greet(request)

    async with LoopbackProvider(repeat, port=port) as provider:
        print(json.dumps({"base_url": provider.base_url}), flush=True)  # noqa: T201 - the answer of a command
        await ending.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a provider in this process until it is interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m bot.loopback.provider", description=main.__doc__
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--script", type=Path, help="JSON file: an array of answers, repeated")
    options = parser.parse_args(arguments)
    answers = read_script(options.script) if options.script else []
    asyncio.run(serve(options.port, answers))


if __name__ == "__main__":
    main()
