"""A turn whose POST goes wrong: one outcome, and nothing after what nobody knows."""

import asyncio

import pytest

from bot.loopback.discord.faults import Fault as DiscordFault
from bot.loopback.script import Answer, say
from events.delivery import Receipt, SendFailed
from tests.stack import Stack

STATUS = [
    pytest.param(DiscordFault(action="status", status=code, when="after"), 1, id=f"T130-{code}")
    for code in (408, 500, 502, 503, 504)
]


@pytest.mark.parametrize(
    ("fault", "stored"),
    [
        *STATUS,
        pytest.param(DiscordFault(action="status", status=500), 0, id="T130-500-not-stored"),
        pytest.param(DiscordFault(action="reset", when="after"), 1, id="B17-reset-after-storing"),
        pytest.param(DiscordFault(action="reset", when="before"), 0, id="T130-reset-before"),
        pytest.param(DiscordFault(action="reset", when="unread"), 0, id="T130-reset-unread"),
        pytest.param(DiscordFault(action="garbage", when="after"), 1, id="B18-non-json-200"),
        pytest.param(DiscordFault(action="hang", when="before"), None, id="T130-hang"),
    ],
)
async def test_t135_after_an_unconfirmed_post_the_turn_says_nothing_more(
    stack: Stack, fault: DiscordFault, stored: int | None
) -> None:
    """One POST, whatever became of it; and the next turn of the channel is a normal one."""
    stack.discord.fail(fault)
    stack.provider.script(say("One.\nTwo.\nThree."), say("Fine."))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert ended.status == "unconfirmed"
    assert len(stack.discord.posts) == 1
    assert stored is None or len(stack.contents()) == stored
    assert ended.withheld["unconfirmed"] == len("One.Two.Three.")
    (failed,) = [one for one in await stack.events(start.turn_id) if isinstance(one, SendFailed)]
    assert failed.outcome == "unconfirmed"
    stack.discord.release()
    assert (await stack.run_to_end(await stack.ask())).status == "completed"
    assert stack.contents()[-1] == "Fine."


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        pytest.param(10003, 404, "channel_deleted", id="T126-10003"),
        pytest.param(50001, 403, "missing_access", id="T126-50001"),
    ],
)
async def test_b24_a_channel_that_is_gone_ends_the_turn_quietly(
    stack: Stack, code: int, status: int, reason: str
) -> None:
    """There is nobody to tell: no notice, no second try."""
    stack.discord.fail(DiscordFault(action="status", status=status, code=code, times=None))
    gate = asyncio.Event()
    pieces = ("One.\n", "Two.\n", "Three.")
    stack.provider.script(Answer(pieces=pieces, gates={2: gate}))

    ended = await stack.run_to_end(await stack.ask())

    assert (ended.status, ended.stop_reason) == ("stopped_by_user", reason)
    assert len(stack.discord.posts) == 1
    assert stack.provider.requests[0].ending == "client_closed"


async def test_t129_another_refusal_ends_the_turn_as_an_error(stack: Stack) -> None:
    """B26: and what was refused is not sent again."""
    stack.discord.fail(DiscordFault(action="status", status=400, code=50035))
    stack.provider.script(say("One.\nTwo."))

    ended = await stack.run_to_end(await stack.ask())

    assert (ended.status, ended.stop_reason) == ("error", "send_refused")
    assert ended.withheld["refused"] == len("One.Two.")


async def test_t133_a_rate_limit_is_waited_out_and_nothing_is_lost(stack: Stack) -> None:
    """Discord accepted nothing, so the message is written again."""
    stack.discord.fail(DiscordFault(action="status", status=429, retry_after=0.05, times=5))
    stack.provider.script(say("One.\nTwo."))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert ended.status == "completed"
    assert stack.contents() == ["One.", "Two."]
    receipts = [one for one in await stack.events(start.turn_id) if isinstance(one, Receipt)]
    assert [one.tries for one in receipts] == [6, 1]
