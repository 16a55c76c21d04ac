"""A text that is edited, and still knows which of its characters came from where.

Each character of the source is on the tape or was removed under a rule's name; what a rule adds
comes from nowhere. The order of the source is kept.
"""

from collections.abc import Iterable, Sequence

Edit = tuple[int, int, str]
"""From and to in the text as it is, and what stands there instead."""


class Tape:
    """One text under edit."""

    def __init__(self, text: str) -> None:
        self.text = text
        """The text as it is."""
        self.removed: dict[str, int] = {}
        """Characters of the source that are no longer in it, by rule."""
        self._sources: Sequence[int] = range(len(text))
        """Where each character came from; a range as long as nothing was edited."""

    def edit(self, edits: Iterable[Edit], rule: str) -> None:
        """Make `edits`, ascending and disjoint."""
        parts: list[str] = []
        sources: list[int] = []
        at = 0
        for start, end, new in edits:
            parts += (self.text[at:start], new)
            sources += self._sources[at:start]
            sources += self._replaced(start, end, len(new), rule)
            at = end
        if parts:
            sources += self._sources[at:]
            self.text, self._sources = "".join([*parts, self.text[at:]]), sources

    def cut(self, start: int, end: int, rule: str) -> None:
        """Remove a stretch."""
        if start < end:
            self.edit([(start, end, "")], rule)

    def insert(self, at: int, text: str) -> None:
        """Add what the source does not hold."""
        if text:
            self.edit([(at, at, text)], "")

    def sources(self, start: int, end: int) -> Sequence[int]:
        """Return where a stretch came from, ascending; what was added is left out."""
        if isinstance(self._sources, range):
            return self._sources[start:end]
        return [at for at in self._sources[start:end] if at >= 0]

    def _replaced(self, start: int, end: int, size: int, rule: str) -> list[int]:
        kept = list(self._sources[start : min(end, start + size)])
        lost = sum(at >= 0 for at in self._sources[start + len(kept) : end])
        if lost:
            self.removed[rule] = self.removed.get(rule, 0) + lost
        return kept + [-1] * (size - len(kept))
