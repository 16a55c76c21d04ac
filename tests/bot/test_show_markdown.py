"""Show Markdown, over real sockets: the press, its answer, and the end of the button."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from bot import notices
from bot.gateway import Gateway
from bot.loopback.discord.entities import StoredMessage, User
from bot.loopback.discord.faults import Fault
from bot.loopback.discord.interactions import CommandAnswer
from bot.show_markdown import ShowMarkdown
from events.base import MessageId, channel_stream
from events.delivery import ButtonDisabled
from tests.bot.test_gateway import FakeTriggers, gateway_of, settings_for
from tests.fakes import ManualClock
from tests.stack import Stack
from tests.table_turns import TABLE, TableTurn

BUTTON = "markdown_table_show_source"
LIFETIME = 7_200.0
DAY = 24 * 3_600.0


class Knowing:
    """Asks whichever sender is there, as the runtime does."""

    def __init__(self, stack: Stack) -> None:
        self.may_tell = asyncio.Event()
        self.may_tell.set()
        self._stack = stack

    async def table_source(self, message_id: MessageId) -> str | None:
        """Return what the sender says."""
        await self.may_tell.wait()
        return await self._stack.sender.table_source(message_id)


@pytest.fixture
def clock() -> ManualClock:
    """Return time that stands still."""
    return ManualClock()


@pytest.fixture
async def stack(clock: ManualClock) -> AsyncIterator[Stack]:
    """Yield a Discord, a log and a sender in that time."""
    async with Stack(clock=clock) as stack:
        yield stack


@pytest.fixture
def knowing(stack: Stack) -> Knowing:
    """Return who knows the sources."""
    return Knowing(stack)


@pytest.fixture
async def gateway(stack: Stack, knowing: Knowing) -> AsyncIterator[Gateway]:
    """Yield the bot's connected gateway."""
    gateway = gateway_of(settings_for(stack.discord), FakeTriggers(), knowing)
    await gateway.start()
    yield gateway
    await gateway.aclose()


@pytest.fixture
def ann(stack: Stack) -> User:
    """Return somebody who presses."""
    return stack.discord.world.add_user("Ann")


async def posted(stack: Stack, source: str = TABLE) -> StoredMessage:
    """Post a table, and return its message."""
    turn = await TableTurn.begin(stack)
    await turn.flush(source)
    await turn.aclose()
    return turn.messages[-1]


async def press(stack: Stack, user: User, message: StoredMessage) -> CommandAnswer:
    """Return the answer to a press."""
    return await (await stack.discord.press(user, message, BUTTON)).response


def source_of(fenced_size: int) -> str:
    """Return a table whose code block has so many characters."""
    head = "| Name | Text |\n|---|---|\n"
    rest = fenced_size - len("```\n\n```") - len(head) - len("| a |  |")
    return f"{head}| a | {'x' * rest} |"


def is_disabled(stack: Stack, message: StoredMessage) -> bool:
    """Return whether the button below the message is disabled by now."""
    [row] = stack.discord.world.posted(message.id).components
    return "'disabled': True" in str(row)


async def disabled(stack: Stack, count: int = 1) -> list[ButtonDisabled]:
    """Return the buttons recorded as disabled, once there are so many."""
    found: list[ButtonDisabled] = []
    subscription = stack.endpoint.log.subscribe([channel_stream(stack.channel_id)])
    try:
        async for batch in subscription:
            found += [one.event for one in batch if isinstance(one.event, ButtonDisabled)]
            if len(found) >= count:
                return found
    finally:
        await subscription.aclose()
    raise AssertionError


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize("size", [1968, 1969])
async def test_v166_a_press_shows_the_source_to_whoever_pressed(
    stack: Stack, ann: User, size: int
) -> None:
    """Inline while it fits, else as a file."""
    source = source_of(size)
    message = await posted(stack, source)

    answer = await press(stack, ann, message)

    assert answer.is_ephemeral
    if size == 1968:
        assert (answer.content, answer.attachments) == (f"```\n{source}\n```", ())
    else:
        [file] = answer.attachments
        assert answer.content == notices.TABLE_ATTACHED
        assert (file.filename, file.data.decode()) == ("table.md", source)


@pytest.mark.usefixtures("gateway")
async def test_t106_a_press_after_a_restart_is_answered(stack: Stack, ann: User) -> None:
    """The log knows the source; no process has to."""
    message = await posted(stack)
    await stack.kill_sender()

    answer = await press(stack, ann, message)

    assert answer.content == f"```\n{TABLE}```"


@pytest.mark.usefixtures("gateway")
async def test_v166_a_press_after_two_hours_says_that_it_is_over(
    stack: Stack, clock: ManualClock, ann: User
) -> None:
    """Discord may still show a button that could be pressed."""
    stack.discord.fail(Fault(route="edit", status=500))
    message = await posted(stack)
    await clock.until_someone_sleeps()
    await clock.advance(LIFETIME)

    answer = await press(stack, ann, message)

    assert (answer.content, answer.is_ephemeral) == (notices.TABLE_EXPIRED, True)


async def test_t106_after_two_hours_the_button_is_disabled(
    stack: Stack, clock: ManualClock
) -> None:
    """A button that does nothing more must not look as if it did."""
    message = await posted(stack)
    await clock.until_someone_sleeps()
    await clock.advance(LIFETIME - 1)
    assert not is_disabled(stack, message)

    await clock.until_someone_sleeps()
    await clock.advance(1)

    assert await disabled(stack) == [ButtonDisabled(message_id=message.id)]
    assert is_disabled(stack, message)
    assert stack.discord.world.posted(message.id).attachments == message.attachments


async def test_t106_a_button_that_expired_while_no_sender_was_there_is_disabled_at_the_start(
    stack: Stack, clock: ManualClock
) -> None:
    """One that was disabled before, or is older than a day, is left alone."""
    old = await posted(stack)
    await clock.until_someone_sleeps()
    await stack.close_sender()
    await clock.advance(DAY + 1)
    await stack.open_sender()
    done = await posted(stack)
    await clock.until_someone_sleeps()
    await clock.advance(LIFETIME)
    await disabled(stack)
    late = await posted(stack)
    await stack.close_sender()
    await clock.advance(LIFETIME + 1)

    await stack.open_sender()

    assert [one.message_id for one in await disabled(stack, 2)] == [done.id, late.id]
    assert [is_disabled(stack, one) for one in (old, done, late)] == [False, True, True]
    assert [one.kind for one in stack.discord.requests].count("edit") == 2


async def test_t106_a_message_that_is_gone_is_recorded_and_forgotten(
    stack: Stack, clock: ManualClock
) -> None:
    """It would be asked for again at every start."""
    message = await posted(stack)
    stack.discord.world.remove(message)
    await clock.until_someone_sleeps()
    await clock.advance(LIFETIME)

    assert await disabled(stack) == [ButtonDisabled(message_id=message.id, failure="http_404")]


@pytest.mark.usefixtures("gateway")
async def test_t105_bots_are_not_answered(stack: Stack, ann: User) -> None:
    """Two bots that press each other's buttons never end."""
    robot = stack.discord.world.add_user("Robot", is_bot=True)
    message = await posted(stack)

    ignored = await stack.discord.press(robot, message, BUTTON)
    await press(stack, ann, message)

    assert ignored.answers == []


async def test_t105_a_slow_log_is_answered_for_in_time(
    stack: Stack, knowing: Knowing, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Discord forgets a press that is not answered within three seconds."""
    impatient = partial(ShowMarkdown, patience_seconds=0.01)
    monkeypatch.setattr("bot.gateway.ShowMarkdown", impatient)
    gateway = gateway_of(settings_for(stack.discord), FakeTriggers(), knowing)
    await gateway.start()
    source = source_of(1969)
    message = await posted(stack, source)
    knowing.may_tell.clear()

    pressed = await stack.discord.press(ann, message, BUTTON)
    await stack.discord.until(lambda: pressed.is_deferred)
    knowing.may_tell.set()
    answer = await pressed.response

    assert (answer.content, answer.is_ephemeral) == (notices.TABLE_ATTACHED, True)
    assert answer.attachments[0].data.decode() == source
    await gateway.aclose()


@pytest.mark.usefixtures("gateway")
async def test_t105_an_answer_that_fails_is_only_logged(stack: Stack, ann: User) -> None:
    """The next press is answered all the same."""
    message = await posted(stack)
    stack.discord.fail(Fault(route="interaction", status=500, times=None))

    failed = await stack.discord.press(ann, message, BUTTON)
    await stack.discord.until(lambda: any(one.status == 500 for one in stack.discord.requests))
    stack.discord.heal()
    answer = await press(stack, ann, message)

    assert failed.answers == []
    assert answer.content == f"```\n{TABLE}```"
