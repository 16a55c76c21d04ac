"""Tells reporters what a request used: it never waits for them, and they can't fail it."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable

import structlog

from actors.spending.context import UsageContext
from events.spending import UsageReport

UsageReporter = Callable[[UsageContext | None, UsageReport], Awaitable[None] | None]
"""Takes a report and its owner; keeping it, and counting it once, is the reporter's job."""

_log = structlog.get_logger(__name__)


class Reporting:
    """Calls reporters and looks after what they leave running."""

    def __init__(self) -> None:
        self._running: set[asyncio.Future[None]] = set()

    def report(
        self, reporters: Iterable[UsageReporter], context: UsageContext | None, report: UsageReport
    ) -> None:
        """Tell each reporter, in order; never raises, never waits."""
        for reporter in reporters:
            try:
                result = reporter(context, report)
            except Exception:  # noqa: BLE001 - an extension's fault must not become the turn's
                _log.exception("usage_reporter_failed", request=report.request)
                continue
            if inspect.isawaitable(result):
                task = asyncio.ensure_future(self._guarded(result, report))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def drain(self) -> None:
        """Return when all reporters have finished what they began."""
        while self._running:
            await asyncio.gather(*self._running)

    async def _guarded(self, work: Awaitable[None], report: UsageReport) -> None:
        try:
            await work
        except Exception:  # noqa: BLE001 - as above
            _log.exception("usage_reporter_failed", request=report.request)
