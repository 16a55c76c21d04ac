"""Trigger words that are not meant for the bot, weighed by a decision model over real HTTP."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from typing_extensions import override

from actors.decisions.asking import DecisionWorld
from actors.decisions.calls import Decisions
from actors.decisions.catalogue import CATALOGUE_URL
from actors.decisions.models import DecisionScope
from actors.decisions.results import Completed, Unavailable
from actors.gate.fetching import Fetched, Fetcher
from actors.transport import AiohttpTransport
from bot.addressing import Addressing
from bot.app import Bot
from bot.clock import SystemClock
from bot.decision_models import ConfiguredModels
from bot.decision_settings import AddressingSettings, DecisionSettings
from bot.identities import fresh_correlation
from bot.secret import Secret
from bot.settings import (
    ChatSettings,
    DiscordSettings,
    LogSettings,
    PersonaSettings,
    ProviderSettings,
    Settings,
)
from events.base import ChannelId, GuildId, StreamId, TriggerId, UserId
from events.decisions import DecisionAnswered, DecisionRequested
from events.turn import TriggerReceived
from tests.actors.decisions.asking import Q1, ListJournal, body
from tests.actors.decisions.test_catalogue import entry
from tests.actors.gate.outside import Names, Outside, response
from tests.actors.log_ports import log_client

WORD = TriggerReceived(
    trigger_id=TriggerId("1"),
    trigger="word",
    channel_id=ChannelId(11),
    guild_id=GuildId(42),
    author_id=UserId(7),
    author_name="Ada",
    content="Ren said something funny yesterday",
    persona="Ren",
)
WEIGHING = AddressingSettings(model="judge", calibrated="judge-1", below=0.2, seconds=5)


def judge_at(port: int, **fields: Any) -> DecisionSettings:  # noqa: ANN401 - fields of the settings
    """Return the model that a loopback server plays."""
    given: dict[str, Any] = {
        "api_style": "system-one",
        "model": "judge",
        "input_tokens": 512,
        "base_url": f"http://judge.example:{port}",
        "allow_private": True,
    } | fields
    return DecisionSettings(**given)


def says(probability: float, model: str = "judge-1") -> bytes:
    """Return a model's word for it."""
    answers = {"speaks_to_it": {"type": "noul", "noul": probability}}
    return response(200, body(model=model, answers=answers, usage={"input_tokens": 9}))


class Weighed:
    """An `Addressing` on loopback, and what it has recorded."""

    def __init__(self, port: int, settings: AddressingSettings) -> None:
        catalog = ConfiguredModels({"judge": judge_at(port)}, Fetcher())
        self.transport = AiohttpTransport(resolve=Names(["127.0.0.1"]))
        self.log = log_client()
        world = DecisionWorld(
            catalog=catalog,
            transport=self.transport,
            clock=SystemClock(),
            fresh_id=fresh_correlation,
        )
        self.addressing = Addressing(settings, catalog.reference("judge"), world, self.log)


@asynccontextmanager
async def weighed(port: int, settings: AddressingSettings = WEIGHING) -> AsyncGenerator[Weighed]:
    """Give an `Addressing`, and close it."""
    one = Weighed(port, settings)
    try:
        yield one
    finally:
        await one.addressing.aclose()
        await one.transport.aclose()
        await one.log.aclose()


@pytest.mark.parametrize(
    ("answer", "is_for_others"),
    [
        (says(0.1), True),
        (says(0.2), False),
        (says(0.1, model="judge-2"), False),
        (response(500), False),
        (response(200, b"?"), False),
    ],
    ids=["sure", "unsure", "another model", "failed", "malformed"],
)
async def test_d35_a_word_stays_unanswered_only_where_the_model_is_sure(
    answer: bytes,
    is_for_others: bool,  # noqa: FBT001 - a test's parameter
) -> None:
    """Silence looks like a fault; it takes more than an answer."""
    async with Outside(answer) as outside, weighed(outside.port) as one:
        assert await one.addressing.is_for_others(WORD) == is_for_others

        asked = msgspec.json.decode(outside.bodies[0])
        assert asked["state"] == "Ada: Ren said something funny yesterday"
        assert '"Ren"' in asked["questions"]["speaks_to_it"]["instructions"]


async def test_a_decision_outside_a_turn_stands_in_its_guilds_stream() -> None:
    """It is paid for, so that it must be found."""
    async with Outside(says(0.1)) as outside, weighed(outside.port) as one:
        await one.addressing.is_for_others(WORD)
        await one.addressing.aclose()

        recorded = await one.log.read(StreamId("guild/42"))
        kinds = [type(entry.event) for entry in recorded]
        assert (kinds[0], kinds[-1], len(kinds)) == (DecisionRequested, DecisionAnswered, 3)
        assert {entry.scope.guild_id for entry in recorded} == {42}


@pytest.mark.parametrize(
    "trigger",
    [
        replace(WORD, trigger="mention"),
        replace(WORD, trigger="reply"),
        replace(WORD, trigger="direct", guild_id=None),
        replace(WORD, content=""),
    ],
    ids=["mention", "reply", "direct", "empty"],
)
async def test_who_speaks_to_the_bot_is_not_held_up(trigger: TriggerReceived) -> None:
    """Nobody pays for a question whose answer is known."""
    async with Outside() as outside, weighed(outside.port) as one:
        assert not await one.addressing.is_for_others(trigger)
        assert outside.connections == 0


async def test_d35_without_a_calibration_nobody_is_asked() -> None:
    """A threshold that was measured with nothing means nothing."""
    async with Outside() as outside, weighed(outside.port, replace(WEIGHING, calibrated="")) as one:
        assert not await one.addressing.is_for_others(WORD)
        assert outside.connections == 0


async def test_d5_a_model_that_moved_is_another_model() -> None:
    """A choice that was kept names it no more."""
    scope = DecisionScope(kind="server", owner_id=42)
    async with Outside(response(200, body())) as outside:
        moved = judge_at(outside.port, base_url="http://b.example")
        before = ConfiguredModels({"judge": judge_at(outside.port)}, Fetcher())
        after = ConfiguredModels({"judge": moved}, Fetcher())
        transport = AiohttpTransport(resolve=Names(["127.0.0.1"]))
        results = [
            await Decisions(
                DecisionWorld(
                    catalog=catalog,
                    transport=transport,
                    clock=SystemClock(),
                    fresh_id=fresh_correlation,
                ),
                ListJournal(),
            ).call_decisions(scope, before.reference("judge"), "e", Q1)
            for catalog in (before, after)
        ]
        await transport.aclose()

    assert isinstance(results[0], Completed)
    assert isinstance(results[1], Unavailable)
    assert results[1].reason == "not-owned"


class Listing(Fetcher):
    """Gives OpenRouter's list from memory; counts how often."""

    def __init__(self, listed: bytes) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self._listed = listed

    @override
    async def get(self, text: str, *, limit_bytes: int) -> Fetched:
        self.fetched.append(text)
        assert len(self._listed) < limit_bytes
        return Fetched(hostname="openrouter.ai", status=200, body=self._listed)


async def test_d28_a_native_models_input_is_looked_up_once() -> None:
    """An operator should not have to copy what a list says; nor find out by paying."""
    native = DecisionSettings(api_style="openrouter-decisions", model="acme/decide-1")
    unknown = DecisionSettings(api_style="openrouter-decisions", model="acme/unknown")
    listing = Listing(msgspec.json.encode({"data": [entry()]}))
    scope = DecisionScope(kind="server", owner_id=42)

    catalog = ConfiguredModels({"a": native, "b": unknown, "c": judge_at(1)}, listing)
    rows = [await catalog.registered(scope) for _ in range(2)][-1]

    assert [(row.option.model.codename, row.option.model.input_tokens) for row in rows] == [
        ("acme/decide-1", 32_768),
        ("judge", 512),
    ]
    assert rows[0].option.reference == catalog.reference("a")
    assert listing.fetched == [CATALOGUE_URL]


class Router:
    """Stands for the runtime: notes the triggers that arrive."""

    def __init__(self) -> None:
        self.triggers: list[TriggerReceived] = []

    async def trigger(self, trigger: TriggerReceived) -> None:
        """Note one."""
        self.triggers.append(trigger)


class Verdict:
    """Stands for the weighing."""

    def __init__(self, *, is_for_others: bool) -> None:
        self._is_for_others = is_for_others

    async def is_for_others(self, trigger: TriggerReceived) -> bool:
        """Return what the test says."""
        assert trigger == WORD
        return self._is_for_others


@pytest.mark.parametrize("is_for_others", [True, False])
async def test_the_bot_hands_on_what_may_be_meant_for_it(
    tmp_path: Path,
    is_for_others: bool,  # noqa: FBT001 - a test's parameter
) -> None:
    """What is for others starts no turn."""
    settings = Settings(
        discord=DiscordSettings(token=Secret("MTIz.x.y")),
        log=LogSettings(directory=tmp_path),
        providers={"main": ProviderSettings(kind="openai", base_url="http://127.0.0.1:9/v1")},
        chat=ChatSettings(model="main/m"),
        personas=(PersonaSettings(name="Ren"),),
    )
    bot = Bot(settings)
    router = Router()
    bot.runtime = router  # pyright: ignore[reportAttributeAccessIssue] - a fake
    bot._addressing = Verdict(is_for_others=is_for_others)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue] - a fake

    await bot.trigger(WORD)

    assert router.triggers == ([] if is_for_others else [WORD])
