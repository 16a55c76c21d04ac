"""A set that only grows, as a value: adding gives another one and copies little."""

from msgspec import Struct


class Seen(Struct, frozen=True):
    """Ids that were seen, in sets whose sizes at least double towards the front."""

    parts: tuple[frozenset[str], ...] = ()
    """Disjoint sets."""

    def __contains__(self, name: str) -> bool:
        return any(name in part for part in self.parts)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def with_(self, name: str) -> "Seen":
        """Return the set with `name` in it; n additions copy about n log n ids in all."""
        if name in self:
            return self
        parts, last = self.parts, frozenset((name,))
        while parts and len(parts[-1]) <= len(last):
            parts, last = parts[:-1], last | parts[-1]
        return Seen((*parts, last))
