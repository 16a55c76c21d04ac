"""Many turns of one guild at once, each in a process of its own, against one cap."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from actors.extensions.loading import ExtensionSpec, registrations_of
from actors.generation.start import StartTurn, TurnResult
from actors.generation.turn import Turn
from actors.log_client import LogClient
from actors.ports import Clock
from actors.spending.ledger import ORPHAN_AGE, Ledger
from actors.spending.registrations import Registrations
from bot import notices
from bot.loopback.script import Answer, Tokens
from events.base import Position, TurnId
from events.generation import RequestOpened
from events.spending import HoldOpened, HoldSettled, RequestDenied
from projections.holds import Exposure
from tests.actors.log_ports import MortalEndpoint
from tests.fakes import ManualClock
from tests.stack import Stack

TURNS = 50
CAP = "1.00"
CAP_PICO = 10**12
DENIED = notices.provider_notice("api_error", "budget_reached")


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """The whole path."""
    async with Stack() as one:
        yield one


class Process:
    """A process of its own: its turn reaches the log until it dies."""

    def __init__(self, stack: Stack, start: StartTurn, clock: Clock, **options: str) -> None:
        self._endpoint = MortalEndpoint(stack.endpoint)
        log = LogClient(self._endpoint, stack.clock)
        spec = ExtensionSpec(name="budget", required=True, options=options)
        registrations = registrations_of((spec,), log, clock)
        self._turn = Turn(replace(stack.world(), log=log, registrations=registrations), start)

    def start(self) -> "asyncio.Task[TurnResult]":
        """Run its turn."""
        return asyncio.create_task(self._turn.run())

    async def die(self, running: "asyncio.Task[TurnResult]") -> None:
        """Let nothing more of it reach the log, and its turn come to no end."""
        self._endpoint.die()
        while not running.done():  # the first cancellation lets it settle its hold, in vain
            running.cancel()
            await asyncio.sleep(0)


async def exposure(stack: Stack, clock: Clock) -> Exposure:
    """Return what the guild has spent and set aside."""
    ledger = Ledger(stack.log(), clock)
    return await ledger.exposure(f"guild/{stack.guild_id}", clock.now().date())


async def test_fifty_turns_at_once_never_get_past_the_cap(stack: Stack) -> None:
    """Spent and set aside together stay at the cap, and each turn refused says so once."""
    stack.provider.script(*[Answer(pieces=("Hi.",), usage=Tokens(cost=0.04))] * TURNS)
    starts = [await stack.ask() for _ in range(TURNS)]
    options = {"guild_usd": CAP, "request_usd": "0.05"}

    results = await asyncio.gather(
        *(Process(stack, one, stack.clock, **options).start() for one in starts)
    )

    highest = await highest_exposure(stack)
    assert highest <= CAP_PICO
    after = await exposure(stack, stack.clock)
    answered = [one for one in results if one.status == "completed"]
    assert 20 <= len(answered) <= 25
    assert (after.spent_pico, after.open_pico) == (len(answered) * 4 * 10**10, 0)
    assert stack.contents().count(DENIED) == TURNS - len(answered)
    assert stack.contents().count("Hi.") == len(answered)


async def highest_exposure(stack: Stack) -> int:
    """Return the most that was ever spent and set aside, by an account of the test's own."""
    estimates: dict[str, int] = {}
    total = highest = 0
    for recorded in await stack.log().read_all(Position(0)):
        if isinstance(recorded.event, HoldOpened):
            estimates[recorded.event.hold_id] = recorded.event.estimate_pico
            total += recorded.event.estimate_pico
        elif isinstance(recorded.event, HoldSettled):
            total += recorded.event.spent_pico - estimates.pop(recorded.event.hold_id)
        highest = max(highest, total)
    return highest


async def test_th16_after_the_loss_of_every_process_the_exposure_is_what_it_was(
    stack: Stack,
) -> None:
    """A crash must neither free money that was spent nor hold it for ever as open."""
    clock = ManualClock()
    gate = asyncio.Event()
    options = {"guild_usd": "0.20", "request_usd": "0.05"}
    stack.provider.script(*[Answer(gates={0: gate})] * 3)
    stack.provider.script(*[Answer(pieces=("Hi.",), usage=Tokens(cost=0.01))] * 3)
    starts = [await stack.ask() for _ in range(3)]
    processes = [Process(stack, one, clock, **options) for one in starts]
    running = [one.start() for one in processes]
    await asyncio.gather(*(stack.until(one.turn_id, RequestOpened) for one in starts))
    await stack.provider.received(3)
    for process, task in zip(processes, running, strict=True):
        await process.die(task)
    lost = await exposure(stack, clock)
    assert (lost.spent_pico, lost.open_pico) == (0, 15 * 10**10)

    await clock.advance(ORPHAN_AGE.total_seconds() + 1)
    later = [Process(stack, await stack.ask(), clock, **options) for _ in range(2)]
    results = [await one.start() for one in later]

    after = await exposure(stack, clock)
    assert [one.status for one in results] == ["completed", "error"]
    assert (after.spent_pico, after.open_pico) == (16 * 10**10, 0)


async def test_th1_without_a_hook_the_request_is_byte_for_byte_the_same(stack: Stack) -> None:
    """Who installs no extension must not be able to tell that there are any."""
    bodies: list[str] = []
    start = await stack.ask()
    idle = Registrations()
    idle.register_usage_reporter(lambda _owner, _report: None)
    capped = registrations_of(
        (ExtensionSpec(name="budget", options={"guild_usd": "1"}),), stack.log(), stack.clock
    )
    for number, registrations in enumerate((Registrations(), idle, capped)):
        turn = replace(start, turn_id=TurnId(f"01900000-0000-7000-8000-00000000010{number}"))
        await Turn(replace(stack.world(), registrations=registrations), turn).run()
        events = await stack.events(turn.turn_id)
        bodies += [one.body for one in events if isinstance(one, RequestOpened)]
        assert not any(isinstance(one, RequestDenied) for one in events)

    sent = stack.provider.requests
    assert len(set(bodies)) == 1
    assert len({(repr(one.body), repr(sorted(one.headers.items()))) for one in sent}) == 1
