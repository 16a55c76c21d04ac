"""The demo's scenes: an answer, a stop, a crash, an unconfirmed message, and the log of it all."""

import asyncio
import logging
import os
import signal
import time
from pathlib import Path
from typing import Final, TextIO

from bot import journal_format, tables
from bot.clock import SystemClock
from bot.demo.screen import Screen
from bot.demo.stage import Stage
from bot.glance import TURNS, at_a_glance, width_of
from bot.live import LiveOperations
from bot.loopback.discord.faults import Fault
from bot.loopback.script import Answer, Tokens
from events.delivery import Receipt
from events.turn import TurnEnded, TurnRecovered

FOLDER: Final = Path("rejoinder-demo")
"""Where each run leaves its configuration and its log."""

REVERSED: Final = """\
Three ways, from the plainest to the laziest.
```python
colours = ["red", "green", "blue"]

colours.reverse()             # in place
backwards = colours[::-1]     # a new list
lazily = reversed(colours)    # an iterator, no copy
```
Use `reverse()` when nobody else holds the list, the slice when somebody does.
"""
STORY: Final = """\
Once upon a time there was a lighthouse that was afraid of the dark.
Every evening it lit its lamp a little earlier, and every morning it put it out a little later.
The ships found this charming, but the oil did not last.
So one night the lamp went out, and the lighthouse saw the stars for the first time.
It has kept a window free of glass ever since.
"""
SAGA: Final = """\
Rome was not built in a day, and neither was this sentence.
Its process is about to be killed.
What the model had sent by then stands in the log, and what was not yet posted still arrives.
Once.
"""
LOST: Final = """\
Discord will keep this message and never say so.
This one must not follow, since nobody knows whether the first one is there.
"""


COUNTS: Final = '"SELECT kind, count(*) FROM events GROUP BY kind"'
"""A question for an analyst."""
PIECE: Final = 5
"""Characters of one delta: about a token."""
PIECE_SECONDS: Final = 0.012
"""Between two deltas."""


async def perform(out: TextIO) -> int:
    """Play every scene; return the exit code."""
    journal_format.set_up(level=logging.ERROR)
    screen = Screen(out)
    screen.title(
        "Rejoinder",
        "Discord and the model provider are played on loopback. All the rest is real: "
        "hikari, Ray, DuckDB, HTTP.",
    )
    stamp = f"{SystemClock().now().astimezone():%Y%m%d-%H%M%S}"
    async with Stage(screen, FOLDER / stamp) as stage:
        for scene in (answer, stop, crash, unconfirmed, figures):
            await scene(stage)
    return 0


async def answer(stage: Stage) -> None:
    """A question, and an answer that arrives in pieces."""
    stage.screen.scene(1, "An answer arrives while it is being written")
    stage.provider.script(streamed(REVERSED))
    after = await stage.bot.runtime.head()

    await stage.ask("<@bot> how do I reverse a list in Python?")
    await stage.until(TurnEnded, after)

    stage.show_new()


async def stop(stage: Stage) -> None:
    """An answer that is stopped midway."""
    stage.screen.scene(2, "Stopped the moment she says stop")
    stage.provider.script(streamed(STORY, held_from="lamp went out"))
    after = await stage.bot.runtime.head()
    asked = len(stage.provider.requests)

    await stage.ask("<@bot> tell me a story")
    await stage.until(Receipt, after, 2)
    stage.show_new()
    request = await stage.provider.received(asked + 1)
    began = time.monotonic()
    invocation = await stage.discord.command(stage.ann, stage.channel, "stop")
    await request.closed.wait()
    closed_ms = (time.monotonic() - began) * 1_000
    reply = await invocation.response
    await stage.until(TurnEnded, after)

    stage.show_new()
    stage.screen.aside(f"Ann types /stop; only she sees the reply: “{reply.content}”")
    stage.screen.proof(f"the provider's connection was closed {closed_ms:.0f} ms later")


async def crash(stage: Stage) -> None:
    """A turn whose process is killed, and whose remaining text still arrives, once."""
    stage.screen.scene(3, "The process that writes the answer is killed")
    end = asyncio.Event()
    stage.provider.script(streamed(SAGA, seconds=0.0, end=end))
    stage.discord.fail(Fault(action="slow", seconds=0.5, times=4))
    after, before = await stage.bot.runtime.head(), len(stage.said())

    await stage.ask("<@bot> can you survive anything?")
    await stage.until(Receipt, after)
    stage.show_new()
    pids = (await stage.bot.runtime.pids()).turns
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    stage.screen.aside(f"kill -9 {' '.join(map(str, pids))}")
    recovered = (await stage.until(TurnRecovered, after)).event
    await stage.until(TurnEnded, after)

    stage.show_new()
    assert isinstance(recovered, TurnRecovered)
    said = stage.said()[before:]
    stage.screen.aside(f"taken over from the log: {recovered.found}")
    stage.screen.proof(f"{len(said)} messages, {len(said) - len(set(said))} of them twice")


async def unconfirmed(stage: Stage) -> None:
    """A POST that is never confirmed and is not repeated."""
    stage.screen.scene(4, "Discord keeps a message and loses the answer")
    stage.provider.script(streamed(LOST, seconds=0.0))
    stage.discord.fail(Fault(action="reset", when="after"))
    after, before = await stage.bot.runtime.head(), len(stage.discord.posts)

    await stage.ask("<@bot> are you there?")
    ended = (await stage.until(TurnEnded, after)).event

    stage.show_new()
    assert isinstance(ended, TurnEnded)
    posts = len(stage.discord.posts) - before
    stage.screen.aside("the connection was reset after Discord had stored the message")
    stage.screen.proof(f"{posts} POST, status {ended.status}: nothing was sent after it")


async def figures(stage: Stage) -> None:
    """What the log knows, and how to ask it."""
    stage.screen.scene(5, "Every step of it stands in the log")
    table = await LiveOperations(stage.bot.runtime, SystemClock().now()).turns(10)
    stage.screen.console.print()
    out = stage.screen.out
    tables.print_table(at_a_glance(table, TURNS, width_of(out)), out)
    names = [column.name for column in table.columns]
    recovered = next(row for row in table.rows if row[names.index("status")] == "recovered")
    turn_id = recovered[names.index("turn_id")]
    config = f"--config {stage.config}"
    stage.screen.commands(
        f"rejoinder replay {turn_id} {config}",
        f"rejoinder verify {config}",
        f"rejoinder usage {config}",
        f"rejoinder sql {COUNTS} {config}",
    )


def streamed(
    text: str,
    *,
    seconds: float = PIECE_SECONDS,
    held_from: str = "",
    end: asyncio.Event | None = None,
) -> Answer:
    """Return an answer that streams `text`; a gate that nobody opens stands before `held_from`.

    Args:
        text: What the model says.
        seconds: Between two pieces.
        held_from: Where the stream falls silent; empty: nowhere.
        end: What the stream's end waits for.
    """
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    gates: dict[int, asyncio.Event] = {}
    if held_from:
        gates[text.index(held_from) // PIECE] = asyncio.Event()
    if end is not None:
        gates[len(pieces)] = end
    tokens = Tokens(input_tokens=40, output_tokens=len(pieces))
    return Answer(pieces=tuple(pieces), delay_seconds=seconds, gates=gates, usage=tokens)
