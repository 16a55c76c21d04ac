"""Caps hold across processes, and exposure survives them."""

import asyncio
from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.log_client import LogClient
from actors.spending.ledger import ORPHAN_AGE, CapReachedError, Ledger, LedgerHold, Wanted
from events.base import Event, Scope, StreamId, TurnId, budget_stream
from events.spending import HoldOpened, HoldSettled
from projections import holds
from projections.fold import fold
from tests.actors.log_ports import LocalEndpoint
from tests.fakes import ManualClock
from tests.projections.histories import History

PAYER: Final = "guild/7"
ESTIMATE: Final = 10


def wanted(number: int, cap: int = 100, payer: str = PAYER) -> Wanted:
    """Return the hold of a turn of its own."""
    turn_id = TurnId(f"01900000-0000-7000-8000-{number:012d}")
    opening = HoldOpened(
        hold_id=f"{turn_id}/0/1", estimate_pico=ESTIMATE, provider="main", model="tiny"
    )
    return Wanted(payer=payer, cap_pico=cap, opening=opening, scope=Scope(turn_id=turn_id), epoch=0)


def process(endpoint: LocalEndpoint, clock: ManualClock) -> Ledger:
    """Return the ledger of a process of its own: it shares nothing but the log."""
    return Ledger(LogClient(endpoint, clock), clock)


async def test_fifty_turns_in_several_processes_never_exceed_the_cap() -> None:
    """A counter in each process would grant the cap once a process."""
    endpoint, clock = LocalEndpoint(), ManualClock()
    processes = [process(endpoint, clock) for _ in range(3)]

    outcomes = await asyncio.gather(
        *(processes[number % 3].open(wanted(number)) for number in range(50)),
        return_exceptions=True,
    )

    granted = [one for one in outcomes if isinstance(one, LedgerHold)]
    denied = [one for one in outcomes if isinstance(one, CapReachedError)]
    exposure = await processes[0].exposure(PAYER, clock.now().date())
    assert (len(granted), len(denied)) == (10, 40)
    assert exposure.total_pico == exposure.open_pico == 100


async def test_what_was_not_spent_can_be_set_aside_again() -> None:
    """An estimate is no expense."""
    clock = ManualClock()
    ledger = process(LocalEndpoint(), clock)
    first = await ledger.open(wanted(1, cap=15))
    with pytest.raises(CapReachedError):
        await ledger.open(wanted(2, cap=15))

    await first.release(3, "reported")
    await ledger.open(wanted(3, cap=15))

    exposure = await ledger.exposure(PAYER, clock.now().date())
    assert (exposure.spent_pico, exposure.open_pico) == (3, 10)


async def test_th16_a_hold_whose_process_was_lost_counts_and_is_settled_by_the_next() -> None:
    """After a crash the exposure is what the log says, without anybody to restore it."""
    endpoint, clock = LocalEndpoint(), ManualClock()
    await process(endpoint, clock).open(wanted(1, cap=25))
    survivor = process(endpoint, clock)
    before = await survivor.exposure(PAYER, clock.now().date())
    await clock.advance(ORPHAN_AGE.total_seconds() + 1)

    await survivor.open(wanted(2, cap=25))

    after = await survivor.exposure(PAYER, clock.now().date())
    assert (before.spent_pico, before.open_pico) == (0, 10)
    assert (after.spent_pico, after.open_pico) == (10, 10)


async def test_a_new_month_begins_at_nothing_and_an_old_hold_settles_where_it_was_opened() -> None:
    """The cap is a month's."""
    clock = ManualClock()
    ledger = process(LocalEndpoint(), clock)
    january = clock.now().date()
    old = await ledger.open(wanted(1, cap=10))
    await clock.advance(timedelta(days=31).total_seconds())

    await ledger.open(wanted(2, cap=10))
    await old.release(4, "reported")

    assert (await ledger.exposure(PAYER, january)).spent_pico == 4
    assert (await ledger.exposure(PAYER, clock.now().date())).total_pico == 10


steps = st.lists(
    st.one_of(
        st.builds(
            HoldOpened,
            hold_id=st.sampled_from("abc"),
            estimate_pico=st.integers(0, 9),
            provider=st.just("main"),
            model=st.just("tiny"),
        ),
        st.builds(
            HoldSettled,
            hold_id=st.sampled_from("abc"),
            spent_pico=st.integers(0, 9),
            basis=st.just("reported"),
        ),
    ),
    max_size=12,
)


@given(steps)
def test_a_repeated_event_of_a_hold_changes_nothing(events: list[Event]) -> None:
    """An append whose answer was lost is sent again."""
    stream = StreamId(budget_stream(PAYER, ManualClock().now().date()))
    once = History().of_stream(stream, *events)
    twice = History().of_stream(stream, *(one for one in events for _ in range(2)))

    first = fold(holds.evolve, holds.initial(), once.events)
    second = fold(holds.evolve, holds.initial(), twice.events)

    assert (first.spent_pico, first.open_pico) == (second.spent_pico, second.open_pico)
