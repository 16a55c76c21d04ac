"""Owners travel with the task and are told apart by identity."""

import asyncio
from collections.abc import AsyncIterator

from actors.spending.context import TurnOwner, bind_usage_context, current_usage_context
from events.base import GuildId, TurnId, UserId


def owner() -> TurnOwner:
    """Return an owner that looks like every other of these."""
    return TurnOwner(
        TurnId("01900000-0000-7000-8000-000000000001"),
        0,
        guild_id=GuildId(1),
        user_id=UserId(2),
    )


def test_tu10_an_unfunded_request_does_not_inherit_the_outer_owner() -> None:
    """It would spend somebody else's money."""
    outer = owner()

    with bind_usage_context(outer):
        with bind_usage_context(None):
            inner = current_usage_context()
        after = current_usage_context()

    assert (inner, after, current_usage_context()) == (None, outer, None)


async def test_tu11_interleaved_tasks_each_see_their_own_owner() -> None:
    """Turns of one process run side by side."""
    turns = asyncio.Barrier(2)

    async def turn(one: TurnOwner) -> bool:
        with bind_usage_context(one):
            await turns.wait()
            return await asyncio.create_task(nested()) is one

    async def nested() -> object:
        await asyncio.sleep(0)
        return current_usage_context()

    assert await asyncio.gather(turn(owner()), turn(owner())) == [True, True]


async def test_tu12_a_binding_across_a_yield_leaks_to_the_consumer() -> None:
    """The reason for the rule that no generator holds one: should Python change, the rule may."""

    async def leaky() -> AsyncIterator[int]:
        with bind_usage_context(owner()):
            yield 1

    stream = leaky()
    await anext(stream)
    leaked = current_usage_context()
    await anext(stream, None)

    assert leaked is not None
    assert current_usage_context() is None


def test_tu13_owners_that_look_alike_are_not_equal() -> None:
    """A denial of one must not match the other."""
    assert owner() != owner()
