"""Segments that are nothing but punctuation.

An ellipsis or a run of three marks waits for the next segment and goes out in front of it; two
dots, or a single mark, go nowhere. A single letter or emoji is a message like any other.
"""

import unicodedata
from typing import Final

_MARKS: Final = frozenset(".,!?;\u3002\uff01\uff1f\u3001\uff0c\u2026")
_LEAST: Final = 3


def is_orphan(text: str) -> bool:
    """Return whether `text` waits for the next segment."""
    if text.lstrip()[:1] not in _MARKS:
        return False
    marks = "".join(text.split())
    if not _MARKS.issuperset(marks):
        return False
    return len(marks) >= _LEAST or "\u2026" in marks


def is_stray(text: str) -> bool:
    """Return whether `text` is dropped."""
    mark = text.strip()
    is_mark = len(mark) == 1 and unicodedata.category(mark)[0] == "P"
    return is_mark or mark == ".."
