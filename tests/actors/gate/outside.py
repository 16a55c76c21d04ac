"""A world outside on loopback: a server that counts who connects, and a name server that lies."""

import asyncio
from collections.abc import Sequence
from typing import Self


def response(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """Return a response as it goes over the wire."""
    lines = [f"HTTP/1.1 {status} x", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


class Outside:
    """Serves scripted responses on an address of 127.0.0.0/8, the last one for ever."""

    def __init__(self, *responses: bytes, host: str = "127.0.0.1", port: int = 0) -> None:
        self._responses = list(responses) or [response()]
        self._host = host
        self.port = port
        """Where it listens, once entered."""
        self.connections = 0
        """How many have connected."""
        self.heads: list[str] = []
        """What was asked, head by head."""
        self.bodies: list[bytes] = []
        """What came with each."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            length = next(
                (line for line in head.lower().split("\r\n") if line.startswith("content-length")),
                "content-length: 0",
            )
            self.bodies.append(await reader.readexactly(int(length.partition(":")[2])))
            rest = self._responses
            writer.write(rest.pop(0) if len(rest) > 1 else rest[0])
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Names:
    """A name server: each lookup takes the next answer, the last one stands."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []
        """The names that were asked for, in order."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:  # noqa: ARG002 - as the port has it
        """Return the next answer.

        Raises:
            OSError: It is empty.
        """
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not answer:
            raise OSError("no such name")
        return answer
