"""What the actors need of a provider's HTTP: one request, and its response as it arrives.

The adapter is `actors.transport` (aiohttp). A request names who vouches for its address.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from actors.gate.addresses import Policy


class HttpRequest(Struct, frozen=True, kw_only=True):
    """One request to a provider."""

    url: str
    """The full address, without credentials."""
    headers: dict[str, str]
    """Headers, credentials included: never logged, never recorded."""
    body: str
    """The JSON body."""
    gate: Policy | None = None
    """How its address is judged before it is asked; None: the operator vouches for it."""


class HttpStream(Protocol):
    """An open response."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def content_type(self) -> str:
        """The media type, lower case, without parameters; empty where absent."""
        ...

    @property
    def retry_after_seconds(self) -> float | None:
        """The Retry-After header in seconds, where present and readable."""
        ...

    def header(self, name: str) -> str:
        """Return a header, whatever the case of its name; empty where absent."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives.

        Raises:
            TransportError: The connection broke before the body's end.
        """
        ...


class Transport(Protocol):
    """HTTP to providers: one pooled client a process, no redirects, no total timeout."""

    def open(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpStream]:
        """Send `request`; entering gives the response once its headers are there.

        Leaving the block, by whatever path, closes the socket at once.

        Raises:
            TransportError: No response came, or the gate refused the address.
        """
        ...
