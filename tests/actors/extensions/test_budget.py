"""The budget over whole turns: real provider HTTP, real Discord HTTP, the log in memory."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from actors.extensions.budget import caps_of
from actors.extensions.loading import ExtensionError, ExtensionSpec, registrations_of
from actors.generation.start import StartTurn
from actors.generation.turn import Turn
from actors.spending.registrations import Registrations
from bot import notices
from bot.loopback.script import Answer, Tokens
from events.base import Position
from events.generation import RequestOpened
from events.spending import HoldOpened, HoldSettled, RequestDenied, UsageReport
from events.turn import TurnStatus
from tests.stack import Stack

DENIED = notices.provider_notice("api_error", "budget_reached")


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """The whole path."""
    async with Stack() as one:
        yield one


def budget(stack: Stack, **options: str) -> Registrations:
    """Return what the budget registers in a process of its own."""
    spec = ExtensionSpec(name="budget", required=True, options=options)
    return registrations_of((spec,), stack.log(), stack.clock)


async def run(stack: Stack, registrations: Registrations, start: StartTurn) -> TurnStatus | str:
    """Run a turn in a process with these registrations."""
    world = replace(stack.world(), registrations=registrations)
    return (await Turn(world, start).run()).status


async def money(stack: Stack) -> list[HoldOpened | HoldSettled]:
    """Return all that became of holds."""
    recorded = await stack.log().read_all(Position(0))
    return [one.event for one in recorded if isinstance(one.event, HoldOpened | HoldSettled)]


async def test_th7_an_answer_settles_its_hold_with_what_it_cost(stack: Stack) -> None:
    """A guild and a user both pay for it, each under a cap of its own."""
    stack.provider.script(Answer(pieces=("Hi.",), usage=Tokens(cost=0.0042)))
    start = await stack.ask()

    status = await run(stack, budget(stack, guild_usd="1", user_usd="1"), start)

    assert status == "completed"
    held = await money(stack)
    assert [type(one) for one in held] == [HoldOpened, HoldOpened, HoldSettled, HoldSettled]
    settled = [one for one in held if isinstance(one, HoldSettled)]
    assert [(one.spent_pico, one.basis) for one in settled] == [(4_200_000_000, "reported")] * 2


async def test_a_request_above_the_cap_is_not_made_and_one_notice_says_so(stack: Stack) -> None:
    """Nobody is billed, and nobody is left without an answer why."""
    start = await stack.ask()

    status = await run(stack, budget(stack, guild_usd="0.01", request_usd="0.02"), start)

    assert status == "error"
    assert stack.provider.requests == []
    assert stack.contents() == [DENIED]
    events = await stack.events(start.turn_id)
    assert [one.code for one in events if isinstance(one, RequestDenied)] == ["budget_reached"]
    assert not any(isinstance(one, RequestOpened) for one in events)
    assert await stack.end_of(start.turn_id)


async def test_a_fallback_on_another_payer_still_answers(stack: Stack) -> None:
    """The cap is on one account, and the other has room."""
    stack.provider.script(Answer(pieces=("From the spare.",)))
    start = await stack.ask()
    spare = replace(stack.route(), provider="spare")
    start = replace(start, models=(stack.route(), spare))

    status = await run(stack, budget(stack, guild_usd="0", providers="main"), start)

    assert status == "completed"
    answer, notice = stack.contents()
    assert answer == "From the spare."
    assert "budget_reached" in notice


async def test_a_refused_caller_of_two_gives_back_what_the_other_set_aside(stack: Stack) -> None:
    """A guild must not pay for its users' being at their caps."""
    start = await stack.ask()

    await run(stack, budget(stack, guild_usd="1", user_usd="0"), start)

    opened, settled = await money(stack)
    assert isinstance(opened, HoldOpened)
    assert isinstance(settled, HoldSettled)
    assert (settled.spent_pico, settled.basis) == (0, "zero")


async def test_u7_a_reporter_is_told_once_a_response_with_its_owner(stack: Stack) -> None:
    """Whoever keeps accounts gets what the log gets."""
    told: list[tuple[object, UsageReport]] = []
    registrations = Registrations()
    registrations.register_usage_reporter(lambda owner, report: told.append((owner, report)))
    stack.provider.script(Answer(pieces=("Hi.",), usage=Tokens(cost=0.5)))
    start = await stack.ask()

    await run(stack, registrations, start)

    reports = [one for one in await stack.events(start.turn_id) if isinstance(one, UsageReport)]
    assert [report for _, report in told] == reports
    assert repr(told[0][0]) == f"TurnOwner({start.turn_id})"


async def test_no_key_or_token_is_in_what_the_stack_records(
    stack: Stack, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log is read by people who must not be able to spend or to speak."""
    stack.provider.script(
        Answer(pieces=("Hi.",)),
        Answer(status=401, body=b'{"error":{"message":"bad key sk-test"}}'),
    )
    for _ in range(2):
        await run(stack, budget(stack, guild_usd="1"), await stack.ask())

    recorded = await stack.log().read_all(Position(0))
    shown = capsys.readouterr()
    said = "\n".join([*map(repr, recorded), caplog.text, shown.out, shown.err, *stack.contents()])
    assert len(recorded) > 10
    assert "sk-test" not in said
    assert stack.discord.token not in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"guild_usd": "much"}, "guild_usd is 'much'"),
        ({"user_usd": "-1"}, "user_usd is '-1'"),
        ({"guild_usd": "NaN"}, "guild_usd is 'NaN'"),
        ({"gild_usd": "1"}, "unknown option gild_usd"),
    ],
)
def test_a_cap_that_cannot_be_read_is_named(options: dict[str, str], says: str) -> None:
    """A cap that silently is none is the worst of mistakes."""
    with pytest.raises(ValueError, match=says):
        caps_of(options)


async def test_a_broken_extension_keeps_the_bot_from_starting_only_if_required(
    stack: Stack,
) -> None:
    """Answers matter more than figures, unless somebody relies on them."""
    absent = ExtensionSpec(name="absent")

    registrations = registrations_of((absent,), stack.log(), stack.clock)
    with pytest.raises(ExtensionError, match="the extension absent can't be loaded"):
        registrations_of((replace(absent, required=True),), stack.log(), stack.clock)

    assert registrations.request_hook() == (None, True)
