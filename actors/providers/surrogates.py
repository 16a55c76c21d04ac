r"""Half characters: what JSON escapes can say and UTF-8 cannot.

A provider that cuts a stream at a UTF-16 code unit sends the two halves of an emoji in two
payloads, as `\ud83d` and `\ude00`. A high half is held until what follows it is known; a half
that stays alone becomes U+FFFD. No text that left this module holds one.
"""

import re
from typing import Final

_HALF: Final = re.compile("[\ud800-\udfff]")
_FIRST_HIGH: Final = "\ud800"
_LAST_HIGH: Final = "\udbff"
_LOST: Final = "\ufffd"


def clean(text: str) -> str:
    """Return `text` with halves that belong together joined, and others as U+FFFD."""
    if text.isascii() or _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Joiner:
    """Joins halves over the pieces of one text."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what `text` adds, without a high half at its end."""
        if self._held and text:
            text = self._held + text
            self._held = ""
        if text.isascii():
            return text
        if _FIRST_HIGH <= text[-1] <= _LAST_HIGH:
            self._held = text[-1]
            text = text[:-1]
        return clean(text)

    def flush(self) -> str:
        """Return U+FFFD where a half is still held, at the end of the text."""
        lost = _LOST if self._held else ""
        self._held = ""
        return lost
