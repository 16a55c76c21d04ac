"""The demo's scenes, each with what it proves: from an answer to a crash, and the log of it all."""

import asyncio
import logging
import os
import signal
import time
from pathlib import Path
from typing import Final, TextIO

from actors.delivery.table_button import SHOW_MARKDOWN
from bot import journal_format, tables
from bot.clock import SystemClock
from bot.demo.screen import PLAIN_WIDTH, Screen
from bot.demo.script import (
    LIBRARIAN,
    LONG_WAY,
    LOST,
    NOTE,
    NOTED,
    PLANETS,
    REVERSED,
    SAGA,
    SHORT_WAY,
    STOOD_IN,
    STORY,
    calling,
    streamed,
)
from bot.demo.stage import Stage
from bot.glance import TURNS, at_a_glance, width_of
from bot.live import LiveOperations
from bot.loopback.discord.faults import Fault
from bot.loopback.script import refusal
from bot.tables import printable
from events.delivery import Receipt
from events.generation import ToolCalled, ToolReturned
from events.turn import TurnEnded, TurnRecovered

FOLDER: Final = Path("rejoinder-demo")
"""Where each run leaves its configuration and its log."""
COUNTS: Final = '"SELECT kind, count(*) FROM events GROUP BY kind"'
"""A question for an analyst."""


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
        for scene in SCENES:
            await scene(stage)
    return 0


async def answer(stage: Stage) -> None:
    """A question, and an answer that arrives in pieces."""
    stage.screen.scene("An answer arrives while it is being written")
    stage.provider.script(streamed(REVERSED))
    after = await stage.bot.runtime.head()

    await stage.ask("<@bot> how do I reverse a list in Python?")
    await stage.until(TurnEnded, after)

    stage.show_new()


async def table(stage: Stage) -> None:
    """A table that arrives as a picture, and the button that shows its source."""
    stage.screen.scene("A table arrives as a picture")
    stage.provider.script(streamed(PLANETS))
    after = await stage.bot.runtime.head()

    await stage.ask("<@bot> compare three planets in a table")
    await stage.until(TurnEnded, after)
    picture = stage.messages()[-1]
    stage.show_new()
    pressed = await stage.discord.press(stage.ann, picture, SHOW_MARKDOWN.custom_id)
    reply = await pressed.response

    stage.screen.aside(f"Ann presses {SHOW_MARKDOWN.label}; only she sees the reply:")
    stage.screen.private(reply.content)
    kept = sum(line in reply.content for line in PLANETS.splitlines())
    total = len(PLANETS.splitlines())
    stage.screen.proof(f"{kept} of {total} lines of the model's own Markdown, read from the log")


async def alter(stage: Stage) -> None:
    """Another persona, in its own name and with a picture that follows its mood."""
    stage.screen.scene("Another persona answers, and her picture follows her mood")
    stage.provider.script(streamed(LIBRARIAN))
    after, before = await stage.bot.runtime.head(), len(stage.messages())

    await stage.ask("Mira, where are the maps?")
    await stage.until(Receipt, after, 3)
    await stage.until(TurnEnded, after)

    stage.show_new()
    said = stage.messages()[before + 1 :]
    faces = list(dict.fromkeys(str(message.author.avatar) for message in said))
    stage.screen.aside(f"her pictures at Discord: {', then '.join(face[:8] for face in faces)}")
    stage.screen.proof(f"{len(faces)} pictures for {len(said)} messages")


async def tool(stage: Stage) -> None:
    """A tool that the model calls, and what is recorded of it."""
    stage.screen.scene("The model calls a tool")
    stage.provider.script(calling("pin_note", note=NOTE), streamed(NOTED))
    after = await stage.bot.runtime.head()

    await stage.ask("<@bot> we rehearse on Tuesdays at seven, keep that in mind")
    called = (await stage.until(ToolCalled, after)).event
    returned = (await stage.until(ToolReturned, after)).event
    await stage.until(TurnEnded, after)

    stage.show_new()
    assert isinstance(called, ToolCalled)
    assert isinstance(returned, ToolReturned)
    function = called.function
    stage.screen.aside(f"tool_called {function.name} {printable(function.arguments)}")
    stage.screen.aside(f"tool_returned {returned.outcome} {printable(returned.result)}")
    told = stage.provider.requests[-1].body["messages"][-1]
    is_told = told["role"] == "tool" and told["content"] == returned.result
    stage.screen.proof(f"the model was told exactly that: {'yes' if is_told else 'no'}")


async def follow_up(stage: Stage) -> None:
    """A member who writes on while she is answered: the newer message counts."""
    stage.screen.scene("Ann writes on while she is being answered")
    stage.provider.script(streamed(LONG_WAY, held_from="a body"), streamed(SHORT_WAY))
    after, asked = await stage.bot.runtime.head(), len(stage.provider.requests)

    await stage.ask("<@bot> why are there tides?")
    await stage.until(Receipt, after)
    stage.show_new()
    first = await stage.provider.received(asked + 1)
    began = time.monotonic()
    await stage.ask("<@bot> in one sentence, please")
    await first.closed.wait()
    closed_ms = (time.monotonic() - began) * 1_000
    interrupted = (await stage.until(TurnEnded, after)).event
    await stage.until(TurnEnded, after, 2)

    stage.show_new()
    assert isinstance(interrupted, TurnEnded)
    ended = f"the first answer ended {closed_ms:.0f} ms after she wrote on"
    stage.screen.proof(f"{ended}: {interrupted.status}")


async def fallback(stage: Stage) -> None:
    """A model that fails before it has said anything, and the one that stands in."""
    stage.screen.scene("A model fails, and another one answers")
    stage.provider.script(refusal(503, "The model is overloaded."), streamed(STOOD_IN))
    after, asked = await stage.bot.runtime.head(), len(stage.provider.requests)

    await stage.ask("<@bot> what is seven times six?")
    await stage.until(TurnEnded, after)

    stage.show_new()
    models = [one.body["model"] for one in stage.provider.requests[asked:]]
    stage.screen.proof(f"asked in this order: {', '.join(models)}")


async def stop(stage: Stage) -> None:
    """An answer that is stopped midway."""
    stage.screen.scene("Stopped the moment she says stop")
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
    stage.screen.scene("The process that writes the answer is killed")
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
    stage.screen.scene("Discord keeps a message and loses the answer")
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
    stage.screen.scene("Every step of it stands in the log")
    turns = await LiveOperations(stage.bot.runtime, SystemClock().now()).turns(len(SCENES))
    stage.screen.console.print()
    out = stage.screen.out
    tables.print_table(at_a_glance(turns, TURNS, width_of(out) or PLAIN_WIDTH), out)
    names = [column.name for column in turns.columns]
    recovered = next(row for row in turns.rows if row[names.index("status")] == "recovered")
    turn_id = recovered[names.index("turn_id")]
    config = f"--config {stage.config}"
    stage.screen.commands(
        f"rejoinder replay {turn_id} {config}",
        f"rejoinder verify {config}",
        f"rejoinder usage {config}",
        f"rejoinder sql {COUNTS} {config}",
    )


SCENES: Final = (answer, table, alter, tool, follow_up, stop, fallback, crash, unconfirmed, figures)
"""All of them, in order."""
