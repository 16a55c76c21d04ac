"""Asks a decision model: found anew each time, sent once, and told of exactly once.

A call checks, in this order: that something is chosen, the choice's shape, the input, the asker's
token, who owns the model, its key, its protocol, the token again, the bytes against the model's
input, and whoever pays. Only then one POST leaves; it is never repeated. What the response used is
recorded before its answers are judged, since it is paid for either way.

Neither the log nor an event holds the evidence, a question, a key, an address or a provider's
prose. A failure is logged here, once; what was to be expected is no failure and only traced.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from actors.decisions.answers import (
    Answers,
    MalformedAnswerError,
    judged,
    parsed,
    reported_usage,
)
from actors.decisions.asking import Ask, DecisionWorld, OnUsage
from actors.decisions.exchange import Reply, exchange, within
from actors.decisions.failures import HttpFailure, error_within, failure_of
from actors.decisions.models import (
    Credential,
    DecisionReference,
    DecisionScope,
    Registered,
    belongs,
    paying,
)
from actors.decisions.questions import Question, encoded, endpoint, fault_of
from actors.decisions.record import CallRecord
from actors.decisions.recording import DecisionJournal
from actors.decisions.results import (
    Cancelled,
    Completed,
    DecisionResult,
    Denied,
    Failed,
    InvalidInput,
    Refused,
    Stage,
    Unavailable,
)
from actors.errors import RemoteUrlPolicyError, TransportError, UnreadableKeyError
from actors.gate.addresses import Policy
from actors.http_port import HttpRequest
from actors.ports import StopSignal
from actors.spending.context import UsageContext, bind_usage_context
from actors.spending.denials import ANY_OWNER, find_request_denied
from actors.spending.holds import HoldHandle, RequestInfo, provider_request
from events.base import GuildId, Scope
from events.decisions import DecisionFailure
from events.generation import Usage

_ATTRIBUTION: Final = {"X-OpenRouter-Title": "Rejoinder"}
"""How OpenRouter's statistics name the caller."""


class DecisionCall:
    """One call, from the choice to its events."""

    def __init__(self, world: DecisionWorld, journal: DecisionJournal, ask: Ask) -> None:
        self._world = world
        self._ask = ask
        self._correlation = world.fresh_id()
        self._record = CallRecord(world, journal, ask, self._correlation)
        self._stage: Stage = "resolution"
        self._context: UsageContext | None = None
        self._usage: Usage | None = None

    async def run(self) -> DecisionResult:
        """Return what becomes of it; raises nothing but its task's own cancellation."""
        try:
            result = await self._result()
        except asyncio.CancelledError:
            self.leave()
            raise
        self._record.ended(result)
        return result

    def leave(self) -> DecisionResult:
        """End it for its asker; what the response will have used is recorded when it comes."""
        result = Cancelled(correlation=self._correlation)
        self._record.ended(result)
        return result

    async def _result(self) -> DecisionResult:
        try:
            return self._unfit() or await self._resolved()
        except UnreadableKeyError:
            self._record.is_logged = True
            return self._failed("credentials")
        except Exception as error:  # noqa: BLE001 - nothing that is plugged in may fail the asker
            return self._denied(error) or self._surprise(error)

    def _surprise(self, error: Exception) -> Failed:
        # Only its type: the text may hold what was asked.
        self._record.codes = (type(error).__name__,)
        return self._failed("unexpected")

    def _unfit(self) -> DecisionResult | None:
        reference = self._ask.reference
        if reference is None:
            return Unavailable(correlation=self._correlation, reason="not-selected")
        fault = fault_of(self._ask.evidence, self._ask.questions)
        if not reference.is_whole:
            fault = "a reference that can't be"
        if fault is not None:
            return InvalidInput(correlation=self._correlation, reason=fault)
        return self._cancelled()

    async def _resolved(self) -> DecisionResult:
        ask, world = self._ask, self._world
        rows = await world.catalog.registered(ask.scope)
        row = next(
            (
                one
                for one in rows
                if one.option.reference == ask.reference and belongs(one, ask.scope)
            ),
            None,
        )
        if row is None:
            return self._cancelled() or Unavailable(
                correlation=self._correlation, reason="not-owned"
            )
        self._record.found(row)
        credential = self._cancelled() or await self._credential(row)
        if not isinstance(credential, Credential):
            return credential
        self._context, self._stage = credential.context, "execution"
        if not row.can_decide:
            return Unavailable(correlation=self._correlation, reason="unsupported")
        model = row.option.model
        body = encoded(row.api_style, model.codename, ask.evidence, ask.questions)
        cancelled = self._cancelled()
        if cancelled is None and len(body) > model.input_tokens:
            fault = f"{len(body)} bytes, at most {model.input_tokens}"
            return InvalidInput(correlation=self._correlation, reason=fault)
        return cancelled or await self._send(row, credential, body)

    async def _credential(self, row: Registered) -> Credential | DecisionResult:
        if not row.is_managed:
            key = await row.read_key()
            if not key and row.requires_key:
                return self._failed("credentials")
            return Credential(api_key=key, context=None)
        scope, slot = self._ask.scope, self._ask.slot
        payer = await paying(row, self._world.payers, scope, slot)
        found = await payer.resolve_credentials(scope, slot, "decision") if payer else None
        return found or Unavailable(correlation=self._correlation, reason="payer-unavailable")

    async def _send(self, row: Registered, credential: Credential, body: bytes) -> DecisionResult:
        world, context = self._world, credential.context
        request = _request(row, credential, body, self._ask.scope)
        hook, fail_open = world.registrations.request_hook()
        info = _info(row, credential, request, self._ask.scope)
        with bind_usage_context(context):
            async with provider_request(hook, info, fail_open=fail_open) as hold:
                return await self._exchanged(row, request, hold)

    async def _exchanged(
        self, row: Registered, request: HttpRequest, hold: HoldHandle
    ) -> DecisionResult:
        world = self._world
        cancelled = self._cancelled()
        if cancelled is not None:  # a hook may take its time
            return cancelled
        self._stage = "transport"
        self._record.requested(row, len(request.body.encode()))
        hold.ending = "broken"
        try:
            reply = await within(
                exchange(world.transport, request),
                self._ask.abort,
                world.clock.sleep(world.call_seconds),
            )
        except (TransportError, OSError) as error:
            return self._denied(error) or self._cancelled() or self._broken(error, hold)
        self._stage = "response"
        hold.ending = "completed" if reply.is_success else "refused"
        return self._judged(reply, row, hold)

    def _broken(self, error: TransportError | OSError, hold: HoldHandle) -> DecisionResult:
        if isinstance(error.__cause__, RemoteUrlPolicyError):
            hold.ending = "unsent"
            code = error.__cause__.failure_code
            return InvalidInput(correlation=self._correlation, reason=code)
        if isinstance(error, TimeoutError):
            return self._failed("timeout")
        end = error.end if isinstance(error, TransportError) else "connection_lost"
        if end == "oversized":
            self._stage = "response"
            return self._failed("malformed_response")
        return self._failed("timeout" if end == "timeout" else "network")

    def _judged(self, reply: Reply, row: Registered, hold: HoldHandle) -> DecisionResult:
        if reply.is_redirect and row.kind == "custom":
            return InvalidInput(correlation=self._correlation, reason="redirect_forbidden")
        if not reply.is_success:
            return self._refused(failure_of(reply.status, reply.body), reply)
        try:
            payload = parsed(reply.body)
            self._usage = reported_usage(payload)
            if self._usage is not None:
                hold.report_cost(self._usage.cost_pico)
                self._record.used(row, self._usage, self._context)
            cancelled = self._cancelled()
            if cancelled is not None:
                return cancelled
            failure = error_within(payload)
            if failure is not None:
                return self._refused(failure, reply)
            self._stage = "validation"
            ids = [question.id for question in self._ask.questions]
            return self._answered(judged(payload, row.api_style, ids, reply.request_ids))
        except MalformedAnswerError as error:
            self._record.codes = (str(error),)
            return self._failed("malformed_response")

    def _refused(self, failure: HttpFailure, reply: Reply) -> DecisionResult:
        self._record.codes = failure.codes
        return Failed(
            correlation=self._correlation,
            category=failure.category,
            stage=self._stage,
            http_status=reply.status,
            retry_after_seconds=reply.retry_after_seconds,
            cause=failure.cause,
        )

    def _answered(self, answers: Answers) -> DecisionResult:
        kind = Refused if answers.is_refused else Completed
        return kind(
            correlation=self._correlation,
            verdicts=answers.verdicts,
            usage=self._usage,
            request_id=answers.request_id,
            model=answers.model,
        )

    def _cancelled(self) -> Cancelled | None:
        abort = self._ask.abort
        is_over = self._record.is_ended or (abort is not None and abort.is_set())
        return Cancelled(correlation=self._correlation) if is_over else None

    def _denied(self, error: Exception) -> Denied | None:
        # Until a key is found nobody knows whose the request is; any denial is the asker's then.
        owner = ANY_OWNER if self._stage == "resolution" else self._context
        denial = find_request_denied(error, owner)
        return None if denial is None else Denied(correlation=self._correlation, denial=denial)

    def _failed(self, category: DecisionFailure) -> Failed:
        return Failed(correlation=self._correlation, category=category, stage=self._stage)


def _request(
    row: Registered, credential: Credential, body: bytes, scope: DecisionScope
) -> HttpRequest:
    headers = {"Content-Type": "application/json"}
    if credential.api_key:
        headers["Authorization"] = f"Bearer {credential.api_key}"
    if row.kind == "openrouter":
        headers |= _ATTRIBUTION
        gate = None
    else:
        gate = Policy(allow_private=row.allow_private, is_strict=scope.kind == "personal")
    return HttpRequest(
        url=endpoint(row.api_style, row.base_url),
        headers=headers,
        body=body.decode(),
        gate=gate,
    )


def _info(
    row: Registered, credential: Credential, request: HttpRequest, scope: DecisionScope
) -> RequestInfo:
    is_server = scope.kind == "server"
    return RequestInfo(
        context=credential.context,
        api_key=credential.api_key,
        url=request.url,
        body=request.body,
        provider=row.kind,
        model=row.option.model.codename,
        request=0,
        scope=Scope(guild_id=GuildId(scope.owner_id) if is_server else None),
    )


class Decisions:
    """The capability, for one journal: a turn's, or a guild's or user's."""

    def __init__(self, world: DecisionWorld, journal: DecisionJournal) -> None:
        self._world = world
        self._journal = journal
        self._late: set[asyncio.Task[DecisionResult]] = set()

    async def call_decisions(  # noqa: PLR0913, PLR0917 - the capability's contract
        self,
        scope: DecisionScope,
        reference: DecisionReference | None,
        evidence: str,
        questions: Sequence[Question],
        abort: StopSignal | None = None,
        on_usage: OnUsage | None = None,
        slot: str = "decision",
    ) -> DecisionResult:
        """Return how likely each question is true of `evidence`, or why nobody says.

        Args:
            scope: On whose account.
            reference: The chosen model, as `load_decision_models` offered it.
            evidence: The text, 1 to 2,000,000 characters; never shortened.
            questions: 1 to 64, their ids distinct.
            abort: Ends the call once set; the result is then `Cancelled`.
            on_usage: Told of what the response used, once, whatever its answers are worth.
            slot: For which of the scope's choices; who pays may depend on it.
        """
        ask = Ask(
            scope=scope,
            reference=reference,
            evidence=evidence,
            questions=questions,
            abort=abort,
            on_usage=on_usage,
            slot=slot,
        )
        return await DecisionCall(self._world, self._journal, ask).run()

    async def decide_by(self, seconds: float, ask: Ask) -> DecisionResult:
        """Return as `call_decisions`, or `Cancelled` once `seconds` have passed.

        A call that is late goes on: what it used is recorded and told when it comes, once, while
        its verdict is thrown away.
        """
        call = DecisionCall(self._world, self._journal, ask)
        task = asyncio.create_task(call.run())
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        try:
            return await within(_waited(task), None, self._world.clock.sleep(seconds))
        except TimeoutError:
            return call.leave()

    async def drain(self) -> None:
        """Return when the calls that are late are over."""
        await asyncio.gather(*self._late, return_exceptions=True)

    async def aclose(self) -> None:
        """Cancel the calls that are late."""
        for task in self._late:
            task.cancel()
        await self.drain()


async def _waited(task: asyncio.Task[DecisionResult]) -> DecisionResult:
    return await asyncio.shield(task)
