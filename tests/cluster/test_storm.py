"""Everything at once, from a seed: afterwards every promise of the log must still hold.

`REJOINDER_STORM_MESSAGES` asks for another size, `REJOINDER_STORM_SEED` for another storm.
"""

import asyncio
import os
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final, cast

import psutil
import pytest
import pytest_asyncio

from actors.cluster.runtime import Runtime
from bot.app import runtime_spec
from bot.clock import SystemClock
from bot.loopback.discord.entities import Channel, StoredMessage
from bot.reports import verify_report
from bot.settings import load
from events.base import ChannelId, MessageId, Position, Recorded, StreamId, TurnId
from events.delivery import Receipt, Retraction, SendAttempt, SendFailed
from events.turn import TurnEnded, TurnStarted
from projections import turns, usage
from projections.fold import fold, turn_of
from tests.cluster.conftest import settings_text
from tests.cluster.outside import Outside
from tests.cluster.storm import CHANNELS, PERSONA_TABLES, Storm

MESSAGES: Final = int(os.environ.get("REJOINDER_STORM_MESSAGES", "300"))
"""Messages that members write."""
SEED: Final = int(os.environ.get("REJOINDER_STORM_SEED", "20"))
"""Where everything random comes from."""
PAGE: Final = 5_000
"""Events of one read."""
LINE: Final = re.compile(r"q\d+\.\d+ line \d")
"""What every line of an answer holds, and no other message."""
GONE_SECONDS: Final = 10.0
"""Longest wait for the processes of actors that were ended."""

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(120 + MESSAGES),
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def stormy() -> AsyncIterator[Outside]:
    """Yield a Discord and a provider that no other test disturbs."""
    async with Outside() as one:
        yield one


async def whole_log(runtime: Runtime) -> list[Recorded]:
    """Return all that is recorded."""
    log, found, after = runtime.log(), list[Recorded](), Position(0)
    while page := await log.read_all(after, limit=PAGE):
        found += page
        after = page[-1].position
    return found


async def test_after_a_storm_every_promise_of_the_log_holds(
    local_ray: Path, stormy: Outside, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Faults and deaths meet in ways that nobody has thought of."""
    assert local_ray
    file = tmp_path / "rejoinder.toml"
    file.write_text(settings_text(stormy, PERSONA_TABLES))
    settings = load(file, {"DISCORD_TOKEN": stormy.discord.token})
    runtime = Runtime(runtime_spec(settings, SystemClock()))
    await runtime.start()
    storm = Storm(runtime, stormy, SEED, MESSAGES)
    began = time.monotonic()

    await storm.blow()

    seconds = time.monotonic() - began
    events = await whole_log(runtime)
    stored = [one for channel in storm.channels for one in answers(stormy, channel)]
    check_sequences(events)
    check_attempts(events)
    check_messages(events, stored)
    check_webhooks(stormy, storm.channels)
    await check_figures(runtime, events)
    await check_replays(events)
    await runtime.aclose()
    await check_nothing_is_left(storm, stormy)
    with capsys.disabled():
        sys.stdout.write(summary(storm, events, stored, seconds))


def answers(outside: Outside, channel: Channel) -> list[StoredMessage]:
    """Return what the bot, or a webhook of it, has said in a channel."""
    return [one for one in outside.discord.messages(channel.id) if one.author.is_bot]


def check_sequences(events: Sequence[Recorded]) -> None:
    """Neither the log nor a stream has a gap or a repetition, and every turn has one end."""
    heads: Counter[StreamId] = Counter()
    for place, one in enumerate(events, start=1):
        heads[one.stream] += 1
        assert (one.position, one.seq) == (place, heads[one.stream])
    started = [turn_of(one) for one in events if isinstance(one.event, TurnStarted)]
    ended = [turn_of(one) for one in events if isinstance(one.event, TurnEnded)]
    assert len(ended) == len(set(ended))
    assert set(started) == set(ended)


def check_attempts(events: Sequence[Recorded]) -> None:
    """Every attempt has exactly one outcome, and no outcome is without its attempt."""
    promised: set[tuple[StreamId, int]] = set()
    settled: Counter[tuple[StreamId, int]] = Counter()
    for one in events:
        if isinstance(one.event, SendAttempt):
            promised.add((one.stream, one.event.attempt))
        elif isinstance(one.event, Receipt | SendFailed):
            settled[one.stream, one.event.attempt] += 1
    assert set(settled) == promised
    assert set(settled.values()) <= {1}


def check_messages(events: Sequence[Recorded], stored: Sequence[StoredMessage]) -> None:
    """No line stands twice; what stands has a receipt, or is marked as unconfirmed."""
    lines = Counter(line for one in stored for line in LINE.findall(one.content))
    assert [line for line, count in lines.items() if count > 1] == []
    receipts, doubtful, withdrawn = outcomes(events)
    unknown = [one for one in stored if one.id not in receipts]
    assert Counter((one.channel_id, text_of(one)) for one in unknown) <= doubtful
    assert receipts - withdrawn <= {one.id for one in stored}


def outcomes(
    events: Sequence[Recorded],
) -> tuple[set[MessageId], Counter[tuple[ChannelId, str]], set[MessageId]]:
    """Return the messages with a receipt, the texts in doubt, and what was to be deleted."""
    attempts: dict[tuple[StreamId, int], SendAttempt] = {}
    receipts: dict[tuple[StreamId, int], MessageId] = {}
    doubtful: Counter[tuple[ChannelId, str]] = Counter()
    withdrawn: set[MessageId] = set()
    for one in events:
        match one.event:
            case SendAttempt() as attempt:
                attempts[one.stream, attempt.attempt] = attempt
            case Receipt() as receipt:
                receipts[one.stream, receipt.attempt] = receipt.message_id
            case SendFailed(outcome="unconfirmed") as failed:
                attempt = attempts[one.stream, failed.attempt]
                doubtful[attempt.channel_id, attempt.content.strip()] += 1
            case Retraction() as retraction:
                places = ((one.stream, number) for number in retraction.attempts)
                withdrawn |= {receipts[place] for place in places if place in receipts}
            case _:
                pass
    return set(receipts.values()), doubtful, withdrawn


def text_of(message: StoredMessage) -> str:
    """Return what a message says; one that only says what is answered says so in its embed."""
    if not message.embeds:
        return message.content
    author = message.embeds[0]["author"]
    assert isinstance(author, dict)
    return str(cast("dict[str, object]", author)["name"])


def check_webhooks(outside: Outside, channels: Sequence[Channel]) -> None:
    """A webhook whose making was never confirmed, or whose sender died, is found again."""
    made = [len(outside.discord.world.channel_webhooks(channel.id)) for channel in channels]
    assert len(made) == CHANNELS
    assert max(made) == 1


async def check_figures(runtime: Runtime, events: Sequence[Recorded]) -> None:
    """What the analyst has counted through all of it is what a fold from scratch counts."""
    await runtime.figures_at(events[-1].position)
    folded: dict[TurnId, turns.TurnRow] = {}
    for one in events:
        turn_id = turn_of(one)
        if turn_id is not None:
            state = folded.get(turn_id) or turns.initial(turn_id)
            folded[turn_id] = turns.evolve(state, one)
    table = await runtime.turns(len(folded) + 1)
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    shown = {(str(row["turn_id"]), row["status"], row["messages"]) for row in rows}
    assert shown == {(str(key), row.status, row.messages) for key, row in folded.items()}
    sums = fold(usage.evolve, usage.initial(), events).rows.values()
    counted = await runtime.sql("SELECT count(*), sum(output_tokens) FROM usage_reports")
    [(reports, output)] = counted.rows
    assert reports == sum(one.reports for one in sums)
    assert output == sum(one.output_tokens.total or 0 for one in sums)


async def check_replays(events: Sequence[Recorded]) -> None:
    """Today's code gives what is on record for each turn, to the last character."""
    by_turn: defaultdict[TurnId, list[Recorded]] = defaultdict(list)
    for one in events:
        turn_id = turn_of(one)
        if turn_id is not None:
            by_turn[turn_id].append(one)

    async def read(turn_id: TurnId) -> list[Recorded]:
        return by_turn[turn_id]

    report = await verify_report(list(by_turn), read)
    assert report.failures == ()
    assert report.checked == len(by_turn)


async def check_nothing_is_left(storm: Storm, outside: Outside) -> None:
    """Every actor's process is gone, and with it every connection."""
    processes = list(storm.processes)
    _, left = await asyncio.to_thread(psutil.wait_procs, processes, timeout=GONE_SECONDS)
    assert left == []
    urls = (outside.discord.api_url, outside.provider.base_url)
    ports = {int(url.split(":")[2].split("/")[0]) for url in urls}
    connections = psutil.Process().net_connections("tcp")
    assert [one for one in connections if one.laddr.port in ports and one.raddr] == []


def summary(
    storm: Storm, events: Sequence[Recorded], stored: Sequence[StoredMessage], seconds: float
) -> str:
    """Return what happened, in figures."""
    ended = Counter(one.event.status for one in events if isinstance(one.event, TurnEnded))
    kinds = Counter(type(one.event).__name__ for one in events)
    return (
        f"\nstorm {SEED}: {storm.settled} triggers settled in {seconds:.0f} s\n"
        f"  disturbed: {dict(sorted(storm.counts.items()))}\n"
        f"  turns: {dict(ended.most_common())}\n"
        f"  {len(events)} events, {len(stored)} messages stored, {kinds['SendAttempt']} attempts, "
        f"{kinds['Receipt']} receipts, {kinds['TurnRecovered']} recoveries\n"
    )
