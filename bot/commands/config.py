"""`/config`: what holds for the answers in a guild, or of one of its personas, and to change it.

Made from `bot.setting_table`, so that a setting is described once.
"""

from typing import Final

import arc
import hikari
from arc.command.option import BoolOption, IntOption, StrOption

from actors.guild_configurations import Changed
from actors.rules.configuration import SetSetting, named
from bot import notices
from bot.commands.answering import (
    PATIENCE_SECONDS,
    Option,
    answer,
    configurer_of,
    persona_option,
    subcommand,
)
from bot.guild_settings import GuildSettings
from bot.setting_table import ROWS, TABLE, Row
from events.turn import TurnSettings
from projections.guild_models import key_of
from projections.guilds import Guild, Value, fits, settings_of

EVERYTHING: Final = "everything"
"""What `/config reset` takes for all settings at once."""


class ConfigCommands:
    """The subcommands; each takes its options by name."""

    def __init__(self, guilds: GuildSettings, patience_seconds: float) -> None:
        self._guilds = guilds
        self._patience = patience_seconds

    async def view(self, context: arc.GatewayContext, persona: str = "") -> None:
        """Show what holds, and where it comes from."""
        await answer(context, self._view(context, persona), self._patience)

    async def set(
        self, context: arc.GatewayContext, persona: str = "", **values: bool | int | str
    ) -> None:
        """Give settings values."""
        await answer(context, self._change(context, persona, {**values}), self._patience)

    async def reset(self, context: arc.GatewayContext, setting: str, persona: str = "") -> None:
        """Take choices back."""
        names = [row.name for row in TABLE] if setting == EVERYTHING else [setting]
        values: dict[str, Value | None] = dict.fromkeys(names)
        await answer(context, self._change(context, persona, values), self._patience)

    async def _view(self, context: arc.GatewayContext, persona: str) -> str:
        caller = configurer_of(context)
        if caller is None:
            return notices.MAY_NOT_CONFIGURE
        guild, personas = (
            self._guilds.of(caller.guild_id),
            self._guilds.personas(caller.guild_id),
        )
        owner = named(personas, persona)
        if persona and owner is None:
            return notices.no_such_persona(persona)
        name = owner.name if owner else ""
        whose = f"What holds for {name} here:" if name else "What holds here:"
        lines = [self._line(row, guild, name) for row in TABLE]
        return "\n".join((whose, *lines))

    def _line(self, row: Row, guild: Guild, persona: str) -> str:
        value = value_of(settings_of(guild, self._guilds.file, persona), row)
        return f"- **{row.title}**: {row.shown(value)} ({source_of(guild, row, persona)})"

    async def _change(
        self, context: arc.GatewayContext, persona: str, values: dict[str, Value | None]
    ) -> str:
        caller = configurer_of(context)
        if caller is None:
            return notices.MAY_NOT_CONFIGURE
        if not values:
            return notices.NOTHING_NAMED
        known = {name: value for name, value in values.items() if name in ROWS}
        faults = [
            fault
            for name, value in known.items()
            if value is not None and (fault := ROWS[name].fault(value)) is not None
        ]
        if faults or len(known) < len(values):
            return "\n".join(faults) or notices.NOTHING_NAMED
        lines: list[str] = []
        for name, value in known.items():
            change = SetSetting(setting=name, value=value, persona=persona)
            outcome = await self._guilds.change(caller.guild_id, change, caller.user_id)
            if not isinstance(outcome, Changed):
                return notices.refusal(outcome.why, outcome.what, outcome.owner)
            lines.append(self._told(ROWS[name], outcome, persona))
        return "\n".join(lines)

    def _told(self, row: Row, outcome: Changed, persona: str) -> str:
        before, after = (
            row.shown(value_of(settings_of(guild, self._guilds.file, persona), row))
            for guild in (outcome.before, outcome.after)
        )
        whose = f" for {persona}" if persona else ""
        source = source_of(outcome.after, row, persona)
        if before == after:
            return f"**{row.title}**{whose}: {after}, as before ({source})."
        return f"**{row.title}**{whose}: {before} → {after} ({source})."


def value_of(settings: TurnSettings, row: Row) -> Value:
    """Return a setting's value."""
    value: Value = getattr(settings, row.name)
    return value


def source_of(guild: Guild, row: Row, persona: str) -> str:
    """Return who decided on a setting, in words."""
    for owner, words in ((key_of(persona), f"set for {persona}"), ("", "set for this server")):
        value = guild.settings.get((owner, row.name))
        if value is not None and fits(row.name, value):
            return words if owner else "set for this server"
    return "the bot's default"


def include_config(
    client: arc.GatewayClient,
    guilds: GuildSettings,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> None:
    """Add the command to a client."""
    group = client.include_slash_group(
        "config",
        "How answers are written in this server.",
        autodefer=False,
        invocation_contexts=[hikari.ApplicationContextType.GUILD],
        default_permissions=hikari.Permissions.MANAGE_GUILD,
    )
    commands = ConfigCommands(guilds, patience_seconds)
    persona = persona_option(guilds, "For one persona alone.", is_required=False)
    settings = {row.name: option_of(row) for row in TABLE}
    which = StrOption[arc.GatewayClient](
        name="setting",
        arg_name="setting",
        description="Which choice to take back.",
        is_required=True,
        choices={"Everything": EVERYTHING} | {row.title: row.name for row in TABLE},
    )
    for name, description, options, callback in (
        ("view", "Show what holds and where it comes from.", (persona,), commands.view),
        ("set", "Change settings.", (*settings.values(), persona), commands.set),
        ("reset", "Take a choice back.", (which, persona), commands.reset),
    ):
        group.include(subcommand(name, description, options, callback))


def option_of(row: Row) -> Option:
    """Return a setting's option, as Discord knows its kind."""
    name, says = row.name, row.says
    match row.kind:
        case "switch":
            return BoolOption[arc.GatewayClient](
                name=name, arg_name=name, description=says, is_required=False
            )
        case "number":
            return IntOption[arc.GatewayClient](
                name=name,
                arg_name=name,
                description=says,
                is_required=False,
                min=row.least,
                max=row.most,
            )
        case "choice" | "text":
            return StrOption[arc.GatewayClient](
                name=name,
                arg_name=name,
                description=says,
                is_required=False,
                choices=row.choices or None,
                min_length=row.least,
                max_length=row.most,
            )
