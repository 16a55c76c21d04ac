"""A storm: many channels asked at once, while Discord fails and processes are killed.

What is asked, what fails and who is killed comes from one seed. How it interleaves is the machine's
own affair: whoever judges the outcome may rely on no order.
"""

import asyncio
import os
import random
import signal
from collections import Counter
from contextlib import aclosing, suppress
from typing import Final

import psutil
from msgspec.structs import replace

from actors.cluster.runtime import Runtime
from bot.loopback.discord.calls import Kind
from bot.loopback.discord.entities import Channel, User
from bot.loopback.discord.faults import Fault
from bot.loopback.script import say
from events.base import ChannelId, Position, TriggerId, TurnId, UserId
from events.turn import TriggerDropped, TurnEnded, TurnStarted
from tests.cluster.outside import Outside

CHANNELS: Final = 20
"""Channels that are asked at the same time."""
FAULT_SHARE: Final = 0.05
"""How many of the messages meet each of the faults."""
STOP_SHARE: Final = 0.03
"""How many of the turns are stopped by a member."""
HURRY_SHARE: Final = 0.2
"""How many of the messages do not wait for the answer to the one before."""
SETTLED_PER_KILL: Final = 12
"""A process is killed whenever so many more triggers are settled: every few seconds."""
HELD_SECONDS: Final = 0.5
"""How long Discord lets a request hang."""
VICTIMS: Final = ("log", "sender", "router", "turns")
"""Whose processes are killed."""
PERSONAS: Final = ("Rejoinder", "Touko", "Mira")
"""Who is asked; all but the first speak through webhooks."""
PERSONA_TABLES: Final = "\n".join(
    f"""
[[personas]]
name = "{name}"
avatar = "https://example.org/{name}.png"
sprites = {{ mad = "https://example.org/{name}-mad.png" }}
"""
    for name in PERSONAS
)
"""The same, as the configuration file has them."""
FAULTS: Final[dict[str, Fault]] = {
    "500": Fault(status=500),
    "503-page": Fault(status=503, html=True),
    "429": Fault(status=429, retry_after=0.05),
    "429-global": Fault(status=429, retry_after=0.05, is_global=True),
    "429-shared": Fault(status=429, retry_after=0.05, shared=True),
    "403": Fault(status=403, code=50013),
    "400": Fault(status=400, field="content"),
    "reset-before": Fault(action="reset", when="before"),
    "reset-after": Fault(action="reset", when="after"),
    "reset-unread": Fault(action="reset", when="unread"),
    "garbage-before": Fault(action="garbage", when="before"),
    "garbage-after": Fault(action="garbage", when="after"),
    "hang-before": Fault(action="hang", when="before"),
    "hang-after": Fault(action="hang", when="after"),
    "slow": Fault(action="slow", seconds=0.1),
}
"""All that the loopback Discord can do wrong."""
ROUTES: Final[tuple[Kind, ...]] = ("post", "webhook", "webhook_setup", "typing", "history")
"""Which requests fail."""


class Storm:
    """Asks, disturbs and kills until every trigger has its turn's end, or was dropped."""

    def __init__(self, runtime: Runtime, outside: Outside, seed: int, messages: int) -> None:
        self._runtime = runtime
        self._outside = outside
        self._seed = seed
        self._messages = messages
        self._random = random.Random(seed)  # noqa: S311 - a test's dice
        self._settled: dict[TriggerId, asyncio.Event] = {}
        self._progress = asyncio.Condition()
        self.settled = 0
        """Triggers that have come to their end."""
        self.channels: list[Channel] = []
        """Where it takes place."""
        self.counts: Counter[str] = Counter()
        """Faults set, processes killed, stops asked for."""
        self.processes: set[psutil.Process] = set()
        """Every process of an actor that was seen."""

    async def blow(self) -> None:
        """Return once it is over."""
        after = await self._runtime.head()
        self.channels = [self._outside.channel() for _ in range(CHANNELS)]
        people = [self._outside.discord.world.add_user(name) for name in ("Bea", "Cem", "Dot")]
        share = self._messages // CHANNELS
        async with asyncio.TaskGroup() as group:
            others = [
                group.create_task(one)
                for one in (self._follow(after), self._kill(), self._release())
            ]
            asking = [
                group.create_task(self._ask(channel, people, range(share), index))
                for index, channel in enumerate(self.channels)
            ]
            await asyncio.wait(asking)
            for other in others:
                other.cancel()
        self._outside.discord.heal()
        self._outside.discord.release()
        await self.note_processes()

    async def note_processes(self) -> None:
        """Note which processes the actors have by now."""
        pids = await self._runtime.pids()
        for pid in (pids.log, pids.sender, pids.router, pids.analyst, *pids.turns):
            with suppress(psutil.NoSuchProcess):
                self.processes.add(psutil.Process(pid))

    async def _ask(self, channel: Channel, people: list[User], numbers: range, index: int) -> None:
        dice = random.Random(f"{self._seed}/{index}")  # noqa: S311 - a test's dice
        waiting: list[asyncio.Event] = []
        for number in numbers:
            self._disturb(channel, dice)
            settled = await self._trigger(channel, people, dice, f"q{index:02}.{number:03}")
            waiting.append(settled)
            if dice.random() < STOP_SHARE:
                self.counts["stop"] += 1
                await self._runtime.stop(ChannelId(channel.id), "1", "stop")
            if dice.random() >= HURRY_SHARE:
                await settled.wait()
        for settled in waiting:
            await settled.wait()

    def _disturb(self, channel: Channel, dice: random.Random) -> None:
        for name, fault in FAULTS.items():
            if dice.random() < FAULT_SHARE:
                route = dice.choice(ROUTES)
                self._outside.discord.fail(replace(fault, channel_id=channel.id, route=route))
                self.counts[name] += 1

    async def _trigger(
        self, channel: Channel, people: list[User], dice: random.Random, question: str
    ) -> asyncio.Event:
        author, persona = dice.choice(people), dice.choice(PERSONAS)
        lines = [f"{question} line {line}." for line in range(dice.randint(1, 4))]
        if dice.random() < HURRY_SHARE:
            lines[-1] = f"{persona} (mad): {lines[-1]}"
        self._outside.answer(question, say("\n".join(lines), size=8))
        trigger = replace(
            await self._outside.trigger(channel, question),
            author_id=UserId(author.id),
            author_name=author.username,
            persona=persona,
        )
        settled = self._settled[trigger.trigger_id] = asyncio.Event()
        await self._runtime.trigger(trigger)
        return settled

    async def _follow(self, after: Position) -> None:
        """Take note of every trigger that comes to its end."""
        turns: dict[TurnId, TriggerId] = {}
        async with aclosing(self._runtime.log().subscribe(None, after)) as subscription:
            async for batch in subscription:
                for one in batch:
                    match one.event:
                        case TurnStarted() as started if one.scope.turn_id is not None:
                            turns[one.scope.turn_id] = started.trigger_id
                        case TriggerDropped() as dropped:
                            await self._settle(dropped.trigger_id)
                        case TurnEnded() if one.scope.turn_id is not None:
                            await self._settle(turns[one.scope.turn_id])
                        case _:
                            pass

    async def _settle(self, trigger_id: TriggerId) -> None:
        settled = self._settled[trigger_id]
        if not settled.is_set():
            settled.set()
            async with self._progress:
                self.settled += 1
                self._progress.notify_all()

    async def _kill(self) -> None:
        while True:
            aim = self.settled + SETTLED_PER_KILL
            async with self._progress:
                await self._progress.wait_for(lambda aim=aim: self.settled >= aim)
            victim = self._random.choice(VICTIMS)
            await self.note_processes()
            pids = await self._runtime.pids()
            found = pids.turns if victim == "turns" else (getattr(pids, victim),)
            if found:
                with suppress(ProcessLookupError):
                    os.kill(self._random.choice(found), signal.SIGKILL)
                self.counts[f"killed {victim}"] += 1

    async def _release(self) -> None:
        discord = self._outside.discord
        while True:
            await discord.until(lambda: discord.held > 0, timeout=None)
            await discord.clock.sleep(HELD_SECONDS)
            discord.release()
