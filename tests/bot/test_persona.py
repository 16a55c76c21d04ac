"""`/persona` against a Discord on loopback: real hikari, arc and rules, a log in memory."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from bot import notices
from bot.gateway import Gateway
from bot.images import LARGEST, ImageError, ImageStore
from bot.loopback.discord.entities import MEMBER_PERMISSIONS
from bot.loopback.discord.invoking import OptionValue
from bot.loopback.discord.server import LoopbackDiscord
from bot.settings import LogSettings
from events.base import guild_stream
from events.settings import Persona, Sprite
from tests.actors.log_ports import LocalEndpoint
from tests.bot.configuring import guild_settings
from tests.bot.test_config import MANAGER, Place, settings_for
from tests.bot.test_gateway import NO_TABLES

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """Yield a bot that listens."""
    async with LoopbackDiscord() as discord:
        log = LocalEndpoint()
        settings = structs.replace(settings_for(discord), log=LogSettings(directory=tmp_path))
        place = Place(discord, guild_settings(settings, log), log)
        gateway = Gateway(settings, place.triggers, NO_TABLES, place.guilds)
        await gateway.start()
        yield place
        await gateway.aclose()


def persona_of(place: Place, name: str) -> Persona:
    """Return the persona in force."""
    return next(one for one in place.guilds.personas(place.guild_id) if one.name == name)


def names(place: Place) -> list[str]:
    """Return the names in force."""
    return [one.name for one in place.guilds.personas(place.guild_id)]


async def test_a_persona_that_was_added_answers_to_its_word_there_alone(place: Place) -> None:
    """The member was told that it is here."""
    other = place.discord.world.add_channel(place.discord.world.add_guild("Away").id, "general")

    told = await place.call("persona add", name="Ren", triggers="ren, renny")
    await place.discord.say(place.ada, other, "hello renny")
    await place.discord.say(place.ada, place.channel, "hello renny")

    assert told == ("Ren is here. Write its prompt with /persona edit.", True)
    heard = await place.triggers.heard.get()
    assert (heard.persona, heard.trigger, heard.channel_id) == ("Ren", "word", place.channel.id)
    assert place.triggers.heard.empty()


async def test_a_persona_that_was_removed_answers_no_more(place: Place) -> None:
    """One of the configuration file's, too."""
    told, _ = await place.call("persona remove", persona="mira")
    await place.discord.say(place.ada, place.channel, "hello mira")
    last = await place.discord.say(place.ada, place.channel, "<@bot> hello")

    assert told == "mira is gone."
    assert (await place.triggers.heard.get()).message_id == last.id
    assert names(place) == ["Main"]


@pytest.mark.parametrize(
    ("name", "triggers", "told"),
    [
        pytest.param("x" * 81, "", "A name has 1 to 80 characters; this one has 81.", id="long"),
        pytest.param("   ", "", "A name has 1 to 80 characters; this one has 0.", id="blank"),
        pytest.param("Clydette", "", "Discord refuses names that contain “clyde”.", id="D25"),
        pytest.param("My DISCORD", "", "Discord refuses names that contain “discord”.", id="D25-2"),
        pytest.param(
            "MIRA", "", "There is a persona Mira already; case does not matter.", id="taken"
        ),
        pytest.param("Ren", "MIRA", "The trigger word “MIRA” belongs to Mira.", id="word"),
    ],
)
async def test_what_cant_be_is_explained_at_once(
    place: Place, name: str, triggers: str, told: str
) -> None:
    """Discord would refuse the name later, in front of everybody."""
    assert await place.call("persona add", name=name, triggers=triggers) == (told, True)
    assert names(place) == ["Main", "Mira"]


async def test_the_main_persona_cant_be_removed(place: Place) -> None:
    """Somebody has to answer."""
    told, _ = await place.call("persona remove", persona="main")

    assert told == "Main is the main persona and can't be removed."


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("persona add", {"name": "Ren"}),
        ("persona edit", {"persona": "Mira"}),
        ("persona remove", {"persona": "Mira"}),
        ("persona avatar", {"persona": "Mira", "url": "https://images.example/a.png"}),
        ("persona sprite remove", {"persona": "Mira", "sprite": "mad"}),
        ("persona list", {}),
        ("persona show", {"persona": "Mira"}),
    ],
)
async def test_a_member_without_the_permission_is_refused(
    place: Place, command: str, options: dict[str, OptionValue]
) -> None:
    """A guild can show the command to everybody; that must not let everybody configure."""
    told = await place.call(command, permissions=int(MEMBER_PERMISSIONS), **options)

    assert told == (notices.MAY_NOT_CONFIGURE, True)
    assert await place.log.log.read(guild_stream(place.guild_id)) == []


async def test_a_prompt_is_written_in_a_form_of_several_lines(place: Place) -> None:
    """And the form shows what stands there."""
    opened = await place.discord.command(
        place.ada,
        place.channel,
        "persona edit",
        options={"persona": "mira"},
        permissions=MANAGER,
    )
    form = await opened.form

    sent = await place.discord.fill_in(
        place.ada, place.channel, form, {"prompt": "Kind.\nBrief."}, permissions=MANAGER
    )
    response = await sent.response

    assert [(one.custom_id, one.value, one.style) for one in form.fields] == [
        ("prompt", "", 2),
        ("triggers", "mira", 2),
    ]
    assert (response.content, response.is_ephemeral) == ("Mira is changed.", True)
    mira = persona_of(place, "Mira")
    assert (mira.prompt, mira.triggers) == ("Kind.\nBrief.", ("mira",))


async def test_a_prompt_that_no_form_holds_is_not_cut_off(place: Place) -> None:
    """Whoever sends the form back would lose the rest."""
    long = Persona(name="Mira", prompt="x" * 4_001)
    place.guilds._personas = (Persona(name="Main"), long)  # pyright: ignore[reportPrivateUsage] - the file's

    told = await place.call("persona edit", persona="Mira")

    assert told == (notices.PROMPT_TOO_LONG, True)


async def test_a_form_of_somebody_who_may_not_configure_changes_nothing(place: Place) -> None:
    """A permission can be taken away while a form is open."""
    opened = await place.discord.command(
        place.ada,
        place.channel,
        "persona edit",
        options={"persona": "Mira"},
        permissions=MANAGER,
    )

    sent = await place.discord.fill_in(
        place.ada, place.channel, await opened.form, {"prompt": "Evil."}
    )

    assert (await sent.response).content == notices.MAY_NOT_CONFIGURE
    assert persona_of(place, "Mira").prompt == ""


async def test_an_attached_avatar_is_kept_under_its_digest(place: Place, tmp_path: Path) -> None:
    """Discord's link to it ends within a day."""
    image = place.discord.attach("face.jpg", "image/jpeg", PNG)

    told, _ = await place.call("persona avatar", persona="Mira", image=image)

    kept = tmp_path / "images" / f"{hashlib.sha256(PNG).hexdigest()}.png"
    assert told == "Mira has a new face."
    assert persona_of(place, "Mira").avatar == str(kept)
    assert [path.read_bytes() for path in (tmp_path / "images").iterdir()] == [PNG]


async def test_what_only_calls_itself_an_image_is_refused(place: Place, tmp_path: Path) -> None:
    """Its first bytes decide."""
    image = place.discord.attach("face.png", "image/png", b"<svg onload=...>")

    told, _ = await place.call("persona avatar", persona="Mira", image=image)

    assert told == "That is no PNG, JPEG, GIF or WebP image."
    assert not (tmp_path / "images").exists()


@pytest.mark.parametrize(
    ("url", "size"),
    [
        pytest.param("https://cdn.discordapp.com/a.png", LARGEST + 1, id="T151"),
        pytest.param("https://images.example/a.png", 1, id="elsewhere"),
        pytest.param("http://cdn.discordapp.com/a.png", 1, id="plain-http"),
        pytest.param("https://cdn.discordapp.com@evil.example/a.png", 1, id="credentials"),
        pytest.param("http://127.0.0.1:9/a.png", 1, id="another-port"),
    ],
)
async def test_nothing_but_discords_own_files_are_fetched(
    tmp_path: Path, url: str, size: int
) -> None:
    """A bot that fetches what members name can be led anywhere."""
    store = ImageStore(tmp_path, "http://127.0.0.1:8/api/v10")

    with pytest.raises(ImageError):
        await store.keep(url, size)


async def test_sprites_come_and_go(place: Place) -> None:
    """A persona has moods."""
    url = "https://images.example/mad.png"

    added, _ = await place.call(
        "persona sprite add", persona="Mira", sprite="mad", url=url, identity=True
    )
    sprites = persona_of(place, "Mira").sprites
    removed, _ = await place.call("persona sprite remove", persona="Mira", sprite="MAD")

    assert (added, sprites) == (
        "Mira can appear as mad.",
        (Sprite(key="mad", image=url, is_identity=True),),
    )
    assert removed == "Mira has no sprite MAD any more."
    assert persona_of(place, "Mira").sprites == ()


@pytest.mark.parametrize("url", ["http://images.example/a.png", "https://", "a.png"])
async def test_an_address_that_is_not_https_is_refused(place: Place, url: str) -> None:
    """It would be fetched by whoever shows the message."""
    told, _ = await place.call("persona avatar", persona="Mira", url=url)

    assert told == notices.NO_HTTPS_URL


async def test_personas_can_be_listed_and_shown(place: Place) -> None:
    """What a member configures they can read."""
    listed, _ = await place.call("persona list")
    shown, _ = await place.call("persona show", persona="mira")

    assert listed == "- **Main** (main)\n- **Mira**: mira"
    assert shown.splitlines()[:2] == ["**Mira**", "- Trigger words: mira"]
