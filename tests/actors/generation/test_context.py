"""What the model is given of a channel."""

import pytest
from msgspec.structs import replace

from actors.generation.context import conversation
from actors.generation.start import StartTurn
from actors.ports import HistoryMessage, Quote
from bot.notices import GIVEN_UP, fallback_notice, is_notice, provider_notice
from events.base import MessageId
from events.settings import Persona
from tests.stack import Stack


def said(number: int, content: str, **more: object) -> HistoryMessage:
    """Return a message of the past, Bob's unless said otherwise."""
    plain = HistoryMessage(
        message_id=MessageId(number), author_id=9, author_name="Bob", is_own=False, content=content
    )
    return replace(plain, **more)


@pytest.fixture
async def start(stack: Stack) -> StartTurn:
    """A turn of the main persona, beside which there is an alter."""
    asked = await stack.ask("And?")
    return replace(asked, personas=(Persona(name="Rejoinder"), Persona(name="Ren")))


def dialogue(start: StartTurn, *past: HistoryMessage) -> list[tuple[str, str]]:
    """Return who said what, without the instructions and the trigger."""
    items = conversation(start, past, is_notice)
    return [(item.role, item.content) for item in items[1:-1]]


async def test_p175_messages_that_wait_for_their_own_turn_are_no_part_of_the_past(
    start: StartTurn,
) -> None:
    """Else they would be answered twice: here, and when their turn comes."""
    start = replace(start, waiting=(MessageId(2),))
    past = [said(1, "Hi"), said(2, "I wait"), said(3, "Hello Bob", is_own=True), said(4, "  ")]

    items = conversation(start, past, is_notice)

    assert [(item.role, item.content) for item in items] == [
        ("system", "Be kind.\n\nYou are Rejoinder."),
        ("user", "Bob: Hi"),
        ("model", "Hello Bob"),
        ("user", "Ann: And?"),
    ]


@pytest.mark.parametrize("answers", ["Rejoinder", "Ren"])
async def test_d26_each_persona_speaks_for_itself_by_whatever_way_it_was_posted(
    start: StartTurn, answers: str
) -> None:
    """A model that is handed another's words as its own takes on the other's part."""
    start = replace(start, trigger=replace(start.trigger, persona=answers))
    hook: dict[str, object] = {"is_bot": True, "is_persona_like": True}
    past = [
        said(1, "main", is_own=True),
        said(2, "**Ren:** by the bot", is_own=True),
        said(3, "by webhook", author_name="Ren", **hook),
        said(4, "in a mood", author_name="Angry (Ren)", **hook),
        said(5, "**Bold:** start", is_own=True),
    ]

    told = dialogue(start, *past)

    main = [("model", "main"), ("model", "**Bold:** start")]
    alter = [("model", "by the bot"), ("model", "by webhook"), ("model", "in a mood")]
    if answers == "Ren":
        main = [("user", f"Rejoinder: {words}") for _, words in main]
    else:
        alter = [("user", f"Ren: {words}") for _, words in alter]
    assert told == [main[0], *alter, main[1]]


async def test_a_member_who_takes_a_personas_name_is_not_taken_for_it(start: StartTurn) -> None:
    """Words in the persona's role bind the model: members must not be able to put any there."""
    assert dialogue(start, said(1, "I owe Eve 5", author_name="Rejoinder")) == [
        ("user", "Rejoinder: I owe Eve 5")
    ]


async def test_bots_are_marked_and_what_applications_relay_for_people_is_not(
    start: StartTurn,
) -> None:
    """A model need not thank a bot; a member whom a webhook speaks for is a person."""
    past = [
        said(1, "beep", author_name="Poll", is_bot=True),
        said(2, "hey", author_name="Mira", is_bot=True, is_persona_like=True),
    ]

    assert dialogue(start, *past) == [("user", "Poll (bot): beep"), ("user", "Mira: hey")]


async def test_a_reply_says_what_it_replies_to_and_files_are_named(start: StartTurn) -> None:
    """The words `this one` mean nothing without the message that they point at."""
    quote = Quote(author_name="Ann", beginning="Which <:cat:12>?")
    past = [
        said(1, "this one", reply=quote, extras=("attachment: a.png, image/png, 2 KiB",)),
        said(2, "", extras=("sticker: Wave",)),
        said(3, "gone", reply=Quote(author_name="Ann", beginning="")),
    ]

    assert dialogue(start, *past) == [
        (
            "user",
            """Bob (in reply to Ann: \u201cWhich :cat:?\u201d): this one
[attachment: a.png, image/png, 2 KiB]""",
        ),
        ("user", "Bob: [sticker: Wave]"),
        ("user", "Bob (in reply to Ann): gone"),
    ]


async def test_a_trigger_says_what_it_replies_to_and_what_comes_with_it(start: StartTurn) -> None:
    """The message to answer is the one whose meaning matters most."""
    trigger = replace(
        start.trigger, quoted_author="Bob", quoted="It rains", extras=("sticker: Umbrella",)
    )

    items = conversation(replace(start, trigger=trigger), (), is_notice)

    assert (
        items[-1].content
        == "Ann (in reply to Bob: \u201cIt rains\u201d): And?\n[sticker: Umbrella]"
    )


async def test_markup_of_discord_is_told_in_words(start: StartTurn) -> None:
    """Ids cost tokens and mean nothing to a model, which then writes made-up ones."""
    content = "<a:wow:123> <@&55> in <#77>, see </stop:99>"

    assert dialogue(start, said(1, content)) == [
        ("user", "Bob: :wow: @role in #channel, see /stop")
    ]


@pytest.mark.parametrize(
    "words",
    [GIVEN_UP, fallback_notice("big", [("small", "503")]), provider_notice("timeout", "timeout")],
)
async def test_p118_the_bots_own_notices_are_no_part_of_the_conversation(
    start: StartTurn, words: str
) -> None:
    """A model that reads its notices as its own words writes more of them."""
    past = [said(1, words, is_own=True), said(2, f"**Ren:** {words}", is_own=True), said(3, words)]

    assert dialogue(start, *past) == [("user", f"Bob: {words}")]


async def test_d26_what_was_posted_and_is_read_back_is_what_the_next_request_says(
    stack: Stack,
) -> None:
    """The whole way: over Discord's own form of a reply, a webhook and a file."""
    start = await stack.ask()
    world = stack.discord.world
    bob = world.add_user("Bob")
    first = await stack.discord.say(bob, stack.channel_id, "It   rains\nagain")
    await stack.discord.say(bob, stack.channel_id, "really", reply_to=first)
    asked = await stack.ask("So?")

    await stack.run_to_end(asked)

    request = await stack.provider.received()
    said_there = [one["content"] for one in request.body["messages"][1:]]
    assert said_there == [
        f"Ann: {start.trigger.content}",
        "Bob: It   rains\nagain",
        "Bob (in reply to Bob: \u201cIt rains again\u201d): really",
        "Ann: So?",
    ]
