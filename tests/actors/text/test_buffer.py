"""The buffer that a stream grows in."""

from actors.text.buffer import grow


def test_what_is_held_is_rarely_copied() -> None:
    """A long answer comes letter by letter; copying it each time would take for ever."""
    parts: list[str] = []

    for _ in range(1_025):
        grow(parts, "a")

    assert [len(part) for part in parts] == [1_024, 1]


def test_parts_keep_their_order() -> None:
    """However they are joined, the text is what came."""
    parts: list[str] = []

    for text in ("ab", "c", "defgh", "i", "jk"):
        grow(parts, text)

    assert "".join(parts) == "abcdefghijk"
