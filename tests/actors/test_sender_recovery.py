"""The sender across lives and epochs: restarts, twins, recoveries."""

import asyncio

import pytest

import actors.sender
from actors.ports import NotPosted, NotSent, Sent
from actors.sender import Sender
from bot.clock import SystemClock
from events.base import (
    MessageId,
    Scope,
    delivery_stream,
)
from events.delivery import Receipt, SendAttempt, SendFailed
from tests.actors.delivery.fakes import (
    CHANNEL,
    OTHER_TURN,
    TURN,
    LogFace,
    ScriptedMessenger,
)
from tests.actors.log_ports import LocalEndpoint, log_client
from tests.actors.sending import LOST, REFUSED, UNREACHED, attempt, record, request


@pytest.mark.parametrize("outcome", [None, REFUSED, LOST], ids=["sent", "refused", "unconfirmed"])
async def test_b26_a_later_life_returns_what_is_on_record_and_posts_nothing(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger, outcome: NotPosted | None
) -> None:
    """A restart must replay neither a delivered message nor a refused one."""
    messenger.outcomes = [outcome] if outcome else []
    first = await sender.send(request())
    later = Sender(log, messenger, log.clock)

    again = await later.send(request())

    assert again == first
    assert len(messenger.posted) == 1
    await later.aclose()


async def test_b26_an_attempt_that_died_with_its_sender_is_unconfirmed_for_ever(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """Nobody knows whether it was posted, so it is never posted again."""
    await record(log, attempt())

    again = await sender.send(request())
    following = await sender.send(request(flush=2))

    assert again == NotSent(
        flush=1, piece=0, attempt=1, outcome="unconfirmed", reason="sender_lost"
    )
    assert following.attempt is None
    assert messenger.posted == []
    assert len(await log.delivery()) == 2


async def test_a_message_of_which_nothing_left_may_be_attempted_again(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """An unplugged cable must not cost the text: Discord has never seen it."""
    messenger.outcomes = [UNREACHED]
    await sender.send(request())

    result = await sender.send(request())

    assert result == Sent(attempt=2, flush=1, piece=0, message_id=MessageId(1002))
    assert [type(one) for one in await log.delivery()] == [
        SendAttempt,
        SendFailed,
        SendAttempt,
        Receipt,
    ]


async def test_of_two_lives_at_once_only_one_posts(
    log: LogFace, messenger: ScriptedMessenger
) -> None:
    """A sender that is believed dead can run on; both see an empty stream."""
    lives = [Sender(log, messenger, log.clock) for _ in range(2)]
    messenger.readiness.shut()

    sending = [asyncio.create_task(life.send(request())) for life in lives]
    await messenger.readiness.until(2)
    messenger.readiness.open()
    results = await asyncio.gather(*sending)

    assert len(messenger.posted) == 1
    assert sorted(type(one).__name__ for one in results) == ["NotSent", "Sent"]
    refused = next(one for one in results if isinstance(one, NotSent))
    assert (refused.outcome, refused.attempt) == ("fenced", None)
    for life in lives:
        await life.aclose()


async def test_t134_an_outcome_that_another_life_has_recorded_stays(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """A message has one outcome; a reply that comes late does not change it."""
    messenger.writing.shut()
    sending = asyncio.create_task(sender.send(request()))
    await messenger.writing.until()
    lost = SendFailed(attempt=1, outcome="unconfirmed", reason="sender_lost")
    await record(log, lost, after=1)

    messenger.writing.open()
    result = await sending

    assert result.attempt == 1
    assert isinstance(result, NotSent)
    assert result.reason == "sender_lost"
    assert len(await log.delivery()) == 2


async def test_a_request_of_an_older_epoch_is_refused(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """A turn actor that was believed dead must not speak beside its successor."""
    await sender.settle(TURN, Scope(turn_id=TURN, channel_id=CHANNEL), 1)

    result = await sender.send(request(epoch=0))

    assert result == NotSent(flush=1, piece=0, attempt=None, outcome="fenced", reason="epoch")
    assert messenger.posted == []
    assert await log.delivery() == []


async def test_a_recovery_that_only_the_log_knows_of_fences_too(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """The sender may have been restarted since it was told of the epoch."""
    await log.recover(1)

    stale = await sender.send(request(epoch=0))
    fresh = await sender.send(request(epoch=1))

    assert isinstance(stale, NotSent)
    assert stale.outcome == "fenced"
    assert isinstance(fresh, Sent)
    assert len(messenger.posted) == 1


async def test_an_outcome_is_recorded_although_the_turn_was_recovered_meanwhile(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """The message stands in the channel whatever epoch the turn is at; else it would be lost."""
    messenger.writing.shut()
    sending = asyncio.create_task(sender.send(request()))
    await messenger.writing.until()
    await log.recover(1)

    messenger.writing.open()
    result = await sending

    assert isinstance(result, Sent)
    assert isinstance((await log.delivery())[1], Receipt)


async def test_settling_waits_for_the_attempt_under_way(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """Recovery decides on outcomes, so every attempt must have one before it does."""
    messenger.writing.shut()
    sending = asyncio.create_task(sender.send(request()))
    await messenger.writing.until()

    settling = asyncio.create_task(sender.settle(TURN, Scope(turn_id=TURN, channel_id=CHANNEL), 1))
    await asyncio.sleep(0)
    is_early = settling.done()
    messenger.writing.open()

    sent = Sent(attempt=1, flush=1, piece=0, message_id=MessageId(1001))
    assert await settling == [sent]
    assert await sending == sent
    assert not is_early


async def test_settling_returns_every_outcome_oldest_first(sender: Sender, log: LogFace) -> None:
    """What an earlier life left open is unconfirmed, beside what it settled."""
    refused = SendFailed(attempt=1, outcome="definite_refusal", reason="http_400")
    await record(log, attempt(1, flush=1), refused, attempt(2, flush=2))

    results = await sender.settle(TURN, Scope(turn_id=TURN, channel_id=CHANNEL), 1)

    assert [(one.attempt, one.flush) for one in results] == [(1, 1), (2, 2)]
    assert [one.reason for one in results if isinstance(one, NotSent)] == [
        "http_400",
        "sender_lost",
    ]


async def test_a_message_that_waits_while_its_turn_is_settled_is_fenced(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """Recovery has counted the outcomes: none may be added behind its back."""
    messenger.readiness.shut()
    sending = asyncio.create_task(sender.send(request()))
    await messenger.readiness.until()

    settled = await sender.settle(TURN, Scope(turn_id=TURN, channel_id=CHANNEL), 1)
    messenger.readiness.open()
    result = await sending

    assert settled == []
    assert isinstance(result, NotSent)
    assert result.outcome == "fenced"
    assert messenger.posted == []


async def test_a_turn_that_was_forgotten_is_known_again_from_the_log(
    sender: Sender,
    log: LogFace,
    messenger: ScriptedMessenger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory is bounded; at most once is not a matter of memory."""
    monkeypatch.setattr(actors.sender, "TURNS_KEPT", 1)
    first = await sender.send(request())
    await sender.send(request(turn_id=OTHER_TURN))

    again = await sender.send(request())

    assert log.reads.count(delivery_stream(TURN)) == 2
    assert again == first
    assert len(messenger.posted) == 2


@pytest.mark.parametrize("lost", ["lose_before", "lose_after"])
async def test_an_append_whose_answer_is_lost_neither_loses_nor_doubles_a_message(
    messenger: ScriptedMessenger, lost: str
) -> None:
    """The log may die between a commit and its answer; the attempt is then on record already."""
    endpoint = LocalEndpoint()
    setattr(endpoint, lost, 2)
    client = log_client(endpoint)
    sender = Sender(client, messenger, SystemClock())

    result = await sender.send(request())

    assert isinstance(result, Sent)
    assert len(messenger.posted) == 1
    recorded = await client.read(delivery_stream(TURN))
    assert [type(one.event) for one in recorded] == [SendAttempt, Receipt]
    await sender.aclose()
    await client.aclose()
