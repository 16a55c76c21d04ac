"""What a request costs its payer, however it ends."""

import asyncio
from collections.abc import Callable

import pytest

from actors.spending.denials import RequestDeniedError
from actors.spending.holds import Hold, HoldHandle, RequestInfo, provider_request
from events.base import Scope
from events.spending import Basis

ESTIMATE = 10_000_000_000
INFO = RequestInfo(
    context=None,
    api_key="sk-secret",
    url="https://api.example/v1/secret",
    body="secret",
    provider="main",
    model="tiny",
    request=1,
    scope=Scope(),
)


class RecordingHook:
    """Gives holds and remembers how each was released."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.estimate_pico = ESTIMATE
        self.released: list[tuple[int, Basis]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._fails = fails

    async def begin(self, info: RequestInfo) -> Hold | None:
        """Grant, or fail as told."""
        del info
        if self._fails is not None:
            raise self._fails
        return self

    async def release(self, spent_pico: int, basis: Basis) -> None:
        """Remember."""
        await self.gate.wait()
        self.released.append((spent_pico, basis))


def unsent(_: HoldHandle) -> None:
    """End before anything was sent."""


def refused(hold: HoldHandle) -> None:
    """End with an error status."""
    hold.ending = "refused"


def broken(hold: HoldHandle) -> None:
    """End in flight."""
    hold.ending = "broken"


def charged_then_broken(hold: HoldHandle) -> None:
    """Break off after a cost."""
    hold.report_cost(7)
    hold.ending = "broken"


def charged(hold: HoldHandle) -> None:
    """End well, with a cost."""
    hold.report_cost(4_200_000_000)
    hold.ending = "completed"


def completed(hold: HoldHandle) -> None:
    """End well, without a cost."""
    hold.report_cost(-1)
    hold.report_cost(None)
    hold.ending = "completed"


def free(hold: HoldHandle) -> None:
    """End well, with a cost of nothing."""
    hold.report_cost(0)
    hold.ending = "completed"


def polled(hold: HoldHandle) -> None:
    """Report one job's growing cost."""
    hold.report_cost(2, "a")
    hold.report_cost(5, "a")
    hold.ending = "completed"


def staged(hold: HoldHandle) -> None:
    """Report two charges."""
    hold.report_cost(3, "a")
    hold.report_cost(4, "b")
    hold.ending = "completed"


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        pytest.param(unsent, (0, "zero"), id="TH3"),
        pytest.param(refused, (0, "zero"), id="TH4"),
        pytest.param(broken, (0, "none"), id="TH5"),
        pytest.param(charged_then_broken, (7, "reported"), id="TH6"),
        pytest.param(charged, (4_200_000_000, "reported"), id="TH7"),
        pytest.param(completed, (ESTIMATE, "estimate"), id="TH8"),
        pytest.param(polled, (5, "reported"), id="TH9"),
        pytest.param(staged, (7, "reported"), id="TH10"),
        pytest.param(free, (0, "reported"), id="TH11"),
    ],
)
async def test_a_hold_is_released_once_by_how_the_request_ended(
    ends: Callable[[HoldHandle], None], expected: tuple[int, Basis]
) -> None:
    """Each row of the table of endings."""
    hook = RecordingHook()

    async with provider_request(hook, INFO) as hold:
        ends(hold)

    assert hook.released == [expected]


async def test_th12_a_second_cancellation_does_not_skip_the_release() -> None:
    """A stop and a shutdown can come at once."""
    hook = RecordingHook()
    hook.gate.clear()
    inside = asyncio.Event()

    async def request() -> None:
        async with provider_request(hook, INFO) as hold:
            hold.ending = "broken"
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(request())
    await inside.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    hook.gate.set()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others)

    assert hook.released == [(0, "none")]


async def test_h9_a_hook_that_breaks_lets_pass_or_denies_as_registered() -> None:
    """Whoever relies on a cap must be able to say so."""
    broken_hook = RecordingHook(fails=KeyError("sk-secret"))

    async with provider_request(broken_hook, INFO):
        pass
    with pytest.raises(RequestDeniedError):
        async with provider_request(broken_hook, INFO, fail_open=False):
            pytest.fail("sent")


async def test_th2_a_denial_comes_before_anything_is_sent() -> None:
    """A request that is not paid for is not made."""
    denial = RequestDeniedError(None, "budget_reached")

    with pytest.raises(RequestDeniedError) as caught:
        async with provider_request(RecordingHook(fails=denial), INFO):
            pytest.fail("sent")

    assert caught.value is denial


def test_h13_what_a_hook_is_told_prints_nothing() -> None:
    """It ends up in log lines of extensions."""
    assert "secret" not in repr(INFO)
