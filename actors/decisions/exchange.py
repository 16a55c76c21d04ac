"""One decision over HTTP: the body read within its bound, and given up when nobody wants it.

The transport follows no redirect, so that neither the evidence nor the key goes to whoever a
server names.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from msgspec import Struct

from actors.errors import TransportError
from actors.gate.urls import REDIRECTS
from actors.http_port import HttpRequest, Transport
from actors.ports import StopSignal

LONGEST_BODY: Final = 1_048_576
"""Bytes of a response's body, decompressed."""
REQUEST_ID_HEADERS: Final = ("x-typesafe-request-id", "x-request-id")
"""Where a provider names the request, the most trusted first."""

T = TypeVar("T")


class Reply(Struct, frozen=True, kw_only=True):
    """A response, whole."""

    status: int
    """The HTTP status."""
    body: bytes
    """The body, within its bound; empty for a redirect, and for an error with a longer one."""
    request_ids: tuple[str, ...]
    """The provider's ids of the request, unjudged."""
    retry_after_seconds: float | None
    """How long it asks to wait."""

    @property
    def is_redirect(self) -> bool:
        """Whether it names another address."""
        return self.status in REDIRECTS

    @property
    def is_success(self) -> bool:
        """Whether the status says that it answers."""
        return 200 <= self.status < 300  # noqa: PLR2004 - statuses read best as themselves


async def exchange(transport: Transport, request: HttpRequest) -> Reply:
    """Send `request` and return the response; leaving early ends the download.

    Raises:
        TransportError: It broke, may not be asked, or is longer than its bound (`oversized`).
    """
    async with transport.open(request) as stream:
        reply = Reply(
            status=stream.status,
            body=b"",
            request_ids=tuple(stream.header(name) for name in REQUEST_ID_HEADERS),
            retry_after_seconds=stream.retry_after_seconds,
        )
        if reply.is_redirect:
            return reply
        body = bytearray()
        is_longer = _announced(stream.header("Content-Length")) > LONGEST_BODY
        if not is_longer:
            async for chunk in stream.chunks():
                body += chunk
                is_longer = len(body) > LONGEST_BODY
                if is_longer:
                    break
        if is_longer and reply.is_success:
            raise TransportError("oversized", f"at most {LONGEST_BODY} bytes")
        return Reply(
            status=reply.status,
            body=b"" if is_longer else bytes(body),
            request_ids=reply.request_ids,
            retry_after_seconds=reply.retry_after_seconds,
        )


def _announced(length: str) -> int:
    return int(length) if length.isascii() and length.isdecimal() and len(length) < 20 else 0  # noqa: PLR2004 - digits of 2**64


async def within(
    work: Coroutine[Any, Any, T], abort: StopSignal | None, limit: Coroutine[Any, Any, None]
) -> T:
    """Return what `work` does, unless `abort` is set or `limit` returns before it.

    What was done when either came counts as done. Whatever is not done is cancelled and over
    when this returns.

    Raises:
        TimeoutError: It was neither done nor failed by then.
    """
    doing = asyncio.ensure_future(work)
    ends: list[asyncio.Future[Any]] = [asyncio.ensure_future(limit)]
    if abort is not None:
        ends.append(asyncio.ensure_future(_wait(abort)))
    try:
        await asyncio.wait({doing, *ends}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise TimeoutError
    finally:
        for one in (doing, *ends):
            one.cancel()
        await asyncio.gather(doing, *ends, return_exceptions=True)


async def _wait(abort: StopSignal) -> None:
    await abort.wait()
