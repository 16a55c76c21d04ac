"""HTTP to providers over aiohttp: one pooled client a process, and a fresh one behind the gate.

No total timeout, since a healthy answer may take an hour: only connecting and silence are bounded.
No redirects, which would carry a key to another host; no cookies; no compression, which would hold
a stream back. Whoever leaves an open response closes its socket, so that a provider stops
generating, and charging, at once.

A request that names a gate is judged first and then goes to the very addresses that were judged.
Each has a client of its own, so that no pooled connection escapes the check.

What went wrong is read from exception types, and named without the exception's prose, which may
quote an address or a header.
"""

import errno
import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp
from multidict import CIMultiDictProxy
from yarl import URL

from actors.errors import RemoteUrlPolicyError, TransportError
from actors.gate.pinned import Resolve, judged_addresses, pinned_client, system_resolve
from actors.gate.urls import admitted
from actors.http_port import HttpRequest, HttpStream
from events.generation import StreamEnd

CONNECT_TIMEOUT_SECONDS: Final = 10.0
"""For name resolution, TCP and TLS together."""
READ_TIMEOUT_SECONDS: Final = 300.0
"""Silence after which a response counts as dead; any byte starts it anew, comments included."""

_HEADERS: Final = {"Accept-Encoding": "identity", "User-Agent": "rejoinder"}
_NEVER_SENT: Final = (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, ValueError)

_ENDS: Final[tuple[tuple[type[BaseException], StreamEnd], ...]] = (
    (aiohttp.ClientConnectorDNSError, "dns"),
    (aiohttp.ClientConnectorCertificateError, "tls"),
    (aiohttp.ClientSSLError, "tls"),
    (aiohttp.ServerFingerprintMismatch, "tls"),
    (TimeoutError, "timeout"),
)
"""The first that fits; a connection that failed otherwise was refused, or lost once it stood."""


class AiohttpTransport:
    """`actors.http_port.Transport` over one aiohttp session, opened at its first use."""

    def __init__(
        self,
        *,
        connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
        read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
        resolve: Resolve = system_resolve,
    ) -> None:
        self._timeout = aiohttp.ClientTimeout(
            total=None,
            connect=connect_timeout_seconds,
            sock_connect=connect_timeout_seconds,
            sock_read=read_timeout_seconds,
        )
        self._resolve = resolve
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def open(self, request: HttpRequest) -> AsyncGenerator[HttpStream]:
        """Send `request`; entering gives the response once its headers are there.

        Leaving the block, by whatever path, closes the socket at once; only a body that was read
        to its end gives its connection back to the pool.

        Raises:
            TransportError: No response came, or the gate refused the address.
        """
        async with self._target(request) as (client, url):
            response = await self._send(client, url, request)
            try:
                yield AiohttpStream(response)
            finally:
                response.close()

    async def aclose(self) -> None:
        """Close the client and what it holds; a later `open` starts a new one."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    @asynccontextmanager
    async def _target(
        self, request: HttpRequest
    ) -> AsyncGenerator[tuple[aiohttp.ClientSession, str | URL]]:
        if request.gate is None:
            yield self._client(), request.url
            return
        try:
            url = admitted(request.url, request.gate)
            addresses = await judged_addresses(url, request.gate, self._resolve)
        except RemoteUrlPolicyError as error:
            raise TransportError("refused", error.failure_code) from error
        async with pinned_client(url, addresses, self._timeout) as client:
            yield client, url

    async def _send(
        self, client: aiohttp.ClientSession, url: str | URL, request: HttpRequest
    ) -> aiohttp.ClientResponse:
        try:
            return await client.post(
                url,
                data=request.body.encode(),
                headers={**request.headers, **_HEADERS},
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise transport_error(error) from error
        except RemoteUrlPolicyError as error:  # the last word before a connect
            raise TransportError("refused", error.failure_code) from error

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            # No limit: a turn that waits for another's connection would count as a timeout.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


class AiohttpStream:
    """`actors.http_port.HttpStream` over one response."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        connection = response.connection
        self._protocol = None if connection is None else connection.protocol

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def content_type(self) -> str:
        """The media type, lower case, without parameters; empty where absent."""
        return self._response.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def retry_after_seconds(self) -> float | None:
        """The Retry-After header in seconds, where present and readable."""
        return retry_after_seconds(self._response.headers)

    def header(self, name: str) -> str:
        """Return a header, whatever the case of its name; empty where absent."""
        return self._response.headers.get(name, "")

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives.

        Raises:
            TransportError: The connection broke before the body's end.
        """
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise transport_error(error) from error
        self._check_end()

    def _check_end(self) -> None:
        """Tell a reset from an end where the body has no length and its end is the close.

        aiohttp takes both for the end of such a body; the protocol remembers which it was.
        """
        headers = self._response.headers
        if "Content-Length" in headers or "Transfer-Encoding" in headers or self._protocol is None:
            return
        error = self._protocol.exception()
        if isinstance(error, OSError):
            raise transport_error(error) from error


def retry_after_seconds(headers: CIMultiDictProxy[str]) -> float | None:
    """Return how long a response asks to wait, None where it doesn't or can't be read.

    Reads `retry-after-ms`, which OpenAI sends beside the standard header, then `Retry-After` as
    seconds or as a date, which counts from the response's own `Date`.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("Retry-After", "")
    seconds = _seconds(text)
    if seconds is not None or "Date" not in headers:
        return seconds
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(headers["Date"])
    except (ValueError, TypeError):
        return None
    return max(0.0, wait.total_seconds())


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def transport_error(error: Exception) -> TransportError:
    """Return what a fault of aiohttp means, without its prose."""
    return TransportError(_end_of(error), _detail(error))


def _end_of(error: Exception) -> StreamEnd:
    for kind, end in _ENDS:
        if isinstance(error, kind):
            return end
    if isinstance(error, aiohttp.ClientConnectorError):
        is_lost = error.errno in (errno.ECONNRESET, errno.EPIPE)
        return "connection_lost" if is_lost else "refused"
    return "refused" if isinstance(error, _NEVER_SENT) else "connection_lost"


def _detail(error: Exception) -> str:
    code = errno.errorcode.get(error.errno or 0) if isinstance(error, OSError) else None
    return type(error).__name__ if code is None else f"{type(error).__name__} {code}"
