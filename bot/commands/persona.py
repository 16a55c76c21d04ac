"""`/persona`: who the bot can be in a guild.

A persona is added under its name at once, so that a name that can't be is told of at once; its
prompt is written in a form, whose id carries the persona's name, so that a form that was opened
before a restart of the bot still finds it.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final

import arc
import hikari
from arc.command.option import AttachmentOption, BoolOption, StrOption

from actors.guild_configurations import Changed
from actors.rules.configuration import (
    LONGEST_NAME,
    LONGEST_PROMPT,
    AddPersona,
    Change,
    EditPersona,
    RemovePersona,
    named,
)
from bot import notices
from bot.commands.answering import (
    PATIENCE_SECONDS,
    Configurer,
    Option,
    answer,
    answer_form,
    clipped,
    configurer_of,
    persona_option,
    subcommand,
)
from bot.guild_settings import GuildSettings
from bot.images import ImageError, ImageStore
from bot.persona_settings import is_https_url
from events.settings import Persona, Sprite

FORM: Final = "persona:"
"""What the id of a persona's form begins with; its name follows."""
LONGEST_SPRITE: Final = 60
"""Characters of a sprite's name, which stands beside the persona's in 80."""

_Words = Coroutine[Any, Any, str]


class PersonaCommands:
    """The subcommands; each takes its options by name."""

    def __init__(self, guilds: GuildSettings, images: ImageStore, patience_seconds: float) -> None:
        self._guilds = guilds
        self._images = images
        self._patience = patience_seconds

    async def add(
        self,
        context: arc.GatewayContext,
        name: str,
        triggers: str = "",
        image: hikari.Attachment | None = None,
        url: str = "",
    ) -> None:
        """Add a persona."""

        async def words(caller: Configurer) -> str:
            avatar = await self._image(image, url)
            persona = Persona(name=name, triggers=words_of(triggers), avatar=avatar)
            done = f"{name.strip()} is here. Write its prompt with /persona edit."
            return await self._change(caller, AddPersona(persona=persona), done)

        await self._guarded(context, words)

    async def edit(self, context: arc.GatewayContext, persona: str) -> None:
        """Show the form of a persona."""
        found = self._editable(context, persona)
        if isinstance(found, str):
            await context.respond(found, flags=hikari.MessageFlag.EPHEMERAL)
            return
        rows = [
            context.client.rest.build_modal_action_row().add_text_input(
                field,
                label,
                style=hikari.TextInputStyle.PARAGRAPH,
                value=value or hikari.UNDEFINED,
                required=False,
                max_length=LONGEST_PROMPT,
            )
            for field, label, value in (
                ("prompt", "What the model is told about it", found.prompt),
                ("triggers", "Words that ask it, parted by commas", ", ".join(found.triggers)),
            )
        ]
        await context.respond_with_modal("Edit a persona", FORM + found.name, components=rows)

    def _editable(self, context: arc.GatewayContext, name: str) -> Persona | str:
        """Return the persona of that name, or why its form can't be shown."""
        caller = configurer_of(context)
        if caller is None:
            return notices.MAY_NOT_CONFIGURE
        found = named(self._guilds.personas(caller.guild_id), name)
        if found is None:
            return notices.no_such_persona(name)
        # One of the configuration file's; a form would cut it off.
        is_long = len(found.prompt) > LONGEST_PROMPT
        return notices.PROMPT_TOO_LONG if is_long else found

    async def submitted(self, event: hikari.ModalInteractionCreateEvent) -> None:
        """Take a form that was filled in."""
        form = event.interaction
        if not form.custom_id.startswith(FORM):
            return
        name = form.custom_id.removeprefix(FORM)
        written = {field.custom_id: field.value for row in form.components for field in row}

        async def words() -> str:
            caller = configurer_of(form)
            if caller is None:
                return notices.MAY_NOT_CONFIGURE
            change = EditPersona(
                name=name,
                prompt=written.get("prompt", "").strip(),
                triggers=words_of(written.get("triggers", "")),
            )
            return await self._change(caller, change, f"{name} is changed.")

        await answer_form(form, words(), self._patience)

    async def remove(self, context: arc.GatewayContext, persona: str) -> None:
        """Remove a persona."""

        async def words(caller: Configurer) -> str:
            return await self._change(caller, RemovePersona(name=persona), f"{persona} is gone.")

        await self._guarded(context, words)

    async def list(self, context: arc.GatewayContext) -> None:
        """List the personas in force."""

        async def words(caller: Configurer) -> str:
            main, *others = self._guilds.personas(caller.guild_id)
            lines = [f"- **{main.name}** (main){_asked(main)}"]
            return "\n".join(lines + [f"- **{one.name}**{_asked(one)}" for one in others])

        await self._guarded(context, words)

    async def show(self, context: arc.GatewayContext, persona: str) -> None:
        """Show a persona."""

        async def words(caller: Configurer) -> str:
            found = named(self._guilds.personas(caller.guild_id), persona)
            return notices.no_such_persona(persona) if found is None else shown(found)

        await self._guarded(context, words)

    async def avatar(
        self,
        context: arc.GatewayContext,
        persona: str,
        image: hikari.Attachment | None = None,
        url: str = "",
    ) -> None:
        """Give a persona a face, or none."""

        async def words(caller: Configurer) -> str:
            avatar = await self._image(image, url)
            face = "a new face" if avatar else "the bot's own face"
            change = EditPersona(name=persona, avatar=avatar)
            return await self._change(caller, change, f"{persona} has {face}.")

        await self._guarded(context, words)

    async def add_sprite(
        self,
        context: arc.GatewayContext,
        persona: str,
        sprite: str,
        image: hikari.Attachment | None = None,
        url: str = "",
        *,
        identity: bool = False,
    ) -> None:
        """Give a persona an appearance."""

        async def words(caller: Configurer) -> str:
            picture = await self._image(image, url)
            if not picture:
                return notices.IMAGE_MISSING
            wanted = Sprite(key=sprite.strip(), image=picture, is_identity=identity)
            change = EditPersona(name=persona, sprite=wanted)
            return await self._change(caller, change, f"{persona} can appear as {sprite.strip()}.")

        await self._guarded(context, words)

    async def remove_sprite(self, context: arc.GatewayContext, persona: str, sprite: str) -> None:
        """Take an appearance from a persona."""

        async def words(caller: Configurer) -> str:
            change = EditPersona(name=persona, without_sprite=sprite)
            return await self._change(caller, change, f"{persona} has no sprite {sprite} any more.")

        await self._guarded(context, words)

    async def _guarded(
        self, context: arc.GatewayContext, words: Callable[[Configurer], _Words]
    ) -> None:
        async def guarded() -> str:
            caller = configurer_of(context)
            if caller is None:
                return notices.MAY_NOT_CONFIGURE
            try:
                return await words(caller)
            except ImageError as error:
                return str(error)

        await answer(context, guarded(), self._patience)

    async def _change(self, caller: Configurer, change: Change, done: str) -> str:
        outcome = await self._guilds.change(caller.guild_id, change, caller.user_id)
        if isinstance(outcome, Changed):
            return done
        return notices.refusal(outcome.why, outcome.what, outcome.owner)

    async def _image(self, image: hikari.Attachment | None, url: str) -> str:
        """Return what the event says of an image: a path or a URL; empty for neither."""
        if image is not None:
            return str(await self._images.keep(image.url, image.size))
        if url and not is_https_url(url):
            raise ImageError(notices.NO_HTTPS_URL)
        return url


def words_of(text: str) -> tuple[str, ...]:
    """Return the words that commas or line ends part."""
    parts = (part.strip() for part in text.replace("\n", ",").split(","))
    return tuple(part for part in parts if part)


def shown(persona: Persona) -> str:
    """Return a persona in words, the longest part last."""
    sprites = ", ".join(
        f"{one.key} (identity)" if one.is_identity else one.key for one in persona.sprites
    )
    face = "a file" if persona.avatar and "://" not in persona.avatar else persona.avatar
    lines = (
        f"**{persona.name}**",
        f"- Trigger words: {', '.join(persona.triggers) or 'none'}",
        f"- Avatar: {face or 'that of the bot'}",
        f"- Sprites: {sprites or 'none'}",
        f"- Prompt: {persona.prompt or 'none'}",
    )
    return clipped("\n".join(lines))


def _asked(persona: Persona) -> str:
    return f": {', '.join(persona.triggers)}" if persona.triggers else ""


def include_persona(
    client: arc.GatewayClient,
    guilds: GuildSettings,
    images: ImageStore,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> PersonaCommands:
    """Add the command to a client; return who takes its forms."""
    group = client.include_slash_group(
        "persona",
        "Who the bot can be in this server.",
        autodefer=False,
        invocation_contexts=[hikari.ApplicationContextType.GUILD],
        default_permissions=hikari.Permissions.MANAGE_GUILD,
    )
    commands = PersonaCommands(guilds, images, patience_seconds)
    persona = persona_option(guilds, "Which persona.", is_required=True)
    name = _text("name", "Its name.", LONGEST_NAME, is_required=True)
    triggers = _text("triggers", "Words that ask it, parted by commas.", 1_000)
    sprite = _text("sprite", "The sprite's name, such as a mood.", LONGEST_SPRITE, is_required=True)
    picture = (_file(), _text("url", "An https address of an image.", 1_000))
    identity = BoolOption[arc.GatewayClient](
        name="identity",
        arg_name="identity",
        description="Whether the persona goes by the sprite's name.",
        is_required=False,
    )
    for said, description, options, callback in (
        ("add", "Add a persona.", (name, triggers, *picture), commands.add),
        ("edit", "Write its prompt and trigger words.", (persona,), commands.edit),
        ("remove", "Remove a persona.", (persona,), commands.remove),
        ("list", "List the personas.", (), commands.list),
        ("show", "Show a persona.", (persona,), commands.show),
        (
            "avatar",
            "Change its face; without an image: none.",
            (persona, *picture),
            commands.avatar,
        ),
    ):
        group.include(subcommand(said, description, options, callback))
    sprites = group.include_subgroup("sprite", "A persona's other appearances.")
    for said, description, options, callback in (
        ("add", "Add a sprite.", (persona, sprite, *picture, identity), commands.add_sprite),
        ("remove", "Remove a sprite.", (persona, sprite), commands.remove_sprite),
    ):
        sprites.include(subcommand(said, description, options, callback))
    return commands


def _text(name: str, says: str, longest: int, *, is_required: bool = False) -> Option:
    return StrOption[arc.GatewayClient](
        name=name, arg_name=name, description=says, is_required=is_required, max_length=longest
    )


def _file() -> Option:
    return AttachmentOption[arc.GatewayClient](
        name="image", arg_name="image", description="An image file.", is_required=False
    )
