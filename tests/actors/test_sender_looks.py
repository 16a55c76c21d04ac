"""Looks over real sockets: a change of pictures is seen, and a persona keeps the one it wore."""

from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec.structs import replace

from actors.delivery.single_attempt import HikariMessenger
from actors.ports import Draft, SendRequest, Sent
from actors.sender import Sender
from actors.voice import Voice, looks_of, voice_of
from bot.loopback.discord.server import LoopbackDiscord
from events.base import Scope
from events.settings import Persona, Sprite
from tests.actors.delivery.fakes import TURN, LogFace
from tests.actors.test_sender_routes import MAIN, Desk

FACE = "https://example.org/touko.png"
SPRITES = tuple(
    Sprite(key=key, image=f"https://example.org/{key}.png", is_identity=key == "Jack")
    for key in ("mad", "shy", "Jack")
)
TOUKO = Persona(name="Touko Fukawa", avatar=FACE, sprites=SPRITES)
OTHER = Persona(name="Ren", avatar="https://example.org/ren.png")
CLEAN = "Touko Fukawa"


def look(sprite: str = "", *, is_copied: bool = False) -> Voice:
    """Return Touko in a look."""
    found = voice_of((MAIN, TOUKO, OTHER), TOUKO, sprite, is_copied=is_copied)
    assert found is not None
    return found


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """Yield a sender, closed at the end."""
    async with LoopbackDiscord() as discord:
        clock = LogFace().clock
        async with HikariMessenger(
            api_url=discord.api_url, token=discord.token, clock=clock
        ) as messenger:
            desk = Desk(discord, messenger)
            yield desk
            await desk.sender.aclose()


async def say(desk: Desk, *sprites: str) -> None:
    """Say a line in each of the looks."""
    for sprite in sprites:
        assert isinstance(await desk.say(voice=look(sprite)), Sent)


def names(desk: Desk) -> list[str]:
    """Return the names that the bot's messages show."""
    return [one.author.username for one in desk.messages() if one.author.is_bot]


async def interrupt(desk: Desk) -> None:
    """Have somebody else say something."""
    await desk.discord.say(desk.discord.world.owner, desk.channel, "Hey")


@pytest.mark.parametrize(
    ("sprites", "expected"),
    [
        pytest.param(
            ("mad", "mad", "shy", "mad"), (CLEAN, CLEAN, f"{CLEAN} (shy)", CLEAN), id="V159"
        ),
        pytest.param(("mad", "shy", "shy"), (CLEAN, *[f"{CLEAN} (shy)"] * 2), id="T145-run"),
        pytest.param(("mad", "", ""), (CLEAN, *[f"{CLEAN} (neutral)"] * 2), id="T149"),
        pytest.param(("mad", "Jack", "shy"), (CLEAN, f"Jack ({CLEAN})", CLEAN), id="T145-identity"),
    ],
)
async def test_a_change_of_looks_is_seen(
    desk: Desk, sprites: Sequence[str], expected: Sequence[str]
) -> None:
    """Discord would show the first picture for all of them."""
    await say(desk, *sprites)

    assert names(desk) == list(expected)


async def test_v160_where_somebody_spoke_in_between_the_name_is_left_alone(desk: Desk) -> None:
    """The block is over, so the picture shows by itself."""
    await say(desk, "mad", "mad")
    await interrupt(desk)
    await say(desk, "shy", "mad")
    await interrupt(desk)
    await say(desk, "mad")

    assert names(desk) == [CLEAN, CLEAN, CLEAN, f"{CLEAN} (mad)", CLEAN]


async def test_v160_after_ten_minutes_the_name_is_left_alone(desk: Desk) -> None:
    """Discord begins a new block by then."""
    await say(desk, "mad")
    await desk.log.clock.advance(601.0)
    await say(desk, "shy")

    assert names(desk) == [CLEAN, CLEAN]


async def test_v160_a_message_of_the_bot_itself_ends_the_block(desk: Desk) -> None:
    """It has another author."""
    await say(desk, "mad")
    plain = Draft(channel_id=desk.channel, content="Well.")
    scope = Scope(turn_id=TURN, channel_id=desk.channel, guild_id=desk.guild_id)
    await desk.sender.send(
        SendRequest(turn_id=TURN, scope=scope, epoch=0, flush=90, piece=0, draft=plain)
    )
    await say(desk, "shy")

    assert names(desk)[-1] == CLEAN


async def test_t144_a_restart_forgets_no_block(desk: Desk) -> None:
    """The channel still shows it; the log knows it."""
    await say(desk, "mad")
    await desk.sender.aclose()
    desk.sender = Sender(desk.log, desk.messenger, desk.log.clock)
    await say(desk, "shy")

    assert names(desk) == [CLEAN, f"{CLEAN} (shy)"]


async def test_t145_discord_is_asked_only_where_a_change_could_be_missed(desk: Desk) -> None:
    """A request for each message would halve what a channel can take."""
    await say(desk, "mad")
    before = len(desk.discord.requests)
    await say(desk, "mad", "mad")

    assert len(desk.discord.requests) == before + 2


async def notice(desk: Desk, persona: Persona = TOUKO) -> tuple[str, str | None]:
    """Return the name and the picture of words that the persona says after its answer."""
    scope = Scope(turn_id=TURN, channel_id=desk.channel, guild_id=desk.guild_id)
    request = SendRequest(
        turn_id=TURN,
        scope=scope,
        epoch=0,
        flush=0,
        piece=0,
        purpose="notice",
        draft=Draft(channel_id=desk.channel, content="That failed."),
        voice=voice_of((MAIN, persona, OTHER), persona),
        looks=looks_of(persona),
    )
    assert isinstance(await desk.sender.send(request), Sent)
    author = desk.messages()[-1].author
    return author.username, author.avatar


async def test_v162_a_look_outlives_who_spoke_in_between(desk: Desk) -> None:
    """What the persona says later is said by the same face."""
    await say(desk, "mad")
    await interrupt(desk)
    await desk.say(voice=voice_of((MAIN, TOUKO, OTHER), OTHER))

    assert await notice(desk) == (CLEAN, "https://example.org/mad.png")


async def test_v162_a_look_that_is_no_more_gives_way_to_the_base(desk: Desk) -> None:
    """A sprite that was removed can't be worn."""
    await say(desk, "mad")
    await interrupt(desk)

    assert await notice(desk, replace(TOUKO, sprites=SPRITES[1:])) == (CLEAN, FACE)


async def test_v163_somebody_elses_looks_are_not_remembered(desk: Desk) -> None:
    """They were put on for a line."""
    await say(desk, "shy")
    await desk.say(voice=look("Ann", is_copied=True))

    assert await notice(desk) == (CLEAN, "https://example.org/shy.png")


async def test_t154_a_delivered_base_takes_the_sprites_place(desk: Desk) -> None:
    """The persona has calmed down."""
    await say(desk, "mad", "")
    await interrupt(desk)

    assert await notice(desk) == (CLEAN, FACE)
