"""What models are shown: small enough, upright, and nothing that was not asked for (P20)."""

import hashlib
import io
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from actors.errors import PictureRefusedError
from actors.gate.pictures import Picture, picture_type
from actors.pictures.scaling import LONGEST_SIDE, MOST_BYTES, MOST_PIXELS, downscaled, scaled


def picture(image: Image.Image, kind: str = "PNG", **options: Any) -> Picture:  # noqa: ANN401 - Pillow's options
    """Return `image` as it would come from outside."""
    written = io.BytesIO()
    image.save(written, kind, **options)
    return of_bytes(written.getvalue())


def of_bytes(body: bytes) -> Picture:
    """Return a picture of these bytes, which look like one."""
    media_type = picture_type(body)
    assert media_type is not None
    return Picture(media_type=media_type, body=body)


def opened(made: Picture) -> Image.Image:
    """Return what a model would see."""
    return Image.open(io.BytesIO(made.body))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_p20_what_fits_is_passed_on_untouched(kind: str) -> None:
    """Nothing is gained by writing it again."""
    small = picture(Image.new("RGB", (300, 200), "red"), kind)

    assert scaled(small) is small


@pytest.mark.parametrize(
    ("mode", "size", "media_type"),
    [
        ("RGB", (3_000, 1_500), "image/jpeg"),
        ("RGBA", (1_500, 3_000), "image/png"),
        ("P", (2_000, 10), "image/jpeg"),
        ("L", (2_000, 2_000), "image/jpeg"),
        ("I;16", (1_600, 100), "image/jpeg"),
        ("1", (1_600, 100), "image/jpeg"),
    ],
)
def test_p20_a_large_picture_keeps_its_shape(
    mode: str, size: tuple[int, int], media_type: str
) -> None:
    """A model reads a stretched screenshot badly."""
    made = scaled(picture(Image.new(mode, size)))

    width, height = opened(made).size
    assert max(width, height) == LONGEST_SIDE
    assert width / height == pytest.approx(size[0] / size[1], rel=0.1)
    assert made.media_type == media_type


def noise(count: int) -> bytes:
    """Return bytes that nothing compresses, the same ones each time."""
    return hashlib.shake_128(b"noise").digest(count)


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_p20_noise_is_made_small_in_bytes_too(mode: str) -> None:
    """Providers refuse the whole request for one picture that is too large."""
    size = (1_500, 1_500)
    large = picture(Image.frombytes(mode, size, noise(size[0] * size[1] * len(mode))))
    assert len(large.body) > MOST_BYTES

    made = scaled(large)

    assert len(made.body) <= MOST_BYTES
    assert min(opened(made).size) > 500


def test_a_photograph_is_upright_and_tells_no_place() -> None:
    """Telephones write which side is up, and where it was."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "a camera"
    photograph = picture(Image.new("RGB", (2_000, 1_000)), "JPEG", exif=exif)

    made = opened(scaled(photograph))

    assert made.size == (LONGEST_SIDE // 2, LONGEST_SIDE)
    assert not made.getexif()


def test_of_a_moving_picture_the_first_frame_is_kept() -> None:
    """Models read one."""
    frames = [Image.new("RGB", (2_000, 20), colour) for colour in ("red", "blue")]
    moving = picture(frames[0], "GIF", save_all=True, append_images=frames[1:])

    made = opened(scaled(moving))

    assert getattr(made, "n_frames", 1) == 1
    red, _, blue = made.convert("RGB").tobytes()[:3]
    assert (red > 200, blue < 50) == (True, True)


def chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> bytes:
    """Return a PNG of a few bytes that claims to be large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1_000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(10_000, 5_001), (2**31 - 1, 2**31 - 1)])
def test_a_picture_that_claims_too_many_pixels_is_not_decoded(size: tuple[int, int]) -> None:
    """A few bytes must not fill the memory of everybody's turns."""
    assert size[0] * size[1] > MOST_PIXELS

    with pytest.raises(PictureRefusedError, match="pixels"):
        scaled(of_bytes(bomb(*size)))


GOOD: Mapping[str, bytes] = {
    kind: picture(Image.new("RGB", (1_600, 8), "green"), kind).body
    for kind in ("PNG", "JPEG", "GIF", "WEBP")
}


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(sorted(GOOD)), cut=st.integers(12, 400), junk=st.binary(max_size=20))
def test_damaged_bytes_are_refused_or_read(kind: str, cut: int, junk: bytes) -> None:
    """A decoder's own exception must not end a turn."""
    body = GOOD[kind][:cut] + junk + GOOD[kind][cut + len(junk) :]

    try:
        made = scaled(of_bytes(body))
    except PictureRefusedError:
        return

    assert len(made.body) <= MOST_BYTES


async def test_scaling_leaves_the_loop_free() -> None:
    """Other turns stream meanwhile."""
    made = await downscaled(picture(Image.new("RGB", (2_000, 1_000))))

    assert max(opened(made).size) == LONGEST_SIDE
