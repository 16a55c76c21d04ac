"""What extensions have registered with one process.

Each registration gives a disposer: it may be called twice, and in any order. All reporters are
told of a report, the first translator that has an answer gives it, and of the hooks the newest
decides alone. An object of its own, and no module's globals, so that two bots in one process, or
two tests, have nothing in common.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

from actors.spending.context import UsageContext
from actors.spending.denials import RequestDeniedError, chain_of, find_request_denied
from actors.spending.holds import RequestHook
from actors.spending.reporting import Reporting, UsageReporter
from events.generation import ProviderFault
from events.spending import UsageReport

Disposer = Callable[[], None]
"""Takes a registration back."""
DenialTranslator = Callable[[object, UsageContext | None], RequestDeniedError | None]
"""Takes a failure and the failed request's owner; returns the denial that it means, if any."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Registered(Generic[T]):
    """What was registered and not taken back, oldest first."""

    def __init__(self) -> None:
        self._entries: dict[object, T] = {}

    def add(self, value: T) -> Disposer:
        """Add `value`."""
        token = object()
        self._entries[token] = value

        def dispose() -> None:
            self._entries.pop(token, None)

        return dispose

    def all(self) -> tuple[T, ...]:
        """Return all, oldest first."""
        return tuple(self._entries.values())


class Registrations:
    """Everything that was registered."""

    def __init__(self) -> None:
        self._reporters = Registered[UsageReporter]()
        self._translators = Registered[DenialTranslator]()
        self._hooks = Registered[tuple[RequestHook, bool]]()
        self._reporting = Reporting()

    def register_usage_reporter(self, reporter: UsageReporter) -> Disposer:
        """Have `reporter` told of each response's usage."""
        return self._reporters.add(reporter)

    def register_denial_translator(self, translator: DenialTranslator) -> Disposer:
        """Have `translator` asked whether a failure is a denial."""
        return self._translators.add(translator)

    def register_request_hook(self, hook: RequestHook, *, fail_open: bool = True) -> Disposer:
        """Have `hook` decide over requests; `fail_open`: one that breaks lets them pass."""
        return self._hooks.add((hook, fail_open))

    def request_hook(self) -> tuple[RequestHook | None, bool]:
        """Return the hook that decides, and whether its own failure lets a request pass."""
        hooks = self._hooks.all()
        return hooks[-1] if hooks else (None, True)

    def report(self, context: UsageContext | None, report: UsageReport) -> None:
        """Tell all reporters; never raises, never waits."""
        self._reporting.report(self._reporters.all(), context, report)

    def denial_of(
        self, failure: ProviderFault | BaseException, context: UsageContext | None
    ) -> RequestDeniedError | None:
        """Return the denial that `failure` is or means, where it is one of `context`.

        A chain that holds a denial, whosever it is, is never translated.
        """
        if find_request_denied(failure) is not None:
            return find_request_denied(failure, context)
        if context is None:
            return None
        asked = (
            self._translated(translator, one, context)
            for one in chain_of(failure)
            for translator in self._translators.all()
        )
        return next((denial for denial in asked if denial is not None), None)

    async def drain(self) -> None:
        """Return when all reporters have finished what they began."""
        await self._reporting.drain()

    def _translated(
        self, translator: DenialTranslator, failure: object, context: UsageContext
    ) -> RequestDeniedError | None:
        try:
            denial = translator(failure, context)
        except Exception as error:  # noqa: BLE001 - an extension's fault must not become the turn's
            # Only its type: the text may quote the provider.
            _log.error("denial_translator_failed", error=type(error).__name__)
            return None
        if denial is not None and denial.context is not context:
            _log.error("denial_of_another_owner")
            return None
        return denial
