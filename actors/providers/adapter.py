"""What every wire format offers: a request out, normalized chunks in.

One adapter object reads one response. It is pure: the same payloads give the same chunks, which is
what lets a recorded stream be replayed.
"""

from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from actors.gate.addresses import Policy
from actors.http_port import HttpRequest
from events.generation import Chunk, FunctionCall, StreamEnd

ProviderKind = Literal["openai", "openrouter", "anthropic", "google", "custom"]
"""A wire format, by the word that a configuration has for it."""


class ModelRoute(Struct, frozen=True, kw_only=True):
    """A model at a provider, with what it takes to call it."""

    provider: str
    """The provider's name in the configuration."""
    kind: ProviderKind
    """Its wire format."""
    base_url: str
    """The root of its API, such as `https://api.openai.com/v1`."""
    api_key: str
    """The key; empty for endpoints without one. Never recorded."""
    model: str
    """The model's id at the provider."""
    gate: Policy | None = None
    """How its address is judged before it is asked; None: the operator vouches for it."""
    keys: tuple[str, ...] = ()
    """All of the provider's keys in the order of the configuration; empty where there is one."""
    key: int = 0
    """Which of them `api_key` is."""

    context_tokens: int = 128_000
    """Tokens that the model's window holds, the answer included."""

    def with_key(self, index: int) -> "ModelRoute":
        """Return the same route with another of the provider's keys."""
        return replace(self, api_key=self.keys[index], key=index) if self.keys else self

    @override
    def __repr__(self) -> str:
        return f"ModelRoute({self.provider}/{self.model})"


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool as a model is told of it."""

    name: str
    """What the model calls it by: letters, digits and underscores."""
    description: str
    """What it is for."""
    parameters: dict[str, Any]
    """JSON schema of its arguments: an object."""


class ToolResult(Struct, frozen=True, kw_only=True):
    """What a tool call gave."""

    name: str
    """The tool."""
    call_id: str
    """The id of the call that it answers, as in the item that made the call."""
    content: str
    """The result as JSON."""
    is_error: bool = False
    """Whether the tool failed."""


class ContextItem(Struct, frozen=True, kw_only=True):
    """One message of the conversation that a model is given."""

    role: Literal["system", "user", "model"]
    """Who speaks: the instructions, somebody in the channel, the persona."""
    content: str
    """The text; may be empty beside calls, and is empty beside a result."""
    calls: tuple[FunctionCall, ...] = ()
    """Tools that the persona called after the text, each with an id."""
    result: ToolResult | None = None
    """What one of the calls before gave; the item is nothing else then."""


class StreamAdapter(Protocol):
    """Reads one response."""

    @property
    def is_done(self) -> bool:
        """Whether the stream said its last word: stop reading and close."""
        ...

    def feed(self, payload: str) -> list[Chunk]:
        """Return the chunks that one data payload of a 2xx response gives; never raises."""
        ...

    def fail(self, status: int, body: str, retry_after_seconds: float | None) -> list[Chunk]:
        """Return the error chunk of a response whose status is not 2xx."""
        ...

    def finish(self, end: StreamEnd) -> list[Chunk]:
        """Return what was held back, then `done` or the error that `end` means."""
        ...


class Provider(Protocol):
    """A wire format."""

    def request(
        self,
        route: ModelRoute,
        context: tuple[ContextItem, ...],
        tools: tuple[ToolDefinition, ...] = (),
    ) -> HttpRequest:
        """Return the request that asks `route` to continue `context`; it may call `tools`."""
        ...

    def reader(self) -> StreamAdapter:
        """Return an adapter for one response."""
        ...
