"""Text without what a backend sends twice: pieces that begin with the end of what came before.

Short repetitions are a writer's own, and stay.
"""

from typing import Final

SHORTEST: Final = 8
"""Characters that an overlap has at least."""
_WINDOW: Final = 4_096


class Overlap:
    """Knows the end of one text."""

    def __init__(self) -> None:
        self._window = ""

    def feed(self, text: str) -> str:
        """Return what `text` adds."""
        if not text:
            return text
        if len(text) >= SHORTEST:
            longest = min(len(text), len(self._window))
            sizes = range(longest, SHORTEST - 1, -1)
            cut = next((size for size in sizes if self._window.endswith(text[:size])), 0)
            text = text[cut:]
        self._window = (self._window + text)[-_WINDOW:]
        return text
