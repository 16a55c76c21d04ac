"""SIGKILL of the bot's own process, and of everything at once, at each step of a turn."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio

from bot.control import ControlClient
from bot.loopback.discord.entities import Channel
from bot.loopback.discord.faults import Fault
from bot.loopback.script import Answer, say
from tests.cluster.bot_process import BotProcess, alive
from tests.cluster.conftest import settings_text
from tests.cluster.outside import Outside

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(150),
    pytest.mark.asyncio(loop_scope="session"),
]

RECOVERED_SECONDS: Final = 10.0
"""Within this time after the restart every turn has ended."""


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def process(
    outside: Outside, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[BotProcess]:
    """One bot that dies and comes back."""
    config = tmp_path_factory.mktemp("process") / "rejoinder.toml"
    config.write_text(settings_text(outside, "drain_seconds = 1"))
    one = BotProcess(outside, config)
    await one.start()
    yield one
    if one.is_running:
        await one.kill(everything=True)


async def reach(
    process: BotProcess, outside: Outside, channel: Channel, step: str, name: str
) -> None:
    """Ask a question and return once its turn is at `step`; it goes no further."""
    discord, asked = outside.discord, len(outside.provider.requests)
    silent_from = 0 if step in ("trigger-received", "turn-started") else 1
    pieces = (f"One {name}.\nTwo {name}.\nThr", f"ee {name}.")
    held = Answer(pieces=pieces, gates={silent_from: asyncio.Event()})
    outside.answer(name, held, say("".join(pieces)))
    if step in ("attempt-durable", "post-stored"):
        when = "before" if step == "attempt-durable" else "after"
        discord.fail(Fault(action="hang", when=when, channel_id=channel.id))
    await outside.ask(channel, name)
    await outside.provider.received(asked + 1)
    match step:
        case "trigger-received":
            await discord.say(discord.world.add_user("Bob"), channel, "<@bot> and me?")
            await a_trigger_waits(process)
        case "first-chunk":
            await discord.until(lambda: bool(posts(outside, channel)))
        case "attempt-durable" | "post-stored":
            await discord.until(lambda: discord.held > 0)
        case "receipt-appended":
            await discord.until(lambda: len(outside.said(channel)) > 0)
        case _:
            pass


async def a_trigger_waits(process: BotProcess) -> None:
    """Return once the bot has recorded a trigger that waits for its channel."""
    async with process.client() as client:
        while not (await client.status()).waiting_triggers:
            pass


def posts(outside: Outside, channel: Channel) -> list[str | None]:
    """Return the contents of every POST to the channel."""
    return [one.content for one in outside.discord.posts if one.channel_id == channel.id]


async def all_ended(client: ControlClient) -> dict[str, str]:
    """Return the status of every turn by id, once none is open."""
    query = (
        "SELECT started.turn_id, ended.status FROM turns_started started "
        "LEFT JOIN turns_ended ended USING (turn_id)"
    )
    while True:
        now = await client.status()
        rows = (await client.sql(query)).rows
        is_idle = not now.running_turns and not now.waiting_triggers
        if is_idle and all(status for _, status in rows):
            return {str(turn_id): str(status) for turn_id, status in rows}


@pytest.mark.parametrize("everything", [False, True], ids=["bot-alone", "everything"])
@pytest.mark.parametrize(
    "step",
    [
        "trigger-received",
        "turn-started",
        "first-chunk",
        "attempt-durable",
        "post-stored",
        "receipt-appended",
    ],
)
async def test_the_next_start_ends_what_was_left_and_finishes_what_was_begun(
    process: BotProcess, outside: Outside, step: str, *, everything: bool
) -> None:
    """A crash of the machine's every process loses nothing that was received."""
    channel, name = outside.channel(), f"{step}, everything {everything}"
    await reach(process, outside, channel, step, name)

    left = await process.kill(everything=everything)
    outside.discord.release()
    await process.start()

    assert not list(alive(left))
    async with process.client() as client:
        async with asyncio.timeout(RECOVERED_SECONDS):
            statuses = await all_ended(client)
        assert set(statuses.values()) <= {"completed", "recovered", "unconfirmed"}
        report = await client.verify(None)
        assert report.failures == ()
    said = list(outside.said(channel))
    assert len(said) == len(set(said))
    if step in ("trigger-received", "turn-started"):
        assert said[:3] == [f"One {name}.", f"Two {name}.", f"Three {name}."]
    if step == "trigger-received":
        assert said[3:] == ["I do not know."]
    await check_that_the_bot_answers(outside, channel)


async def check_that_the_bot_answers(outside: Outside, channel: Channel) -> None:
    """Ask once more and wait for the answer."""
    before = len(outside.said(channel))
    outside.answer("and now?", say("Still here."))
    await outside.ask(channel, "and now?")
    await outside.discord.until(lambda: len(outside.said(channel)) > before)
    assert outside.said(channel)[-1] == "Still here."


async def test_a_second_bot_on_the_same_log_is_refused(
    process: BotProcess, outside: Outside
) -> None:
    """Two bots would each answer every message."""
    second = BotProcess(outside, process.directory.parent / "rejoinder.toml")

    with pytest.raises(AssertionError, match="ended with 1"):
        await second.start()

    async with process.client() as client:
        assert (await client.status()).running_turns == 0
    await check_that_the_bot_answers(outside, outside.channel())


async def test_sigterm_stops_what_runs_and_leaves_no_process(
    process: BotProcess, outside: Outside
) -> None:
    """An orderly end: exit 0, the running turn stopped, nothing left behind."""
    channel = outside.channel()
    held = Answer(pieces=("One.\nTw", "o"), gates={1: asyncio.Event()})
    outside.answer("a long one", held)
    await outside.ask(channel, "a long one")
    await outside.discord.until(lambda: len(outside.said(channel)) > 0)
    record = process.record()

    code = await process.terminate()

    assert code == 0
    assert outside.said(channel) == ["One.", "Tw"]
    assert not list(alive(record))
    assert not (process.directory / "control.sock").exists()
