"""Slash commands by hand: what may be registered, and when and how an interaction is answered."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot.loopback.discord.entities import EPHEMERAL, Channel, User
from bot.loopback.discord.faults import Fault
from bot.loopback.discord.interactions import Invocation
from bot.loopback.discord.server import LoopbackDiscord
from tests.bot.loopback.client import Answer, Client
from tests.fakes import ManualClock

STOP = {"name": "stop", "description": "Stop the answer"}


def verdict(answer: Answer) -> tuple[int, int]:
    """Return status and code."""
    return answer.status, answer.json["code"]


def commands_of(discord: LoopbackDiscord) -> str:
    """Return the path of the global commands."""
    return f"/applications/{discord.bot_user.id}/commands"


@pytest.fixture
async def bare(still_discord: LoopbackDiscord) -> AsyncIterator[Client]:
    """Give a client of the Discord on the manual clock, which has a command."""
    async with aiohttp.ClientSession() as session:
        client = Client(still_discord, session)
        await client.call("PUT", commands_of(still_discord), [STOP])
        yield client


@pytest.fixture
def place(still_discord: LoopbackDiscord) -> Channel:
    """Give a channel of it."""
    return still_discord.world.add_channel(still_discord.world.add_guild("HQ").id, "general")


@pytest.fixture
def bo(still_discord: LoopbackDiscord) -> User:
    """Give somebody of it."""
    return still_discord.world.add_user("Bo")


async def acknowledge(client: Client, invocation: Invocation, kind: int, **data: object) -> Answer:
    """Answer for the first time."""
    path = f"/interactions/{invocation.id}/{invocation.token}/callback"
    return await client.call("POST", path, {"type": kind, "data": data}, token="none")


async def test_an_interaction_is_answered_once_and_in_time(
    still_discord: LoopbackDiscord, place: Channel, bo: User, bare: Client, clock: ManualClock
) -> None:
    """A bot that is slow to answer shows people a failure."""
    answered = await still_discord.command(bo, place, "stop")
    first = await acknowledge(bare, answered, 4, content="stopped")
    second = await acknowledge(bare, answered, 4, content="again")
    late = await still_discord.command(bo, place, "stop")
    await clock.advance(3.5)

    refused = await acknowledge(bare, late, 4, content="stopped")

    assert first.status == 204
    assert (await answered.response).content == "stopped"
    assert verdict(second) == (400, 40060)
    assert verdict(refused) == (404, 10062)
    assert not late.response.done()


async def test_its_token_opens_nothing_before_it_is_acknowledged(
    still_discord: LoopbackDiscord, place: Channel, bo: User, bare: Client
) -> None:
    """A follow-up that comes first is a mistake of the bot's."""
    invocation = await still_discord.command(bo, place, "stop")
    path = f"/webhooks/{still_discord.bot_user.id}/{invocation.token}"

    early = await bare.call("POST", path, {"content": "x"})
    await acknowledge(bare, invocation, 5)
    unkept = await bare.call("GET", f"{path}/messages/@original")
    kept = await bare.call("PATCH", f"{path}/messages/@original", {"content": "done"})
    more = await bare.call("POST", path, {"content": "and more"})

    assert verdict(early) == (404, 10015)
    assert verdict(unkept) == (404, 10008)
    assert (await invocation.response).content == "done"
    assert [one.kind for one in invocation.answers] == ["edit", "followup"]
    assert [message.id for message in still_discord.messages(place.id)] == [
        int(kept.json["id"]),
        int(more.json["id"]),
    ]


async def test_a_promise_decides_whether_the_answer_is_private(
    still_discord: LoopbackDiscord, place: Channel, bo: User, bare: Client
) -> None:
    """What was promised for one pair of eyes must not stand in the channel."""
    invocation = await still_discord.command(bo, place, "stop")
    await acknowledge(bare, invocation, 5, flags=EPHEMERAL)
    path = f"/webhooks/{still_discord.bot_user.id}/{invocation.token}/messages/@original"

    await bare.call("PATCH", path, {"content": "psst"})
    read = await bare.call("GET", path)
    removed = await bare.call("DELETE", path)

    assert (await invocation.response).is_ephemeral
    assert (read.json["content"], removed.status) == ("psst", 204)
    assert still_discord.messages(place.id) == []


async def test_an_interaction_fault_meets_its_answer(
    still_discord: LoopbackDiscord, place: Channel, bo: User, bare: Client
) -> None:
    """A command whose answer is lost has still been obeyed."""
    still_discord.fail(Fault(route="interaction", status=500, when="after"))
    invocation = await still_discord.command(bo, place, "stop")

    answer = await acknowledge(bare, invocation, 4, content="stopped")

    assert answer.status == 500
    assert (await invocation.response).content == "stopped"
    assert still_discord.posts == []


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param([{"name": "Stop", "description": "x"}], id="upper-case"),
        pytest.param([{"name": "stop it", "description": "x"}], id="blank"),
        pytest.param([{"name": "stop"}], id="no-description"),
        pytest.param([{"name": "stop", "description": "x" * 101}], id="long-description"),
        pytest.param([STOP, STOP], id="twice"),
    ],
)
async def test_a_bad_command_is_refused_with_all_the_others(
    still_discord: LoopbackDiscord, bare: Client, wanted: object
) -> None:
    """One mistyped command takes all of them away at the next start."""
    answer = await bare.call("PUT", commands_of(still_discord), wanted)

    assert verdict(answer) == (400, 50035)
    assert [one.body.name for one in still_discord.registered_commands()] == ["stop"]


async def test_overwriting_keeps_the_id_of_what_stays(
    still_discord: LoopbackDiscord, bare: Client
) -> None:
    """People's permissions for a command hang on its id."""
    (before,) = still_discord.registered_commands()
    say = {"name": "say", "description": "Say it"}

    await bare.call("PUT", commands_of(still_discord), [say, STOP])

    assert [one.body.name for one in still_discord.registered_commands()] == ["say", "stop"]
    assert still_discord.registered_commands()[1].id == before.id


@pytest.mark.parametrize("disabled", [False, True])
async def test_t106_only_a_button_that_is_there_and_enabled_can_be_pressed(
    still_discord: LoopbackDiscord, place: Channel, bo: User, bare: Client, *, disabled: bool
) -> None:
    """A test that pressed what people can't press would prove nothing."""
    button = {"type": 2, "style": 2, "label": "x", "custom_id": "known", "disabled": disabled}
    row = {"type": 1, "components": [button]}
    path = f"/channels/{place.id}/messages"
    posted = await bare.call("POST", path, {"content": "x", "components": [row]})
    message_id = int(posted.json["id"])

    with pytest.raises(LookupError):
        await still_discord.press(bo, message_id, "known" if disabled else "unknown")
    with pytest.raises(LookupError):
        await still_discord.press(bo, place.id, "known")

    if not disabled:
        pressed = await still_discord.press(bo, message_id, "known")
        answer = await acknowledge(bare, pressed, 4, content="y", flags=EPHEMERAL)
        assert answer.status == 204
        assert [one.content for one in still_discord.messages(place.id)] == ["x"]


CONFIG = {
    "name": "config",
    "description": "Configure",
    "options": [
        {"name": "face", "description": "A face", "type": 11},
        {"name": "who", "description": "Who", "type": 3, "autocomplete": True},
    ],
}


@pytest.fixture
async def configured(still_discord: LoopbackDiscord, bare: Client) -> Client:
    """Give a client of the Discord that has a command with options."""
    await bare.call("PUT", commands_of(still_discord), [CONFIG])
    return bare


async def test_choices_are_offered_25_at_most(
    still_discord: LoopbackDiscord, place: Channel, bo: User, configured: Client
) -> None:
    """One too many and Discord shows none."""
    looking = await still_discord.complete(bo, place, "config", "who", options={"who": "m"})
    many = [{"name": str(number), "value": str(number)} for number in range(26)]

    refused = await acknowledge(configured, looking, 8, choices=many)
    taken = await acknowledge(configured, looking, 8, choices=many[:25])

    assert (verdict(refused), taken.status) == ((400, 50035), 204)
    assert len(await looking.choices) == 25


async def test_a_form_can_be_shown_and_is_no_answer_to_a_form(
    still_discord: LoopbackDiscord, place: Channel, bo: User, configured: Client
) -> None:
    """Discord refuses a form behind a form."""
    field = {"type": 4, "custom_id": "a", "label": "A", "style": 2}
    form = {"custom_id": "f", "title": "F", "components": [{"type": 1, "components": [field]}]}
    invocation = await still_discord.command(bo, place, "config")

    shown = await acknowledge(configured, invocation, 9, **form)
    sent = await still_discord.fill_in(bo, place, await invocation.form, {"a": "text"})
    again = await acknowledge(configured, sent, 9, **form)
    answered = await acknowledge(configured, sent, 4, content="thanks")

    assert (shown.status, verdict(again), answered.status) == (204, (400, 50035), 204)
    assert (await sent.response).content == "thanks"


async def test_choices_are_no_answer_to_a_command(
    still_discord: LoopbackDiscord, place: Channel, bo: User, configured: Client
) -> None:
    """Each type of interaction has its own answers."""
    invocation = await still_discord.command(bo, place, "config")

    assert verdict(await acknowledge(configured, invocation, 8, choices=[])) == (400, 50035)


async def test_an_unknown_option_is_a_mistake_of_the_test(
    still_discord: LoopbackDiscord, place: Channel, bo: User, configured: Client
) -> None:
    """Not of the bot's."""
    assert configured

    with pytest.raises(LookupError, match="no option nose"):
        await still_discord.command(bo, place, "config", options={"nose": "long"})
