"""The errors of the actors, one reaction a line.

ActorError
├── RefusalError            the caller's fault: tell the member, never retry
│   ├── RequestDeniedError  whoever would have paid refuses: one notice, another payer may answer
│   ├── CapReachedError     a cap leaves no room for a hold: becomes a denial
│   ├── SqlRefusedError     not one read-only SELECT, or over a limit
│   ├── RemoteUrlPolicyError  an address from outside that the gate does not let through
│   └── PictureRefusedError  what an address gave is no picture
└── FailureError            the world's fault: recorded, then recovered from
    ├── TransportError      a provider's HTTP exchange broke; `end` says how
    ├── LimitReachedError   a provider's limit on whoever pays; holds no word of the provider's
    ├── UnreadableKeyError  a stored key can't be read; whoever stores it has logged why
    ├── LeaseLostError      the log did not answer for 10 s: close the stream, end
    ├── ExtensionError      a required extension can't be loaded: tell the operator
    └── ClusterUnreachableError  nobody answers at the cluster's address: tell the operator
"""

from typing_extensions import override

from actors.gate.addresses import GateCode
from events.generation import StreamEnd


class ActorError(Exception):
    """Base of everything that an actor raises on purpose; most say why in a sentence."""


class RefusalError(ActorError):
    """What was asked for is not allowed."""


class FailureError(ActorError):
    """The world failed."""


class TransportError(FailureError):
    """An HTTP exchange with a provider broke."""

    def __init__(self, end: StreamEnd, detail: str) -> None:
        super().__init__(end, detail)
        self.end: StreamEnd = end
        self.detail = detail

    @override
    def __str__(self) -> str:
        return f"the provider's stream ended by {self.end}: {self.detail}"


class LimitReachedError(FailureError):
    """A provider refuses a request since a limit of whoever pays is reached."""

    def __init__(self, limit_source: str, media_minimum_usd: float | None) -> None:
        super().__init__(limit_source, media_minimum_usd)
        self.limit_source = limit_source
        """Which limit; one of a closed list."""
        self.media_minimum_usd = media_minimum_usd
        """The balance, in US dollars, that it demands for images or video, where it says so."""

    @override
    def __str__(self) -> str:
        return f"the provider's limit {self.limit_source} is reached"


class UnreadableKeyError(FailureError):
    """A stored key can't be read."""


class LeaseLostError(FailureError):
    """The log has not acknowledged an append for longer than a turn may run unheard."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    @override
    def __str__(self) -> str:
        return f"the event log has not answered for {self.seconds:.1f} s"


class SqlRefusedError(RefusalError):
    """A person's SQL that the gate does not let through, or that ran over a limit."""


class RemoteUrlPolicyError(RefusalError):
    """An address from outside that may not be asked; holds its host name, and no more of it."""

    def __init__(self, hostname: str, failure_code: GateCode) -> None:
        super().__init__(hostname, failure_code)
        self.hostname = hostname
        self.failure_code: GateCode = failure_code

    @override
    def __str__(self) -> str:
        return f"{self.hostname or 'the address'} may not be asked: {self.failure_code}"


class PictureRefusedError(RefusalError):
    """What an address gave is no picture that Discord and models take."""

    def __init__(self, hostname: str, reason: str) -> None:
        super().__init__(hostname, reason)
        self.hostname = hostname
        self.reason = reason

    @override
    def __str__(self) -> str:
        return f"{self.hostname} gave no picture: {self.reason}"


class ClusterUnreachableError(FailureError):
    """Nobody listens where the configuration has the Ray cluster."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address

    @override
    def __str__(self) -> str:
        return f"no Ray cluster answers at {self.address}, expected host:port of its head"
