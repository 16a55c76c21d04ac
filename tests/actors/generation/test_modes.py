"""How an answer comes, by the settings of a guild: over real sockets, from provider to channel."""

from msgspec.structs import replace

from bot.loopback.script import Answer, say
from events.delivery import Receipt, SendAttempt
from events.generation import ToolCalled
from tests.actors.generation.tooling import Bench, ask, calling
from tests.stack import Stack

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"


def aggregated(stack: Stack) -> None:
    """Have answers come at their end."""
    stack.settings = replace(stack.settings, live_streaming=False)


async def test_v130_a_live_answer_comes_line_by_line_without_delay(stack: Stack) -> None:
    """Who switched pacing off wants the words as they are there."""
    stack.provider.script(say("a\nb\nc"))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    attempts = [one for one in await stack.events(start.turn_id) if isinstance(one, SendAttempt)]
    assert (stack.contents(), ended.messages) == (["a", "b", "c"], 3)
    assert [one.pacing_ms for one in attempts] == [0.0, 0.0, 0.0]


async def test_v131_an_aggregated_answer_is_one_message_with_its_own_lines(stack: Stack) -> None:
    """Doubled line breaks make a list of a poem."""
    aggregated(stack)
    stack.provider.script(Answer(pieces=("a\nb\n", "\nc")))

    await stack.run_to_end(await stack.ask())

    assert stack.contents() == ["a\nb\n\nc"]


async def test_v132_what_was_said_before_a_call_stands_before_the_tool_runs(stack: Stack) -> None:
    """A silent bot that looks something up seems dead, however its answers come."""
    aggregated(stack)
    stack.tools = Bench().registry()
    call = calling(("echo", '{"word":"x"}'), text=("Looking.",))
    stack.provider.script(call, say("Found."))
    start = await ask(stack)

    await stack.run_to_end(start)

    recorded = await stack.recorded(start.turn_id)
    said = next(one.position for one in recorded if isinstance(one.event, Receipt))
    called = next(one.position for one in recorded if isinstance(one.event, ToolCalled))
    assert said < called
    assert stack.contents() == ["Looking.", "Found."]


async def test_v133_text_table_text_arrive_in_this_order_in_either_mode(stack: Stack) -> None:
    """A picture that overtakes its introduction explains nothing."""
    answer = f"Intro\n{TABLE}Outro"
    stack.provider.script(say(answer), say(answer))

    await stack.run_to_end(await stack.ask())
    aggregated(stack)
    await stack.run_to_end(await stack.ask())

    own = stack.discord.bot_user.id
    posts = [one for one in stack.discord.messages(stack.channel_id) if one.author.id == own]
    shape = [(one.content, len(one.attachments), len(one.components)) for one in posts]
    assert shape == [("Intro", 0, 0), ("", 1, 1), ("Outro", 0, 0)] * 2


async def test_v139_a_stop_of_the_text_path_does_not_outlive_its_turn(stack: Stack) -> None:
    """A model that left its part once must not silence a channel."""
    stack.settings = replace(stack.settings, stops_at_speakers=True)
    stack.provider.script(say("Fine.\nAnn: hey\n"), say("Again, fine.\nReally.\n"))

    await stack.run_to_end(await stack.ask())
    ended = await stack.run_to_end(await stack.ask())

    assert stack.contents() == ["Fine.", "Again, fine.", "Really."]
    assert (ended.status, ended.stop_reason) == ("completed", "stop")
