"""One provider request: opened, read, understood, journalled, closed.

What came is journalled before it is acted on, in the form that replay reads; the adapter and the
text core see the same payloads then as here.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from actors.errors import TransportError
from actors.generation.accounting import Accounting
from actors.generation.answer import Answer
from actors.generation.journal import Arrival, Journal
from actors.generation.watchdog import Watchdog
from actors.generation.window import fit
from actors.generation.world import World
from actors.http_port import HttpRequest, HttpStream
from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition
from actors.providers.framing import BodyFramer, is_success
from actors.providers.json_text import parse_object
from actors.providers.registry import provider_for
from actors.providers.sse import OversizedError, Payload
from actors.spending.context import current_usage_context
from actors.spending.denials import RequestDeniedError
from actors.spending.holds import HoldHandle, RequestInfo, provider_request
from events.generation import (
    AttemptKind,
    Chunk,
    FunctionCall,
    ProviderFault,
    RequestClosed,
    RequestOpened,
    StreamEnd,
)
from events.spending import RequestDenied

KEY_MARK: Final = "[key]"
"""Stands for the route's key wherever a provider sends it back."""


class Reading:
    """Runs one request; `run` may be cancelled at any point and then closes as `stopped`."""

    def __init__(
        self, world: World, journal: Journal, answer: Answer, route: ModelRoute, request: int
    ) -> None:
        self._provider = provider_for(route.kind)
        self._transport = world.transport
        self._registrations = world.registrations
        self._owner = current_usage_context()
        self._clock = world.clock
        self._journal = journal
        self._answer = answer
        self._route = route
        self._request = request
        self._adapter = self._provider.reader()
        self._opened_at = 0.0
        self._left_out = 0
        self._status: int | None = None
        self._retry_after: float | None = None
        self._watchdog = Watchdog(world.clock, world.limits)
        self._accounting = Accounting(request, route.provider, route.model)
        self.parameters: tuple[str, ...] = ()
        """Names of the body's parameters in its first form."""
        self.has_begun = False
        """Whether anything of an answer came: text, reasoning, a call or its price."""
        self.fault: ProviderFault | None = None
        """The failure it ended in."""
        self.calls: list[FunctionCall] = []
        """The tool calls that the model made, in their order."""
        self.finish_reason: str | None = None
        """The last finish reason."""
        self.closed: RequestClosed | None = None
        """How it ended, once it has."""

    @property
    def request(self) -> int:
        """Its ordinal in the turn."""
        return self._request

    @property
    def route(self) -> ModelRoute:
        """The model that is asked, and with which key."""
        return self._route

    @property
    def silence(self) -> str | None:
        """What the watchdog missed, `first_token` or `idle`; None where it did not bite."""
        return self._watchdog.phase if self._watchdog.has_bitten else None

    async def run(
        self,
        attempt: AttemptKind,
        context: Sequence[ContextItem],
        tools: tuple[ToolDefinition, ...] = (),
        dropped: tuple[str, ...] = (),
    ) -> None:
        """Ask the model and read its answer to the end; never raises for what a provider does.

        Args:
            attempt: Why the request is made.
            context: The conversation.
            tools: What the model may call.
            dropped: Parameters of the body that are left out.
        """
        fitted = fit(context, tools, self._route.context_tokens)
        self._left_out = fitted.left_out
        asked = self._provider.request(self._route, fitted.context, tools)
        request = replace(asked, gate=self._route.gate, body=self._without(asked.body, dropped))
        hook, fail_open = self._registrations.request_hook()
        try:
            async with provider_request(hook, self._info(request), fail_open=fail_open) as hold:
                await self._exchange(attempt, request, dropped, hold)
        except RequestDeniedError as denial:
            self._deny(denial, "hook")

    async def _exchange(
        self,
        attempt: AttemptKind,
        request: HttpRequest,
        dropped: tuple[str, ...],
        hold: HoldHandle,
    ) -> None:
        if attempt == "retry":
            self._answer.ask_again()
        self._opened_at = self._clock.monotonic()
        self._journal.add(
            RequestOpened(
                request=self._request,
                provider=self._route.provider,
                kind_of_provider=self._route.kind,
                model=self._route.model,
                attempt=attempt,
                url=request.url,
                body=request.body,
                dropped=dropped,
                key=self._route.key,
                left_out=self._left_out,
            )
        )
        end: StreamEnd = "stopped"
        hold.ending = "broken"
        try:
            async with self._watchdog, self._transport.open(request) as response:
                end = await self._read(response)
        except TransportError as error:
            end = error.end
        except OversizedError as error:
            self._take(list(error.payloads))
            end = "oversized"
        finally:
            self._close(end)
            self._settle(hold, end)

    def _info(self, request: HttpRequest) -> RequestInfo:
        return RequestInfo(
            context=self._owner,
            api_key=self._route.api_key,
            url=request.url,
            body=request.body,
            provider=self._route.provider,
            model=self._route.model,
            request=self._request,
            scope=self._journal.scope,
        )

    def _settle(self, hold: HoldHandle, end: StreamEnd) -> None:
        hold.report_cost(self._accounting.cost_pico)
        if self._status is not None and not is_success(self._status):
            hold.ending = "refused"
        elif end == "done" and self.fault is None:
            hold.ending = "completed"
        if self.fault is not None:
            denial = self._registrations.denial_of(self.fault, self._owner)
            if denial is not None:
                self._deny(denial, "translator")

    def _deny(self, denial: RequestDeniedError, origin: Literal["hook", "translator"]) -> None:
        self._journal.add(
            RequestDenied(
                request=self._request,
                provider=self._route.provider,
                model=self._route.model,
                origin=origin,
                code=denial.code,
            )
        )
        self.fault = ProviderFault(type="api_error", code=denial.code, retryable=False)

    def _without(self, body: str, dropped: tuple[str, ...]) -> str:
        full = parse_object(body)
        self.parameters = tuple(full)
        if not dropped:
            return body
        kept = {name: one for name, one in full.items() if name not in dropped}
        return msgspec.json.encode(kept).decode()

    async def _read(self, response: HttpStream) -> StreamEnd:
        self._status = response.status
        self._retry_after = response.retry_after_seconds
        framer = BodyFramer(response.status, response.content_type)
        end: StreamEnd = "eof"
        try:
            async for data in response.chunks():
                if self._take(framer.feed(data)):
                    return "done"
                if self._answer.stop.is_set():
                    return "stopped"
        except TransportError as error:
            end = error.end
        return "done" if self._take(framer.finish()) else end

    def _take(self, payloads: list[Payload]) -> bool:
        """Take payloads; return whether the stream said its last word."""
        for one in payloads:
            payload = self._without_key(one)
            self._arrive(payload, self._understood(payload))
            if self._adapter.is_done:
                return True
            if self._answer.stop.is_set():
                break
        return False

    def _without_key(self, payload: Payload) -> Payload:
        """Return the payload as it may be recorded: some endpoints quote the key they refuse."""
        key = self._route.api_key
        if not key or key not in payload.text:
            return payload
        text = payload.text.replace(key, KEY_MARK)
        return Payload(text=text, recorded=text, is_base64=False)

    def _understood(self, payload: Payload) -> list[Chunk]:
        status = self._status or 200
        if is_success(status):
            return self._adapter.feed(payload.text)
        return self._adapter.fail(status, payload.text, self._retry_after)

    def _arrive(
        self, payload: Payload | None, chunks: list[Chunk], end: StreamEnd | None = None
    ) -> None:
        self._journal.add(
            Arrival(
                request=self._request,
                payload=payload,
                ms=self._elapsed_ms(),
                chunks=tuple(chunks),
                http_status=self._status or 200,
                retry_after_seconds=self._retry_after,
                end=end,
            )
        )
        for chunk in chunks:
            self._act_on(chunk)

    def _act_on(self, chunk: Chunk) -> None:
        self._accounting.take(chunk)
        self.finish_reason = chunk.finish_reason or self.finish_reason
        self.fault = self.fault or chunk.error
        if chunk.function_call is not None:
            self.calls.append(chunk.function_call)
        if chunk.text or chunk.thoughts or chunk.function_call is not None:
            self._watchdog.progress()
            self.has_begun = True
        self.has_begun = self.has_begun or chunk.usage is not None
        if chunk.text and chunk.type == "text":
            self._answer.write(chunk.text)

    def _close(self, end: StreamEnd) -> None:
        self._arrive(None, self._adapter.finish(end), end)
        self.closed = RequestClosed(
            request=self._request,
            end=end,
            http_status=self._status,
            finish_reason=self.finish_reason,
            error=self.fault,
            ms=self._elapsed_ms(),
            provider=self._route.provider,
            key=self._route.key,
        )
        self._journal.add(self.closed)
        report = self._accounting.report()
        if report is not None:
            self._journal.add(report)
            self._registrations.report(self._owner, report)

    def _elapsed_ms(self) -> float:
        return round((self._clock.monotonic() - self._opened_at) * 1_000, 3)
