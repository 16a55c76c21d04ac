"""Pacing: follow-up messages come as a typist would send them, and a stop ends the wait."""

import asyncio
from random import Random

import pytest

from actors.generation.deliverer import Deliverer
from actors.generation.journal import Journal
from actors.generation.start import StartTurn
from actors.ports import HistoryMessage, NotSent, SendRequest, SendResult, Sent
from actors.text.pacing import pause_seconds
from events.base import ChannelId, GuildId, MessageId, Position, Scope, TurnId
from events.generation import Flush, Piece
from events.scene import ServerEmoji
from events.settings import Persona
from events.turn import TurnSettings
from tests.actors.log_ports import LocalEndpoint, log_client
from tests.actors.test_turn_router import ROUTE, fresh, trigger
from tests.fakes import ManualClock


class PromptSender:
    """Posts at once; once its turn is stopped it refuses."""

    def __init__(self, stop: asyncio.Event) -> None:
        self.sent: list[SendRequest] = []
        self.arrived = asyncio.Event()
        self._stop = stop

    async def send(self, request: SendRequest) -> SendResult:
        """Remember the request."""
        where = {"flush": request.flush, "piece": request.piece}
        if self._stop.is_set():
            return NotSent(attempt=None, outcome="stopped", reason="stopped", **where)
        self.sent.append(request)
        self.arrived.set()
        return Sent(attempt=len(self.sent), message_id=MessageId(len(self.sent)), **where)

    async def settle(self, turn_id: TurnId, scope: Scope, epoch: int) -> list[SendResult]:
        """Never called here."""
        raise AssertionError(turn_id, scope, epoch)

    async def retract(
        self, turn_id: TurnId, scope: Scope, epoch: int, attempts: tuple[int, ...]
    ) -> list[SendResult]:
        """Never called here."""
        raise AssertionError(turn_id, scope, epoch, attempts)

    async def typing(self, channel_id: ChannelId) -> None:
        """Show nothing."""

    async def history(
        self, channel_id: ChannelId, *, before: MessageId | None, limit: int
    ) -> list[HistoryMessage]:
        """Never called here."""
        raise AssertionError(channel_id, before, limit)

    async def emojis(self, guild_id: GuildId) -> tuple[ServerEmoji, ...]:
        """Never called here."""
        raise AssertionError(guild_id)


class Desk:
    """A deliverer on a clock that stands still."""

    def __init__(self, *, is_paced: bool = True, epoch: int = 0) -> None:
        self.clock = ManualClock()
        self.stop = asyncio.Event()
        self.sender = PromptSender(self.stop)
        start = StartTurn(
            turn_id=fresh(1),
            epoch=epoch,
            trigger=trigger(1),
            trigger_position=Position(1),
            trigger_seq=1,
            personas=(Persona(name="Rejoinder"),),
            system_prompt="",
            models=(ROUTE,),
            settings=TurnSettings(paced_messages=is_paced),
            seed=1,
            history_limit=0,
        )
        journal = Journal(
            log_client(LocalEndpoint(), self.clock),
            self.clock,
            fresh(1),
            start.scope,
            epoch=0,
            seq=0,
        )
        self.deliverer = Deliverer(self.sender, journal, self.clock, start, self.stop)

    def put(self, number: int, *contents: str) -> None:
        """Queue a flush of these messages, or of one."""
        pieces: list[Piece] = []
        at = 0
        for content in contents or ("Hello.",):
            pieces.append(Piece(content=content, start=at, end=at + len(content)))
            at += len(content)
        text = "".join(one.content for one in pieces)
        self.deliverer.put(
            Flush(
                flush=number, text=text, boundary="newline", start=0, end=at, pieces=tuple(pieces)
            )
        )


async def test_t90_the_first_message_comes_at_once_and_the_next_after_a_typists_time() -> None:
    """A wall of instant messages does not read like somebody who writes."""
    desk = Desk()
    desk.put(1)
    desk.put(2)
    await desk.clock.until_someone_sleeps()
    assert len(desk.sender.sent) == 1

    await desk.clock.advance(0.75)
    await desk.deliverer.settled()

    assert [one.pacing_ms for one in desk.sender.sent] == [0.0, 750.0]
    await desk.deliverer.aclose()


async def test_v134_a_long_message_takes_longer_and_a_pause_lies_between_the_last_two() -> None:
    """The rhythm of a person: short things at once, long ones later, now and then a thought."""
    desk = Desk()
    desk.put(1, "a" * 20, "b" * 300, "c" * 900)
    await desk.clock.until_someone_sleeps()
    await desk.clock.advance(3.0)
    await desk.clock.until_someone_sleeps()
    assert len(desk.sender.sent) == 2
    pause = pause_seconds(Random("1/pauses"))  # noqa: S311 - the turn's own draws

    await desk.clock.advance(4.0 + pause)
    await desk.deliverer.settled()

    assert [one.pacing_ms for one in desk.sender.sent] == [0.0, 3_000.0, 4_000.0 + 1_000 * pause]
    await desk.deliverer.aclose()


async def test_v136_a_stop_ends_the_wait_and_nothing_more_is_sent() -> None:
    """A stop that waits for the whole delay feels ignored: it comes by itself, nobody asks."""
    desk = Desk()
    desk.put(1)
    desk.put(2)
    await desk.clock.until_someone_sleeps()
    await desk.clock.advance(0.3)

    desk.stop.set()
    await desk.deliverer.settled()

    assert len(desk.sender.sent) == 1
    assert desk.deliverer.withheld == {"stop": len("Hello.")}
    await desk.deliverer.aclose()


@pytest.mark.parametrize(("is_paced", "epoch"), [(False, 0), (True, 1)], ids=["T89", "recovered"])
async def test_unpaced_and_recovered_answers_do_not_wait(*, is_paced: bool, epoch: int) -> None:
    """Whoever waited through a crash has waited long enough."""
    desk = Desk(is_paced=is_paced, epoch=epoch)
    desk.put(1)
    desk.put(2)

    await desk.deliverer.settled()

    assert len(desk.sender.sent) == 2
    await desk.deliverer.aclose()
