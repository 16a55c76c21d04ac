"""In whose name a message is spoken: the name it shows, and whose picture; pure.

An alter speaks under its own name, the main persona as the bot itself, unless a line of its answer
names a look: an ordinary sprite (another picture, the same name), an identity sprite (`sprite
(Persona)`), or somebody else's (`somebody (Persona)`). Whose words they are changes by none of it.
"""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct
from typing_extensions import override

from actors.text.graphemes import units
from events.settings import Persona, Sprite

NAME_UNITS: Final = 80
"""Most of a webhook message's name (Discord's API reference, execute webhook)."""
RESERVED: Final = ("discord", "clyde")
"""Words that Discord refuses in such a name."""

SpeakerKind = Literal["appearance", "identity_sprite", "copied"]
"""Whose looks: the persona's own or a sprite's, a sprite under its own name, somebody else's."""


class Voice(Struct, frozen=True, kw_only=True):
    """The name and the picture that a message is to have."""

    persona: str
    """Whose words they are."""
    name: str
    """The name to show, as Discord takes it."""
    image: str = ""
    """An https URL, or the path of a file on the sender's machine; empty: the bot's own."""
    is_alter: bool = False
    """Whether the persona is another one than the main one, and so needs its name shown."""
    kind: SpeakerKind = "appearance"
    """Whose looks it has."""
    sprite: str | None = None
    """The sprite's key, where it is one."""


class Hook(Struct, frozen=True, kw_only=True):
    """The way through a webhook; never recorded, and its token never shown."""

    webhook_id: int
    """The webhook."""
    token: str
    """What lets one post through it."""
    name: str = ""
    """The name to post under; an edit or a deletion needs none."""
    avatar_url: str | None = None
    """The picture to post with; None is the webhook's own."""
    is_thread: bool = False
    """Whether the destination is a thread of the webhook's channel."""
    is_generic: bool = False
    """Whether the picture is Discord's, for want of the persona's."""

    @override
    def __repr__(self) -> str:
        return f"Hook(webhook_id={self.webhook_id}, name={self.name!r})"


def voice_of(
    personas: Iterable[Persona], speaker: Persona, modifier: str = "", *, is_copied: bool = False
) -> Voice | None:
    """Return the voice of a line, None where the bot itself says it.

    Args:
        personas: Who the bot can be there, the main persona first.
        speaker: Whose words they are.
        modifier: The look that the line names: a sprite's key, or somebody's name; may be empty.
        is_copied: Whether it is somebody's name.
    """
    known = tuple(personas)
    is_alter = speaker is not known[0]
    name = speaker.name.strip()
    if is_copied and modifier.strip():
        twin = next((one for one in known if _same(one.name, modifier)), None)
        return Voice(
            persona=speaker.name,
            name=decorated(modifier.strip(), name),
            image=twin.avatar if twin else "",
            is_alter=is_alter,
            kind="copied",
        )
    sprite = next((one for one in speaker.sprites if _same(one.key, modifier)), None)
    if sprite is not None:
        return _in_sprite(speaker, sprite, is_alter=is_alter)
    if not is_alter:
        return None
    return Voice(persona=speaker.name, name=allowed(name), image=speaker.avatar, is_alter=True)


def looks_of(speaker: Persona) -> tuple[Voice, ...]:
    """Return what an alter can look like besides its base: each of its sprites."""
    return tuple(_in_sprite(speaker, sprite, is_alter=True) for sprite in speaker.sprites)


def decorated(name: str, suffix: str) -> str:
    """Return `name (suffix)` as Discord takes it, the suffix kept as long as it fits."""
    name, suffix = _unreserved(name), _unreserved(suffix)
    room = NAME_UNITS - units(suffix) - 3
    if room >= min(units(name), 4):
        return f"{_short(name, room)} ({suffix})"
    return f"{_short(name, 4)} ({_short(suffix, NAME_UNITS - units(_short(name, 4)) - 3)})"


def allowed(name: str) -> str:
    """Return a name that Discord takes: short enough, and without a reserved word."""
    return _short(_unreserved(name), NAME_UNITS)


def named(content: str, name: str, limit: int = 2000) -> str:
    """Return what stands before `content` where nothing else shows who speaks; may be empty.

    A name that does not fit into the message is shortened.
    """
    room = limit - units(content) - units("**:** ")
    return f"**{_short(name, room)}:** " if room >= min(units(name), 4) else ""


def _in_sprite(speaker: Persona, sprite: Sprite, *, is_alter: bool) -> Voice:
    name = speaker.name.strip()
    return Voice(
        persona=speaker.name,
        name=decorated(sprite.key.strip(), name) if sprite.is_identity else allowed(name),
        image=sprite.image,
        is_alter=is_alter,
        kind="identity_sprite" if sprite.is_identity else "appearance",
        sprite=sprite.key,
    )


def _same(one: str, other: str) -> bool:
    return bool(other.strip()) and "".join(one.split()).casefold() == (
        "".join(other.split()).casefold()
    )


def _unreserved(name: str) -> str:
    """Part each reserved word by a hyphen, which keeps it readable."""
    for word in RESERVED:
        at = name.lower().find(word)
        while at >= 0:
            cut = at + len(word) // 2
            name = f"{name[:cut]}-{name[cut:]}"
            at = name.lower().find(word)
    return name


def _short(text: str, limit: int) -> str:
    if units(text) <= limit:
        return text
    kept = text
    while kept and units(kept) > limit - 3:
        kept = kept[:-1]
    return f"{kept.rstrip()}..."
