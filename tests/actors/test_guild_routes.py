"""Which models a guild's turns ask, and with whose keys: over the router, on a real store."""

from pathlib import Path

import msgspec
import pytest
from cryptography.fernet import Fernet

from actors.credentials import CredentialStore
from actors.gate.addresses import Policy
from actors.generation.start import StartTurn
from actors.router_settings import Identities, RouterSettings
from actors.rules.configuration import RemovePersona
from actors.rules.model_choices import (
    ChooseFallbacks,
    ChooseModel,
    GuildChange,
    RemoveProvider,
    SaveProvider,
)
from actors.turn_router import TurnRouter
from actors.warm_pool import PoolLimits, WarmPool
from events.base import ChannelId, GuildId, UserId
from events.settings import Persona
from events.turn import TurnSettings
from tests.actors.log_ports import LocalEndpoint, log_client
from tests.actors.test_guild_configurations import HOME, asking
from tests.actors.test_turn_router import ROUTE, Stage, fresh
from tests.fakes import ManualClock

ANN = UserId(7)
SECRET = Fernet.generate_key().decode()
FALLBACK = msgspec.structs.replace(ROUTE, model="n")
CHANNEL = ChannelId(500)


class Life:
    """One life of a router on a log and a disk that outlive it."""

    def __init__(self, endpoint: LocalEndpoint, store: CredentialStore, first_turn: int) -> None:
        self.stage = Stage()
        self.store = store
        clock = ManualClock()
        numbers = iter(range(first_turn, 1_000))
        self.router = TurnRouter(
            log_client(endpoint, clock),
            WarmPool(self.stage, PoolLimits()),
            clock,
            RouterSettings(
                models=(ROUTE, FALLBACK),
                system_prompt="Be kind.",
                personas=(Persona(name="Rejoinder"), Persona(name="Mira")),
                turn_settings=TurnSettings(),
                credentials=store,
                is_shuffled=True,
            ),
            Identities(turn_id=lambda: fresh(next(numbers)), seed=lambda: 4),
        )
        self._asked = first_turn

    async def set(self, *changes: GuildChange) -> None:
        """Change what the guild has set."""
        for change in changes:
            await self.router.configure(HOME, change, ANN)

    async def save(self, name: str = "ours", key: str = "sk-ours") -> str:
        """Save a provider of the guild; return its credential."""
        credential = self.store.keep(key)
        url = "https://models.example/v1"
        await self.set(SaveProvider(name=name, wire="openai", base_url=url, credential=credential))
        return credential

    async def turn(
        self,
        *,
        persona: str = "Rejoinder",
        channel: ChannelId | None = None,
        parent: ChannelId | None = None,
        guild: GuildId = HOME,
    ) -> StartTurn:
        """Return the turn that a message starts there, having ended it."""
        self._asked += 1
        before = len(self.stage.started)
        trigger = asking(self._asked, persona, guild)
        await self.router.trigger(
            msgspec.structs.replace(
                trigger, channel_id=channel or trigger.channel_id, parent_id=parent
            )
        )
        start = await self.stage.turn(before + 1)
        self.stage.end(start)
        return start


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    """Return a store."""
    return CredentialStore(tmp_path, (SECRET,))


def named(start: StartTurn) -> list[str]:
    """Return the models that a turn asks."""
    return [f"{one.provider}/{one.model}" for one in start.models]


async def test_p149_a_persona_comes_before_its_channel_and_that_before_its_guild(
    store: CredentialStore,
) -> None:
    """Each choice is narrower than the next; a thread goes by its channel."""
    life = Life(LocalEndpoint(), store, 1)
    await life.router.start()
    await life.save()

    await life.set(ChooseModel(model="ours/guild"))
    await life.set(ChooseModel(model="ours/channel", channel_id=CHANNEL))
    await life.set(ChooseModel(model="ours/mira", persona="mira"))

    thread = ChannelId(501)
    assert named(await life.turn()) == ["ours@21/guild"]
    assert named(await life.turn(channel=CHANNEL)) == ["ours@21/channel"]
    assert named(await life.turn(channel=thread, parent=CHANNEL)) == ["ours@21/channel"]
    assert named(await life.turn(channel=CHANNEL, persona="Mira")) == ["ours@21/mira"]
    elsewhere = await life.turn(guild=GuildId(22))
    assert (named(elsewhere), elsewhere.is_shuffled) == (["main/m", "main/n"], True)
    await life.router.aclose()


async def test_o8_a_guilds_model_is_asked_with_the_guilds_key_behind_the_gate_or_not_at_all(
    store: CredentialStore,
) -> None:
    """Nobody else pays for it, and nobody is led inside by it."""
    life = Life(LocalEndpoint(), store, 1)
    await life.router.start()
    credential = await life.save()
    await life.set(ChooseModel(model="ours/x"))

    (route,) = (await life.turn()).models
    assert (route.api_key, route.gate, route.keys) == ("sk-ours", Policy(), ())
    await life.router.aclose()

    store.forget(credential)
    again = Life(LocalEndpoint(), store, 1)
    await again.router.start()
    await again.set(
        SaveProvider(
            name="ours", wire="openai", base_url="https://a.example", credential=credential
        ),
        ChooseModel(model="ours/x"),
    )
    assert (await again.turn()).models == ()
    await again.router.aclose()


async def test_p148_a_fallback_is_one_that_whoever_pays_has_chosen(store: CredentialStore) -> None:
    """What the operator pays for falls back on the operator's, the guild's on what it chose."""
    life = Life(LocalEndpoint(), store, 1)
    await life.router.start()
    await life.save()

    await life.set(ChooseModel(model="main/n"))
    assert named(await life.turn()) == ["main/n", "main/m"]
    await life.set(ChooseModel(model="ours/x"))
    assert named(await life.turn()) == ["ours@21/x"]
    await life.set(ChooseFallbacks(models=("main/n", "ours/x", "ours/y")))
    assert named(await life.turn()) == ["ours@21/x", "main/n", "ours@21/y"]
    await life.set(ChooseModel(model=None))
    assert named(await life.turn()) == ["main/m", "main/n", "ours@21/x", "ours@21/y"]
    await life.router.aclose()


async def test_what_was_chosen_survives_a_restart(store: CredentialStore) -> None:
    """The choice is in the log, the key on the disk."""
    endpoint = LocalEndpoint()
    first = Life(endpoint, store, 1)
    await first.router.start()
    await first.save()
    await first.set(ChooseModel(model="ours/x"))
    await first.router.aclose()

    second = Life(LocalEndpoint(endpoint.log), store, 1)
    await second.router.start()

    (route,) = (await second.turn()).models
    assert (route.provider, route.model, route.api_key) == ("ours@21", "x", "sk-ours")
    await second.router.aclose()


async def test_a_turn_keeps_the_key_that_it_began_with_and_the_next_has_none(
    store: CredentialStore,
) -> None:
    """A provider can be removed while it speaks."""
    life = Life(LocalEndpoint(), store, 1)
    await life.router.start()
    credential = await life.save()
    await life.set(ChooseModel(model="ours/x"))
    await life.router.trigger(asking(700))
    running = await life.stage.turn(1)

    await life.set(RemoveProvider(name="ours"))
    store.forget(credential)

    assert [one.api_key for one in running.models] == ["sk-ours"]
    assert named(await life.turn()) == ["main/m", "main/n"]
    life.stage.end(running)
    await life.router.aclose()


async def test_a_persona_that_is_removed_takes_its_model_along(store: CredentialStore) -> None:
    """A later persona of that name is another one."""
    life = Life(LocalEndpoint(), store, 1)
    await life.router.start()
    await life.set(ChooseModel(model="main/n", persona="Mira"), RemovePersona(name="Mira"))

    guild = (await life.router.guilds())[HOME]

    assert guild.models.chosen == {}
    await life.router.aclose()


def test_no_key_is_shown_by_what_carries_it(store: CredentialStore) -> None:
    """Both travel through log lines of libraries that print what they are given."""
    route = msgspec.structs.replace(ROUTE, api_key="sk-ours")

    assert "sk-ours" not in repr(route)
    assert SECRET not in repr(store)
