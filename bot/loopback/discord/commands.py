"""The register of application commands: bulk overwrite, single changes, global and per guild."""

import re

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bot.loopback.discord.calls import NO_CONTENT, Call, Reply, Route
from bot.loopback.discord.entities import JsonObject
from bot.loopback.discord.refusals import invalid, unknown
from bot.loopback.discord.world import World
from events.base import GuildId

_NAME = re.compile(r"[-_'\w]{1,32}")
_DESCRIPTION_LIMIT = 100
_CHAT_INPUT = 1


class CommandOption(Struct, frozen=True, kw_only=True):
    """What an invocation needs to know of an option."""

    name: str
    """Its name."""
    type: int
    """Discord's option type; 1 is a subcommand, 2 a group of them."""
    options: tuple["CommandOption", ...] | None = None
    """What a subcommand or group contains."""


class CommandBody(Struct, frozen=True, kw_only=True):
    """The body of a registration, as far as it is checked."""

    name: str
    """Its name."""
    description: str | None = None
    """What people read; context menu commands have none."""
    type: int = _CHAT_INPUT
    """1 slash command, 2 on a user, 3 on a message."""
    options: tuple[CommandOption, ...] | None = None
    """Its options."""


class Command(Struct, frozen=True, kw_only=True):
    """A registered command."""

    id: int
    """Its id, kept while name and type stay."""
    guild_id: GuildId | None
    """Its guild; None where it is global."""
    version: int
    """Raised with each change."""
    body: CommandBody
    """What it looks like."""
    sent: JsonObject
    """The registration as it came, with all that is not checked."""


class CommandRoutes:
    """The routes below `/applications/…/commands`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._commands: dict[int, Command] = {}

    def routes(self) -> list[Route]:
        """Return them, global first."""
        found: list[Route] = []
        for scope in ("/applications/{application}", "/applications/{application}/guilds/{guild}"):
            every, one = f"{scope}/commands", f"{scope}/commands/{{command}}"
            found += [
                Route(method="GET", path=every, kind="command", handler=self._list),
                Route(method="PUT", path=every, kind="command", handler=self._overwrite),
                Route(method="POST", path=every, kind="command", handler=self._create),
                Route(method="GET", path=one, kind="command", handler=self._one),
                Route(method="PATCH", path=one, kind="command", handler=self._change),
                Route(method="DELETE", path=one, kind="command", handler=self._delete),
            ]
        return found

    def registered(self, guild_id: int | None = None) -> list[Command]:
        """Return the global commands, or a guild's own, in the order of registration."""
        return [one for one in self._commands.values() if one.guild_id == guild_id]

    def find(self, name: str, guild_id: int | None) -> Command | None:
        """Return the slash command that somebody in `guild_id` would be offered by this name."""
        offered = self.registered() + ([] if guild_id is None else self.registered(guild_id))
        fitting = [one for one in offered if one.body.name == name and one.body.type == _CHAT_INPUT]
        return fitting[-1] if fitting else None

    def _list(self, call: Call) -> Reply:
        return Reply(body=[self._json(one) for one in self.registered(self._scope(call))])

    def _overwrite(self, call: Call) -> Reply:
        scope = self._scope(call)
        wanted = call.decode(tuple[CommandBody, ...])
        sent = call.decode(tuple[JsonObject, ...])
        for index, body in enumerate(wanted):
            _check(body, f"{index}.")
        names = [(body.name, body.type) for body in wanted]
        if len(set(names)) != len(names):
            reason = "APPLICATION_COMMANDS_DUPLICATE_NAME"
            raise invalid("_body", reason, "Application command names must be unique")
        kept = [self._made(scope, body, raw) for body, raw in zip(wanted, sent, strict=True)]
        for one in self.registered(scope):
            del self._commands[one.id]
        self._commands |= {one.id: one for one in kept}
        return Reply(body=[self._json(one) for one in kept])

    def _create(self, call: Call) -> Reply:
        body = call.decode(CommandBody)
        _check(body, "")
        scope = self._scope(call)
        is_new = self._same(scope, body) is None
        command = self._made(scope, body, call.decode(JsonObject))
        self._commands[command.id] = command
        return Reply(status=201 if is_new else 200, body=self._json(command))

    def _one(self, call: Call) -> Reply:
        return Reply(body=self._json(self._known(call)))

    def _change(self, call: Call) -> Reply:
        command = self._known(call)
        sent = command.sent | call.decode(JsonObject)
        whole = Call(params=call.params, query=call.query, body=msgspec.json.encode(sent))
        body = whole.decode(CommandBody)
        _check(body, "")
        changed = replace(command, body=body, sent=sent, version=self._world.new_id())
        self._commands[command.id] = changed
        return Reply(body=self._json(changed))

    def _delete(self, call: Call) -> Reply:
        del self._commands[self._known(call).id]
        return NO_CONTENT

    def _scope(self, call: Call) -> GuildId | None:
        if "guild" not in call.params:
            return None
        guild = self._world.guilds.get(call.id("guild"))
        if guild is None:
            raise unknown(10004)
        return guild.id

    def _known(self, call: Call) -> Command:
        command = self._commands.get(call.id("command"))
        if command is None or command.guild_id != self._scope(call):
            raise unknown(10063)
        return command

    def _same(self, scope: GuildId | None, body: CommandBody) -> Command | None:
        for one in self.registered(scope):
            if (one.body.name, one.body.type) == (body.name, body.type):
                return one
        return None

    def _made(self, scope: GuildId | None, body: CommandBody, sent: JsonObject) -> Command:
        known = self._same(scope, body)
        return Command(
            id=self._world.new_id() if known is None else known.id,
            guild_id=scope,
            version=self._world.new_id(),
            body=body,
            sent=sent,
        )

    def _json(self, command: Command) -> JsonObject:
        sent = {name: value for name, value in command.sent.items() if value is not None}
        permissions = sent.get("default_member_permissions")
        body: JsonObject = {
            "type": command.body.type,
            "description": "",
            "nsfw": False,
            "integration_types": [0],
            "contexts": None,
        }
        body |= sent
        body |= {
            "id": str(command.id),
            "application_id": str(self._world.bot.id),
            "version": str(command.version),
            "default_member_permissions": None if permissions is None else str(permissions),
        }

        return body if command.guild_id is None else body | {"guild_id": str(command.guild_id)}


def _check(body: CommandBody, where: str) -> None:
    is_slash = body.type == _CHAT_INPUT
    if is_slash and (not _NAME.fullmatch(body.name) or body.name != body.name.lower()):
        reason = "APPLICATION_COMMAND_INVALID_NAME"
        raise invalid(f"{where}name", reason, "Command name is invalid")
    if is_slash and not 1 <= len(body.description or "") <= _DESCRIPTION_LIMIT:
        sentence = f"Must be between 1 and {_DESCRIPTION_LIMIT} in length."
        raise invalid(f"{where}description", "BASE_TYPE_BAD_LENGTH", sentence)
