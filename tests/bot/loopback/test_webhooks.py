"""Webhooks: made, executed, refused and deleted as Discord does."""

from bot.loopback.discord.entities import BOT_PERMISSIONS, Channel, Permission
from bot.loopback.discord.faults import Fault
from bot.loopback.discord.server import LoopbackDiscord
from tests.bot.loopback.client import Answer, Client

WAIT = {"wait": "true"}


def verdict(answer: Answer) -> tuple[int, int]:
    """Return status and code."""
    return answer.status, answer.json["code"]


async def test_a_post_bears_the_name_and_face_it_brings(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """T118: an alter speaks under its own name."""
    made = await client.call("POST", f"/channels/{channel.id}/webhooks", {"name": "Rejoinder"})
    hook = f"/webhooks/{made.json['id']}/{made.json['token']}"
    body = {"content": "hi", "username": "Mira", "avatar_url": "https://example.com/mira.png"}

    posted = await client.call("POST", hook, body, params=WAIT, token="none")
    silent = await client.call("POST", hook, {"content": "plain"}, token="none")

    first, second = discord.messages(channel.id)
    assert (posted.json["author"]["username"], posted.json["webhook_id"]) == (
        "Mira",
        made.json["id"],
    )
    assert first.author.avatar == "https://example.com/mira.png"
    assert silent.status == 204
    assert second.author.username == "Rejoinder"
    assert [post.message_id for post in discord.posts] == [first.id, second.id]
    assert [post.channel_id for post in discord.posts] == [channel.id, channel.id]


async def test_a_thread_is_reached_through_its_channel(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """T119: the post carries the thread's id, and a foreign one is refused."""
    thread = discord.world.add_thread(channel.id, "aside")
    assert channel.guild_id is not None
    stranger = discord.world.add_channel(channel.guild_id, "elsewhere")
    webhook = discord.world.add_webhook(channel, "Mira", None)
    path = f"/webhooks/{webhook.id}/{webhook.token}"

    inside = await client.call(
        "POST", path, {"content": "x"}, params=WAIT | {"thread_id": str(thread.id)}
    )
    outside = await client.call(
        "POST", path, {"content": "x"}, params=WAIT | {"thread_id": str(stranger.id)}
    )

    assert inside.json["channel_id"] == str(thread.id)
    assert len(discord.messages(thread.id)) == 1
    assert verdict(outside) == (400, 10003)


async def test_b21_a_deleted_webhook_is_unknown_and_a_wrong_token_invalid(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """T124 makes a new one after either of these, and after nothing else."""
    webhook = discord.world.add_webhook(channel, "Mira", None)

    wrong = await client.call("POST", f"/webhooks/{webhook.id}/other", {"content": "x"})
    gone = await client.call("DELETE", f"/webhooks/{webhook.id}")
    unknown = await client.call("POST", f"/webhooks/{webhook.id}/{webhook.token}", {"content": "x"})

    assert verdict(wrong) == (401, 50027)
    assert gone.status == 204
    assert verdict(unknown) == (404, 10015)
    assert discord.messages(channel.id) == []


async def test_making_one_is_refused_without_permission_beyond_fifteen_or_under_a_bad_name(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """T121 remembers why; T143 changes names with reserved words."""
    path = f"/channels/{channel.id}/webhooks"

    reserved = await client.call("POST", path, {"name": "Discord Fan"})
    for number in range(15):
        assert (await client.call("POST", path, {"name": f"hook {number}"})).status == 200
    full = await client.call("POST", path, {"name": "one more"})
    listed = await client.call("GET", path)
    without = int(BOT_PERMISSIONS & ~Permission.MANAGE_WEBHOOKS)
    discord.world.set_bot_permissions(channel.id, without)
    forbidden = await client.call("POST", path, {"name": "fine"})

    assert verdict(reserved) == (400, 50035)
    assert verdict(full) == (400, 30007)
    assert len(listed.json) == 15
    assert verdict(forbidden) == (403, 50013)


async def test_its_messages_are_edited_and_deleted_through_it(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """T165 cleans up through the webhook that wrote."""
    webhook = discord.world.add_webhook(channel, "Mira", None)
    path = f"/webhooks/{webhook.id}/{webhook.token}"
    posted = await client.call("POST", path, {"content": "draft"}, params=WAIT)
    by_bot = await client.post(channel.id, "mine")

    edited = await client.call("PATCH", f"{path}/messages/{posted.json['id']}", {"content": "ok"})
    foreign = await client.call("DELETE", f"{path}/messages/{by_bot.json['id']}")
    deleted = await client.call("DELETE", f"{path}/messages/{posted.json['id']}")

    assert edited.json["content"] == "ok"
    assert verdict(foreign) == (404, 10008)
    assert deleted.status == 204
    assert [message.content for message in discord.messages(channel.id)] == ["mine"]


async def test_a_webhook_fault_spares_the_bot_route(
    discord: LoopbackDiscord, channel: Channel, client: Client
) -> None:
    """The fallback from webhook to bot is tested by breaking the one alone."""
    webhook = discord.world.add_webhook(channel, "Mira", None)
    discord.fail(Fault(route="webhook", status=400, code=50035, times=None))

    by_hook = await client.call("POST", f"/webhooks/{webhook.id}/{webhook.token}", {"content": "x"})
    by_bot = await client.post(channel.id, "x")

    assert (verdict(by_hook), by_bot.status) == ((400, 50035), 200)
