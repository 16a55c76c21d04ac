"""`/providers`: endpoints that a guild pays itself.

A key is entered in a form, so that it stands in no channel and no command's history, and is tried
before it is stored. From then on nobody sees it, not even its end: it can be replaced or removed.
A form's id carries kind and name, so that one that was opened before a restart still counts.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import arc
import hikari
from arc.command.option import StrOption

from actors.credentials import CredentialError, CredentialStore
from actors.guild_configurations import Changed
from actors.http_port import Transport
from actors.provider_check import fault_of
from actors.providers.adapter import ModelRoute
from actors.providers.registry import HOMES, KINDS, known_kind
from actors.rules.configuration import Refused
from actors.rules.model_choices import (
    GATE,
    LONGEST_MODEL,
    LONGEST_PROVIDER,
    RemoveProvider,
    SaveProvider,
    is_provider_name,
)
from bot import notices
from bot.commands.answering import (
    MOST_CHOICES,
    PATIENCE_SECONDS,
    Configurer,
    Option,
    answer,
    answer_form,
    configurer_of,
    subcommand,
)
from bot.guild_settings import GuildSettings
from events.base import GuildId
from events.settings import ProviderSaved

FORM: Final = "provider:"
"""What the id of a provider's form begins with; kind and name follow, parted by a colon."""
LONGEST_KEY: Final = 1_000
"""Characters of a key."""
LONGEST_URL: Final = 500
"""Characters of an address."""


class ProviderCommands:
    """The subcommands; each takes its options by name."""

    def __init__(
        self,
        guilds: GuildSettings,
        credentials: CredentialStore,
        transport: Transport,
        patience_seconds: float,
    ) -> None:
        self._guilds = guilds
        self._credentials = credentials
        self._transport = transport
        self._patience = patience_seconds

    async def add(self, context: arc.GatewayContext, name: str, kind: str) -> None:
        """Show the form of a provider."""
        problem = self._problem(context, name, kind)
        if problem is not None:
            await context.respond(problem, flags=hikari.MessageFlag.EPHEMERAL)
            return
        rows = [
            context.client.rest.build_modal_action_row().add_text_input(
                field,
                label,
                value=value or hikari.UNDEFINED,
                required=True,
                max_length=longest,
            )
            for field, label, value, longest in (
                ("key", "API key; it is never shown again", "", LONGEST_KEY),
                ("model", "A model to try it with", "", LONGEST_MODEL),
                ("base_url", "Address of its API", HOMES.get(kind, ""), LONGEST_URL),
            )
        ]
        await context.respond_with_modal(
            "Add a provider", f"{FORM}{kind}:{name.strip().lower()}", components=rows
        )

    def _problem(self, context: arc.GatewayContext, name: str, kind: str) -> str | None:
        if configurer_of(context) is None:
            return notices.MAY_NOT_CONFIGURE
        if not self._credentials.is_open:
            return notices.NO_SECRET_KEY
        if not is_provider_name(name):
            return notices.refusal("provider_name", name, "")
        return None if known_kind(kind) else notices.refusal("no_such_kind", kind, "")

    async def submitted(self, event: hikari.ModalInteractionCreateEvent) -> None:
        """Take a form that was filled in."""
        form = event.interaction
        if not form.custom_id.startswith(FORM):
            return
        kind, _, name = form.custom_id.removeprefix(FORM).partition(":")
        written = {field.custom_id: field.value.strip() for row in form.components for field in row}

        async def words() -> str:
            caller = configurer_of(form)
            if caller is None:
                return notices.MAY_NOT_CONFIGURE
            wish = SaveProvider(
                name=name, wire=kind, base_url=written.get("base_url", ""), credential=""
            )
            return await self._add(caller, wish, written.get("key", ""), written.get("model", ""))

        await answer_form(form, words(), self._patience)

    async def _add(self, caller: Configurer, wish: SaveProvider, key: str, model: str) -> str:
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            return notices.NO_KEY
        problem = await self._try(wish, key, model)
        if problem is not None:
            return f"{problem} Nothing was stored."
        try:
            credential = await asyncio.to_thread(self._credentials.keep, key)
        except CredentialError:
            return notices.NO_SECRET_KEY
        saved = SaveProvider(
            name=wish.name, wire=wish.wire, base_url=wish.base_url, credential=credential
        )
        outcome = await self._guilds.change(caller.guild_id, saved, caller.user_id)
        if isinstance(outcome, Refused):
            await asyncio.to_thread(self._credentials.forget, credential)
            return notices.refusal(outcome.why, outcome.what, outcome.owner)
        await self._forget_former(outcome)
        return f"{wish.name} answers and is saved. Use it with /model set {wish.name}/{model}."

    async def _forget_former(self, outcome: Changed) -> None:
        before, after = (
            {one.credential for one in guild.models.providers.values()}
            for guild in (outcome.before, outcome.after)
        )
        for credential in before - after:
            await asyncio.to_thread(self._credentials.forget, credential)

    async def _try(self, wish: SaveProvider, key: str, model: str) -> str | None:
        kind = known_kind(wish.wire)
        if kind is None:
            return notices.refusal("no_such_kind", wish.wire, "")
        route = ModelRoute(
            provider=wish.name,
            kind=kind,
            base_url=wish.base_url.rstrip("/"),
            api_key=key,
            model=model,
            gate=GATE,
        )
        fault = await fault_of(self._transport, route)
        return None if fault is None else notices.provider_notice(fault.type, fault.code)

    async def list(self, context: arc.GatewayContext) -> None:
        """List the providers, without their keys."""

        async def words(caller: Configurer) -> str:
            providers = self._of(caller.guild_id).values()
            lines = [f"- **{one.name}**: {one.wire} at <{one.base_url}>" for one in providers]
            return "\n".join(lines) or notices.NO_PROVIDERS

        await self._guarded(context, words)

    async def test(self, context: arc.GatewayContext, provider: str, model: str) -> None:
        """Ask a provider for a few words."""

        async def words(caller: Configurer) -> str:
            found = self._of(caller.guild_id).get(provider.strip().lower())
            if found is None:
                return notices.refusal("no_such_provider", provider, "")
            try:
                key = await asyncio.to_thread(self._credentials.reveal, found.credential)
            except CredentialError:
                return notices.KEY_UNUSABLE
            wish = SaveProvider(
                name=found.name, wire=found.wire, base_url=found.base_url, credential=""
            )
            return await self._try(wish, key, model.strip()) or f"{found.name} answers."

        await self._guarded(context, words)

    async def remove(self, context: arc.GatewayContext, provider: str) -> None:
        """Remove a provider, its key, and what was chosen of its models."""

        async def words(caller: Configurer) -> str:
            change = RemoveProvider(name=provider)
            outcome = await self._guilds.change(caller.guild_id, change, caller.user_id)
            if isinstance(outcome, Refused):
                return notices.refusal(outcome.why, outcome.what, outcome.owner)
            await self._forget_former(outcome)
            return f"{provider} is gone, and so are its key and every choice of its models."

        await self._guarded(context, words)

    def _of(self, guild_id: GuildId) -> Mapping[str, ProviderSaved]:
        return self._guilds.of(guild_id).models.providers

    async def _guarded(
        self, context: arc.GatewayContext, words: Callable[[Configurer], Awaitable[str]]
    ) -> None:
        async def guarded() -> str:
            caller = configurer_of(context)
            return notices.MAY_NOT_CONFIGURE if caller is None else await words(caller)

        await answer(context, guarded(), self._patience)


def include_providers(
    client: arc.GatewayClient,
    guilds: GuildSettings,
    credentials: CredentialStore,
    transport: Transport,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> ProviderCommands:
    """Add the command to a client; return who takes its forms."""
    group = client.include_slash_group(
        "providers",
        "Providers of models that this server pays itself.",
        autodefer=False,
        invocation_contexts=[hikari.ApplicationContextType.GUILD],
        default_permissions=hikari.Permissions.MANAGE_GUILD,
    )
    commands = ProviderCommands(guilds, credentials, transport, patience_seconds)
    name = _text("name", "What to call it.", LONGEST_PROVIDER)
    kind = StrOption[arc.GatewayClient](
        name="kind",
        arg_name="kind",
        description="What it speaks.",
        is_required=True,
        choices={one: one for one in KINDS},
    )

    async def offer(data: arc.AutocompleteData[arc.GatewayClient, str]) -> list[str]:
        written = str(data.focused_value or "").lower()
        guild_id = None if data.guild_id is None else GuildId(int(data.guild_id))
        names = guilds.of(guild_id).models.providers
        return [one for one in names if written in one][:MOST_CHOICES]

    provider = StrOption[arc.GatewayClient](
        name="provider",
        arg_name="provider",
        description="Which provider.",
        is_required=True,
        autocomplete_with=offer,
    )
    model = _text("model", "A model to try it with.", LONGEST_MODEL)
    for said, description, options, callback in (
        ("add", "Add a provider, or give one another key.", (name, kind), commands.add),
        ("list", "List the providers.", (), commands.list),
        ("test", "See whether a provider answers.", (provider, model), commands.test),
        ("remove", "Remove a provider and its key.", (provider,), commands.remove),
    ):
        group.include(subcommand(said, description, options, callback))
    return commands


def _text(name: str, says: str, longest: int) -> Option:
    return StrOption[arc.GatewayClient](
        name=name, arg_name=name, description=says, is_required=True, max_length=longest
    )
