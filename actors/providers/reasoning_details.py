"""Reasoning as routers hand it on: typed entries that the model wants back as they were.

A stream cuts an entry into fragments. They are put together again, since a signature at the end of
the last one signs the whole; entries keep their order, and every other field its value.
"""

from typing import Final

from actors.providers.json_text import JsonObject, is_list, is_object, object_of, text_of

_TEXTS: Final = ("text", "summary", "data")
_ENTRIES_LIMIT: Final = 256
_SIZE_LIMIT: Final = 512 * 1024


class ReasoningDetails:
    """Collects the entries of one response."""

    def __init__(self) -> None:
        self._entries: list[JsonObject] = []
        self._parts: list[dict[str, list[str]]] = []
        self._size = 0

    def feed(self, value: object) -> str:
        """Take a delta's entries; return the reasoning in them that people can read."""
        if not is_list(value):
            return ""
        for one in value:
            if is_object(one):
                self._add(one)
        entries = [object_of(one) for one in value]
        return "".join(text_of(one.get("text")) or text_of(one.get("summary")) for one in entries)

    def take(self) -> list[JsonObject]:
        """Return the entries so far, oldest first; none where they were more than is kept."""
        if self._size > _SIZE_LIMIT or len(self._entries) > _ENTRIES_LIMIT:
            return []
        return [
            {**entry, **{name: "".join(parts) for name, parts in texts.items()}}
            for entry, texts in zip(self._entries, self._parts, strict=True)
        ]

    def _add(self, entry: JsonObject) -> None:
        texts = {name: text for name in _TEXTS if isinstance(text := entry.get(name), str)}
        self._size += sum(map(len, texts.values()))
        if self._size > _SIZE_LIMIT or len(self._entries) > _ENTRIES_LIMIT:
            return
        if not self._entries or not _belongs(entry, self._entries[-1]):
            self._entries.append({})
            self._parts.append({})
        known = {name: value for name, value in entry.items() if value is not None}
        self._entries[-1] = {**entry, **self._entries[-1], **known}
        for name, text in texts.items():
            self._parts[-1].setdefault(name, []).append(text)


def _belongs(entry: JsonObject, last: JsonObject) -> bool:
    """Return whether an entry is a fragment of the last one: the stream says so by its index."""
    is_indexed = isinstance(entry.get("index"), int)
    is_same = all(entry.get(name) == last.get(name) for name in ("type", "index"))
    is_other = entry.get("id") and last.get("id") and entry["id"] != last["id"]
    return is_indexed and is_same and not is_other and entry.get("type") == "reasoning.text"
