"""What the sender costs beside a bare hikari loop, on the same loopback.

Run on demand:

    python -m tests.benchmarks.bench_sender [messages]

Prints milliseconds a message (median, 99th percentile) and messages a second, one channel at a
time and many at once, and the ratio. Both write the same POSTs to the same server in the same
process, which costs more than either client; so the ratio flatters and the difference in
milliseconds is what counts. The sender's share is its log (in memory here: attempt and receipt),
its own task a post, and the checks.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

import hikari
from hikari.impl import rest

from actors.delivery.single_attempt import HikariMessenger
from actors.ports import Draft, SendRequest, Sent
from actors.sender import Sender
from bot.clock import SystemClock
from bot.loopback.discord.server import LoopbackDiscord
from events.base import ChannelId, Scope, TurnId
from tests.actors.delivery.fakes import LogFace

MESSAGES = 1000
CHANNELS = 50
ROUNDS = 3

Post = Callable[[ChannelId, int], Awaitable[object]]


async def main(messages: int) -> None:
    """Measure both, alternating, and print the best of each."""
    async with LoopbackDiscord() as discord:
        guild = discord.world.add_guild("Bench")
        channels = [discord.world.add_channel(guild.id, f"c{n}").id for n in range(CHANNELS)]
        app = rest.RESTApp(url=discord.api_url, max_retries=0)
        await app.start()
        async with (
            app.acquire(discord.token, hikari.TokenType.BOT) as client,
            HikariMessenger(
                api_url=discord.api_url,
                token=discord.token,
                clock=SystemClock(),
                requests_per_second=1_000_000,
            ) as messenger,
        ):
            sender = Sender(LogFace(), messenger, SystemClock())

            async def bare(channel_id: ChannelId, number: int) -> object:
                return await client.create_message(hikari.Snowflake(channel_id), f"m{number}")

            async def through(channel_id: ChannelId, number: int) -> object:
                result = await sender.send(_request(channel_id, number))
                assert isinstance(result, Sent)
                return result

            await _compare(bare, through, channels[:1], messages)
            await _compare(bare, through, channels, messages)
            await sender.aclose()
        await app.close()


async def _compare(bare: Post, through: Post, channels: Sequence[ChannelId], messages: int) -> None:
    rounds = [
        (await _measure(bare, channels, messages), await _measure(through, channels, messages))
        for _ in range(ROUNDS)
    ]
    best_bare = min((one for one, _ in rounds), key=lambda one: one[1])
    best_through = min((one for _, one in rounds), key=lambda one: one[1])
    print(f"{len(channels)} channel(s), {messages} messages, best of {ROUNDS}")  # noqa: T201 - what a benchmark is for
    _tell("bare hikari", *best_bare, messages)
    _tell("sender", *best_through, messages)
    print(f"  time ratio {best_through[1] / best_bare[1]:.2f}")  # noqa: T201 - what a benchmark is for


async def _measure(
    post: Post, channels: Sequence[ChannelId], messages: int
) -> tuple[list[float], float]:
    latencies: list[float] = []
    serial = next(_rounds)

    async def run(channel_id: ChannelId) -> None:
        for number in range(messages // len(channels)):
            began = time.perf_counter()
            await post(channel_id, serial * messages + number)
            latencies.append((time.perf_counter() - began) * 1000.0)

    began = time.perf_counter()
    await asyncio.gather(*(run(channel_id) for channel_id in channels))
    return latencies, time.perf_counter() - began


def _tell(name: str, latencies: list[float], seconds: float, messages: int) -> None:
    median = statistics.median(latencies)
    tail = statistics.quantiles(latencies, n=100)[98]
    print(  # noqa: T201 - what a benchmark is for
        f"  {name:<12} {median:7.2f} ms median {tail:7.2f} ms p99 {messages / seconds:7.0f} msg/s"
    )


def _request(channel_id: ChannelId, number: int) -> SendRequest:
    # A turn of ten messages, as an answer has; a new turn costs a read of its stream.
    turn_id = TurnId(
        f"01920000-0000-7000-8000-{(channel_id * 1_000_003 + number // 10) % 10**12:012}"
    )
    return SendRequest(
        turn_id=turn_id,
        scope=Scope(turn_id=turn_id, channel_id=channel_id),
        epoch=0,
        flush=number,
        piece=0,
        draft=Draft(channel_id=channel_id, content=f"m{number}"),
    )


_rounds = iter(range(10**6))

if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES))
