"""`[[personas]]` of the configuration file: who the bot can be, and what may be wrong with it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, field, structs

from actors.rules.configuration import LONGEST_NAME
from bot.settings_errors import Fault
from bot.settings_reader import child
from events.settings import Persona, Sprite

DEFAULT_PERSONA: Final = "Rejoinder"
"""Who answers where the file names no persona."""


class PersonaSettings(Struct, frozen=True, kw_only=True):
    """`[[personas]]`: somebody the bot can be; the first is the main one."""

    name: str
    """Unique, whatever its case; at most 80 characters."""
    avatar: str = ""
    """https URL or path, absolute once loaded; in the file, relative to the file's own folder.
    Empty: the bot's own."""
    triggers: tuple[str, ...] = ()
    """Words that ask this persona, whole and in any case."""
    prompt: str = ""
    """What the model is told about it."""
    sprites: dict[str, str] = field(default_factory=dict[str, str])
    """Path or https URL of a picture, by mood."""

    def persona(self) -> Persona:
        """Return it as turns know it."""
        return Persona(
            name=self.name,
            avatar=self.avatar,
            triggers=self.triggers,
            prompt=self.prompt,
            sprites=tuple(Sprite(key=key, image=image) for key, image in self.sprites.items()),
        )


def with_images(persona: PersonaSettings, folder: Path) -> PersonaSettings:
    """Return the persona, its pictures' paths made absolute: they are relative to `folder`."""
    return structs.replace(
        persona,
        avatar=_located(persona.avatar, folder),
        sprites={key: _located(image, folder) for key, image in persona.sprites.items()},
    )


def _located(image: str, folder: Path) -> str:
    is_path = image and "://" not in image
    return str(folder / Path(image).expanduser()) if is_path else image


def judge_personas(personas: tuple[PersonaSettings, ...]) -> Iterator[Fault]:
    """Yield what is wrong with names and trigger words."""
    names: dict[str, int] = {}
    words: dict[str, str] = {}
    for index, persona in enumerate(personas):
        key = f"personas[{index}]"
        name = persona.name.strip()
        if not 0 < len(name) <= LONGEST_NAME:
            allowed = f"1 to {LONGEST_NAME} characters"
            yield Fault(key=f"{key}.name", problem=f"has {len(name)} characters", allowed=allowed)
        first = names.setdefault(name.casefold(), index)
        if first != index:
            problem = f'"{name}" is the name of personas[{first}] too'
            yield Fault(key=f"{key}.name", problem=problem, allowed="names that differ")
        yield from _judge_words(key, persona, words)


def judge_images(personas: tuple[PersonaSettings, ...], folder: Path) -> Iterator[Fault]:
    """Yield the pictures that are nowhere; paths are relative to `folder`."""
    for index, persona in enumerate(personas):
        key = f"personas[{index}]"
        named = [(f"{key}.avatar", persona.avatar)]
        named += [(child(f"{key}.sprites", mood), image) for mood, image in persona.sprites.items()]
        for where, image in named:
            yield from _judge_image(where, _located(image, folder))


def _judge_image(key: str, image: str) -> Iterator[Fault]:
    if "://" in image:
        if not is_https_url(image):
            yield Fault(key=key, problem="is no https URL", allowed="an https URL, or a path")
    elif image and not Path(image).is_file():
        allowed = "a path, relative to the file's own folder, or an https URL"
        yield Fault(key=key, problem=f"there is no file {image}", allowed=allowed)


def is_https_url(text: str) -> bool:
    """Return whether `text` is an https URL with a host and without credentials."""
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    is_plain = "@" not in parts.netloc and not any(map(str.isspace, text))
    return parts.scheme == "https" and has_host and is_plain


def _judge_words(key: str, persona: PersonaSettings, taken: dict[str, str]) -> Iterator[Fault]:
    for index, word in enumerate(persona.triggers):
        where = f"{key}.triggers[{index}]"
        if not word.strip():
            yield Fault(key=where, problem="is blank", allowed="a word")
        owner = taken.setdefault(word.strip().casefold(), persona.name)
        if owner != persona.name:
            problem = f'"{word}" is a trigger of {owner} too'
            yield Fault(key=where, problem=problem, allowed="words of one persona alone")
