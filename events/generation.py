"""Events of one provider request: opened, what came, what it means, closed.

Payloads are kept verbatim, so that today's code can be run on yesterday's stream.
"""

from typing import Final, Literal

from msgspec import Struct, field

from events.base import Event

AttemptKind = Literal["first", "key", "fallback", "degraded", "tool", "retry"]
"""Why this request is made: the turn's first, or after another one that failed or called a tool."""

StreamEnd = Literal[
    "done", "eof", "connection_lost", "refused", "dns", "tls", "timeout", "oversized", "stopped"
]
"""How a response body ended: its own marker, the peer's close, a fault, or our own close."""

ChunkType = Literal["text", "function_call", "error", "done"]
"""What a processed chunk is."""

ErrorType = Literal[
    "api_error",
    "rate_limit",
    "content_blocked",
    "timeout",
    "provider_overloaded",
    "model_error",
    "unknown",
]
"""The class of a provider's failure."""


class RequestOpened(Event, frozen=True, kw_only=True, tag="request_opened"):
    """One HTTP request to a provider is about to leave. Stream: turn."""

    request: int
    """Ordinal in the turn, from 1."""
    provider: str
    """The provider's name in the configuration."""
    kind_of_provider: str
    """Its wire format, such as `openai`."""
    model: str
    """The model's id at the provider."""
    attempt: AttemptKind
    """Why it is made."""
    url: str
    """The address, without credentials."""
    body: str
    """The JSON body as sent, media replaced by digest and size; headers are never recorded."""
    dropped: tuple[str, ...] = ()
    """Body parameters left out against the first form of the request."""
    key: int = 0
    """Which of the provider's keys it is made with, from 0 in the order of the configuration."""
    left_out: int = 0
    """Messages of the past, the oldest, that were left out to fit the model's window."""


class RawChunk(Event, frozen=True, kw_only=True, tag="raw_chunk"):
    """Payloads of one request, verbatim and in order: those since the last append. Stream: turn."""

    request: int
    """The request they answer."""
    payloads: tuple[str, ...] = ()
    """SSE data payloads (or one whole body), oldest first; UTF-8 text as it came."""
    arrived_ms: tuple[float, ...] = ()
    """Arrival of each, in milliseconds since `request_opened`."""
    base64: tuple[int, ...] = ()
    """Indices of payloads that were no UTF-8: they are kept in base64."""
    http_status: int = 200
    """The response's status; anything but 2xx makes the payload an error body."""
    retry_after_seconds: float | None = None
    """The response's Retry-After, where it had one."""
    end: StreamEnd | None = None
    """How the body ended, where this batch saw the end."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens and cost as one provider reported them; None is unknown, 0 was reported as 0."""

    input_tokens: int | None = None
    """Prompt tokens, cached ones included."""
    output_tokens: int | None = None
    """Completion tokens, reasoning included."""
    cache_read_tokens: int | None = None
    """Part of the input that came from the provider's cache."""
    cache_write_tokens: int | None = None
    """Part of the input that was written to the provider's cache."""
    reasoning_tokens: int | None = None
    """Part of the output that was reasoning."""
    cost_pico: int | None = None
    """Cost in 10**-12 US dollars, where the provider reports it."""


class ProviderFault(Struct, frozen=True, kw_only=True):
    """A provider's failure, classified."""

    type: ErrorType
    """Its class."""
    code: str
    """A display-safe code: an HTTP status or a single word."""
    retryable: bool
    """Whether the same request may succeed later."""
    message: str = ""
    """The provider's prose, redacted; for operators, never shown in Discord."""
    retry_after_ms: int | None = None
    """How long the provider asks to wait."""


class FunctionCall(Struct, frozen=True, kw_only=True):
    """A tool call that a model made."""

    name: str
    """The tool's name; may be empty where the model named none."""
    arguments: str = "{}"
    """Its arguments as the JSON text that came."""
    call_id: str | None = None
    """The provider's id of the call."""
    carried: str = ""
    """JSON of what the provider wants back with the call, under the wire format it came in."""


class Thought(Struct, frozen=True, kw_only=True):
    """Reasoning that came beside the text; never shown as text."""

    content: str
    """The reasoning."""
    form: Literal["raw", "summary"] = "raw"
    """Whether it is the reasoning itself or the provider's summary of it."""


class Chunk(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One normalized piece of a stream."""

    type: ChunkType
    """What it is."""
    text: str = ""
    """Its text, where `type` is `text`; may be empty when it only carries thoughts or usage."""
    thoughts: tuple[Thought, ...] = ()
    """Reasoning that came with it."""
    function_call: FunctionCall | None = None
    """The call, where `type` is `function_call`."""
    error: ProviderFault | None = None
    """The failure, where `type` is `error`."""
    finish_reason: str | None = None
    """`stop`, `length`, `tool_calls`, `content_filter`, `error`, `eof` or `other:<word>`."""
    usage: Usage | None = None
    """Usage that came with it; the latest one of a request counts."""
    serving_provider: str | None = None
    """Who served a router's request."""
    response_id: str | None = None
    """The provider's id of the response."""


class ProcessedChunk(Event, frozen=True, kw_only=True, tag="processed_chunk"):
    """What the payloads of the `raw_chunk` before it mean. Stream: turn."""

    request: int
    """The request they answer."""
    chunks: tuple[Chunk, ...]
    """Normalized, in order; a payload gives none, one or several."""


class RequestClosed(Event, frozen=True, kw_only=True, tag="request_closed"):
    """The request is over and its socket is closed. Stream: turn."""

    request: int
    """The request."""
    end: StreamEnd
    """How the body ended."""
    http_status: int | None = None
    """The response's status, where one came."""
    finish_reason: str | None = None
    """The last finish reason seen."""
    error: ProviderFault | None = None
    """The failure it ended in."""
    ms: float = 0.0
    """Milliseconds from `request_opened` to the close."""
    provider: str = ""
    """The provider, so that the state of its keys can be told from these events alone."""
    key: int = 0
    """Which of its keys was used, as in `request_opened`."""


ARGUMENTS_LIMIT: Final = 256 * 1024
"""Characters of a tool call's arguments that are kept, and run."""
RESULT_LIMIT: Final = 16 * 1024
"""Characters of a tool's result that the model is given; the rest is cut off and said to be."""

ToolOutcome = Literal["completed", "failed", "refused", "timeout", "stopped", "dropped", "lost"]
"""What became of a tool call.

`completed` and `failed`: the tool ran. `refused`: it never ran, for its name or its arguments.
`timeout`: it was cancelled after its time. `stopped`: a stop ended it, and no model sees a result.
`dropped`: the turn ended before its place in the row. `lost`: its process died while it ran, so
that nobody knows what it did.
"""


class ToolCalled(Event, frozen=True, kw_only=True, tag="tool_called"):
    """A tool that a model called is about to run. Stream: turn. Durable before it runs."""

    call: int
    """Ordinal in the turn, from 1; joins it to its `tool_returned`."""
    request: int
    """The request whose response made the call."""
    function: FunctionCall
    """The call as the model made it; arguments beyond `ARGUMENTS_LIMIT` are left out."""


class ToolReturned(Event, frozen=True, kw_only=True, tag="tool_returned"):
    """A tool call is over. Stream: turn."""

    call: int
    """The call."""
    outcome: ToolOutcome
    """What became of it."""
    reason: str = ""
    """Why it did not complete, in a word or two."""
    result: str = ""
    """What the model is told of it, as JSON; empty where it is told nothing."""
    ms: float = 0.0
    """Milliseconds that it ran."""


class Piece(Struct, frozen=True, kw_only=True):
    """One finished message body that a flushed segment gives."""

    content: str
    """The body as posted; may hold fences that were closed or reopened around a cut."""
    start: int = field(name="from")
    """First character of the visible text it stands for (inclusive)."""
    end: int = field(name="to")
    """End of it (exclusive)."""
    removed: int = 0
    """Characters of that range that the body does not stand for: a rule withheld them."""
    is_table: bool = False
    """Whether the body is the source of a table, which is posted as a picture."""
    mentions: tuple[int, ...] = ()
    """The only users whom the body may ping."""

    @property
    def size(self) -> int:
        """Characters of the visible text that the body stands for."""
        return self.end - self.start - self.removed


STREAM_RULES: Final = frozenset(
    ("reasoning", "details", "subtext", "after_guard", "after_limit", "prefill", "repeat")
)
"""Rules that withhold before text is visible; what any other withholds is in a flush's range."""


class Flush(Event, frozen=True, kw_only=True, tag="flush"):
    """A segment left the buffer. Stream: turn."""

    flush: int
    """Ordinal in the turn, from 1."""
    text: str
    """The segment as it left the buffer."""
    boundary: Literal[
        "code_open",
        "code_close",
        "newline",
        "period",
        "overflow",
        "attachment",
        "tool_call",
        "final",
    ]
    """Where it was cut."""
    start: int = field(name="from")
    """First character (code point) of the turn's visible text in it, inclusive."""
    end: int = field(name="to")
    """End of it, exclusive; flushes join without a gap."""
    pieces: tuple[Piece, ...] = ()
    """The messages it gives, in order; none when it is blank."""
    withheld: dict[str, int] = field(default_factory=dict[str, int])
    """Characters withheld by rule: in this segment, and from the stream since the last flush."""
    modifier: str = ""
    """The sprite, or whose looks, its messages are spoken under; empty: the persona's own."""
    is_copied: bool = False
    """Whether `modifier` names somebody else and no sprite."""
    details: tuple[str, ...] = ()
    """What notes for later (`<details>`) said since the last flush: kept, never shown."""
