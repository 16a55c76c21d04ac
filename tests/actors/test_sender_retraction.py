"""Messages withdrawn for another model's: in order, on record, and across lives of the sender."""

from actors.ports import NotPosted, NotSent, Sent
from actors.sender import Sender
from events.base import MessageId, Scope
from events.delivery import Receipt, Retraction
from tests.actors.delivery.fakes import CHANNEL, TURN, LogFace, ScriptedMessenger
from tests.actors.sending import LOST, attempt, record, request

SCOPE = Scope(turn_id=TURN, channel_id=CHANNEL)
RETRACTED = NotSent(flush=1, piece=0, attempt=1, outcome="retracted", reason="retracted")


def receipt(number: int = 1) -> Receipt:
    """A receipt of an earlier life."""
    return Receipt(attempt=number, message_id=MessageId(1000 + number), destination_id=CHANNEL)


async def test_p155_messages_are_deleted_newest_first_between_intent_and_outcome(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """A reader sees the answer roll back, and the log shows that it was meant."""
    for flush in (1, 2):
        await sender.send(request(flush=flush))

    results = await sender.retract(TURN, SCOPE, 0, (1, 2))

    assert messenger.deleted == [(CHANNEL, MessageId(1002)), (CHANNEL, MessageId(1001))]
    assert [type(one) for one in results] == [NotSent, NotSent]
    assert (await log.delivery())[-2:] == [
        Retraction(attempts=(2, 1)),
        Retraction(attempts=(2, 1), is_done=True),
    ]
    assert await sender.send(request()) == RETRACTED
    assert len(messenger.posted) == 2


async def test_what_discord_keeps_still_counts_as_sent(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """B27: nobody may speak in its place."""
    messenger.undeletable = {MessageId(1001)}
    await sender.send(request())

    (result,) = await sender.retract(TURN, SCOPE, 0, (1,))

    assert isinstance(result, Sent)


async def test_p161_nothing_is_deleted_once_a_post_is_unconfirmed(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """From then on nothing of any kind follows."""
    outcomes: list[NotPosted | Exception] = [LOST]
    await sender.send(request())
    messenger.outcomes = outcomes
    await sender.send(request(flush=2))

    await sender.retract(TURN, SCOPE, 0, (1,))

    assert messenger.deleted == []


async def test_a_retraction_of_an_older_epoch_deletes_nothing(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """A process believed dead can't take back what its successor goes on from."""
    await sender.send(request())
    await sender.settle(TURN, SCOPE, 1)

    await sender.retract(TURN, SCOPE, 0, (1,))

    assert messenger.deleted == []


async def test_a_retraction_that_died_with_its_sender_is_brought_to_its_end(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """Half an answer must not stay because a process was lost in between."""
    await record(log, attempt(), receipt(), Retraction(attempts=(1,)))

    results = await sender.settle(TURN, SCOPE, 1)

    assert results == [RETRACTED]
    assert messenger.deleted == [(CHANNEL, MessageId(1001))]
    assert (await log.delivery())[-1] == Retraction(attempts=(1,), is_done=True)
