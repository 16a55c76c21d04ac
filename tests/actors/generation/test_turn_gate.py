"""A turn whose model stands behind the address gate."""

import pytest
from msgspec.structs import replace

from actors.gate.addresses import Policy
from bot.loopback.script import say
from events.generation import RequestClosed
from tests.stack import Stack


@pytest.mark.parametrize(
    ("policy", "status", "asked"),
    [
        pytest.param(Policy(), "error", 0, id="TS4-refused"),
        pytest.param(Policy(allow_private=True), "completed", 1, id="TS4-opt-in"),
    ],
)
async def test_g1_a_turn_asks_only_where_the_gate_lets_it(
    stack: Stack, policy: Policy, status: str, asked: int
) -> None:
    """An endpoint that somebody supplied must not lead inside, unless the operator says so."""
    stack.provider.script(say("Fine."))
    start = await stack.ask()
    route = replace(stack.route(), gate=policy)

    ended = await stack.run_to_end(replace(start, models=(route,)))

    closed = [one for one in await stack.events(start.turn_id) if isinstance(one, RequestClosed)]
    assert (ended.status, len(stack.provider.requests)) == (status, asked)
    assert [one.end for one in closed] == ["done" if asked else "refused"]
