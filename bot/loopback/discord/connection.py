"""One websocket of the gateway: frames leave in order, compressed as the client asked."""

import asyncio
import contextlib
import zlib

import msgspec
from aiohttp import web

from bot.loopback.discord.entities import JsonObject
from bot.loopback.discord.sockets import reset

_FLUSH_SECONDS = 2.0


class Connection:
    """A client's websocket; sending never waits."""

    def __init__(
        self, request: web.Request, websocket: web.WebSocketResponse, *, is_stream_compressed: bool
    ) -> None:
        self._request = request
        self.websocket = websocket
        # One stream for the whole connection, flushed at each payload: that is zlib-stream.
        self._deflate = zlib.compressobj() if is_stream_compressed else None
        self._frames: asyncio.Queue[JsonObject] = asyncio.Queue()
        self._writer = asyncio.create_task(self._write())
        self.is_payload_compressed = False

    def send(self, frame: JsonObject) -> None:
        """Queue a frame."""
        self._frames.put_nowait(frame)

    async def close(self, code: int) -> None:
        """Close with `code`, after what is queued."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._frames.join(), _FLUSH_SECONDS)
        await self.websocket.close(code=code)

    def reset(self) -> None:
        """Cut the connection without a word."""
        reset(self._request)

    async def end(self) -> None:
        """Stop writing."""
        self._writer.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._writer

    async def _write(self) -> None:
        while True:
            frame = await self._frames.get()
            # What cannot be written is still kept by the session, for the resume.
            with contextlib.suppress(ConnectionError):
                await self._put(msgspec.json.encode(frame))
            self._frames.task_done()

    async def _put(self, payload: bytes) -> None:
        if self._deflate is not None:
            stream = self._deflate.compress(payload) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
            await self.websocket.send_bytes(stream)
        elif self.is_payload_compressed:
            await self.websocket.send_bytes(zlib.compress(payload))
        else:
            await self.websocket.send_str(payload.decode())
