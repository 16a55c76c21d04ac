"""Who and what there is: the bot itself, its application, users, guilds and their members."""

from collections.abc import Callable

from msgspec import Struct

from bot.loopback.discord.address import Address
from bot.loopback.discord.calls import Call, Reply, Route, snowflake
from bot.loopback.discord.entities import ChannelKind, Guild, User
from bot.loopback.discord.payloads import (
    application_json,
    channel_json,
    emoji_json,
    guild_json,
    member_json,
    own_guild_json,
    own_user_json,
    role_json,
    user_json,
)
from bot.loopback.discord.refusals import forbidden, unknown
from bot.loopback.discord.world import World

_SESSIONS = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}


class RecipientBody(Struct, frozen=True, kw_only=True):
    """The body that opens a direct-message channel."""

    recipient_id: str
    """The other side."""


class DirectoryRoutes:
    """The routes that only look things up, and the one that opens a direct-message channel."""

    def __init__(self, world: World, address: Address) -> None:
        self._world = world
        self._address = address

    def routes(self) -> list[Route]:
        """Return them."""
        table: tuple[tuple[str, Callable[[Call], Reply]], ...] = (
            ("/gateway/bot", self._gateway),
            ("/users/@me", self._me),
            ("/users/@me/guilds", self._my_guilds),
            ("/users/{user}", self._user),
            ("/oauth2/applications/@me", self._application),
            ("/applications/@me", self._application),
            ("/guilds/{guild}", self._guild),
            ("/guilds/{guild}/channels", self._channels),
            ("/guilds/{guild}/roles", self._roles),
            ("/guilds/{guild}/emojis", self._emojis),
            ("/guilds/{guild}/members", self._members),
            ("/guilds/{guild}/members/{user}", self._member),
        )
        found = [
            Route(method="GET", path=path, kind="lookup", handler=handler)
            for path, handler in table
        ]
        direct = "/users/@me/channels"
        return [
            *found,
            Route(method="POST", path=direct, kind="lookup", handler=self._open_dm),
            Route(
                method="GET",
                path="/gateway",
                kind="lookup",
                handler=self._gateway,
                needs_token=False,
            ),
        ]

    def _gateway(self, call: Call) -> Reply:
        del call
        body = {"url": self._address.gateway, "shards": 1, "session_start_limit": _SESSIONS}
        return Reply(body=body)

    def _me(self, call: Call) -> Reply:
        del call
        return Reply(body=own_user_json(self._world.bot))

    def _my_guilds(self, call: Call) -> Reply:
        after, before = call.number("after"), call.number("before")
        guilds = [
            one
            for one in self._world.guilds.values()
            if (after is None or one.id > after) and (before is None or one.id < before)
        ]
        return Reply(body=[own_guild_json(self._world, one) for one in guilds])

    def _application(self, call: Call) -> Reply:
        del call
        return Reply(body=application_json(self._world))

    def _user(self, call: Call) -> Reply:
        return Reply(body=user_json(self._known_user(call.id("user"), 10013)))

    def _guild(self, call: Call) -> Reply:
        body = guild_json(self._known_guild(call))
        if call.flag("with_counts"):
            count = len(self._world.users)
            body |= {"approximate_member_count": count, "approximate_presence_count": count}
        return Reply(body=body)

    def _channels(self, call: Call) -> Reply:
        inside = self._world.guild_channels(self._known_guild(call).id)
        shown = [one for one in inside if one.kind is not ChannelKind.PUBLIC_THREAD]
        return Reply(body=[channel_json(self._world, one) for one in shown])

    def _roles(self, call: Call) -> Reply:
        roles = self._known_guild(call).roles
        return Reply(body=[role_json(role, place) for place, role in enumerate(roles)])

    def _emojis(self, call: Call) -> Reply:
        return Reply(body=[emoji_json(one) for one in self._known_guild(call).emojis])

    def _members(self, call: Call) -> Reply:
        guild, limit, after = self._known_guild(call), call.number("limit"), call.number("after")
        users = [one for one in self._world.users.values() if one.id > (after or 0)]
        shown = users[: 1 if limit is None else limit]
        return Reply(body=[member_json(self._world, guild.id, user) for user in shown])

    def _member(self, call: Call) -> Reply:
        guild = self._known_guild(call)
        user = self._known_user(call.id("user"), 10007)
        return Reply(body=member_json(self._world, guild.id, user))

    def _open_dm(self, call: Call) -> Reply:
        body = call.decode(RecipientBody)
        user = self._known_user(snowflake("recipient_id", body.recipient_id), 10013)
        if user.is_bot:
            raise forbidden(50007)
        return Reply(body=channel_json(self._world, self._world.add_dm(user)))

    def _known_guild(self, call: Call) -> Guild:
        guild = self._world.guilds.get(call.id("guild"))
        if guild is None:
            raise unknown(10004)
        return guild

    def _known_user(self, user_id: int, code: int) -> User:
        user = self._world.users.get(user_id)
        if user is None:
            raise unknown(code)
        return user
