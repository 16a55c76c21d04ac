"""A decision call on loopback: real HTTP, a server that is scripted, a journal that is a list."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

import msgspec
from typing_extensions import override

from actors.decisions.asking import Ask, DecisionWorld, OnUsage
from actors.decisions.calls import Decisions
from actors.decisions.models import (
    DecisionModel,
    DecisionModelOption,
    DecisionReference,
    DecisionScope,
    Payers,
    Registered,
)
from actors.decisions.questions import Question
from actors.decisions.results import DecisionResult
from actors.http_port import HttpRequest, HttpStream, Transport
from actors.ports import Clock, StopSignal
from actors.spending.context import UsageContext
from actors.spending.denials import RequestDeniedError
from actors.spending.holds import RequestInfo
from actors.spending.registrations import Registrations
from actors.transport import AiohttpTransport
from bot.clock import SystemClock
from events.base import Event
from events.decisions import ApiStyle
from events.spending import Basis, UsageReport
from tests.actors.gate.outside import Names

SERVER = DecisionScope(kind="server", owner_id=42)
PERSONAL = DecisionScope(kind="personal", owner_id=7)
CUSTOM = DecisionReference(provider="custom:3", model_id=1, custom_endpoint_id=9)
NATIVE = DecisionReference(provider="openrouter", model_id=5)
EVIDENCE = "A: buy now!!! B: no thanks"
KEY = "sk-sekret-0123456789"
Q1 = (Question(id="q1", instructions="Is it?"),)
NAMED = {"model": "m-1", "answers": {"q1": {"type": "noul", "noul": 0.82}}}
"""A good answer to `Q1` in the protocols that name questions."""


def body(**members: Any) -> bytes:  # noqa: ANN401 - members of the JSON
    """Return a good answer to `Q1`, with more members or other ones."""
    return msgspec.json.encode(NAMED | members)


async def saved_key() -> str:
    """Return the key that is saved."""
    return KEY


async def no_key() -> str:
    """Return none."""
    return ""


def registered(
    base_url: str = "",
    *,
    reference: DecisionReference = CUSTOM,
    style: ApiStyle = "system-one",
    ceiling: int = 100_000,
    **fields: Any,  # noqa: ANN401 - of the row
) -> Registered:
    """Return the registration of a model; custom, and open to addresses inside, unless said."""
    given: dict[str, Any] = {
        "kind": "custom" if reference.custom_endpoint_id else "openrouter",
        "read_key": saved_key,
        "allow_private": True,
    } | fields
    model = DecisionModel(codename="acme/decide-1", input_tokens=ceiling)
    option = DecisionModelOption(model=model, reference=reference)
    return Registered(option=option, api_style=style, base_url=base_url, **given)


class Catalog:
    """Registrations in memory; counts how often it is asked."""

    def __init__(self, *rows: Registered, error: Exception | None = None) -> None:
        self.rows = list(rows)
        self.loads = 0
        self._error = error

    async def registered(self, scope: DecisionScope) -> Sequence[Registered]:  # noqa: ARG002 - a port
        """Return them all."""
        self.loads += 1
        if self._error is not None:
            raise self._error
        return self.rows


class ListJournal:
    """A journal in memory."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, item: Event, /) -> None:
        """Keep it."""
        self.events.append(item)

    def of(self, kind: type[Event]) -> list[Event]:
        """Return the events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]


class Purse:
    """A hook that holds money, or denies it; notes how each hold was settled."""

    estimate_pico = 5

    def __init__(self, denial: RequestDeniedError | None = None) -> None:
        self.denial = denial
        self.began: list[RequestInfo] = []
        self.settled: list[tuple[int, Basis]] = []
        self.reports: list[UsageReport] = []

    async def begin(self, info: RequestInfo) -> "Purse":
        """Hold money.

        Raises:
            RequestDeniedError: Where the test says so.
        """
        self.began.append(info)
        if self.denial is not None:
            raise self.denial
        return self

    async def release(self, spent_pico: int, basis: Basis) -> None:
        """Note what was spent."""
        self.settled.append((spent_pico, basis))

    def report(self, _context: UsageContext | None, report: UsageReport) -> None:
        """Note what was used."""
        self.reports.append(report)


class Rerouted(Transport):
    """Real HTTP that leads to loopback whatever the address says; it may watch what comes."""

    def __init__(self, port: int, on_chunk: Callable[[], None] | None = None) -> None:
        self.asked: list[HttpRequest] = []
        self._port = port
        self._on_chunk = on_chunk
        self._inner = AiohttpTransport()

    @override
    def open(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpStream]:
        self.asked.append(request)
        return self._open(request)

    @asynccontextmanager
    async def _open(self, request: HttpRequest) -> AsyncGenerator[HttpStream]:
        target = msgspec.structs.replace(request, url=f"http://127.0.0.1:{self._port}/", gate=None)
        async with self._inner.open(target) as stream:
            yield _Watched(stream, self._on_chunk)

    async def aclose(self) -> None:
        """Close the client."""
        await self._inner.aclose()


class _Watched(HttpStream):
    def __init__(self, stream: HttpStream, on_chunk: Callable[[], None] | None) -> None:
        self._stream = stream
        self._on_chunk = on_chunk

    @property
    @override
    def status(self) -> int:
        return self._stream.status

    @property
    @override
    def content_type(self) -> str:
        return self._stream.content_type

    @property
    @override
    def retry_after_seconds(self) -> float | None:
        return self._stream.retry_after_seconds

    @override
    def header(self, name: str) -> str:
        return self._stream.header(name)

    @override
    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream.chunks():
            if self._on_chunk is not None:
                self._on_chunk()
            yield chunk


class Asker:
    """Asks on loopback through the transport that production has."""

    def __init__(
        self,
        *rows: Registered,
        transport: Transport | None = None,
        purse: Purse | None = None,
        payers: Payers | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.own = AiohttpTransport(resolve=Names(["127.0.0.1"]))
        self.catalog = Catalog(*rows)
        self.journal = ListJournal()
        self.world = DecisionWorld(
            catalog=self.catalog,
            transport=transport or self.own,
            clock=clock or SystemClock(),
            fresh_id=lambda: "c1",
            payers=payers,
            registrations=Registrations(),
        )
        if purse is not None:
            self.world.registrations.register_request_hook(purse, fail_open=False)
            self.world.registrations.register_usage_reporter(purse.report)
        self.decisions = Decisions(self.world, self.journal)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.decisions.aclose()
        await self.own.aclose()

    async def ask(  # noqa: PLR0913 - one knob each
        self,
        *,
        scope: DecisionScope = SERVER,
        reference: DecisionReference | None = CUSTOM,
        evidence: str = EVIDENCE,
        questions: Sequence[Question] = Q1,
        abort: StopSignal | None = None,
        on_usage: OnUsage | None = None,
        slot: str = "decision",
    ) -> DecisionResult:
        """Ask; in all that is not said, a good question to the custom model."""
        return await self.decisions.call_decisions(
            scope, reference, evidence, questions, abort, on_usage, slot
        )


def an_ask(on_usage: OnUsage | None = None) -> Ask:
    """Return a good question to the custom model."""
    return Ask(scope=SERVER, reference=CUSTOM, evidence=EVIDENCE, questions=Q1, on_usage=on_usage)


def set_token() -> asyncio.Event:
    """Return an asker's token that is set."""
    token = asyncio.Event()
    token.set()
    return token
