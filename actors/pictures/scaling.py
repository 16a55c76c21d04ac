"""Pictures from outside made small enough for models: bytes in, bytes out.

The specification asks that what a model is shown is scaled down, and leaves the bounds open. They
are what the makers of models document: nothing gains from a longer side above 1,568 pixels
(Anthropic scales down itself beyond it, OpenAI tiles 2,048 down to 768), and a picture of at most
3.75 MB stays within 5 MB once it is base64 (the smallest limit among them).

What already fits is passed on untouched, byte for byte. Anything else is decoded, turned upright
by its own EXIF, scaled, and written as JPEG, or as PNG where it has transparency; place and camera
are not passed on. Of a moving picture the first frame is kept. A picture that announces more pixels
than memory should hold is refused before it is decoded: a few kilobytes can claim gigapixels.
"""

import asyncio
import io
from typing import Final

from PIL import Image, ImageOps

from actors.errors import PictureRefusedError
from actors.gate.pictures import Picture, picture_type

LONGEST_SIDE: Final = 1_568
"""Pixels (Anthropic's guide to vision)."""
MOST_BYTES: Final = 3_750_000
"""Bytes of a picture; 5 MB in base64."""
MOST_PIXELS: Final = 50_000_000
"""Pixels that are decoded: 200 MB at four bytes each."""

_QUALITY: Final = 85
_CLEAR: Final = frozenset({"RGBA", "LA", "PA", "La", "RGBa"})


def scaled(picture: Picture) -> Picture:
    """Return `picture` within the bounds; blocks while it computes.

    Raises:
        PictureRefusedError: It is damaged, or claims more pixels than are decoded.
    """
    try:
        with Image.open(io.BytesIO(picture.body), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            _check_pixels(image.size)
            if max(image.size) <= LONGEST_SIDE and len(picture.body) <= MOST_BYTES:
                image.load()
                return picture
            image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
            upright = ImageOps.exif_transpose(image)
            return _written(_as_colours(upright))
    except Image.DecompressionBombError as error:
        raise PictureRefusedError("", "too many pixels") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise PictureRefusedError("", "damaged") from error


async def downscaled(picture: Picture) -> Picture:
    """Return `picture` within the bounds, computed in a thread.

    Raises:
        PictureRefusedError: As `scaled`.
    """
    return await asyncio.to_thread(scaled, picture)


def _check_pixels(size: tuple[int, int]) -> None:
    width, height = size
    if width * height > MOST_PIXELS:
        raise PictureRefusedError("", f"{width} x {height} pixels")


def _as_colours(image: Image.Image) -> Image.Image:
    is_clear = image.mode in _CLEAR or "transparency" in image.info
    return image.convert("RGBA" if is_clear else "RGB")


def _written(image: Image.Image) -> Picture:
    """Return the first way of writing `image` that fits; a few pixels always do."""
    side = LONGEST_SIDE
    body = b""
    while not body or len(body) > MOST_BYTES:
        image.thumbnail((side, side), Image.Resampling.LANCZOS)
        body = _encoded(image)
        side = side * 3 // 4
    media_type = picture_type(body)
    assert media_type is not None
    return Picture(media_type=media_type, body=body)


def _encoded(image: Image.Image) -> bytes:
    written = io.BytesIO()
    if image.mode == "RGBA":
        image.save(written, "PNG", optimize=False)
    else:
        image.save(written, "JPEG", quality=_QUALITY)
    return written.getvalue()
