"""What keeps the sender from speaking: stops; and what it shows meanwhile: typing."""

import asyncio

import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from actors.ports import NotSent, Sent
from actors.sender import Sender
from events.base import (
    Append,
    Appended,
    MessageId,
    channel_stream,
)
from events.turn import StopKind
from tests.actors.delivery.fakes import (
    CHANNEL,
    OTHER_CHANNEL,
    OTHER_TURN,
    LogFace,
    ScriptedMessenger,
)
from tests.actors.sending import request


async def test_b34_a_stop_that_is_durable_prevents_the_attempt_even_unheard(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """The push may be late; the log is not."""
    await log.stop()

    result = await sender.send(request())

    assert result == NotSent(flush=1, piece=0, attempt=None, outcome="stopped", reason="stopped")
    assert messenger.posted == []
    assert await log.delivery() == []


async def test_b34_a_stop_leaves_the_next_turn_alone(sender: Sender, log: LogFace) -> None:
    """A stop names its turn, so the next message of the member is answered."""
    await log.stop()

    result = await sender.send(request(turn_id=OTHER_TURN))

    assert isinstance(result, Sent)


async def test_v154_a_stop_ends_the_wait_for_a_rate_limit_with_nothing_attempted(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """Whoever stops an answer must not see one more message half a minute later."""
    await sender.send(request(flush=1))
    messenger.readiness.shut()

    sending = asyncio.create_task(sender.send(request(flush=2)))
    await messenger.readiness.until(2)
    await log.stop()
    result = await sending

    assert result == NotSent(flush=2, piece=0, attempt=None, outcome="stopped", reason="stopped")
    assert len(await log.delivery()) == 2


async def test_v155_a_stop_between_attempt_and_write_is_on_record_and_writes_nothing(
    log: LogFace, messenger: ScriptedMessenger
) -> None:
    """The last check is the messenger's: the signal it is handed must know of the stop."""

    class StoppedOnAttempt(LogFace):
        @override
        async def append(self, append: Append) -> Appended:
            appended = await super().append(append)
            if append.unless_stopped and appended.seq > 1:
                heard = self.listening.reached
                await self.stop()
                await self.listening.until(heard + 1)
            return appended

    face = StoppedOnAttempt(log.log)
    sender = Sender(face, messenger, face.clock)
    await sender.send(request(flush=1))

    result = await sender.send(request(flush=2))

    assert result == NotSent(flush=2, piece=0, attempt=2, outcome="pre_dispatch", reason="stopped")
    assert [draft.content for draft in messenger.posted] == ["1.0"]
    await sender.aclose()


@pytest.mark.parametrize("kind", ["stop", "operator", "shutdown"])
async def test_what_a_graceful_stop_owes_is_posted_all_the_same(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger, kind: StopKind
) -> None:
    """Text that was complete when the stop came is not lost to it."""
    await log.stop(stop=kind)

    result = await sender.send(request(owed=True))

    assert isinstance(result, Sent)
    assert len(messenger.posted) == 1


async def test_nothing_is_owed_after_a_follow_up(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """The member has moved on: the rest of the old answer would talk past them."""
    await log.stop()
    await log.stop(stop="follow_up")

    result = await sender.send(request(owed=True))

    assert result == NotSent(flush=1, piece=0, attempt=None, outcome="stopped", reason="stopped")
    assert messenger.posted == []


async def test_b32_no_typing_begins_while_a_message_goes_out(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """An indicator that arrives after the message stays for ten seconds."""
    messenger.writing.shut()
    sending = asyncio.create_task(sender.send(request()))
    await messenger.writing.until()

    await sender.typing(CHANNEL)
    await sender.typing(OTHER_CHANNEL)

    assert messenger.typed == [OTHER_CHANNEL]
    messenger.writing.open()
    await sending


async def test_b32_a_message_lets_the_typing_under_way_arrive_first(
    sender: Sender, messenger: ScriptedMessenger
) -> None:
    """Two connections race: the indicator must not overtake the message."""
    messenger.typing_gate.shut()
    typing = asyncio.create_task(sender.typing(CHANNEL))
    await messenger.typing_gate.until()

    sending = asyncio.create_task(sender.send(request()))
    await messenger.readiness.until()
    await asyncio.sleep(0)
    posted_early = len(messenger.posted)
    messenger.typing_gate.open()
    await asyncio.gather(typing, sending)

    assert posted_early == 0
    assert len(messenger.posted) == 1


async def test_b32_a_typing_that_hangs_delays_a_message_by_half_a_second_at_most(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """The indicator is decoration; the message is not."""
    messenger.typing_gate.shut()
    typing = asyncio.create_task(sender.typing(CHANNEL))
    await messenger.typing_gate.until()
    sending = asyncio.create_task(sender.send(request()))

    await log.clock.until_someone_sleeps()
    await log.clock.advance(0.5)

    assert isinstance(await sending, Sent)
    await typing


async def test_history_is_what_the_messenger_remembers(sender: Sender) -> None:
    """The model's context comes through the same process as its answers."""
    [message] = await sender.history(CHANNEL, before=MessageId(5), limit=3)

    assert (message.message_id, message.content) == (5, "11 3")


async def test_a_channel_that_is_idle_is_no_longer_listened_to(
    sender: Sender, log: LogFace
) -> None:
    """A bot in thousands of channels listens to those it speaks in."""
    await sender.send(request())
    heard_first = set(log.watched)
    await log.clock.advance(301.0)

    await sender.send(request(turn_id=OTHER_TURN, channel_id=OTHER_CHANNEL))

    assert heard_first == {channel_stream(CHANNEL)}
    assert log.watched == {channel_stream(OTHER_CHANNEL)}


async def test_a_sender_that_went_deaf_says_so_and_listens_again(
    sender: Sender, log: LogFace, messenger: ScriptedMessenger
) -> None:
    """Until then the log refuses what is stopped, only later than a push would."""
    log.deaf = 1
    with capture_logs() as logs:
        await sender.send(request(flush=1))
        await log.listening.until()
    await sender.send(request(flush=2))
    messenger.readiness.shut()

    sending = asyncio.create_task(sender.send(request(flush=3)))
    await messenger.readiness.until(3)
    await log.stop()
    result = await sending

    assert [one["event"] for one in logs] == ["stops_unheard"]
    assert isinstance(result, NotSent)
    assert result.outcome == "stopped"
