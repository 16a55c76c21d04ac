"""Rate limits over real sockets: what is waited out, what is refused, and what a stop ends."""

import asyncio

import pytest
from structlog.testing import capture_logs

from actors.delivery.single_attempt import HikariMessenger
from actors.ports import Draft, NotPosted, Posted
from bot.clock import SystemClock
from bot.loopback.discord.faults import Fault
from bot.loopback.discord.server import LoopbackDiscord
from events.base import ChannelId
from tests.fakes import ManualClock


def draft(channel_id: ChannelId, content: str = "hello") -> Draft:
    """A message."""
    return Draft(channel_id=channel_id, content=content)


async def test_v154_a_short_limit_is_waited_out(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """Discord took nothing, so this one request may be written again."""
    discord.fail(Fault(status=429, retry_after=2.0))
    posting = asyncio.create_task(messenger.post(draft(channel)))

    await clock.until_someone_sleeps()
    await clock.advance(1.9)
    is_early = posting.done() or len(discord.posts) > 1
    await clock.advance(0.1)
    outcome = await posting

    assert not is_early
    assert isinstance(outcome, Posted)
    assert (outcome.tries, outcome.ms) == (2, 2000.0)
    assert len(discord.messages(channel)) == 1


async def test_b30_five_limits_in_a_row_are_waited_out_as_long_as_they_fit(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """Shared limits come in storms; each wait counts, none is endless."""
    discord.fail(Fault(status=429, retry_after=0.3, shared=True, times=5))
    posting = asyncio.create_task(messenger.post(draft(channel)))

    for _ in range(5):
        await clock.until_someone_sleeps()
        await clock.advance(1.0)
    outcome = await posting

    assert isinstance(outcome, Posted)
    assert outcome.tries == 6
    assert outcome.ms >= 1500.0
    assert len(discord.messages(channel)) == 1


@pytest.mark.parametrize("seconds", [31.0, 172800.0], ids=["V154-31s", "B30b-two-days"])
async def test_a_limit_beyond_the_budget_is_refused_at_once(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId, seconds: float
) -> None:
    """Nobody waits two days for an answer, and a bot that does has stopped working."""
    discord.fail(Fault(status=429, retry_after=seconds))

    outcome = await messenger.post(draft(channel))

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.reason) == ("definite_refusal", "rate_limited")
    assert (outcome.http_status, outcome.tries) == (429, 1)
    assert len(discord.posts) == 1


async def test_v154_all_waits_of_a_post_share_one_budget(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """20 s and 20 s are 40 s: the second is not begun, whatever kind of limit it is."""
    discord.fail(Fault(status=429, retry_after=20.0))
    discord.fail(Fault(status=429, retry_after=20.0, is_global=True))
    posting = asyncio.create_task(messenger.post(draft(channel)))

    await clock.until_someone_sleeps()
    await clock.advance(20.0)
    outcome = await posting

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.tries, outcome.ms) == ("definite_refusal", 2, 20000.0)


async def test_t133_limits_without_end_use_up_the_budget(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """A limit that says "at once" for ever must not keep a channel busy for ever."""
    discord.fail(Fault(status=429, retry_after=0.0, times=None))
    posting = asyncio.create_task(messenger.post(draft(channel)))

    async with asyncio.TaskGroup() as group:
        moving = group.create_task(_move(clock))
        outcome = await posting
        moving.cancel()

    assert isinstance(outcome, NotPosted)
    assert outcome.outcome == "definite_refusal"
    assert outcome.tries == 121


async def _move(clock: ManualClock) -> None:
    while True:
        await clock.until_someone_sleeps()
        await clock.advance(0.25)


async def test_v154_a_stop_ends_the_wait(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """Whoever stops an answer must not see it go on half a minute later."""
    stop = asyncio.Event()
    discord.fail(Fault(status=429, retry_after=20.0))
    posting = asyncio.create_task(messenger.post(draft(channel), stop))

    await clock.until_someone_sleeps()
    stop.set()
    outcome = await posting

    assert isinstance(outcome, NotPosted)
    assert (outcome.outcome, outcome.reason) == ("pre_dispatch", "stopped")
    assert len(discord.posts) == 1
    assert discord.messages(channel) == []


async def test_a_bucket_known_to_be_empty_is_waited_out_before_the_write(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """A refusal counts against the bot's address, so none is provoked."""
    discord.limits.enforce = True
    for _ in range(5):
        await messenger.post(draft(channel))

    waiting = asyncio.create_task(messenger.ready(draft(channel)))
    await clock.until_someone_sleeps()
    written = len(discord.posts)
    await clock.advance(5.0)
    waited = await waiting
    assert isinstance(waited, float)
    outcome = await messenger.post(draft(channel), waited_ms=waited)

    assert written == 5
    assert waited == 5000.0
    assert isinstance(outcome, Posted)
    assert outcome.tries == 1
    assert {post.outcome for post in discord.posts} == {"ok"}


async def test_a_stop_ends_the_wait_before_the_write(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """Nothing is attempted for a turn that is stopped while it waits for its place."""
    stop = asyncio.Event()
    discord.limits.enforce = True
    for _ in range(5):
        await messenger.post(draft(channel))

    waiting = asyncio.create_task(messenger.ready(draft(channel), stop))
    await clock.until_someone_sleeps()
    stop.set()

    refusal = await waiting
    assert isinstance(refusal, NotPosted)
    assert (refusal.outcome, refusal.reason) == ("pre_dispatch", "stopped")


async def test_what_was_waited_before_the_attempt_is_part_of_the_budget(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """Thirty seconds a post, not thirty for each step of it."""
    discord.fail(Fault(status=429, retry_after=6.0))

    outcome = await messenger.post(draft(channel), waited_ms=25_000.0)

    assert isinstance(outcome, NotPosted)
    assert outcome.outcome == "definite_refusal"


async def test_t133_a_global_limit_pauses_every_channel(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """The limit is the bot's: others that write on would prolong it for all."""
    elsewhere = discord.world.add_channel(discord.world.channels[channel].guild_id or 0, "b").id
    discord.fail(Fault(status=429, retry_after=3.0, is_global=True))
    first = asyncio.create_task(messenger.post(draft(channel)))
    await clock.until_someone_sleeps()

    second = asyncio.create_task(messenger.post(draft(elsewhere)))
    await _turns_of_the_loop()
    written = len(discord.posts)
    await clock.advance(3.0)
    outcomes = await asyncio.gather(first, second)

    assert written == 1
    assert all(isinstance(outcome, Posted) for outcome in outcomes)
    assert len(discord.posts) == 3


async def test_b30c_a_refusal_by_the_edge_pauses_the_process_and_is_told(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """Knocking on while shut out prolongs it, for every bot at this address."""
    discord.fail(Fault(status=429, html=True))
    elsewhere = ChannelId(channel + 1)

    with capture_logs() as logs:
        banned = await messenger.post(draft(channel))
        paused = await messenger.post(draft(elsewhere))
    await clock.advance(60.0)
    later = await messenger.post(draft(channel))

    assert isinstance(banned, NotPosted)
    assert (banned.outcome, banned.reason) == ("definite_refusal", "banned")
    assert isinstance(paused, NotPosted)
    assert (paused.outcome, paused.reason, paused.tries) == ("definite_refusal", "rate_limited", 0)
    assert isinstance(later, Posted)
    assert len(discord.posts) == 2
    assert [one["event"] for one in logs] == ["discord_edge_refuses_this_address"]


async def test_no_more_requests_leave_in_a_second_than_discord_allows_a_bot(
    discord: LoopbackDiscord, clock: ManualClock
) -> None:
    """A thousand turns at once must not be refused a thousand times."""
    guild = discord.world.add_guild("Home")
    channels = [discord.world.add_channel(guild.id, f"c{n}").id for n in range(5)]
    async with HikariMessenger(
        api_url=discord.api_url, token=discord.token, clock=clock, requests_per_second=2
    ) as messenger:
        posting = [asyncio.create_task(messenger.post(draft(one))) for one in channels]
        counts: list[int] = []
        for allowed in (2, 4, 5):
            await asyncio.gather(*posting[:allowed])
            counts.append(len(discord.posts))
            await clock.advance(1.0)

    assert counts == [2, 4, 5]


async def test_those_who_waited_for_a_global_limit_do_not_all_leave_at_once(
    discord: LoopbackDiscord, clock: ManualClock
) -> None:
    """Else a thousand turns run into the same limit again the moment it ends."""
    guild = discord.world.add_guild("Home")
    channels = [discord.world.add_channel(guild.id, f"c{n}").id for n in range(4)]
    async with HikariMessenger(
        api_url=discord.api_url, token=discord.token, clock=clock, requests_per_second=2
    ) as messenger:
        discord.fail(Fault(status=429, retry_after=5.0, is_global=True))
        posting = [asyncio.create_task(messenger.post(draft(channels[0]), waited_ms=0.0))]
        await clock.until_someone_sleeps()
        posting += [
            asyncio.create_task(messenger.post(draft(one), waited_ms=0.0)) for one in channels[1:]
        ]
        await _turns_of_the_loop()

        await clock.advance(5.0)
        await _turns_of_the_loop()
        left = len(discord.posts) - 1
        await clock.advance(1.0)
        await asyncio.gather(*posting)

    assert left <= 2
    assert len(discord.posts) == 5


async def _turns_of_the_loop() -> None:
    """Let those run that can."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_b31_a_send_that_is_cancelled_under_way_holds_up_no_later_one(
    messenger: HikariMessenger, discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """A lock that outlives its holder silences a channel until the next restart."""
    discord.fail(Fault(action="hang"))
    first = asyncio.create_task(messenger.post(draft(channel, "first")))
    await discord.until(lambda: discord.held == 1)

    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    async with asyncio.timeout(1.0):
        second = await messenger.post(draft(channel, "second"))

    assert first.cancelled()
    assert isinstance(second, Posted)


async def test_b31_a_send_that_is_cancelled_while_waiting_holds_up_no_later_one(
    messenger: HikariMessenger, discord: LoopbackDiscord, clock: ManualClock, channel: ChannelId
) -> None:
    """The wait belongs to the one that waits."""
    discord.fail(Fault(status=429, retry_after=1.0))
    first = asyncio.create_task(messenger.post(draft(channel, "first")))
    await clock.until_someone_sleeps()

    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await clock.advance(1.0)
    second = await messenger.post(draft(channel, "second"))

    assert isinstance(second, Posted)


async def test_a_messenger_runs_on_the_real_clock_too(
    discord: LoopbackDiscord, channel: ChannelId
) -> None:
    """What waits by hand in these tests waits by itself in the bot."""
    discord.fail(Fault(status=429, retry_after=0.0))
    async with HikariMessenger(
        api_url=discord.api_url, token=discord.token, clock=SystemClock()
    ) as messenger:
        outcome = await messenger.post(draft(channel))

    assert isinstance(outcome, Posted)
    assert outcome.tries == 2
