"""What a guild sets reaches the turns that start there: over the router, on a log in memory."""

import asyncio

import msgspec

from actors.guild_configurations import Changed
from actors.router_settings import Identities, RouterSettings
from actors.rules.configuration import AddPersona, EditPersona, Refused, RemovePersona, SetSetting
from actors.turn_router import TurnRouter
from actors.warm_pool import PoolLimits, WarmPool
from events.base import GuildId, UserId, guild_stream, turn_stream
from events.codec import append_of
from events.scene import Scene
from events.settings import Persona
from events.turn import TriggerReceived, TurnSettings
from tests.actors.log_ports import LocalEndpoint, log_client
from tests.actors.test_turn_router import NO_CREDENTIALS, ROUTE, Stage, fresh, trigger
from tests.fakes import ManualClock

HOME, AWAY = GuildId(21), GuildId(22)
ANN, BO = UserId(7), UserId(8)


def asking(number: int, persona: str = "Rejoinder", guild: GuildId = HOME) -> TriggerReceived:
    """Return a trigger in a guild, each in a channel of its own."""
    base = trigger(number, channel=number)
    return msgspec.structs.replace(base, guild_id=guild, persona=persona)


class Life:
    """One life of a router on a log that outlives it."""

    def __init__(self, endpoint: LocalEndpoint) -> None:
        self.clock = ManualClock()
        self.stage = Stage()
        numbers = iter(range(1, 1_000))
        self.router = TurnRouter(
            log_client(endpoint, self.clock),
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


async def test_a_change_that_was_acknowledged_holds_for_the_next_trigger_there_alone() -> None:
    """The member was told so."""
    life = Life(LocalEndpoint())
    await life.router.start()

    answer = await life.router.configure(
        HOME, SetSetting(setting="live_streaming", value=False), ANN
    )
    await life.router.trigger(asking(1))
    await life.router.trigger(asking(2, guild=AWAY))

    assert isinstance(answer, Changed)
    assert not (await life.stage.turn(1)).settings.live_streaming
    assert (await life.stage.turn(2)).settings.live_streaming
    await life.router.aclose()


async def test_a_change_survives_a_restart_of_router_and_log() -> None:
    """All that a guild has set is in the log, even where the log's answer was lost."""
    endpoint = LocalEndpoint()
    first = Life(endpoint)
    await first.router.start()
    endpoint.lose_after = 1
    adding = asyncio.create_task(
        first.router.configure(HOME, AddPersona(persona=Persona(name="Mira")), ANN)
    )
    await first.clock.until_someone_sleeps()
    await first.clock.advance(1)
    await adding
    await first.router.configure(
        HOME, SetSetting(setting="send_message_limit", value=3, persona="mira"), ANN
    )
    known = await first.router.guilds()
    await first.router.aclose()

    second = Life(LocalEndpoint(endpoint.log))
    await second.router.start()
    await second.router.trigger(asking(1, "Mira"))

    start = await second.stage.turn(1)
    assert (start.persona.name, start.settings.send_message_limit) == ("Mira", 3)
    assert await second.router.guilds() == known
    await second.router.aclose()


async def test_a_queued_trigger_of_a_persona_that_is_removed_goes_to_the_main_one() -> None:
    """Somebody waits for an answer; who could have given it is gone."""
    life = Life(LocalEndpoint())
    await life.router.start()
    await life.router.configure(HOME, AddPersona(persona=Persona(name="Mira")), ANN)
    await life.router.trigger(asking(1))
    queued = msgspec.structs.replace(asking(2, "Mira"), channel_id=asking(1).channel_id)
    await life.router.trigger(queued)

    await life.router.configure(HOME, RemovePersona(name="mira"), ANN)
    life.stage.end(await life.stage.turn(1))

    start = await life.stage.turn(2)
    assert (start.trigger.persona, start.persona.name) == ("Mira", "Rejoinder")
    await life.router.aclose()


async def test_two_members_who_edit_one_persona_at_once_each_keep_what_they_wrote() -> None:
    """A form is open for minutes; the last to send must not undo the first."""
    life = Life(LocalEndpoint())
    await life.router.start()
    await life.router.configure(HOME, AddPersona(persona=Persona(name="Mira")), ANN)

    answers = await asyncio.gather(
        life.router.configure(HOME, EditPersona(name="Mira", prompt="Kind."), ANN),
        life.router.configure(HOME, EditPersona(name="Mira", triggers=("mira",)), BO),
    )

    assert all(isinstance(one, Changed) for one in answers)
    guild = (await life.router.guilds())[HOME]
    assert guild.personas["mira"] == Persona(name="Mira", prompt="Kind.", triggers=("mira",))
    await life.router.aclose()


async def test_of_two_who_add_one_name_at_once_the_second_is_refused() -> None:
    """A name answers for one persona."""
    life = Life(LocalEndpoint())
    await life.router.start()

    answers = await asyncio.gather(
        life.router.configure(HOME, AddPersona(persona=Persona(name="Mira", prompt="a")), ANN),
        life.router.configure(HOME, AddPersona(persona=Persona(name="MIRA", prompt="b")), BO),
    )

    assert isinstance(answers[0], Changed)
    assert answers[1] == Refused(why="name_taken", what="Mira")
    await life.router.aclose()


async def test_a_refusal_leaves_no_event() -> None:
    """The log holds what happened."""
    endpoint = LocalEndpoint()
    life = Life(endpoint)
    await life.router.start()

    answer = await life.router.configure(HOME, RemovePersona(name="Rejoinder"), ANN)

    assert answer == Refused(why="main_persona", what="Rejoinder")
    assert await endpoint.log.read(guild_stream(HOME)) == []
    await life.router.aclose()


async def test_a_turn_that_is_taken_over_goes_on_with_what_it_began_with() -> None:
    """What is replayed later must be what was cut by one set of settings."""
    endpoint = LocalEndpoint()
    first = Life(endpoint)
    await first.router.start()
    await first.router.configure(HOME, AddPersona(persona=Persona(name="Mira")), ANN)
    await first.router.configure(HOME, SetSetting(setting="force_lowercase", value=True), ANN)
    await first.router.trigger(asking(1, "Mira"))
    start = await first.stage.turn(1)
    began = start.started("0", 1, Scene())
    await log_client(endpoint).append(
        append_of(
            turn_stream(start.turn_id),
            [(msgspec.structs.replace(began, seed=99), first.clock.now())],
            scope=start.scope,
        )
    )
    await first.router.configure(HOME, RemovePersona(name="Mira"), ANN)
    await first.router.configure(HOME, SetSetting(setting="force_lowercase", value=None), ANN)
    await first.router.aclose()

    second = Life(LocalEndpoint(endpoint.log))
    await second.router.start()

    taken = await second.stage.turn(1)
    assert (taken.turn_id, taken.epoch, taken.seed) == (start.turn_id, 1, 99)
    assert (taken.persona.name, taken.settings.force_lowercase) == ("Mira", True)
    await second.router.aclose()
