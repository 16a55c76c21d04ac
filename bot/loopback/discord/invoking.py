"""INTERACTION_CREATE: what Discord tells the bot when a command is invoked or a button pressed."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from bot.loopback.discord.commands import Command, CommandOption
from bot.loopback.discord.entities import (
    MEMBER_PERMISSIONS,
    Attachment,
    ChannelKind,
    JsonObject,
    StoredMessage,
    User,
)
from bot.loopback.discord.interactions import Form, Invocation
from bot.loopback.discord.payloads import (
    attachment_json,
    channel_json,
    member_json,
    message_json,
    role_json,
    user_json,
)
from bot.loopback.discord.world import World

OptionValue = str | int | float | bool | Attachment
"""What an option can be set to; users, channels and roles by their id."""

_USER, _CHANNEL, _ROLE, _MENTIONABLE = 6, 7, 8, 9
_BUTTON = 2
_IDS = (_USER, _CHANNEL, _ROLE, _MENTIONABLE)


class Invoked(Struct, frozen=True, kw_only=True):
    """A command as somebody calls it, or is about to."""

    command: Command
    """The command."""
    path: tuple[str, ...] = ()
    """The subcommand, outermost first; empty without one."""
    options: Mapping[str, OptionValue] = {}
    """Values by name."""
    focused: str | None = None
    """The option that is being written, where choices for it are looked for."""


def command_json(
    world: World, invocation: Invocation, invoked: Invoked, permissions: int, files: str
) -> JsonObject:
    """Return the event's payload, of a command or a look for choices.

    Raises:
        LookupError: The command has no such subcommand or option.
    """
    command, options = invoked.command, invoked.options
    schema = command.body.options or ()
    path = list(invoked.path)
    resolved = _resolved(world, invocation.channel.guild_id, _leaf(path, schema), options)
    sent = [one for one in options.values() if isinstance(one, Attachment)]
    if sent:
        found = {
            str(one.id): attachment_json(one, invocation.channel.id, files) | {"ephemeral": True}
            for one in sent
        }
        resolved |= {"attachments": found}
    data: JsonObject = {
        "id": str(command.id),
        "name": command.body.name,
        "type": command.body.type,
        "options": _nested(path, schema, options, invoked.focused),
        "resolved": resolved,
    }
    if command.guild_id is not None:
        data["guild_id"] = str(command.guild_id)
    return _interaction(world, invocation, data, permissions)


def submission_json(
    world: World,
    invocation: Invocation,
    form: Form,
    values: Mapping[str, str],
    permissions: int,
) -> JsonObject:
    """Return the event's payload, of a form that was filled in."""
    rows = [
        {
            "type": 1,
            "id": number,
            "components": [
                {
                    "type": 4,
                    "id": number + len(form.fields),
                    "custom_id": one.custom_id,
                    "value": values.get(one.custom_id, one.value),
                }
            ],
        }
        for number, one in enumerate(form.fields, 1)
    ]
    data: JsonObject = {"custom_id": form.custom_id, "components": rows}
    return _interaction(world, invocation, data, permissions)


def press_json(
    world: World,
    invocation: Invocation,
    message: StoredMessage,
    custom_id: str,
    files: str,
) -> JsonObject:
    """Return the event's payload for a button of `message`; `files` as `message_json` takes it.

    Raises:
        LookupError: The message has no such button, or it is disabled.
    """
    if not any(_is_open(row, custom_id) for row in message.components):
        raise LookupError(f"no button {custom_id} that can be pressed")
    data: JsonObject = {"custom_id": custom_id, "component_type": _BUTTON, "id": 1}
    body = _interaction(world, invocation, data, int(MEMBER_PERMISSIONS))
    return body | {"message": message_json(world, message, files=files)}


def _is_open(row: JsonObject, custom_id: str) -> bool:
    buttons = msgspec.convert(row.get("components", ()), tuple[JsonObject, ...])
    return any(one.get("custom_id") == custom_id and not one.get("disabled") for one in buttons)


def _interaction(
    world: World, invocation: Invocation, data: JsonObject, permissions: int
) -> JsonObject:
    channel = invocation.channel
    body: JsonObject = {
        "id": str(invocation.id),
        "application_id": str(world.bot.id),
        "type": invocation.kind,
        "token": invocation.token,
        "version": 1,
        "data": data,
        "channel_id": str(channel.id),
        "channel": channel_json(world, channel) | {"permissions": str(permissions)},
        "app_permissions": str(channel.bot_permissions),
        "locale": "en-US",
        "entitlements": [],
        "attachment_size_limit": 10 * 1024 * 1024,
        "context": 1 if channel.kind is ChannelKind.DM else 0,
    }
    return body | _invoker(world, invocation, permissions)


def _invoker(world: World, invocation: Invocation, permissions: int) -> JsonObject:
    guild_id = invocation.channel.guild_id
    if guild_id is None:
        owners = {"0": "0"}
        return {"user": user_json(invocation.user), "authorizing_integration_owners": owners}
    member = member_json(world, guild_id, invocation.user)
    return {
        "guild_id": str(guild_id),
        "guild_locale": "en-US",
        "member": member | {"permissions": str(permissions)},
        "authorizing_integration_owners": {"0": str(guild_id)},
    }


def _leaf(path: list[str], schema: tuple[CommandOption, ...]) -> tuple[CommandOption, ...]:
    """Return the options that the innermost subcommand takes.

    Raises:
        LookupError: There is no such subcommand.
    """
    for name in path:
        inner = next((one for one in schema if one.name == name), None)
        if inner is None:
            raise LookupError(f"no subcommand {name}")
        schema = inner.options or ()
    return schema


def _nested(
    path: list[str],
    schema: tuple[CommandOption, ...],
    options: Mapping[str, OptionValue],
    focused: str | None,
) -> list[JsonObject]:
    if not path:
        return [
            _option(name, value, _type_of(name, value, schema)) | _focus(is_on=name == focused)
            for name, value in options.items()
        ]
    inner = next(one for one in schema if one.name == path[0])
    below = _nested(path[1:], inner.options or (), options, focused)
    return [{"name": inner.name, "type": inner.type, "options": below}]


def _focus(*, is_on: bool) -> JsonObject:
    return {"focused": True} if is_on else {}


def _option(name: str, value: OptionValue, kind: int) -> JsonObject:
    if isinstance(value, Attachment):
        return {"name": name, "type": kind, "value": str(value.id)}
    return {"name": name, "type": kind, "value": str(value) if kind in _IDS else value}


def _type_of(name: str, value: OptionValue, schema: tuple[CommandOption, ...]) -> int:
    for option in schema:
        if option.name == name:
            return option.type
    raise LookupError(f"no option {name} (set to {value!r})")


def _resolved(
    world: World,
    guild_id: int | None,
    schema: tuple[CommandOption, ...],
    options: Mapping[str, OptionValue],
) -> JsonObject:
    """Return the users, members, channels and roles that option values name."""
    found: dict[str, JsonObject] = {}
    for option in schema:
        value = options.get(option.name)
        if option.type in _IDS and value is not None and not isinstance(value, Attachment):
            number = int(value)
            for group, body in _named(world, guild_id, number).items():
                found.setdefault(group, {})[str(number)] = body
    return dict(found)


def _named(world: World, guild_id: int | None, number: int) -> dict[str, JsonObject]:
    if number in world.channels:
        channel = channel_json(world, world.channels[number])
        return {"channels": channel | {"permissions": "0"}}
    user = world.users.get(number)
    if guild_id is None:
        return {} if user is None else {"users": user_json(user)}
    if user is not None:
        return {"users": user_json(user), "members": _member(world, guild_id, user)}
    role = next((one for one in world.guilds[guild_id].roles if one.id == number), None)
    return {} if role is None else {"roles": role_json(role)}


def _member(world: World, guild_id: int, user: User) -> JsonObject:
    return member_json(world, guild_id, user, with_user=False) | {"permissions": "0"}
