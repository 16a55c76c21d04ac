"""What a decision call leaves behind: its events, and one line for operators at its end.

Numbers and codes only. The line is a trace where all went as it may be expected to, a warning
where the world failed, an error where somebody has to mend something here.
"""

from typing import Any, Final, assert_never

import structlog

from actors.decisions.asking import Ask, DecisionWorld
from actors.decisions.models import Registered
from actors.decisions.recording import DecisionJournal
from actors.decisions.results import (
    Answered,
    Cancelled,
    Completed,
    DecisionResult,
    Denied,
    Failed,
    InvalidInput,
    Refused,
    Unavailable,
)
from actors.spending.context import UsageContext
from events.decisions import DecisionAnswered, DecisionRequested
from events.generation import Usage
from events.spending import UsageReport

_LOUD: Final = frozenset({"malformed_request", "malformed_response", "unexpected"})
"""Failures that somebody has to mend here."""
_PICO: Final = 10**12

_log = structlog.get_logger(__name__)


class CallRecord:
    """The record of one call; it ends once, however often it is told to."""

    def __init__(
        self, world: DecisionWorld, journal: DecisionJournal, ask: Ask, correlation: str
    ) -> None:
        self._world = world
        self._journal = journal
        self._ask = ask
        self._correlation = correlation
        self._started = world.clock.monotonic()
        self._row: Registered | None = None
        self._usage: Usage | None = None
        self._is_requested = False
        self.is_ended = False
        """Whether its end is recorded."""
        self.codes: tuple[str, ...] = ()
        """Words for what went wrong: an error's own codes, a type, never prose."""
        self.is_logged = False
        """Whether somebody else has logged the failure already."""

    def found(self, row: Registered) -> None:
        """Note which model is asked."""
        self._row = row

    def requested(self, row: Registered, body_bytes: int) -> None:
        """Record that the request is about to leave."""
        self._is_requested = True
        reference = row.option.reference
        self._add(
            DecisionRequested(
                correlation=self._correlation,
                slot=self._ask.slot,
                provider=row.kind,
                api_style=row.api_style,
                model=row.option.model.codename,
                model_id=reference.model_id,
                registration_id=reference.registration_id,
                custom_endpoint_id=reference.custom_endpoint_id,
                question_count=len(self._ask.questions),
                body_bytes=body_bytes,
            )
        )

    def used(self, row: Registered, usage: Usage, context: UsageContext | None) -> None:
        """Record what the response used, then tell whoever pays, then the asker."""
        self._usage = usage
        report = UsageReport(
            request=0,
            provider=row.kind,
            model=row.option.model.codename,
            measurement="measured",
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            cost_pico=usage.cost_pico,
            correlation=self._correlation,
        )
        self._add(report)
        self._world.registrations.report(context, report)
        if self._ask.on_usage is None:
            return
        try:
            self._ask.on_usage(usage)
        except Exception as error:  # noqa: BLE001 - the asker's own fault must not cost the answer
            kind = type(error).__name__
            _log.error("decision_usage_callback_failed", correlation=self._correlation, error=kind)

    def ended(self, result: DecisionResult) -> None:
        """Record and log how it ended, the first time."""
        if self.is_ended:
            return
        self.is_ended = True
        if self._is_requested and self._row is not None:
            self._add(self._answered(result, self._row))
        self._tell(result)

    def _add(self, event: DecisionRequested | DecisionAnswered | UsageReport) -> None:
        self._journal.add(event)

    def _answered(self, result: DecisionResult, row: Registered) -> DecisionAnswered:
        answered = result if isinstance(result, Answered) else None
        verdicts = answered.verdicts if answered is not None else ()
        refusals = sum(verdict.probability is None for verdict in verdicts)
        failed = result if isinstance(result, Failed) else None
        cause = failed.cause if failed is not None else None
        minimum = cause.media_minimum_usd if cause is not None else None
        return DecisionAnswered(
            correlation=self._correlation,
            api_style=row.api_style,
            model=row.option.model.codename,
            status=result.status,
            category=failed.category if failed is not None else None,
            stage=failed.stage if failed is not None else None,
            http_status=failed.http_status if failed is not None else None,
            answer_count=len(verdicts) - refusals,
            refusal_count=refusals,
            actual_model=answered.model if answered is not None else None,
            provider_request_id=answered.request_id if answered is not None else None,
            elapsed_ms=self._elapsed_ms(),
            limit_source=cause.limit_source if cause is not None else None,
            media_minimum_pico=None if minimum is None else round(minimum * _PICO),
        )

    def _tell(self, result: DecisionResult) -> None:
        match result:
            case Failed():
                self._tell_failure(result)
            case Completed() | Refused() | Denied() | Cancelled():
                _log.info("decision", **self._facts(result))
            case InvalidInput():
                if self._is_requested:
                    _log.info("decision", reason=result.reason, **self._facts(result))
            case Unavailable():
                if result.reason == "payer-unavailable":
                    _log.info("decision", reason=result.reason, **self._facts(result))
            case _:
                assert_never(result)

    def _tell_failure(self, result: Failed) -> None:
        if self.is_logged:
            return
        log = _log.error if result.category in _LOUD else _log.warning
        log(
            "decision_failed",
            stage=result.stage,
            category=result.category,
            http_status=result.http_status,
            codes=self.codes,
            **self._facts(result),
        )

    def _facts(self, result: DecisionResult) -> dict[str, Any]:
        row, usage = self._row, self._usage
        facts: dict[str, Any] = {
            "outcome": result.status,
            "slot": self._ask.slot,
            "correlation": self._correlation,
            "questions": len(self._ask.questions),
            "elapsed_ms": self._elapsed_ms(),
        }
        if row is not None:
            reference = row.option.reference
            facts |= {
                "provider": row.kind,
                "protocol": row.api_style,
                "model_id": reference.model_id,
                "registration_id": reference.registration_id,
                "custom_endpoint_id": reference.custom_endpoint_id,
            }
        if usage is not None:
            facts |= {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cost_pico": usage.cost_pico,
            }
        return facts

    def _elapsed_ms(self) -> int:
        return round((self._world.clock.monotonic() - self._started) * 1_000)
