"""Pictures from outside: avatars, sprites, and what models are shown.

A picture is what its first bytes say, whatever its name or its server says: Discord takes PNG,
JPEG, GIF and WebP, and so do the models. Formats that can hold scripts or point elsewhere (SVG)
are none.
"""

import re
from typing import Final, Literal

from msgspec import Struct

from actors.errors import PictureRefusedError
from actors.gate.fetching import Fetcher

PICTURE_BYTES: Final = 10 * 1024 * 1024
"""Most bytes of a picture."""

PictureType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
"""A media type that Discord and models take."""

_OK: Final = 200
_BEGINNINGS: Final[tuple[tuple[re.Pattern[bytes], PictureType], ...]] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
)


class Picture(Struct, frozen=True, kw_only=True):
    """A picture, whole."""

    media_type: PictureType
    """What its first bytes say."""
    body: bytes
    """Its bytes, at most 10 MiB."""


def picture_type(body: bytes) -> PictureType | None:
    """Return what the first bytes of `body` say it is, None where it is no picture we take."""
    for beginning, media_type in _BEGINNINGS:
        if beginning.match(body):
            return media_type
    return None


async def fetch_picture(fetcher: Fetcher, url: str) -> Picture:
    """Return the picture at `url`.

    Raises:
        RemoteUrlPolicyError: The address may not be asked.
        PictureRefusedError: What came is no picture.
        TransportError: It did not come, or has more than 10 MiB (`oversized`).
    """
    found = await fetcher.get(url, limit_bytes=PICTURE_BYTES)
    if found.status != _OK:
        raise PictureRefusedError(found.hostname, f"HTTP {found.status}")
    media_type = picture_type(found.body)
    if media_type is None:
        raise PictureRefusedError(found.hostname, "not PNG, JPEG, GIF or WebP")
    return Picture(media_type=media_type, body=found.body)
