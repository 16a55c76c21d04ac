"""A GET to an address from outside: judged at every hop, bounded, without anything of ours.

No credential, cookie or proxy goes with it. Each redirect is a request of its own: parsed, judged,
looked up and pinned anew. The body is counted as it comes, decompressed, and the download ends
where it passes the bound.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import aiohttp
from msgspec import Struct
from yarl import URL

from actors.errors import RemoteUrlPolicyError, TransportError
from actors.gate.addresses import Policy
from actors.gate.pinned import Resolve, judged_addresses, pinned_client, system_resolve
from actors.gate.urls import MOST_REDIRECTS, REDIRECTS, admitted, next_hop
from actors.transport import transport_error

TOTAL_SECONDS: Final = 30.0
"""Longest that a fetch may take, lookups, hops and body together."""
_PIECE_BYTES: Final = 65_536
_HEADERS: Final[Mapping[str, str]] = {"Accept-Encoding": "identity", "User-Agent": "rejoinder"}


class Fetched(Struct, frozen=True, kw_only=True):
    """What an address gave."""

    hostname: str
    """The host that gave it, after redirects."""
    status: int
    """The HTTP status; no redirect."""
    body: bytes
    """The whole body, within the bound."""


class Fetcher:
    """Fetches what people's addresses point at."""

    def __init__(
        self,
        *,
        policy: Policy = Policy(),  # noqa: B008 - frozen
        resolve: Resolve = system_resolve,
        total_seconds: float = TOTAL_SECONDS,
    ) -> None:
        self._policy = policy
        self._resolve = resolve
        self._total_seconds = total_seconds
        self._timeout = aiohttp.ClientTimeout(total=total_seconds)

    async def get(self, text: str, *, limit_bytes: int) -> Fetched:
        """Return what a GET of the URL `text` gives, after at most three redirects.

        Args:
            text: The address as somebody supplied it.
            limit_bytes: Most bytes of the body.

        Raises:
            RemoteUrlPolicyError: The address, or one that it led to, may not be asked.
            TransportError: Nothing came, it broke off, took too long, or was over the bound
                (`oversized`).
        """
        try:
            async with asyncio.timeout(self._total_seconds):
                return await self._follow(admitted(text, self._policy), limit_bytes)
        except TimeoutError as error:
            raise transport_error(error) from error

    async def _follow(self, url: URL, limit_bytes: int) -> Fetched:
        for _ in range(MOST_REDIRECTS + 1):
            found = await self._once(url, limit_bytes)
            if isinstance(found, Fetched):
                return found
            url = found
        raise RemoteUrlPolicyError(url.raw_host or "", "redirect_limit")

    async def _once(self, url: URL, limit_bytes: int) -> Fetched | URL:
        addresses = await judged_addresses(url, self._policy, self._resolve)
        try:
            async with (
                pinned_client(url, addresses, self._timeout) as client,
                client.get(url, headers=_HEADERS, allow_redirects=False) as response,
            ):
                if response.status in REDIRECTS:
                    return next_hop(url, response.headers.get("Location"), self._policy)
                body = await _bounded(response, limit_bytes)
                return Fetched(hostname=url.raw_host or "", status=response.status, body=body)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise transport_error(error) from error


async def _bounded(response: aiohttp.ClientResponse, limit_bytes: int) -> bytes:
    """Return the body; leaving early closes the connection, since it belongs to one request."""
    if (response.content_length or 0) > limit_bytes:
        raise TransportError("oversized", f"at most {limit_bytes} bytes")
    body = bytearray()
    async for piece in response.content.iter_chunked(_PIECE_BYTES):
        body += piece
        if len(body) > limit_bytes:
            raise TransportError("oversized", f"at most {limit_bytes} bytes")
    return bytes(body)
