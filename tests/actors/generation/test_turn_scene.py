"""What a turn's text knows of the place and the company, over real sockets."""

import asyncio

import pytest
from msgspec.structs import replace

from actors.generation.scene import scene_of
from actors.ports import HistoryMessage
from bot import notices
from bot.loopback.discord.faults import Fault as DiscordFault
from bot.loopback.script import Answer, say
from events.base import MessageId, TurnId
from events.delivery import SendAttempt
from events.generation import Flush, RequestOpened
from events.scene import Participant
from events.settings import Persona, Sprite
from events.turn import TurnStarted
from tests.stack import Stack

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"


async def beginning(stack: Stack, turn_id: TurnId) -> TurnStarted:
    """Return the start of a turn as it is on record."""
    first = (await stack.events(turn_id))[0]
    assert isinstance(first, TurnStarted)
    return first


async def test_t42_an_answer_pings_whom_it_names_and_emojis_are_those_of_the_guild(
    stack: Stack,
) -> None:
    """The names and the emojis are recorded with the turn, so that a replay reads the same."""
    mug = stack.discord.world.add_emoji(stack.guild_id, "mug")
    stack.provider.script(say("Hi @Ann and @bob :mug:"))
    start = await stack.ask()

    await stack.run_to_end(start)

    assert stack.contents() == [f"Hi <@{stack.author_id}> and bob", f"<:mug:{mug.id}>"]
    post = stack.discord.messages(stack.channel_id)[-2]
    assert [int(one) for one in post.pings.users] == [stack.author_id]
    scene = (await beginning(stack, start.turn_id)).scene
    assert [one.name for one in scene.emojis] == ["mug"]
    assert [one.user_id for one in scene.participants] == [stack.author_id]


async def test_a_guild_whose_emojis_cannot_be_had_is_answered_all_the_same(stack: Stack) -> None:
    """A missing picture is no reason to be silent."""
    stack.discord.fail(DiscordFault(route="lookup", status=500, times=9))
    stack.provider.script(say("Hi."))

    ended = await stack.run_to_end(await stack.ask())

    assert (ended.status, stack.contents()) == ("completed", ["Hi."])


WRONG = "Bob (smug): hi\n"
"""An answer that begins as somebody who is not asked."""
ORDER = "Answer as Rejoinder, for nobody else, and put no name before it."


async def attempts(stack: Stack, turn_id: TurnId) -> list[str]:
    """Return why each request of the turn was made."""
    events = await stack.events(turn_id)
    return [one.attempt for one in events if isinstance(one, RequestOpened)]


def orders(stack: Stack) -> list[int]:
    """Return how often each request told the model whose part is its own."""
    bodies = [one.body["messages"] for one in stack.provider.requests]
    return [sum(message["content"].count(ORDER) for message in body) for body in bodies]


async def test_t37_an_answer_that_begins_as_somebody_else_is_asked_for_again(stack: Stack) -> None:
    """The model took another part: its stream is closed at once, and it is told its own."""
    gate = asyncio.Event()
    stack.provider.script(
        Answer(pieces=(WRONG, "more", "\n"), gates={2: gate}), say("It is me."), say("Unasked.")
    )
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert (ended.status, stack.contents()) == ("completed", ["It is me."])
    assert ended.withheld["speaker_guard"] == len(WRONG)
    assert stack.provider.requests[0].ending == "client_closed"
    assert await attempts(stack, start.turn_id) == ["first", "retry"]
    assert orders(stack) == [0, 1]


async def test_v118_the_third_wrong_beginning_is_said_without_its_label(stack: Stack) -> None:
    """An answer in the wrong clothes is better than none."""
    stack.provider.script(say(WRONG), say(WRONG), say(WRONG))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert (ended.status, stack.contents()) == ("completed", ["hi"])
    assert ended.withheld["speaker_guard"] == 2 * len(WRONG)
    assert ended.withheld["label"] == len("Bob (smug): ")
    assert await attempts(stack, start.turn_id) == ["first", "retry", "retry"]
    assert orders(stack) == [0, 1, 1]


async def test_t37_silence_counts_with_wrong_beginnings(stack: Stack) -> None:
    """However a model manages to say nothing, it is asked three times in all."""
    stack.provider.script(Answer(), say(WRONG), say(WRONG))
    start = await stack.ask()

    ended = await stack.run_to_end(start)

    assert (ended.status, stack.contents(), ended.requests) == ("completed", ["hi"], 3)


async def test_t37_a_turn_that_may_not_ask_again_ends_without_a_word(stack: Stack) -> None:
    """What was meant as somebody else's words is said by nobody."""
    stack.limits = replace(stack.limits, empty_retries=0)
    stack.provider.script(say(WRONG))

    ended = await stack.run_to_end(await stack.ask())

    assert (ended.status, ended.stop_reason) == ("empty_response", "speaker_guard")
    assert stack.contents() == [notices.EMPTY_ANSWER]


async def test_t45_an_answer_ends_where_somebody_else_begins(stack: Stack) -> None:
    """What was said until then is posted; the rest was never the persona's."""
    stack.settings = replace(stack.settings, stops_at_speakers=True)
    gate = asyncio.Event()
    pieces = ("Fine.\nAnn: hey\nmo", "re")
    stack.provider.script(Answer(pieces=pieces, gates={1: gate}))

    ended = await stack.run_to_end(await stack.ask())

    assert stack.contents() == ["Fine."]
    assert (ended.status, ended.stop_reason) == ("completed", "speaker_guard")
    assert ended.received == ended.delivered + sum(ended.withheld.values())
    assert stack.provider.requests[0].ending == "client_closed"


async def test_t98_a_table_goes_out_between_its_neighbours_as_a_picture(stack: Stack) -> None:
    """Raw pipes are hard to read."""
    stack.provider.script(say(f"Look:\n{TABLE}\nDone."))
    start = await stack.ask()

    await stack.run_to_end(start)

    assert stack.contents() == ["Look:", "", "Done."]
    sent = [one for one in await stack.events(start.turn_id) if isinstance(one, SendAttempt)]
    assert [len(one.attachments) for one in sent] == [0, 1, 0]


async def test_t26_half_a_clause_before_a_tool_call_is_trimmed_on_replay_as_it_was_live(
    stack: Stack,
) -> None:
    """A call is told from a stop by what came, not by the boundary that both have."""
    call = '{"index":0,"id":"1","function":{"name":"look","arguments":"{}"}}'
    stack.provider.script(
        Answer(
            payloads=(
                '{"choices":[{"index":0,"delta":{"content":"Let me look. I will che"}}]}',
                '{"choices":[{"index":0,"delta":{"tool_calls":[' + call + "]}}]}",
                '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
            )
        )
    )

    ended = await stack.run_to_end(await stack.ask())

    assert stack.contents()[0] == "Let me look."
    assert ended.withheld["clause"] == len(" I will che")


async def test_t6_what_details_say_is_in_the_log(stack: Stack) -> None:
    """Nothing that a model wrote is lost without a word."""
    stack.provider.script(say("Hi.<details><summary>S</summary>a note</details>"))
    start = await stack.ask()

    await stack.run_to_end(start)

    flushes = [one for one in await stack.events(start.turn_id) if isinstance(one, Flush)]
    assert [note for one in flushes for note in one.details] == ["a note"]


async def test_t34_a_flush_says_under_whose_looks_it_is_spoken(stack: Stack) -> None:
    """Delivery posts it under that sprite, or that name."""
    stack.provider.script(say("Ren (MAD): grr\nso\nRen (ann): as you\nme"))
    ren = Persona(name="Ren", sprites=(Sprite(key="mad", image="mad.png"),))
    start = replace(await stack.ask(), personas=(ren,))

    await stack.run_to_end(start)

    flushes = [one for one in await stack.events(start.turn_id) if isinstance(one, Flush)]
    assert [(one.modifier, one.is_copied) for one in flushes] == [
        ("mad", False),
        ("mad", False),
        ("Ann", True),
        ("", False),
    ]


@pytest.mark.parametrize("is_alter", [False, True])
async def test_t38_a_scene_is_read_from_the_past(stack: Stack, is_alter: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Who takes part, what was said under which name, and which emojis are worn out."""

    def wrote(number: int, name: str, content: str, *, own: bool = False) -> HistoryMessage:
        return HistoryMessage(
            message_id=MessageId(number),
            author_id=number,
            author_name=name,
            author_handle=name.lower(),
            is_own=own,
            content=content,
        )

    history = [
        wrote(1, "Bea", "Note: hi"),
        wrote(2, "Bot", "so <:Mug:1> :cat:", own=True),
        wrote(3, "Ren", "I :dog:"),
    ]
    asked = await stack.ask()
    personas = (Persona(name="Rejoinder"), Persona(name="Ren", triggers=("lil",)))
    trigger = replace(asked.trigger, persona="Ren" if is_alter else "Rejoinder")
    start = replace(asked, personas=personas, trigger=trigger)

    scene = scene_of(start, history, ())

    assert scene.recent_emojis == (("dog",) if is_alter else ("mug", "cat"))
    assert scene.seen_labels == ("note",)
    assert scene.aliases == (("lil",) if is_alter else ())
    members = [one.names for one in scene.participants if one.user_id is not None]
    assert members == [("Bea", "bea"), ("Ann",)]
    other = ("Rejoinder",) if is_alter else ("Ren", "lil")
    assert scene.participants[-1] == Participant(names=other)
