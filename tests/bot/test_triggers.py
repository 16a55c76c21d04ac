"""Which messages ask for an answer, and of whom."""

import pytest
from msgspec import structs

from actors.ports import Quote
from bot.triggers import MessageFacts, trigger_of
from events.base import ChannelId, GuildId, MessageId, TriggerId, UserId
from events.settings import Persona
from events.turn import TriggerReceived

OWN = UserId(100)
PERSONAS = (
    Persona(name="Main", triggers=("hey bot",)),
    Persona(name="Mira", triggers=("mira", "c++")),
    Persona(name="Straße", triggers=("straße",)),
)
IN_GUILD = MessageFacts(
    message_id=MessageId(42),
    channel_id=ChannelId(1187),
    guild_id=GuildId(7),
    author_id=UserId(5),
    author_name="Ada",
    is_human=True,
    is_ordinary=True,
    content="good morning",
    mentions={},
    replies_to=None,
)
NAMES = {100: "Rejoinder", 5: "Ada", 6: "Bob", 9: "mira fan"}


def judge(content: str, **changes: object) -> TriggerReceived | None:
    """Return what a message in a guild is; who is mentioned in it is listed, as Discord does."""
    listed = {number: name for number, name in NAMES.items() if f"{number}>" in content}
    facts = {"content": content, "mentions": listed, **changes}
    return trigger_of(structs.replace(IN_GUILD, **facts), PERSONAS, OWN)


def test_a_mention_of_the_bot_asks_its_main_persona() -> None:
    """The usual way, with everything that a turn needs to know."""
    assert judge("<@100> what is a fold?") == TriggerReceived(
        trigger_id=TriggerId("42"),
        trigger="mention",
        channel_id=ChannelId(1187),
        guild_id=GuildId(7),
        message_id=MessageId(42),
        author_id=UserId(5),
        author_name="Ada",
        content="what is a fold?",
        persona="Main",
    )


@pytest.mark.parametrize(
    ("content", "changes", "kind", "persona"),
    [
        ("<@!100> hi", {}, "mention", "Main"),
        ("well, <@100>?", {}, "mention", "Main"),
        ("<@100> and <@6>", {"replies_to": OWN}, "mention", "Main"),
        ("go on", {"replies_to": OWN}, "reply", "Main"),
        ("go on", {"replies_to": OWN, "mentions": {100: "Rejoinder"}}, "reply", "Main"),
        ("go on", {"guild_id": None}, "direct", "Main"),
        ("", {"guild_id": None}, "direct", "Main"),
        ("<@100> hi", {"guild_id": None}, "direct", "Main"),
        ("Hey Bot, hi", {}, "word", "Main"),
        ("what says MIRA?", {}, "word", "Mira"),
        ("mira", {}, "word", "Mira"),
        ("do you like c++?", {}, "word", "Mira"),
        ("die Straße da", {}, "word", "Straße"),
        ("<@100> mira?", {}, "mention", "Mira"),
        ("mira?", {"guild_id": None}, "direct", "Mira"),
        ("mira or hey bot", {}, "word", "Mira"),
        ("hey bot or mira", {}, "word", "Main"),
    ],
)
def test_what_asks_for_an_answer(
    content: str, changes: dict[str, object], kind: str, persona: str
) -> None:
    """Mention, reply, direct message, trigger word; a word picks its persona."""
    trigger = judge(content, **changes)

    assert trigger is not None
    assert (trigger.trigger, trigger.persona) == (kind, persona)


@pytest.mark.parametrize(
    ("content", "changes"),
    [
        ("good morning", {}),
        ("", {}),
        ("<@6> hi", {}),
        ("<@&100> hi", {}),
        ("go on", {"replies_to": UserId(6)}),
        ("admiral", {}),
        ("miraculous mirage", {}),
        ("hey botany", {}),
        ("<@9> hi", {}),
        ("`<@100>`", {"mentions": {}}),
        ("<@100> hi", {"is_human": False}),
        ("go on", {"guild_id": None, "is_human": False}),
        ("go on", {"guild_id": None, "is_ordinary": False}),
        ("<@100> hi", {"author_id": OWN}),
    ],
)
def test_what_does_not(content: str, changes: dict[str, object]) -> None:
    """A bot that answers unasked, or answers bots, is a nuisance or a loop."""
    assert judge(content, **changes) is None


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ("<@100> hi", "hi"),
        ("  <@!100>, <@100>: hi", "hi"),
        ("<@100>\n\n```py\nx\n```", "```py\nx\n```"),
        ("<@100>", ""),
        ("<@100> ask <@6> and <@!5>", "ask @Bob and @Ada"),
        ("hi <@100> there", "hi @Rejoinder there"),
        ("<@100> who is <@77>?", "who is <@77>?"),
        ("<@100> in <#1187> <@&3> <:x:4>", "in <#1187> <@&3> <:x:4>"),
    ],
)
def test_mentions_become_names(content: str, seen: str) -> None:
    """A model can't read ids; the call at the beginning tells it nothing."""
    trigger = judge(content, mentions=NAMES)

    assert trigger is not None
    assert trigger.content == seen


def test_a_trigger_keeps_what_it_replies_to_and_what_comes_with_it() -> None:
    """The message is answered later, from the log: what is not kept here is lost."""
    quote = Quote(author_name="Bob", beginning="It rains")

    trigger = judge("go on", replies_to=OWN, quote=quote, extras=("sticker: Umbrella",))

    assert trigger is not None
    assert (trigger.quoted_author, trigger.quoted) == ("Bob", "It rains")
    assert trigger.extras == ("sticker: Umbrella",)
