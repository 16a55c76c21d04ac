"""Connections that lead only to addresses that were judged.

A name is looked up once; what the floors have judged is what the socket connects to, so that a
name server which answers differently a moment later (DNS rebinding) changes nothing. One address
that is refused refuses the whole name. Certificate, SNI and Host header keep the name.

A client made here serves one request: no pool, no proxy from the environment, no cookies. Where
several addresses were judged, aiohttp tries the next one only while no connection stands, thus
before a byte of the request was written.
"""

import asyncio
import socket
from collections.abc import Sequence
from typing import Final, Protocol

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from typing_extensions import override
from yarl import URL

from actors.errors import RemoteUrlPolicyError, TransportError
from actors.gate.addresses import Address, Policy, parse_address, refusal

LOOKUP_SECONDS: Final = 5.0
"""Longest that a name may take to resolve."""

_SocketAddress = tuple[str | int | bytes, ...]
_AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, _SocketAddress]


class Resolve(Protocol):
    """Looks a host name up."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return its addresses, IPv4 and IPv6.

        Raises:
            OSError: It has none, or nobody could say.
        """
        ...


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses that the system's resolver knows `host` by."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(info[4][0]) for info in found]


async def judged_addresses(url: URL, policy: Policy, resolve: Resolve) -> tuple[Address, ...]:
    """Return every address of the host of `url`, all of them judged.

    Args:
        url: What `actors.gate.urls.admitted` let through.
        policy: How strictly.
        resolve: Asked once, and not at all where the host is an address itself.

    Raises:
        RemoteUrlPolicyError: One of them may not be asked.
        TransportError: There are none (`dns`).
    """
    host = url.raw_host or ""
    literal = parse_address(host)
    found = (literal,) if literal is not None else await _looked_up(url, resolve)
    for address in found:
        code = refusal(address, policy)
        if code is not None:
            raise RemoteUrlPolicyError(host, code)
    return found


async def _looked_up(url: URL, resolve: Resolve) -> tuple[Address, ...]:
    host = url.raw_host or ""
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            texts = await resolve(host, url.port or 0)
    except (OSError, UnicodeError) as error:
        raise TransportError("dns", type(error).__name__) from error
    parsed = tuple(map(parse_address, texts))
    found = tuple(dict.fromkeys(address for address in parsed if address is not None))
    if len(found) < len(set(parsed)):
        raise RemoteUrlPolicyError(host, "unpinnable")
    if not found:
        raise TransportError("dns", "no address")
    return found


def pinned_client(
    url: URL, addresses: Sequence[Address], timeout: aiohttp.ClientTimeout
) -> aiohttp.ClientSession:
    """Return a client for one request to `url`, which connects to `addresses` and nowhere else."""
    connector = aiohttp.TCPConnector(
        resolver=_Pinned(addresses),
        use_dns_cache=False,
        force_close=True,
        socket_factory=_Socket(url.raw_host or "", addresses),
    )
    return aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


class _Pinned(AbstractResolver):
    """Gives aiohttp the judged addresses for whatever name it asks."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = addresses

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,  # noqa: PLR2004 - IP's two versions
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in self._addresses
        ]

    @override
    async def close(self) -> None:
        """Hold nothing, close nothing."""


class _Socket:
    """Makes sockets for judged addresses alone: the last word before a connect."""

    def __init__(self, host: str, addresses: Sequence[Address]) -> None:
        self._host = host
        self._addresses = frozenset(addresses)

    def __call__(self, info: _AddressInfo) -> socket.socket:
        family, kind, proto, _, peer = info
        if parse_address(str(peer[0])) not in self._addresses:
            raise RemoteUrlPolicyError(self._host, "unpinnable")
        return socket.socket(family, kind, proto)
