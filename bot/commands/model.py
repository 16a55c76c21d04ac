"""`/model`: which models answer in a guild, in one of its channels, or as one of its personas."""

import arc
import hikari
from arc.command.option import BoolOption, StrOption

from actors.rules.configuration import Refused
from actors.rules.model_choices import (
    LONGEST_MODEL,
    LONGEST_PROVIDER,
    MOST_FALLBACKS,
    ChooseFallbacks,
    ChooseModel,
    ModelChange,
)
from bot import notices
from bot.commands.answering import (
    MOST_CHOICES,
    PATIENCE_SECONDS,
    answer,
    configurer_of,
    persona_option,
    subcommand,
)
from bot.guild_settings import GuildSettings
from events.base import ChannelId, GuildId
from projections.guild_models import Models, key_of

NONE = "none"
"""What `/model fallbacks` takes for no fallbacks at all."""

DEFAULT = "the bot's default"
"""Stands for what was not chosen."""


class ModelCommands:
    """The subcommands; each takes its options by name."""

    def __init__(self, guilds: GuildSettings, offered: tuple[str, ...]) -> None:
        self._guilds = guilds
        self._offered = offered

    async def show(self, context: arc.GatewayContext) -> None:
        """Show every choice and what the operator has."""

        async def words() -> str:
            caller = configurer_of(context)
            if caller is None:
                return notices.MAY_NOT_CONFIGURE
            return shown(self._guilds.of(caller.guild_id).models, self._offered)

        await answer(context, words(), PATIENCE_SECONDS)

    async def set(
        self, context: arc.GatewayContext, model: str, persona: str = "", *, here: bool = False
    ) -> None:
        """Choose a model."""
        change = ChooseModel(
            model=model.strip(), persona=persona, channel_id=_spot(context, here=here)
        )
        whose = _whose(persona, here=here)
        await self._answer(context, change, f"{model.strip()} is asked first{whose}.")

    async def reset(
        self, context: arc.GatewayContext, persona: str = "", *, here: bool = False
    ) -> None:
        """Take a choice back."""
        change = ChooseModel(model=None, persona=persona, channel_id=_spot(context, here=here))
        done = f"No model is chosen{_whose(persona, here=here)} any more."
        await self._answer(context, change, done)

    async def fallbacks(self, context: arc.GatewayContext, models: str = "") -> None:
        """Choose what is asked where the first model fails."""
        names = tuple(part.strip() for part in models.split(",") if part.strip())
        if not names:
            done = "No fallbacks are chosen any more; the bot's defaults hold."
            await self._answer(context, ChooseFallbacks(models=None), done)
        elif names == (NONE,):
            await self._answer(
                context, ChooseFallbacks(models=()), "Nothing is asked in its place."
            )
        else:
            done = f"Asked in its place, in this order: {', '.join(names)}."
            await self._answer(context, ChooseFallbacks(models=names), done)

    async def _answer(self, context: arc.GatewayContext, change: ModelChange, done: str) -> None:
        async def words() -> str:
            caller = configurer_of(context)
            if caller is None:
                return notices.MAY_NOT_CONFIGURE
            if isinstance(change, ChooseModel) and change.persona and change.channel_id is not None:
                return notices.PERSONA_OR_CHANNEL
            outcome = await self._guilds.change(caller.guild_id, change, caller.user_id)
            if isinstance(outcome, Refused):
                return notices.refusal(outcome.why, outcome.what, outcome.owner)
            return done

        await answer(context, words(), PATIENCE_SECONDS)

    async def offer(self, data: arc.AutocompleteData[arc.GatewayClient, str]) -> list[str]:
        """Return models to choose from: the file's, those in use, and what is being typed."""
        written = str(data.focused_value or "").strip()
        guild_id = None if data.guild_id is None else GuildId(int(data.guild_id))
        models = self._guilds.of(guild_id).models
        used = (*models.chosen.values(), *(models.fallbacks or ()))
        typed = [written] if written.partition("/")[0] in models.providers else []
        starts = [f"{name}/" for name in models.providers]
        names = dict.fromkeys((*typed, *self._offered, *used, *starts))
        return [one for one in names if key_of(written) in key_of(one)][:MOST_CHOICES]


def shown(models: Models, offered: tuple[str, ...]) -> str:
    """Return a guild's choices in words."""
    lines = [f"- **This server**: {models.chosen.get(('', None), DEFAULT)}"]
    for (persona, channel), model in models.chosen.items():
        if persona:
            lines.append(f"- **{persona}**: {model}")
        elif channel is not None:
            lines.append(f"- <#{channel}>: {model}")
    fallbacks = DEFAULT if models.fallbacks is None else ", ".join(models.fallbacks)
    lines += (f"- **Fallbacks**: {fallbacks or NONE}", f"- The bot has: {', '.join(offered)}")
    if models.providers:
        lines.append(f"- Providers of this server: {', '.join(models.providers)}")
    return "\n".join(lines)


def _spot(context: arc.GatewayContext, *, here: bool) -> ChannelId | None:
    return ChannelId(int(context.channel_id)) if here else None


def _whose(persona: str, *, here: bool) -> str:
    if persona:
        return f" for {persona}"
    return " in this channel" if here else " in this server"


def include_model(
    client: arc.GatewayClient, guilds: GuildSettings, offered: tuple[str, ...]
) -> None:
    """Add the command to a client; `offered` are the models that the configuration file names."""
    group = client.include_slash_group(
        "model",
        "Which models answer in this server.",
        autodefer=False,
        invocation_contexts=[hikari.ApplicationContextType.GUILD],
        default_permissions=hikari.Permissions.MANAGE_GUILD,
    )
    commands = ModelCommands(guilds, offered)
    longest = LONGEST_PROVIDER + 1 + LONGEST_MODEL
    model = StrOption[arc.GatewayClient](
        name="model",
        arg_name="model",
        description="Provider and model, such as ours/gpt-5-mini.",
        is_required=True,
        max_length=longest,
        autocomplete_with=commands.offer,
    )
    several = StrOption[arc.GatewayClient](
        name="models",
        arg_name="models",
        description="In order, parted by commas; none for none; empty for the bot's default.",
        is_required=False,
        max_length=MOST_FALLBACKS * (longest + 2),
    )
    persona = persona_option(guilds, "For one persona alone.", is_required=False)
    here = BoolOption[arc.GatewayClient](
        name="here",
        arg_name="here",
        description="For this channel and its threads alone.",
        is_required=False,
    )
    for said, description, options, callback in (
        ("show", "Show which models were chosen.", (), commands.show),
        ("set", "Choose the model that is asked first.", (model, persona, here), commands.set),
        ("reset", "Take a choice back.", (persona, here), commands.reset),
        ("fallbacks", "Choose what is asked where it fails.", (several,), commands.fallbacks),
    ):
        group.include(subcommand(said, description, options, callback))
