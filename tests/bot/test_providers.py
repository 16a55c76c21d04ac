"""`/providers` and `/model` against a Discord and a provider on loopback: real hikari and arc."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from msgspec import structs
from typing_extensions import override

from actors.credentials import FOLDER, VARIABLE, CredentialStore
from actors.gate.addresses import Policy
from actors.http_port import HttpRequest, HttpStream
from actors.transport import AiohttpTransport
from bot import notices
from bot.commands.providers import include_providers
from bot.entrusted_keys import credentials_of, tidy
from bot.gateway import Gateway
from bot.loopback.discord.entities import MEMBER_PERMISSIONS
from bot.loopback.discord.invoking import OptionValue
from bot.loopback.discord.server import LoopbackDiscord
from bot.loopback.provider import LoopbackProvider
from bot.loopback.script import Answer, refusal
from bot.secret import Secret
from bot.settings import CredentialSettings, LogSettings, Settings
from events.base import Position, guild_stream
from events.codec import encode
from events.settings import ModelChosen, ProviderSaved
from tests.actors.log_ports import LocalEndpoint
from tests.bot.configuring import guild_settings
from tests.bot.test_config import MANAGER, Place, settings_for
from tests.bot.test_gateway import NO_TABLES

KEY = "sk-guild-4711-very-secret"
SECRET = Fernet.generate_key().decode()
URL = "https://models.example/v1"


class ReroutedTransport(AiohttpTransport):
    """The real client; what passed the strict gate by name is sent to the provider on loopback."""

    def __init__(self, provider: LoopbackProvider) -> None:
        super().__init__()
        self._base_url = provider.base_url
        self.gates: list[Policy | None] = []

    @override
    @asynccontextmanager
    async def open(self, request: HttpRequest) -> AsyncGenerator[HttpStream]:
        self.gates.append(request.gate)
        url = request.url.replace(URL, self._base_url)
        gate = None if url != request.url else request.gate
        async with super().open(structs.replace(request, url=url, gate=gate)) as stream:
            yield stream


class Shop(Place):
    """A bot whose guilds can have providers, and the provider that they name."""

    settings: Settings
    provider: LoopbackProvider
    transport: ReroutedTransport

    async def add(
        self, name: str = "ours", key: str = KEY, *, url: str = URL, may: int = MANAGER
    ) -> str:
        """Fill in the form of a provider; return what the member is told."""
        opened = await self.discord.command(
            self.ada,
            self.channel,
            "providers add",
            options={"name": name, "kind": "openai"},
            permissions=MANAGER,
        )
        form = await opened.form
        fields = {"key": key, "model": "loopback", "base_url": url}
        sent = await self.discord.fill_in(self.ada, self.channel, form, fields, permissions=may)
        response = await sent.response
        assert response.is_ephemeral
        return response.content

    def files(self) -> list[Path]:
        """Return the store's files."""
        folder = self.settings.log.directory / FOLDER
        return sorted(folder.iterdir()) if folder.exists() else []


@pytest.fixture
async def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    """Yield a bot that listens."""
    async with LoopbackDiscord() as discord, LoopbackProvider() as provider:
        log, transport = LocalEndpoint(), ReroutedTransport(provider)
        monkeypatch.setattr("bot.gateway.AiohttpTransport", lambda: transport)
        settings = structs.replace(
            settings_for(discord),
            log=LogSettings(directory=tmp_path),
            credentials=CredentialSettings(secret_keys=(Secret(SECRET),)),
        )
        shop = Shop(discord, guild_settings(settings, log), log)
        shop.settings, shop.provider, shop.transport = settings, provider, transport
        gateway = Gateway(settings, shop.triggers, NO_TABLES, shop.guilds)
        await gateway.start()
        yield shop
        await gateway.aclose()


async def test_a_key_that_works_is_stored_and_shown_to_nobody(
    shop: Shop, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not in an event, a log line, an answer, or in the clear on the disk; not even its end."""
    told = await shop.add()
    listed, _ = await shop.call("providers list")
    tested, _ = await shop.call("providers test", provider="ours", model="loopback")

    assert told == "ours answers and is saved. Use it with /model set ours/loopback."
    assert listed == f"- **ours**: openai at <{URL}>"
    assert tested == "ours answers."
    asked = [one.headers["authorization"] for one in shop.provider.requests]
    assert asked == [f"Bearer {KEY}"] * 2
    assert shop.transport.gates == [Policy(), Policy()]
    (saved,) = [one.event for one in await shop.log.log.read(guild_stream(shop.guild_id))]
    assert isinstance(saved, ProviderSaved)
    store = credentials_of(shop.settings)
    assert store.reveal(saved.credential) == KEY
    recorded = await shop.log.log.read_all(Position(0))
    everything = [repr(one) for one in recorded] + [str(encode(one.event)) for one in recorded]
    everything += [path.read_text() for path in shop.files()] + [told, listed, tested]
    everything += [*capfd.readouterr()]
    assert not any("4711" in one or "secret" in one for one in everything)


@pytest.mark.parametrize(
    ("key", "url", "words"),
    [
        (KEY, "https://127.0.0.1/v1", "can't be reached"),
        (KEY, "https://169.254.169.254/latest", "can't be reached"),
        (KEY, "http://models.example/v2", "can't be reached"),
        ("two words", URL, notices.NO_KEY),
    ],
)
async def test_what_cant_be_tried_is_not_stored(shop: Shop, key: str, url: str, words: str) -> None:
    """No guild leads the bot inside, or lets it send a key in the clear."""
    told = await shop.add(key=key, url=url)

    assert words in told
    assert shop.files() == []
    assert shop.provider.requests == []
    assert await shop.log.log.read(guild_stream(shop.guild_id)) == []


async def test_a_key_that_is_refused_is_not_stored_nor_is_the_providers_prose_shown(
    shop: Shop,
) -> None:
    """Providers quote keys."""
    shop.provider.script(refusal(401, f"Incorrect API key provided: {KEY}"))

    told = await shop.add()

    assert told == (
        "The model's provider did not accept the key that is configured. (`401`) "
        "Nothing was stored."
    )
    assert shop.files() == []


async def test_what_is_refused_by_rule_leaves_no_key_behind(shop: Shop) -> None:
    """The operator's names are taken."""
    told = await shop.add(name="main")

    assert told == "The bot's operator has a provider main already."
    assert shop.files() == []


async def test_another_key_replaces_the_first_and_a_removal_deletes_it(shop: Shop) -> None:
    """What nobody uses must not lie about."""
    await shop.add()
    before = shop.files()
    await shop.add(key=KEY + "-2")
    after = shop.files()

    told, _ = await shop.call("providers remove", provider="Ours")

    assert len(before) == len(after) == 1
    assert before != after
    assert told == "Ours is gone, and so are its key and every choice of its models."
    assert shop.files() == []
    assert (await shop.call("providers list"))[0] == notices.NO_PROVIDERS


async def test_a_form_of_somebody_who_may_not_configure_stores_nothing(shop: Shop) -> None:
    """A permission can be taken away while a form is open."""
    assert await shop.add(may=int(MEMBER_PERMISSIONS)) == notices.MAY_NOT_CONFIGURE
    assert (shop.files(), shop.provider.requests) == ([], [])


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("providers add", {"name": "ours", "kind": "openai"}),
        ("providers list", {}),
        ("providers test", {"provider": "ours", "model": "m"}),
        ("providers remove", {"provider": "ours"}),
        ("model show", {}),
        ("model set", {"model": "main/x"}),
        ("model reset", {}),
        ("model fallbacks", {}),
    ],
)
async def test_a_member_without_the_permission_is_refused(
    shop: Shop, command: str, options: dict[str, OptionValue]
) -> None:
    """A guild can show the command to everybody; that must not let everybody configure."""
    told = await shop.call(command, permissions=int(MEMBER_PERMISSIONS), **options)

    assert told == (notices.MAY_NOT_CONFIGURE, True)


async def test_without_a_secret_key_the_operators_part_is_explained(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody should enter a key that can't be kept."""
    monkeypatch.setattr(CredentialStore, "is_open", False)

    told, _ = await shop.call("providers add", name="ours", kind="openai")

    assert VARIABLE in told


async def test_a_slow_provider_is_waited_for_with_a_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: Shop
) -> None:
    """Discord forgets a form that is not answered within three seconds."""
    impatient = partial(include_providers, patience_seconds=0)
    monkeypatch.setattr("bot.gateway.include_providers", impatient)
    async with LoopbackDiscord() as discord:
        settings = structs.replace(
            shop.settings,
            discord=settings_for(discord).discord,
            log=LogSettings(directory=tmp_path / "b"),
        )
        log = LocalEndpoint()
        slow = Shop(discord, guild_settings(settings, log), log)
        slow.settings = settings
        may_answer = asyncio.Event()
        shop.provider.script(Answer(pieces=("Hi",), gates={0: may_answer}))
        gateway = Gateway(settings, slow.triggers, NO_TABLES, slow.guilds)
        await gateway.start()

        adding = asyncio.create_task(slow.add())
        await shop.provider.received()
        may_answer.set()

        assert (await adding).startswith("ours answers")
        await gateway.aclose()


async def test_models_are_chosen_shown_and_taken_back(shop: Shop) -> None:
    """For the guild, a channel or a persona, and what is asked in their place."""
    await shop.add()

    told = [
        (await shop.call("model set", model="ours/a"))[0],
        (await shop.call("model set", model="ours/b", here=True))[0],
        (await shop.call("model set", model="main/x", persona="mira"))[0],
        (await shop.call("model fallbacks", models="main/x, ours/c"))[0],
    ]

    assert told == [
        "ours/a is asked first in this server.",
        "ours/b is asked first in this channel.",
        "main/x is asked first for mira.",
        "Asked in its place, in this order: main/x, ours/c.",
    ]
    shown, _ = await shop.call("model show")
    assert shown.splitlines() == [
        "- **This server**: ours/a",
        f"- <#{shop.channel.id}>: ours/b",
        "- **mira**: main/x",
        "- **Fallbacks**: main/x, ours/c",
        "- The bot has: main/x",
        "- Providers of this server: ours",
    ]
    await shop.call("model reset")
    await shop.call("model fallbacks", models="none")
    shown, _ = await shop.call("model show")
    assert shown.startswith("- **This server**: the bot's default")
    assert "- **Fallbacks**: none" in shown


async def test_a_model_that_the_operator_does_not_offer_is_refused(shop: Shop) -> None:
    """The operator would pay for it."""
    told, _ = await shop.call("model set", model="main/gpt-5-pro")

    assert told.startswith("main/gpt-5-pro names no model that can be used here.")
    both, _ = await shop.call("model set", model="main/x", persona="Mira", here=True)
    assert both == notices.PERSONA_OR_CHANNEL
    recorded = await shop.log.log.read(guild_stream(shop.guild_id))
    assert not any(isinstance(one.event, ModelChosen) for one in recorded)


async def test_models_and_providers_are_offered_while_one_types(shop: Shop) -> None:
    """Of the guild's own provider any model can be named."""
    await shop.add()

    async def offered(command: str, option: str, written: str) -> list[str]:
        looking = await shop.discord.complete(
            shop.ada, shop.channel, command, option, options={option: written}
        )
        return [str(one.value) for one in await looking.choices]

    assert await offered("model set", "model", "") == ["main/x", "ours/"]
    assert await offered("model set", "model", "ours/gp") == ["ours/gp"]
    assert await offered("providers remove", "provider", "OU") == ["ours"]


async def test_a_restart_keeps_what_is_used_and_clears_what_is_not(shop: Shop) -> None:
    """A bot that was killed in between leaves keys that nobody refers to."""
    await shop.add()
    kept = shop.files()
    store = credentials_of(shop.settings)
    store.keep("sk-left-behind")

    again = guild_settings(shop.settings, LocalEndpoint(shop.log.log))
    await again.start()
    await tidy(store, again.credentials)

    assert shop.files() == kept


async def test_p149_a_message_in_a_thread_says_which_channel_it_is_of(shop: Shop) -> None:
    """Threads inherit the choice of their channel."""
    thread = shop.discord.world.add_thread(shop.channel.id, "aside")
    await shop.call("providers list")  # the gateway has heard of the thread by then

    await shop.discord.say(shop.ada, thread, "hello mira")
    await shop.discord.say(shop.ada, shop.channel, "hello mira")

    inside, outside = await shop.triggers.heard.get(), await shop.triggers.heard.get()
    assert (inside.channel_id, inside.parent_id) == (thread.id, shop.channel.id)
    assert outside.parent_id is None
