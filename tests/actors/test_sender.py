"""What the sender promises: at most one POST a message, and an outcome on record for each."""

import asyncio

import pytest

from actors.ports import NotPosted, NotSent, Sent
from actors.sender import Sender
from events.base import (
    MessageId,
)
from events.delivery import Receipt, SendAttempt, SendFailed
from tests.actors.delivery.fakes import (
    CHANNEL,
    OTHER_CHANNEL,
    OTHER_TURN,
    TURN,
    LogFace,
    ScriptedMessenger,
)
from tests.actors.sending import LOST, REFUSED, UNREACHED, request


async def test_t131_the_attempt_is_durable_before_the_request_leaves(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """After a crash in the middle of a POST the log must already name the message."""
    messenger.writing.shut()

    sending = asyncio.create_task(sender.send(request()))
    await messenger.writing.until()

    [recorded] = await log.delivery()
    assert isinstance(recorded, SendAttempt)
    assert (recorded.attempt, recorded.content, recorded.reply_to) == (1, "1.0", MessageId(9))
    assert (recorded.pacing_ms, recorded.rate_limit_ms) == (3.0, 5.0)
    messenger.writing.open()
    assert await sending == Sent(attempt=1, flush=1, piece=0, message_id=MessageId(1001))


async def test_t130_a_posted_message_has_a_receipt(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """A message that Discord confirmed counts as delivered, under the id it was given."""
    result = await sender.send(request())

    _, receipt = await log.delivery()
    assert isinstance(result, Sent)
    assert receipt == Receipt(
        attempt=1, message_id=MessageId(1001), destination_id=CHANNEL, ms=2.0, tries=1
    )
    assert messenger.waited == [5.0]


@pytest.mark.parametrize("outcome", [LOST, REFUSED, UNREACHED], ids=lambda one: one.outcome)
async def test_t130_a_message_that_was_not_posted_has_its_one_outcome_on_record(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger, outcome: NotPosted
) -> None:
    """Whoever asks why a message is missing finds it in the log."""
    messenger.outcomes = [outcome]

    result = await sender.send(request())

    _, failed = await log.delivery()
    assert failed == SendFailed(
        attempt=1,
        outcome=outcome.outcome,
        reason=outcome.reason,
        code=outcome.code,
        http_status=outcome.http_status,
        tries=outcome.tries,
    )
    assert result == NotSent(
        flush=1,
        piece=0,
        attempt=1,
        outcome=outcome.outcome,
        reason=outcome.reason,
        code=outcome.code,
    )


async def test_t135_nothing_follows_a_message_whose_fate_is_unknown(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """A second message after a lost one could stand there twice or out of order."""
    messenger.outcomes = [LOST]
    await sender.send(request(flush=1))

    result = await sender.send(request(flush=2))

    assert result == NotSent(
        flush=2, piece=0, attempt=None, outcome="stopped", reason="unconfirmed"
    )
    assert len(messenger.posted) == 1
    assert len(await log.delivery()) == 2


async def test_t135_another_turn_goes_on_after_one_turn_lost_a_message(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """What is unknown of one answer must not silence the next."""
    messenger.outcomes = [LOST]
    await sender.send(request())

    result = await sender.send(request(turn_id=OTHER_TURN))

    assert isinstance(result, Sent)


async def test_messages_of_one_channel_leave_one_at_a_time_in_the_order_asked(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """Two requests under way at once would reach the channel in any order, whatever their turns."""
    messenger.writing.shut()
    requests = [request(1), request(2), request(1, turn_id=OTHER_TURN), request(3)]

    sending = [asyncio.create_task(sender.send(one)) for one in requests]
    await messenger.writing.until()
    for _ in range(20):
        await asyncio.sleep(0)  # time enough for the others to go
    under_way = len(messenger.posted)
    messenger.writing.open()
    results = await asyncio.gather(*sending)

    assert under_way == 1
    assert [draft.content for draft in messenger.posted] == ["1.0", "2.0", "1.0", "3.0"]
    assert [result.attempt for result in results] == [1, 2, 1, 3]


async def test_a_channel_does_not_wait_for_another(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """One channel's slow POST must not hold up the whole bot."""
    messenger.writing.shut()

    sending = [
        asyncio.create_task(sender.send(request())),
        asyncio.create_task(sender.send(request(turn_id=OTHER_TURN, channel_id=OTHER_CHANNEL))),
    ]
    await messenger.writing.until(2)

    assert len(messenger.posted) == 2
    messenger.writing.open()
    await asyncio.gather(*sending)


async def test_a_repeated_request_waits_for_the_post_under_way_and_shares_its_outcome(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """A caller that lost the answer of its call asks again; Discord must see one message."""
    messenger.writing.shut()

    sending = [asyncio.create_task(sender.send(request())) for _ in range(2)]
    await messenger.writing.until()
    messenger.writing.open()
    first, second = await asyncio.gather(*sending)

    assert first == second
    assert len(messenger.posted) == 1


async def test_p185_a_caller_that_goes_away_leaves_the_outcome_on_record(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """A turn that is cancelled must not leave a message that nobody accounts for."""
    messenger.writing.shut()
    sending = asyncio.create_task(sender.send(request()))
    await messenger.writing.until()

    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    messenger.writing.open()
    await sender.aclose()

    assert [type(one) for one in await log.delivery()] == [SendAttempt, Receipt]


async def test_b31_a_caller_that_goes_away_while_waiting_holds_nobody_up(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """The channel must stay usable after a cancelled send."""
    messenger.readiness.shut()
    sending = asyncio.create_task(sender.send(request()))
    await messenger.readiness.until()
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)

    messenger.readiness.open()
    result = await sender.send(request(flush=2))

    assert isinstance(result, Sent)


async def test_p185_a_post_that_is_cancelled_with_its_process_is_recorded_as_unconfirmed(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """The request may have been taken, so the log must not show it as open or as never sent."""
    messenger.writing.shut()
    sending = asyncio.create_task(sender.send(request()))
    await messenger.writing.until()

    [post] = [task for task in asyncio.all_tasks() if task.get_name() == f"post {TURN}"]
    post.cancel()
    await asyncio.gather(sending, return_exceptions=True)

    _, failed = await log.delivery()
    assert isinstance(failed, SendFailed)
    assert (failed.outcome, failed.reason) == ("unconfirmed", "cancelled")


async def test_a_messenger_that_breaks_leaves_an_unconfirmed_message(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """No attempt stays without an outcome, whatever goes wrong in between."""
    messenger.outcomes = [ValueError("a bug")]

    result = await sender.send(request())

    assert isinstance(result, NotSent)
    assert (result.outcome, result.reason) == ("unconfirmed", "client_error")
    assert isinstance((await log.delivery())[1], SendFailed)


async def test_t133_a_limit_beyond_the_budget_is_on_record_with_nothing_written(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """Text that is lost to a rate limit must not vanish from the log."""
    messenger.refuse_ready = NotPosted(outcome="definite_refusal", reason="rate_limited")

    result = await sender.send(request())

    tried, failed = await log.delivery()
    assert isinstance(tried, SendAttempt)
    assert isinstance(failed, SendFailed)
    assert (failed.outcome, failed.reason, failed.tries) == ("definite_refusal", "rate_limited", 0)
    assert isinstance(result, NotSent)
    assert messenger.posted == []


async def test_closing_waits_for_the_outcome_under_way_and_takes_nothing_more(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """A shutdown must not turn a message that arrives into one that nobody knows of."""
    messenger.writing.shut()
    sending = asyncio.create_task(sender.send(request()))
    await messenger.writing.until()

    closing = asyncio.create_task(sender.aclose())
    await asyncio.sleep(0)
    late = await sender.send(request(flush=2))
    messenger.writing.open()
    await closing

    assert isinstance(await sending, Sent)
    assert isinstance(late, NotSent)
    assert (late.outcome, late.reason) == ("stopped", "shutdown")
