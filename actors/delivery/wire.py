"""The HTTP session that hikari speaks through, watched.

hikari tells of an error only by its kind, and repeats a 429 on its own. What the outcome of a
post rests on is lower down: whether the request had begun to leave, what status came, what a 429
asked for. So hikari is handed this session instead of one of its own: it notes all of that in the
`Exchange` of the task at hand, and raises at a 429 before hikari sees it.

Two properties of aiohttp that at-most-once rests on, both pinned by tests: it writes a POST again
on no error whatever (only idempotent methods are repeated, when a kept-alive connection turns out
to be dead), and redirects are off. Connections are kept alive, since a TLS handshake a message
costs more than it saves: an idle one that the server closed is noticed by the event loop and not
picked, and aiohttp drops those idle for 15 s, long before Discord would. What is left is the
server closing in the very moment of writing, which ends `unconfirmed`.
"""

import ssl
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
import msgspec

from actors.delivery.outcomes import Exchange, Fault, TooMany, read_too_many

CONNECT_SECONDS = 10.0
"""Longest time to open a connection, DNS and TLS included."""
CONNECTIONS = 100
"""Most connections at a time, twice what Discord lets a bot write in a second."""
LIMIT_BODY_BYTES = 64 * 1024
"""Most that is read of a 429."""

_exchange: Final[ContextVar[Exchange]] = ContextVar("exchange")


class TooManyRequestsError(Exception):
    """Discord answered 429; raised through hikari so that it does not repeat on its own."""

    def __init__(self, too_many: TooMany) -> None:
        super().__init__(too_many)
        self.too_many = too_many


@contextmanager
def watching() -> Generator[Exchange]:
    """Note what happens to the one request that is written inside the block by this task."""
    exchange = Exchange()
    token = _exchange.set(exchange)
    try:
        yield exchange
    finally:
        _exchange.reset(token)


class WatchedSession:
    """Stands where hikari expects an `aiohttp.ClientSession`; has what hikari calls of it."""

    def __init__(self, timeout_seconds: float) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(_note_sent)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS),
            timeout=aiohttp.ClientTimeout(total=timeout_seconds, connect=CONNECT_SECONDS),
            trace_configs=[trace],
        )

    def request(
        self,
        method: str,
        url: str,
        **options: Any,  # noqa: ANN401 - aiohttp's, passed on
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Write one request; the response closes when the block is left."""
        return self._request(method, url, options)

    @asynccontextmanager
    async def _request(
        self, method: str, url: str, options: dict[str, Any]
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        exchange = _exchange.get()
        async with self._session.request(
            method, url, trace_request_ctx=exchange, **options
        ) as response:
            exchange.status = response.status
            exchange.headers = response.headers
            if response.status == 429:  # noqa: PLR2004 - the number is the name
                body = await _read_bounded(response.content)
                exchange.too_many = read_too_many(response.headers, body)
                raise TooManyRequestsError(exchange.too_many)
            yield response

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()


async def _note_sent(
    _session: aiohttp.ClientSession,
    context: SimpleNamespace,
    _params: aiohttp.TraceRequestHeadersSentParams,
) -> None:
    # Called before the first byte is given to the socket, with nothing awaited in between: an
    # exchange that is not marked has certainly sent nothing.
    context.trace_request_ctx.is_sent = True


async def _read_bounded(content: aiohttp.StreamReader) -> bytes:
    body = b""
    while len(body) < LIMIT_BODY_BYTES:
        piece = await content.read(LIMIT_BODY_BYTES - len(body))
        if not piece:
            break
        body += piece
    return body


def read_json(text: str | bytes) -> Any:  # noqa: ANN401 - hikari's type of a JSON decoder
    """Return the JSON of a 2xx response and note it in the exchange at hand."""
    body = msgspec.json.decode(text)
    _exchange.get().body = body
    return body


_FAULTS: Final[tuple[tuple[tuple[type[BaseException], ...], Fault], ...]] = (
    ((TooManyRequestsError,), "client_error"),
    ((aiohttp.ConnectionTimeoutError,), "connect_timeout"),
    ((TimeoutError,), "timeout"),
    ((aiohttp.ClientConnectorDNSError,), "dns"),
    ((aiohttp.ClientSSLError, ssl.SSLError), "tls"),
    ((ConnectionRefusedError,), "connection_refused"),
    ((aiohttp.ClientConnectorError,), "connect_failed"),
    ((aiohttp.ClientPayloadError, aiohttp.ClientConnectionError, OSError), "connection_reset"),
)
"""Errors and their word, the special before the general."""


def fault_of(error: BaseException) -> Fault:
    """Return what broke, from the error's chain of causes."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    for kinds, fault in _FAULTS:
        if any(isinstance(cause, kinds) for cause in causes):
            return fault
    return "client_error"
