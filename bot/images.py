"""Images that members attach to commands, fetched from Discord and kept beside the log.

Discord's links to attachments end within a day, so the bytes are kept, under their own digest: the
same image is one file, and a file is never changed. Nothing but Discord's own servers is asked.
"""

import asyncio
import hashlib
import ipaddress
import os
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp

HOSTS: Final = ("cdn.discordapp.com", "media.discordapp.net")
"""Where Discord keeps attachments."""
LARGEST: Final = 10 * 1024 * 1024
"""Bytes of an image (T151)."""
FETCH_SECONDS: Final = 30.0
"""Longest time of a fetch."""

_HEADS: Final = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
)


class ImageError(Exception):
    """The file can't be used; its text is for the member."""


class ImageStore:
    """Fetches attachments and keeps them."""

    def __init__(self, directory: Path, api_url: str) -> None:
        self._folder = directory / "images"
        self._own = _loopback_origin(api_url)

    async def keep(self, url: str, size: int) -> Path:
        """Return where the image that Discord hands out at `url` is kept from here on.

        Raises:
            ImageError: It is none, too large, not at Discord, or can't be had.
        """
        if size > LARGEST:
            raise ImageError("An image has at most 10 MB.")
        if not self._is_discords(url):
            raise ImageError("That file is not at Discord.")
        data = await _fetch(url)
        kind = kind_of(data)
        if kind is None:
            raise ImageError("That is no PNG, JPEG, GIF or WebP image.")
        return await asyncio.to_thread(self._store, data, kind)

    def _is_discords(self, url: str) -> bool:
        parts = urlsplit(url)
        if self._own is not None and (parts.scheme, parts.netloc) == self._own:
            return True
        return parts.scheme == "https" and parts.netloc in HOSTS

    def _store(self, data: bytes, kind: str) -> Path:
        path = self._folder / f"{hashlib.sha256(data).hexdigest()}.{kind}"
        if path.exists():
            return path
        self._folder.mkdir(parents=True, exist_ok=True)
        # Whoever reads the path must never meet half of a file.
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return path


def kind_of(data: bytes) -> str | None:
    """Return an image's file extension by its first bytes, None where it is no image."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for head, kind in _HEADS if data.startswith(head)), None)


async def _fetch(url: str) -> bytes:
    timeout = aiohttp.ClientTimeout(total=FETCH_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            if response.status != HTTPStatus.OK:
                raise ImageError("Discord does not hand that file out.")
            data = bytearray()
            async for part in response.content.iter_chunked(64 * 1024):
                data += part
                if len(data) > LARGEST:
                    raise ImageError("An image has at most 10 MB.")
            return bytes(data)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ImageError("That file can't be had from Discord right now.") from error


def _loopback_origin(api_url: str) -> tuple[str, str] | None:
    """Return scheme and address of a Discord on this machine, which has no CDN of its own."""
    parts = urlsplit(api_url)
    try:
        is_here = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return None
    return (parts.scheme, parts.netloc) if is_here else None
