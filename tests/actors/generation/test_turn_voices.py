"""Turns of an alter over real sockets: whose name is shown, and that the log tells all of it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.loopback.discord.entities import BOT_PERMISSIONS, Permission, StoredMessage
from bot.loopback.discord.faults import Fault
from bot.loopback.script import Answer, say
from events.delivery import Receipt, Retraction, SendAttempt
from events.settings import Persona, Sprite
from tests.actors.generation.test_other_models import FAILS_LATE, ask, model
from tests.actors.generation.test_takeover import take_over
from tests.stack import Stack
from tests.table_turns import TABLE

FACE = "https://example.org/touko.png"
MAD = "https://example.org/mad.png"
ALTER = Persona(name="Touko", avatar=FACE, sprites=(Sprite(key="mad", image=MAD),))


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """Yield a place with an alter."""
    async with Stack() as one:
        one.personas = (*one.personas, ALTER)
        yield one


def said(stack: Stack) -> list[StoredMessage]:
    """Return what stands below the question."""
    return [one for one in stack.discord.messages(stack.channel_id) if one.author.is_bot]


def seen(stack: Stack) -> list[tuple[str, str]]:
    """Return the name and the text of each message but the lines that say what is answered."""
    return [(one.author.username, one.content) for one in said(stack) if not one.embeds]


async def test_v151_an_alter_answers_in_its_own_name_and_shows_its_moods(stack: Stack) -> None:
    """The whole path: labels of the model become pictures, and the log still replays."""
    stack.provider.script(say("Hm.\nTouko (mad): What?\nGo away."))
    start = await stack.ask("Who are you?", persona="Touko")

    ended = await stack.run_to_end(start)

    notice, *body = said(stack)
    receipts = [one for one in await stack.events(start.turn_id) if isinstance(one, Receipt)]
    [embed] = notice.embeds
    author = embed["author"]
    assert isinstance(author, dict)
    assert author["name"] == "Replying to Ann"
    assert [(one.author.username, one.author.avatar, one.content) for one in body] == [
        ("Touko", FACE, "Hm."),
        ("Touko (mad)", MAD, "What?"),
        ("Touko (mad)", MAD, "Go away."),
    ]
    assert (ended.messages, len(receipts)) == (3, 4)
    assert [one.sprite for one in receipts] == [None, None, "mad", "mad"]
    assert {one.persona for one in receipts} == {"Touko"}


async def test_t142_without_webhooks_the_bot_says_whose_words_they_are(stack: Stack) -> None:
    """D26: an alter must not be mistaken for the bot itself; and the log still replays."""
    stack.discord.world.set_bot_permissions(
        stack.channel_id, BOT_PERMISSIONS & ~Permission.MANAGE_WEBHOOKS
    )
    stack.provider.script(say("One.\nTwo."))
    start = await stack.ask(persona="Touko")

    ended = await stack.run_to_end(start)

    first, second = said(stack)
    assert [first.content, second.content] == ["**Touko:** One.", "**Touko:** Two."]
    assert (first.reply_to, second.reply_to) == (start.trigger.message_id, None)
    assert (ended.status, ended.delivered) == ("completed", len("One.Two."))


async def test_b21_a_webhook_that_somebody_deletes_meanwhile_costs_nothing(stack: Stack) -> None:
    """The persona goes on through a new one, and nothing is said twice."""
    gate = asyncio.Event()
    stack.provider.script(Answer(pieces=("One.\nTwo.\nThr", "ee"), gates={1: gate}))
    start = await stack.ask(persona="Touko")
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt, 3)
    stack.discord.world.webhooks.clear()
    gate.set()
    await running

    await stack.end_of(start.turn_id)

    assert seen(stack) == [("Touko", "One."), ("Touko", "Two."), ("Touko", "Three")]


@pytest.mark.parametrize("receipts", [1, 2, 3])
async def test_v151_a_crash_repeats_neither_the_notice_nor_a_message(
    stack: Stack, receipts: int
) -> None:
    """At most once holds for every voice; the first receipt is that of the line above."""
    stack.provider.script(Answer(pieces=("One.\nTwo.\nThr", "ee"), gates={1: asyncio.Event()}))
    start = await stack.ask(persona="Touko")
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt, receipts)
    await stack.kill_turns(running)
    await stack.kill_sender()

    ended = await take_over(stack, start)

    assert ended.status in {"recovered", "unconfirmed"}
    assert sum(bool(one.embeds) for one in said(stack)) == 1
    contents = [content for _, content in seen(stack)]
    assert contents == ["One.", "Two.", "Thr"][: len(contents)]
    if ended.status == "recovered":
        assert contents == ["One.", "Two.", "Thr"]


async def test_v153_an_unconfirmed_notice_is_the_turns_last_word(stack: Stack) -> None:
    """Nobody knows whether it stands, so nothing may follow it."""
    stack.discord.fail(Fault(route="webhook", status=503, when="after"))
    stack.provider.script(say("One."))
    start = await stack.ask(persona="Touko")

    ended = await stack.run_to_end(start)

    attempts = [one for one in await stack.events(start.turn_id) if isinstance(one, SendAttempt)]
    assert (ended.status, ended.messages) == ("unconfirmed", 0)
    assert [one.purpose for one in attempts] == ["reply_notice"]
    assert seen(stack) == []


async def test_t165_another_models_answer_takes_the_place_of_a_failed_one(stack: Stack) -> None:
    """Messages of a webhook are deleted through it; the line above still fits the new answer."""
    stack.provider.script(FAILS_LATE, say("All of it."))
    start = await ask(stack, model(stack, "a"), model(stack, "b"), persona="Touko")

    await stack.run_to_end(start)

    done = [one for one in await stack.events(start.turn_id) if isinstance(one, Retraction)]
    deletions = [one.path for one in stack.discord.requests if one.kind == "delete"]
    assert [one.is_done for one in done] == [False, True]
    assert deletions
    assert all("/webhooks/" in path for path in deletions)
    answer, notice = seen(stack)
    assert answer == ("Touko", "All of it.")
    assert notice[0] == "Touko"


async def test_v133_a_table_of_an_alter_is_a_picture_with_a_button(stack: Stack) -> None:
    """Files and buttons go through the webhook as they do through the bot."""
    stack.provider.script(say(f"Look:\n{TABLE}"))
    start = await stack.ask(persona="Touko")

    await stack.run_to_end(start)

    *_, table = said(stack)
    assert (table.author.username, table.content) == ("Touko", "")
    assert table.attachments[0].filename.startswith("markdown_table_")
    assert table.components


async def test_t103_a_webhooks_button_that_is_refused_is_left_away_once(stack: Stack) -> None:
    """A refusal for the button is no refusal of the webhook: no other way is taken."""
    stack.provider.script(say(TABLE))
    start = await stack.ask(persona="Touko")
    stack.discord.fail(Fault(route="webhook", action="slow"))
    stack.discord.fail(Fault(route="webhook", status=400, field="components"))

    await stack.run_to_end(start)

    attempts = [one for one in await stack.events(start.turn_id) if isinstance(one, SendAttempt)]
    assert [(one.route, len(one.buttons)) for one in attempts] == [
        ("webhook", 0),
        ("webhook", 1),
        ("webhook", 0),
    ]
    assert said(stack)[-1].author.username == "Touko"


async def test_t149_the_main_persona_shows_a_mood_and_returns_to_itself(stack: Stack) -> None:
    """T149: plain lines of the main persona are the bot's own."""
    stack.personas = (
        Persona(name="Rejoinder", sprites=(Sprite(key="mad", image=MAD),)),
        *stack.personas[1:],
    )
    stack.provider.script(say("Rejoinder (mad): No!\nRejoinder: Fine."))

    await stack.run_to_end(await stack.ask())

    assert [(bool(one.webhook_id), one.content) for one in said(stack) if not one.embeds] == [
        (True, "No!"),
        (False, "Fine."),
    ]
