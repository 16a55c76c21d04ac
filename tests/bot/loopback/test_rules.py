"""What Discord refuses, with its status and code, and what it makes of what it accepts."""

import pytest

from bot.loopback.discord.entities import BOT_PERMISSIONS, Channel, MessageKind, Permission, User
from bot.loopback.discord.server import LoopbackDiscord
from tests.bot.loopback.client import Answer, Client


def verdict(answer: Answer) -> tuple[int, int]:
    """Return status and code."""
    return answer.status, answer.json["code"]


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        pytest.param({"content": "x" * 2001}, 50035, "content", id="2001-code-points"),
        pytest.param({"content": ""}, 50006, None, id="empty"),
        pytest.param({"content": " \n\t "}, 50006, None, id="only-whitespace"),
        pytest.param({}, 50006, None, id="nothing"),
        pytest.param({"content": 7}, 50035, "_body", id="no-text"),
        pytest.param({"content": "x", "nonce": "n" * 26}, 50035, "nonce", id="B19-long-nonce"),
        pytest.param(
            {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
            50035,
            "allowed_mentions",
            id="parsed-and-listed",
        ),
        pytest.param(
            {"content": "x", "message_reference": {"message_id": "1"}},
            50035,
            "message_reference",
            id="reply-to-nothing",
        ),
    ],
)
async def test_a_bad_message_is_refused_and_the_field_named(
    discord: LoopbackDiscord,
    channel: Channel,
    client: Client,
    body: dict[str, object],
    code: int,
    field: str | None,
) -> None:
    """B26: a permanent refusal must look like one."""
    answer = await client.call("POST", f"/channels/{channel.id}/messages", body)

    assert verdict(answer) == (400, code)
    assert field is None or field in answer.json["errors"]
    assert discord.messages(channel.id) == []
    assert (discord.posts[0].outcome, discord.posts[0].code) == ("refused", code)


async def test_the_limit_counts_code_points_and_the_ends_are_trimmed(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """What is read back differs from what was sent: receipts must not compare texts."""
    emoji = await client.post(channel.id, "\N{GRINNING FACE}" * 2000)
    trimmed = await client.post(channel.id, "\n  hello \n")

    assert emoji.status == 200
    assert trimmed.json["content"] == "hello"
    assert discord.posts[1].content == "\n  hello \n"
    assert discord.messages(channel.id)[1].id == int(trimmed.json["id"])


@pytest.mark.parametrize(
    ("permissions", "status", "code"),
    [
        pytest.param(0, 403, 50001, id="B24-no-access"),
        pytest.param(int(Permission.VIEW_CHANNEL), 403, 50013, id="B24-no-permission"),
    ],
)
async def test_b24_what_the_bot_may_not_do_is_refused(
    discord: LoopbackDiscord,
    channel: Channel,
    client: Client,
    permissions: int,
    status: int,
    code: int,
) -> None:
    """T126 and T128 tell a closed channel from a missing permission."""
    discord.world.set_bot_permissions(channel.id, permissions)

    assert verdict(await client.post(channel.id, "hello")) == (status, code)
    assert discord.messages(channel.id) == []


async def test_b24_a_deleted_channel_is_unknown(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """A queue that takes this for a passing failure loops for ever."""
    discord.world.remove_channel(channel.id)

    assert verdict(await client.post(channel.id, "hello")) == (404, 10003)
    assert verdict(await client.post(12345, "hello")) == (404, 10003)


async def test_a_wrong_token_is_unauthorized(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """A mistyped token must fail at start."""
    path = f"/channels/{channel.id}/messages"
    answer = await client.call("POST", path, {"content": "x"}, token="wrong")

    assert (answer.status, answer.json) == (401, {"message": "401: Unauthorized", "code": 0})
    assert discord.messages(channel.id) == []


async def test_an_unknown_route_is_a_404_in_json(client: Client) -> None:
    """A client that calls what the loopback lacks shall see it at once."""
    answer = await client.call("GET", "/stage-instances/1")

    assert (answer.status, answer.json["code"]) == (404, 0)


@pytest.mark.parametrize(
    ("allowed", "rung"),
    [
        pytest.param({"parse": []}, (0, False), id="B23-nobody"),
        pytest.param({"parse": ["users"]}, (1, False), id="users"),
        pytest.param(None, (1, True), id="B23-left-out-rings-everyone"),
    ],
)
async def test_allowed_mentions_decide_who_is_pinged(
    discord: LoopbackDiscord,
    channel: Channel,
    ann: User,
    client: Client,
    allowed: object,
    rung: tuple[int, bool],
) -> None:
    """B23: a body without the field pings all it names."""
    text = f"hi @everyone <@{ann.id}> <@&{channel.guild_id}> <@404>"
    fields = {} if allowed is None else {"allowed_mentions": allowed}

    answer = await client.post(channel.id, text, **fields)

    (message,) = discord.messages(channel.id)
    assert message.content == text
    assert (len(message.pings.users), message.pings.everyone) == rung
    assert (len(answer.json["mentions"]), answer.json["mention_everyone"]) == rung
    assert (message.allowed_mentions is None) == (allowed is None)


async def test_a_reply_is_one_and_a_lost_source_makes_it_plain(
    discord: LoopbackDiscord, channel: Channel, ann: User, client: Client
) -> None:
    """T123 replies so that the answer to a deleted question still goes out."""
    question = await discord.say(ann, channel, "why?")
    reference = {"message_id": str(question.id), "fail_if_not_exists": False}

    reply = await client.post(channel.id, "so", message_reference=reference)
    discord.world.remove(question)
    plain = await client.post(channel.id, "so", message_reference=reference)

    assert reply.json["type"] == MessageKind.REPLY
    assert reply.json["referenced_message"]["content"] == "why?"
    assert plain.json["type"] == MessageKind.DEFAULT
    assert "message_reference" not in plain.json


async def test_b19_an_enforced_nonce_gives_the_first_message_again(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """One nonce for two texts swallows the second."""
    first = await client.post(channel.id, "answer", nonce="t1", enforce_nonce=True)
    second = await client.post(channel.id, "notice", nonce="t1", enforce_nonce=True)
    loose = await client.post(channel.id, "other", nonce="t1")

    assert second.json["id"] == first.json["id"]
    assert loose.json["id"] != first.json["id"]
    assert [message.content for message in discord.messages(channel.id)] == ["answer", "other"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        pytest.param({"limit": "2"}, ["5", "4"], id="newest"),
        pytest.param({"before": "3", "limit": "100"}, ["2", "1"], id="before"),
        pytest.param({"after": "2", "limit": "2"}, ["4", "3"], id="after-is-the-next-ones"),
        pytest.param({"around": "3", "limit": "3"}, ["4", "3", "2"], id="around"),
    ],
)
async def test_history_is_newest_first_and_its_bounds_are_exclusive(
    discord: LoopbackDiscord,
    channel: Channel,
    ann: User,
    client: Client,
    query: dict[str, str],
    wanted: list[str],
) -> None:
    """The context of an answer is read this way."""
    said = {text: await discord.say(ann, channel, text) for text in "12345"}
    params = {
        name: value if name == "limit" else str(said[value].id) for name, value in query.items()
    }

    answer = await client.call("GET", f"/channels/{channel.id}/messages", params=params)

    assert [one["content"] for one in answer.json] == wanted


async def test_history_has_limits_and_needs_a_permission(
    discord: LoopbackDiscord, channel: Channel, ann: User, client: Client
) -> None:
    """Without the permission Discord gives an empty list, not a refusal."""
    await discord.say(ann, channel, "hello")
    path = f"/channels/{channel.id}/messages"

    too_many = await client.call("GET", path, params={"limit": "101"})
    without = int(BOT_PERMISSIONS & ~Permission.READ_MESSAGE_HISTORY)
    discord.world.set_bot_permissions(channel.id, without)
    blind = await client.call("GET", path)

    assert verdict(too_many) == (400, 50035)
    assert (blind.status, blind.json) == (200, [])


async def test_only_own_messages_are_edited_and_deletes_need_a_permission(
    discord: LoopbackDiscord, channel: Channel, ann: User, client: Client
) -> None:
    """The bot cleans up after itself, and after nobody else."""
    hers = await discord.say(ann, channel, "hello")
    own = int((await client.post(channel.id, "draft")).json["id"])
    path = f"/channels/{channel.id}/messages"

    foreign = await client.call("PATCH", f"{path}/{hers.id}", {"content": "mine"})
    edited = await client.call("PATCH", f"{path}/{own}", {"content": "final "})
    emptied = await client.call("PATCH", f"{path}/{own}", {"content": ""})
    without = int(BOT_PERMISSIONS & ~Permission.MANAGE_MESSAGES)
    discord.world.set_bot_permissions(channel.id, without)
    forbidden = await client.call("DELETE", f"{path}/{hers.id}")
    deleted = await client.call("DELETE", f"{path}/{own}")
    again = await client.call("DELETE", f"{path}/{own}")

    assert verdict(foreign) == (403, 50005)
    assert (edited.json["content"], edited.json["edited_timestamp"] is None) == ("final", False)
    assert verdict(emptied) == (400, 50006)
    assert verdict(forbidden) == (403, 50013)
    assert deleted.status == 204
    assert verdict(again) == (404, 10008)


async def test_ids_grow_even_while_the_clock_stands(still_discord: LoopbackDiscord) -> None:
    """History is ordered by id alone."""
    given = [still_discord.world.new_id() for _ in range(5000)]

    assert given == sorted(set(given))
    assert given[0] > still_discord.bot_user.id
