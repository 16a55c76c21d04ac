"""The router over a log in memory: locks, queues, stops, and taking up what a crash left."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from actors.credentials import CredentialStore
from actors.generation.start import StartTurn, TurnResult
from actors.providers.adapter import ModelRoute
from actors.router_settings import Identities, RouterSettings
from actors.turn_router import QUEUE_LIMIT, TAKEOVERS, TurnRouter
from actors.warm_pool import HostLostError, PoolLimits, TurnHost, WarmPool
from events.base import (
    ChannelId,
    Event,
    MessageId,
    Position,
    Scope,
    StreamId,
    TriggerId,
    TurnId,
    UserId,
    channel_stream,
    turn_stream,
)
from events.codec import append_of
from events.generation import FunctionCall, ProviderFault, RequestClosed, ToolCalled
from events.notes import NotePinned
from events.settings import Persona
from events.turn import (
    StopRequested,
    TriggerDropped,
    TriggerReceived,
    TurnEnded,
    TurnSettings,
    TurnStarted,
    TurnStatus,
)
from tests.actors.log_ports import LocalEndpoint, log_client
from tests.fakes import ManualClock

CHANNEL = ChannelId(1)
ROUTE = ModelRoute(provider="main", kind="openai", base_url="http://x", api_key="", model="m")

NO_CREDENTIALS = CredentialStore(Path("nowhere"))


def trigger(number: int, *, author: int = 7, channel: int = CHANNEL) -> TriggerReceived:
    """Return a mention with that message id."""
    return TriggerReceived(
        trigger_id=TriggerId(str(number)),
        trigger="mention",
        channel_id=ChannelId(channel),
        message_id=MessageId(number),
        author_id=UserId(author),
        author_name="Ann",
        content=f"question {number}",
        persona="Rejoinder",
    )


class Stage:
    """Hosts whose turns end when the test says so."""

    def __init__(self) -> None:
        self.started: list[StartTurn] = []
        self._ends: dict[tuple[str, int], asyncio.Future[TurnStatus]] = {}
        self._changed = asyncio.Event()

    async def spawn(self) -> TurnHost:
        """Return a host; they are all alike."""
        return _StagedHost(self)

    async def play(self, start: StartTurn) -> TurnResult:
        """Run a turn until it is ended or lost."""
        end: asyncio.Future[TurnStatus] = asyncio.get_running_loop().create_future()
        self.started.append(start)
        self._ends[start.turn_id, start.epoch] = end
        self._changed.set()
        return TurnResult(status=await end)

    async def turn(self, count: int) -> StartTurn:
        """Return the turn that started as number `count`, from 1."""
        while len(self.started) < count:
            self._changed.clear()
            await self._changed.wait()
        return self.started[count - 1]

    def end(self, start: StartTurn, status: TurnStatus = "completed") -> None:
        """End a turn."""
        self._ends[start.turn_id, start.epoch].set_result(status)

    def lose(self, start: StartTurn) -> None:
        """Lose a turn's actor."""
        self._ends[start.turn_id, start.epoch].set_exception(HostLostError("killed"))


class _StagedHost:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def run(self, start: StartTurn) -> TurnResult:
        return await self._stage.play(start)

    async def retire(self) -> None:
        pass


class Scene:
    """A router, its log, and its stage."""

    def __init__(self) -> None:
        self.endpoint = LocalEndpoint()
        self.clock = ManualClock()
        self.stage = Stage()
        numbers = iter(range(1, 1_000))
        self.router = TurnRouter(
            log_client(self.endpoint, self.clock),
            WarmPool(self.stage, PoolLimits()),
            self.clock,
            RouterSettings(
                models=(ROUTE,),
                system_prompt="Be kind.",
                personas=(Persona(name="Rejoinder"),),
                turn_settings=TurnSettings(),
                credentials=NO_CREDENTIALS,
            ),
            Identities(turn_id=lambda: fresh(next(numbers)), seed=lambda: 4),
        )

    async def write(self, stream: StreamId, *events: Event, turn: TurnId | None = None) -> None:
        """Put events into the log as an earlier life would have left them."""
        scope = Scope(turn_id=turn, channel_id=CHANNEL)
        now = self.clock.now()
        await log_client(self.endpoint).append(
            append_of(stream, [(one, now) for one in events], scope=scope)
        )

    async def events(self, kind: type[Event]) -> list[Event]:
        """Return the channel's events of one kind."""
        recorded = await self.endpoint.log.read(channel_stream(CHANNEL))
        return [one.event for one in recorded if isinstance(one.event, kind)]


def fresh(number: int) -> TurnId:
    """Return a turn id that sorts by `number`."""
    return TurnId(f"01900000-0000-7000-8000-{number:012d}")


@pytest.fixture
async def idle() -> AsyncIterator[Scene]:
    """A router that has not started yet."""
    scene = Scene()
    yield scene
    await scene.router.aclose()


@pytest.fixture
async def scene(idle: Scene) -> Scene:
    """A router that has started on an empty log."""
    await idle.router.start()
    return idle


async def test_a_trigger_is_durable_before_its_turn_starts(scene: Scene) -> None:
    """The channel's stream is the queue: a crash right here loses nothing."""
    assert await scene.router.trigger(trigger(1)) == "started"

    start = await scene.stage.turn(1)
    assert (start.trigger_position, start.trigger_seq, start.epoch) == (1, 1, 0)
    assert await scene.events(TriggerReceived) == [trigger(1)]


async def test_b60_a_trigger_that_comes_twice_gets_one_turn(scene: Scene) -> None:
    """The gateway repeats events after a resume."""
    await scene.router.trigger(trigger(1))

    assert await scene.router.trigger(trigger(1)) == "duplicate"

    assert len(await scene.events(TriggerReceived)) == 1


async def test_b60_a_trigger_of_an_earlier_life_is_not_taken_again(idle: Scene) -> None:
    """And it may repeat them across a restart."""
    await idle.write(channel_stream(CHANNEL), trigger(1))
    await idle.write(turn_stream(fresh(500)), started(1), TurnEnded(status="completed"))
    await idle.router.start()

    assert await idle.router.trigger(trigger(1)) == "duplicate"


async def test_p162_a_second_trigger_waits_for_the_running_turn(scene: Scene) -> None:
    """One turn at a time speaks in a channel; other channels go on."""
    await scene.router.trigger(trigger(1))
    assert await scene.router.trigger(trigger(2, author=8)) == "queued"
    assert await scene.router.trigger(trigger(3, channel=2)) == "started"
    first = await scene.stage.turn(1)
    await scene.stage.turn(2)

    scene.stage.end(first)

    assert (await scene.stage.turn(3)).trigger.trigger_id == "2"


async def test_p174_a_full_queue_drops_the_newest_and_says_so(scene: Scene) -> None:
    """A dropped trigger is a fact, not a silence."""
    for number in range(1, QUEUE_LIMIT + 2):
        await scene.router.trigger(trigger(number, author=100 + number))

    assert await scene.router.trigger(trigger(99, author=99)) == "queue_full"

    dropped = TriggerDropped(trigger_id=TriggerId("99"), reason="queue_full")
    assert await scene.events(TriggerDropped) == [dropped]


async def test_p171_the_askers_next_message_interrupts_and_goes_first(scene: Scene) -> None:
    """Who writes on has changed their mind; who waits behind them keeps waiting."""
    await scene.router.trigger(trigger(1))
    await scene.router.trigger(trigger(2, author=8))
    await scene.router.trigger(trigger(3))
    first = await scene.stage.turn(1)

    scene.stage.end(first, "follow_up_interrupt")

    assert (await scene.stage.turn(2)).trigger.trigger_id == "3"
    stop = StopRequested(turn_id=first.turn_id, requester="7", stop="follow_up")
    assert await scene.events(StopRequested) == [stop]


async def test_pt168_of_two_follow_ups_the_newest_remains(scene: Scene) -> None:
    """The older one is answered by the newer one's turn."""
    for number in (1, 2, 3):
        await scene.router.trigger(trigger(number))
    first = await scene.stage.turn(1)
    scene.stage.end(first, "follow_up_interrupt")

    assert (await scene.stage.turn(2)).trigger.trigger_id == "3"
    superseded = TriggerDropped(trigger_id=TriggerId("2"), reason="superseded")
    assert await scene.events(TriggerDropped) == [superseded]


async def test_pt167_the_fourth_follow_up_in_a_row_just_waits(scene: Scene) -> None:
    """A bot that is interrupted for ever never answers."""
    await scene.router.trigger(trigger(1))
    for number in (2, 3, 4):
        await scene.router.trigger(trigger(number))
        scene.stage.end(await scene.stage.turn(number - 1), "follow_up_interrupt")
        await scene.stage.turn(number)

    await scene.router.trigger(trigger(5))

    assert len(await scene.events(StopRequested)) == 3


async def test_b34_a_stop_names_the_running_turn_and_no_other(scene: Scene) -> None:
    """The next message must not die of an old stop."""
    await scene.router.trigger(trigger(1))
    first = await scene.stage.turn(1)

    assert await scene.router.stop(CHANNEL, "7", "stop") == first.turn_id
    await scene.router.stop(CHANNEL, "7", "stop")
    scene.stage.end(first, "stopped_by_user")
    await scene.router.trigger(trigger(2))
    await scene.stage.turn(2)

    stop = StopRequested(turn_id=first.turn_id, requester="7", stop="stop")
    assert await scene.events(StopRequested) == [stop]
    assert await scene.router.stop(ChannelId(9), "7", "stop") is None


async def test_pt154_a_follow_up_while_tools_run_only_waits_at_the_front(scene: Scene) -> None:
    """What tools have done is not thrown away; the message is answered next."""
    await scene.router.trigger(trigger(1))
    first = await scene.stage.turn(1)
    called = ToolCalled(call=1, request=1, function=FunctionCall(name="look_up"))
    await scene.write(turn_stream(first.turn_id), called, turn=first.turn_id)
    await scene.router.trigger(trigger(2, author=8))

    await scene.router.trigger(trigger(3))

    assert await scene.events(StopRequested) == []
    scene.stage.end(first)
    assert (await scene.stage.turn(2)).trigger.trigger_id == "3"


async def test_p139_a_kill_stops_the_turn_and_empties_the_queue(scene: Scene) -> None:
    """Whoever kills wants quiet, not the next answer."""
    for number in (1, 2, 3):
        await scene.router.trigger(trigger(number, author=number))
    first = await scene.stage.turn(1)

    assert await scene.router.stop(CHANNEL, "7", "kill") == first.turn_id

    stop = StopRequested(turn_id=first.turn_id, requester="7", stop="kill")
    assert await scene.events(StopRequested) == [stop]
    assert await scene.events(TriggerDropped) == [
        TriggerDropped(trigger_id=TriggerId(str(number)), reason="killed") for number in (2, 3)
    ]
    scene.stage.end(first, "stopped_by_user")
    await scene.router.trigger(trigger(4))
    assert (await scene.stage.turn(2)).trigger.trigger_id == "4"


async def test_what_the_log_says_of_keys_and_notes_reaches_the_next_turn(idle: Scene) -> None:
    """A restart changes neither which keys rest nor what a channel's models have noted."""
    fault = ProviderFault(type="rate_limit", code="429", retryable=True)
    closed = RequestClosed(request=1, end="done", error=fault, provider="main", key=1)
    note = NotePinned(turn_id=fresh(900), call=1, note="Ann likes tea.", by="Ann")
    await idle.write(turn_stream(fresh(900)), closed, turn=fresh(900))
    await idle.write(channel_stream(CHANNEL), note)
    await idle.router.start()

    await idle.router.trigger(trigger(1))

    start = await idle.stage.turn(1)
    assert start.notes == ("Ann likes tea.",)
    assert start.keys.states["main", 1].rests_until is not None


async def test_a_turn_whose_actor_is_lost_is_taken_over_at_the_next_epoch(scene: Scene) -> None:
    """The same turn goes on elsewhere; its old process is fenced off by the epoch."""
    await scene.router.trigger(trigger(1))
    first = await scene.stage.turn(1)

    scene.stage.lose(first)

    again = await scene.stage.turn(2)
    assert again == msgspec.structs.replace(first, epoch=1)


async def test_a_turn_that_kills_every_actor_is_left_open_and_its_channel_goes_on(
    scene: Scene,
) -> None:
    """A fault of ours must not hold up a channel for ever."""
    await scene.router.trigger(trigger(1))
    await scene.router.trigger(trigger(2, author=8))

    for count in range(1, TAKEOVERS + 2):
        scene.stage.lose(await scene.stage.turn(count))

    assert (await scene.stage.turn(TAKEOVERS + 2)).trigger.trigger_id == "2"


def started(number: int) -> TurnStarted:
    """Return the start of a turn that answers trigger `number`."""
    return TurnStarted(
        trigger_id=TriggerId(str(number)),
        channel_id=CHANNEL,
        author_id=UserId(7),
        author_name="Ann",
        prompt="",
        persona="Rejoinder",
        system_prompt="",
        models=("main/m",),
        settings=TurnSettings(),
        seed=4,
        code_version="0",
        text_version=1,
    )


async def test_a_restarted_router_takes_up_open_turns_and_waiting_triggers_in_order(
    idle: Scene,
) -> None:
    """All its state is in the log."""
    await idle.write(channel_stream(CHANNEL), trigger(1), trigger(2), trigger(3))
    await idle.write(turn_stream(fresh(500)), started(1), turn=fresh(500))

    await idle.router.start()

    first = await idle.stage.turn(1)
    assert (first.turn_id, first.epoch) == (fresh(500), 1)
    idle.stage.end(first, "expired")
    second = await idle.stage.turn(2)
    assert (second.trigger.trigger_id, second.epoch) == ("2", 0)
    assert second.waiting == (MessageId(3),)


async def test_two_open_turns_of_one_channel_are_taken_up_one_after_the_other(
    idle: Scene,
) -> None:
    """A turn that was left open, and the one that ran when the router died."""
    await idle.write(channel_stream(CHANNEL), trigger(1), trigger(2))
    for number in (1, 2):
        turn = fresh(500 + number)
        await idle.write(turn_stream(turn), started(number), turn=turn)
    await idle.router.start()
    first = await idle.stage.turn(1)
    assert len(idle.stage.started) == 1

    idle.stage.end(first, "expired")

    assert (await idle.stage.turn(2)).turn_id == fresh(502)


async def test_a_trigger_that_waited_too_long_is_dropped_at_the_start(idle: Scene) -> None:
    """Nobody wants last night's answer."""
    await idle.write(channel_stream(CHANNEL), trigger(1))
    await idle.clock.advance(301)
    await idle.write(channel_stream(CHANNEL), trigger(2))

    await idle.router.start()

    assert (await idle.stage.turn(1)).trigger.trigger_id == "2"
    expired = TriggerDropped(trigger_id=TriggerId("1"), reason="expired")
    assert await idle.events(TriggerDropped) == [expired]


async def test_draining_stops_what_does_not_end_and_leaves_the_queue_to_the_next_start(
    scene: Scene,
) -> None:
    """SIGTERM: no new trigger, a time to end, then a stop."""
    await scene.router.trigger(trigger(1))
    await scene.router.trigger(trigger(2, author=8))
    first = await scene.stage.turn(1)

    draining = asyncio.create_task(scene.router.drain(30))
    await scene.clock.until_someone_sleeps()
    assert await scene.router.trigger(trigger(3, author=9)) == "draining"
    await scene.clock.advance(30)
    stops = scene.endpoint.log.subscribe((channel_stream(CHANNEL),), Position(2))
    await anext(stops)
    scene.stage.end(first, "stopped_by_user")
    await draining
    await stops.aclose()

    stop = StopRequested(turn_id=first.turn_id, requester="system", stop="shutdown")
    assert await scene.events(StopRequested) == [stop]
    assert len(scene.stage.started) == 1
