"""The configuration file and the environment, read into one frozen struct and judged once.

Every fault is found and named before anything starts; after that nobody checks a setting again.
"""

import base64
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct, field, inspect, structs

from actors.credentials import VARIABLE, is_secret_key
from actors.providers.adapter import ProviderKind
from actors.providers.registry import is_gated
from bot.decision_settings import AddressingSettings, DecisionSettings, judge_decisions
from bot.persona_settings import (
    DEFAULT_PERSONA,
    PersonaSettings,
    judge_images,
    judge_personas,
    with_images,
)
from bot.secret import Secret
from bot.settings_errors import Fault, SettingsError
from bot.settings_reader import SettingsReader, child, revive
from events.turn import TurnSettings
from projections.guild_models import part_model

MINIMAL_FILE: Final = """\
[discord]
token = { env = "DISCORD_TOKEN" }

[providers.main]
kind = "openai"
base_url = "https://api.openai.com/v1"
api_keys = [{ env = "OPENAI_API_KEY" }]

[chat]
model = "main/gpt-5-mini"
"""
"""The shortest file that a bot can run on."""

Count = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0, le=86_400)]


class DiscordSettings(Struct, frozen=True, kw_only=True):
    """`[discord]`: the account that speaks."""

    token: Secret
    """The bot's token."""
    api_url: str = "https://discord.com/api/v10"
    """Root of the REST API; the gateway is what the server there names."""


class LogSettings(Struct, frozen=True, kw_only=True):
    """`[log]`: where the event log is kept."""

    directory: Path = Path("data")
    """Absolute once loaded; in the file, relative to the file's own folder."""


class RaySettings(Struct, frozen=True, kw_only=True):
    """`[ray]`: where the actors run."""

    address: str = ""
    """An existing cluster's address; empty: a local Ray of the bot's own."""


class ProviderSettings(Struct, frozen=True, kw_only=True):
    """`[providers.NAME]`: an endpoint that serves models."""

    kind: ProviderKind
    """Its wire format."""
    base_url: str
    """The root of its API, without credentials, query or trailing slash."""
    api_keys: tuple[Secret, ...] = ()
    """Keys, rotated; none for an endpoint without authentication."""
    allow_private: bool = False
    """Whether an endpoint behind the address gate may be inside; kind `custom` alone has a gate."""
    context_tokens: Annotated[int, Meta(ge=1024)] = 128_000
    """Tokens that the windows of its models hold; the oldest messages are left out beyond that."""


class CredentialSettings(Struct, frozen=True, kw_only=True):
    """`[credentials]`: how the keys that guilds entrust to the bot are kept."""

    secret_keys: tuple[Secret, ...] = ()
    """What encrypts them: the first what is stored from here on, the others what was before. Where
    the file names none: those of the variable `REJOINDER_SECRET_KEY`, parted by commas."""


class ChatSettings(TurnSettings, frozen=True, kw_only=True):
    """`[chat]`: how a guild is answered unless it says otherwise; every setting of a turn first."""

    model: str
    """`provider/model`; the first slash parts them."""
    fallbacks: tuple[str, ...] = ()
    """Models tried in order when `model` fails."""
    shuffle_models: bool = False
    """Ask one of `model` and `fallbacks` first that is drawn for each answer."""
    tools: tuple[Literal["current_time", "search_history", "pin_note"], ...] = (
        "current_time",
        "search_history",
        "pin_note",
    )
    """What models may call; none: they are not told of any."""
    send_message_limit: Count = 0
    """Most messages a turn may post; 0 is no limit."""
    system_prompt: str = (
        "You take part in a conversation on Discord. Answer the last message, in its language, "
        "as briefly as the matter allows."
    )
    """What every model is told first."""
    warm_actors: Count = 2
    """Idle turn actors kept ready; never more than `max_actors`."""
    max_actors: AtLeastOne = 16
    """Most turn actors at once."""
    turns_per_actor: AtLeastOne = 64
    """Most turns that share an actor when all are busy."""
    recover_within: Seconds = 300.0
    """Seconds after its trigger within which a lost turn is still run again."""
    drain_seconds: Seconds = 30.0
    """Seconds that running turns get to end when the bot is asked to."""
    history_messages: Annotated[int, Meta(ge=0, le=100)] = 30
    """Messages of the channel's past that the model is given; Discord hands out 100 at most."""

    def turn_settings(self) -> TurnSettings:
        """Return the part of these that a turn records."""
        shared = {name: getattr(self, name) for name in TurnSettings.__struct_fields__}
        return msgspec.convert(shared, TurnSettings)


class ExtensionSettings(Struct, frozen=True, kw_only=True):
    """`[extensions.NAME]`: the table turns the extension on."""

    required: bool = False
    """Whether the bot must not start when it can't be loaded."""
    options: dict[str, str] = field(default_factory=dict[str, str])
    """What it is told; it judges these itself."""


class Settings(Struct, frozen=True, kw_only=True):
    """The whole file."""

    discord: DiscordSettings
    """The account."""
    log: LogSettings = LogSettings()
    """The event log."""
    ray: RaySettings = RaySettings()
    """The actors' home."""
    credentials: CredentialSettings = CredentialSettings()
    """The keys of guilds' own providers."""
    providers: dict[str, ProviderSettings] = field(default_factory=dict[str, ProviderSettings])
    """Endpoints by name; at least one."""
    decisions: dict[str, DecisionSettings] = field(default_factory=dict[str, DecisionSettings])
    """Decision models by name."""
    addressing: AddressingSettings = AddressingSettings()
    """Whether trigger words are weighed before they are answered."""
    chat: ChatSettings
    """How to answer."""
    personas: tuple[PersonaSettings, ...] = ()
    """At least one once loaded; the first is the main persona."""
    extensions: dict[str, ExtensionSettings] = field(default_factory=dict[str, ExtensionSettings])
    """Extensions to load, by name; none unless named here."""


_SHAPE: Final = inspect.type_info(Settings)


def load(path: Path, environ: Mapping[str, str], *, require_secrets: bool = True) -> Settings:
    """Return the settings that the file at `path` and `environ` give.

    Args:
        path: The TOML file.
        environ: Where `{ env = "NAME" }` looks.
        require_secrets: Whether a secret that is absent is a fault; without, it is empty.

    Raises:
        SettingsError: Something is wrong; it names every fault.
    """
    reader = SettingsReader(environ, require_secrets=require_secrets)
    tree = reader.read(_SHAPE, _parse(path), "")
    settings = _with_secret_keys(msgspec.convert(tree, Settings, dec_hook=revive), environ)
    faults = [*_judge(settings)]
    if require_secrets:
        # Commands that only read the log need neither.
        faults += _judge_token(settings.discord.token)
        faults += _judge_secret_keys(settings.credentials)
        faults += judge_images(settings.personas, path.absolute().parent)
    for fault in faults:
        if fault.key not in reader.broken:
            reader.faults.append(fault)
    if reader.faults:
        raise SettingsError(path, reader.faults)
    return _completed(settings, path)


def _parse(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        fault = Fault(key="", problem="there is no such file")
        hint = f"The shortest file that works:\n\n{MINIMAL_FILE}"
        raise SettingsError(path, [fault], hint) from error
    except OSError as error:
        fault = Fault(key="", problem=f"can't be read: {error.strerror}")
        raise SettingsError(path, [fault]) from error
    except UnicodeDecodeError as error:
        raise SettingsError(path, [Fault(key="", problem="is not UTF-8 text")]) from error
    except tomllib.TOMLDecodeError as error:
        fault = Fault(key="", problem=f"is not TOML: {error}")
        raise SettingsError(path, [fault]) from error


def _completed(settings: Settings, path: Path) -> Settings:
    chat, folder = settings.chat, path.absolute().parent
    directory = folder / settings.log.directory.expanduser()
    providers = {
        name: structs.replace(one, base_url=one.base_url.rstrip("/"))
        for name, one in settings.providers.items()
    }
    return structs.replace(
        settings,
        discord=structs.replace(settings.discord, api_url=settings.discord.api_url.rstrip("/")),
        log=LogSettings(directory=directory),
        providers=providers,
        chat=structs.replace(chat, warm_actors=min(chat.warm_actors, chat.max_actors)),
        personas=tuple(with_images(one, folder) for one in settings.personas)
        or (PersonaSettings(name=DEFAULT_PERSONA),),
    )


def _judge(settings: Settings) -> Iterator[Fault]:
    yield from _judge_url("discord.api_url", settings.discord.api_url)
    if not settings.log.directory.parts:
        yield Fault(key="log.directory", problem="is empty", allowed="a directory")
    yield from _judge_providers(settings)
    yield from _judge_models(settings)
    yield from judge_personas(settings.personas)
    yield from judge_decisions(settings.decisions, settings.addressing)


def _judge_url(key: str, url: str) -> Iterator[Fault]:
    allowed = "an http or https URL without credentials, query or fragment"
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        yield Fault(key=key, problem="is no URL", allowed=allowed)
        return
    if parts.scheme not in ("http", "https") or not has_host or any(map(str.isspace, url)):
        yield Fault(key=key, problem="is no http or https URL", allowed=allowed)
    elif "@" in parts.netloc:
        yield Fault(key=key, problem="holds credentials", allowed=allowed)
    elif "?" in url or "#" in url:
        yield Fault(key=key, problem="holds a query or fragment", allowed=allowed)


def _with_secret_keys(settings: Settings, environ: Mapping[str, str]) -> Settings:
    if settings.credentials.secret_keys:
        return settings
    keys = tuple(Secret(one) for one in environ.get(VARIABLE, "").split(",") if one.strip())
    return structs.replace(settings, credentials=CredentialSettings(secret_keys=keys))


def _judge_secret_keys(credentials: CredentialSettings) -> Iterator[Fault]:
    for index, secret in enumerate(credentials.secret_keys):
        if not is_secret_key(secret.reveal()):
            key = f"credentials.secret_keys[{index}]"
            allowed = f"32 bytes in URL-safe base64, here or in the variable {VARIABLE}"
            yield Fault(key=key, problem="is no secret key", allowed=allowed)


def _judge_token(token: Secret) -> Iterator[Fault]:
    # A bot's token begins with its id; hikari reads it there and refuses any other.
    head = token.reveal().partition(".")[0]
    try:
        is_token = base64.b64decode(head + "=" * (-len(head) % 4)).isdigit()
    except ValueError:
        is_token = False
    if not is_token or not token.fits_header():
        allowed = "a bot's token, as Discord's developer portal shows it"
        yield Fault(key="discord.token", problem="is no bot token", allowed=allowed)


def _judge_providers(settings: Settings) -> Iterator[Fault]:
    if not settings.providers:
        allowed = "at least one [providers.NAME]"
        yield Fault(key="providers", problem="is missing", allowed=allowed)
    for name, provider in settings.providers.items():
        key = child("providers", name)
        if not name or "/" in name:
            yield Fault(key=key, problem="is no name", allowed="a name without a slash")
        yield from _judge_url(f"{key}.base_url", provider.base_url)
        if provider.allow_private and not is_gated(provider.kind):
            allowed = "only where kind is custom: other kinds are not gated"
            yield Fault(key=f"{key}.allow_private", problem="has no effect", allowed=allowed)
        for index, secret in enumerate(provider.api_keys):
            if not secret.fits_header():
                where = f"{key}.api_keys[{index}]"
                yield Fault(key=where, problem="is no key", allowed="printable ASCII")


def _judge_models(settings: Settings) -> Iterator[Fault]:
    fallbacks = enumerate(settings.chat.fallbacks)
    named = [("chat.model", settings.chat.model)]
    named += [(f"chat.fallbacks[{index}]", name) for index, name in fallbacks]
    known = ", ".join(settings.providers)
    for key, name in named:
        provider, model = part_model(name)
        if not provider or not model.strip():
            allowed = 'a provider\'s name, a slash, a model, such as "main/gpt-5-mini"'
            yield Fault(key=key, problem=f'"{name}" names no model', allowed=allowed)
        elif settings.providers and provider not in settings.providers:
            problem = f'"{name}" names a provider "{provider}" that is not configured'
            yield Fault(key=key, problem=problem, allowed=f"the providers {known}")
