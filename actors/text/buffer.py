"""Text that grows by small parts, at a cost that does not depend on how much there is.

Parts are joined when the one before is no longer than the new one, so that sizes at least double
towards the front: n characters are held in about log n parts, each copied about log n times.
"""


def grow(parts: list[str], text: str) -> None:
    """Append `text` to `parts`."""
    while parts and len(parts[-1]) <= len(text):
        text = parts.pop() + text
    parts.append(text)
