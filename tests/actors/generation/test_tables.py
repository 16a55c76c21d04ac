"""Tables on their way to Discord: pictures, and what is posted where there can be none."""

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from actors.generation import replay
from actors.generation.tables import table_drafts
from actors.ports import Sent
from bot.loopback.discord.faults import Fault
from events.base import ChannelId, delivery_stream
from events.codec import append_of
from events.delivery import COMPONENTS_REFUSED, SendAttempt, SendFailed
from tests.stack import Stack
from tests.table_turns import TABLE, UNDRAWABLE, TableTurn, long_table

BUTTON_REFUSED = Fault(status=400, field="components")


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """Yield everything that a turn touches."""
    async with Stack() as stack:
        yield stack


@pytest.fixture
async def turn(stack: Stack) -> AsyncIterator[TableTurn]:
    """Yield a turn."""
    turn = await TableTurn.begin(stack)
    yield turn
    await turn.aclose()


async def test_v133_a_table_is_a_picture_with_a_button_between_the_texts(turn: TableTurn) -> None:
    """Nobody has to read pipes, and the order of the answer stays."""
    await turn.flush("Before", TABLE, "After @everyone")

    before, table, after = turn.messages
    [picture] = table.attachments
    [row] = table.components
    assert (before.content, table.content, after.content) == ("Before", "", "After @everyone")
    assert picture.filename.startswith("markdown_table_")
    assert picture.filename.removeprefix("markdown_table_").removesuffix(".png").isdigit()
    assert picture.data.startswith(b"\x89PNG")
    assert row["components"] == [
        {
            "type": 2,
            "style": 2,
            "label": "Show Markdown",
            "custom_id": "markdown_table_show_source",
            "disabled": False,
        }
    ]
    assert table.allowed_mentions is not None
    assert (table.allowed_mentions.parse, table.allowed_mentions.users) == ((), ())
    attempt = (await turn.attempts())[1]
    assert attempt.attachments == (hashlib.sha256(picture.data).hexdigest(),)
    assert attempt.buttons == ("markdown_table_show_source",)


async def test_a_long_table_is_one_message_of_several_pictures(turn: TableTurn) -> None:
    """Its pages stay together under one button."""
    await turn.flush(long_table(80))

    [message] = turn.messages
    first, second, *_ = message.attachments
    assert second.filename == first.filename.replace(".png", "_2.png")
    assert len(message.components) == 1


async def test_v165_a_table_refused_for_its_button_is_posted_once_more_without(
    stack: Stack, turn: TableTurn
) -> None:
    """The picture matters, the button is a convenience; each post has its own record."""
    stack.discord.fail(BUTTON_REFUSED)

    await turn.flush(TABLE)

    [message] = turn.messages
    assert (message.components, len(message.attachments)) == ((), 1)
    refused, posted = await turn.attempts()
    assert (refused.buttons, posted.buttons) == (("markdown_table_show_source",), ())
    assert refused.attachments == posted.attachments
    assert [type(one).__name__ for one in await turn.events()] == [
        "SendAttempt",
        "SendFailed",
        "SendAttempt",
        "Receipt",
    ]
    assert turn.deliverer.ending is None
    assert await stack.sender.table_source(message.id) is None


async def test_t103_a_second_refusal_is_the_last(stack: Stack, turn: TableTurn) -> None:
    """One post more is allowed, not a loop."""
    stack.discord.fail(Fault(status=400, field="components", times=None))

    await turn.flush(TABLE)

    assert len(stack.discord.posts) == 2
    assert turn.deliverer.ending == "refused"


async def test_t103_any_other_refusal_of_a_table_is_final(stack: Stack, turn: TableTurn) -> None:
    """Only a complaint about the button says that the rest is welcome."""
    stack.discord.fail(Fault(status=400, field="content"))

    await turn.flush(TABLE)

    assert len(stack.discord.posts) == 1
    assert turn.deliverer.ending == "refused"


async def test_t136_a_table_whose_fate_is_unknown_is_never_posted_again(
    stack: Stack, turn: TableTurn
) -> None:
    """It may stand in the channel."""
    stack.discord.fail(Fault(action="reset", when="after"))

    await turn.flush(TABLE)

    assert len(stack.discord.posts) == 1
    assert turn.deliverer.ending == "unconfirmed"


async def test_t103_a_sender_lost_after_the_refusal_leaves_the_plain_post_to_the_next(
    stack: Stack, turn: TableTurn
) -> None:
    """The refusal is on record, so the button is not tried again."""
    scope, turn_id = turn.start.scope, turn.start.turn_id
    refused = SendAttempt(
        attempt=1,
        flush=1,
        channel_id=turn.start.channel_id,
        content="",
        buttons=("markdown_table_show_source",),
    )
    reason = SendFailed(attempt=1, outcome="definite_refusal", reason=COMPONENTS_REFUSED)
    now = stack.clock.now()
    await stack.log().append(
        append_of(
            delivery_stream(turn_id), [(refused, now), (reason, now)], scope=scope, expected_seq=0
        )
    )

    await turn.flush(TABLE)

    [message] = turn.messages
    assert (message.components, len(message.attachments)) == ((), 1)


async def test_t100_a_table_that_can_not_be_drawn_is_posted_in_code_blocks(turn: TableTurn) -> None:
    """Each under its header, and the piece is delivered with the last of them."""
    await turn.flush(UNDRAWABLE)

    contents = [one.content for one in turn.messages]
    assert len(contents) > 1
    header = UNDRAWABLE.partition("\n")[0]
    assert all(one.startswith(f"```\n{header}") and one.endswith("```") for one in contents)
    assert sum(one.count("\n| b ") for one in contents) == 20
    assert [one.reply_to is not None for one in turn.messages] == [True] + [False] * (
        len(contents) - 1
    )
    assert (turn.deliverer.messages, turn.deliverer.delivered) == (1, len(UNDRAWABLE))
    account = await turn.account()
    assert account.messages == {(1, 0): turn.messages[-1].id}
    assert account.characters == len(UNDRAWABLE)


async def test_t100_parts_posted_before_a_crash_are_not_posted_again(
    stack: Stack, turn: TableTurn
) -> None:
    """A table of several messages is gone on with where it was left."""
    flush = await turn.flush(UNDRAWABLE)
    posted = len(turn.messages)
    await stack.kill_sender()

    again = TableTurn(stack, turn.start, 1)
    parts = [one for one in await again.results() if isinstance(one, Sent) and one.part]
    again.deliverer.recall([flush], parts)
    assert not again.deliverer.has_posted
    await again.put(flush)

    assert len(turn.messages) == posted
    assert again.deliverer.delivered == len(UNDRAWABLE)
    await again.aclose()


async def test_t136_a_table_is_drawn_again_after_a_crash_with_the_same_digest(
    stack: Stack, turn: TableTurn
) -> None:
    """No picture is kept; the source in the log is enough."""
    flush = await turn.record(TABLE)
    await stack.kill_sender()

    again = TableTurn(stack, turn.start, 1)
    again.deliverer.recall([flush], await again.results())
    await again.put(flush)

    [attempt] = await again.attempts()
    drafts = await table_drafts(TABLE, ChannelId(1), stack.clock.now())

    digests = tuple(hashlib.sha256(file.data).hexdigest() for file in drafts[0].files)
    assert attempt.attachments == digests
    await again.aclose()


async def test_t100_a_picture_that_breaks_falls_back_to_the_source() -> None:
    """Whatever a font or a library meets, the table is told."""

    def broken(source: str) -> tuple[bytes, ...]:
        raise MemoryError(source)

    [draft] = await table_drafts(TABLE, ChannelId(1), datetime(2026, 1, 1, tzinfo=UTC), draw=broken)

    assert draft.content == f"```\n{TABLE}```"
    assert (draft.files, draft.buttons) == ((), ())


async def test_t107_history_shows_the_source_in_place_of_the_picture(
    stack: Stack, turn: TableTurn
) -> None:
    """A model that can't see its own table repeats it, or forgets it."""
    await turn.flush("Before", TABLE)

    past = await stack.sender.history(stack.channel_id, before=None, limit=5)

    assert [one.content for one in past][-2:] == ["Before", TABLE.strip()]


@pytest.mark.parametrize("source", [TABLE, UNDRAWABLE], ids=["picture", "code blocks"])
async def test_what_was_posted_for_a_table_is_what_a_replay_expects(
    turn: TableTurn, source: str
) -> None:
    """Every table would be reported as a difference, and real ones would drown."""
    flush = await turn.flush(source)

    contents = replay._contents  # pyright: ignore[reportPrivateUsage] - the text path makes no tables
    sent = await turn.attempts()
    assert all(one.content in contents(flush.pieces[0], one) for one in sent)
    assert not any("raw" in contents(flush.pieces[0], one) for one in sent)
