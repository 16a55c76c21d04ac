"""Registrations can be taken back in any order, and reporters can do no harm."""

import asyncio

from actors.spending.context import UsageContext
from actors.spending.holds import Hold, RequestInfo
from actors.spending.registrations import Registrations
from events.spending import UsageReport

REPORT = UsageReport(request=1, provider="main", model="tiny", measurement="measured")


class Hook:
    """A hook that never minds."""

    async def begin(self, info: RequestInfo) -> Hold | None:
        """Let it pass."""
        del info
        return None


def test_tu9_hooks_are_taken_back_in_any_order() -> None:
    """Restoring what stood before would bring a disposed one back."""
    registrations = Registrations()
    first, second = Hook(), Hook()
    dispose_first = registrations.register_request_hook(first)
    dispose_second = registrations.register_request_hook(second)

    dispose_first()
    assert registrations.request_hook() == (second, True)
    dispose_second()
    dispose_second()

    assert registrations.request_hook() == (None, True)


async def test_tu8_a_reporter_that_breaks_or_lasts_holds_nothing_up() -> None:
    """Accounts are worth less than answers."""
    registrations = Registrations()
    told: list[str] = []
    gate = asyncio.Event()

    def breaks(_: UsageContext | None, __: UsageReport) -> None:
        raise KeyError

    async def breaks_late(_: UsageContext | None, __: UsageReport) -> None:
        await gate.wait()
        raise KeyError

    async def lasts(_: UsageContext | None, report: UsageReport) -> None:
        await gate.wait()
        told.append(report.model)

    for reporter in (breaks, breaks_late, lasts):
        registrations.register_usage_reporter(reporter)

    registrations.report(None, REPORT)
    assert told == []
    gate.set()
    await registrations.drain()

    assert told == ["tiny"]
