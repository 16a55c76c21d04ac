"""Where sentences end.

A sentence ends behind a period that is followed by a blank or by the end, and behind the full stops
of Chinese and Japanese; `!` and `?` end none, nor do ellipses, digits and abbreviations. Words that
are only abbreviations in some contexts (no, may, us, st) are taken for such there alone: before a
number, in capitals, or with a leading capital. A dotted acronym keeps its last period and ends
nothing.
"""

import re
from collections.abc import Iterator
from typing import Final

_END: Final = re.compile(r"\.(?=\s|\Z)|[\u3002\uff0e\uff61]")
_WORD: Final = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*\Z")
_ACRONYM: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_NUMBER_NEXT: Final = re.compile(r"\s*\d")
_LIST_NUMBER: Final = re.compile(r"\d+\.")
_LONGEST_WORD: Final = 16
_WIDE: Final = "\u3002\uff0e\uff61"


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


_ALWAYS: Final = _words(
    "mr mrs ms prof rev sr jr inc ltd corp llc vs etc eg ie cf viz ibid phd dds ussr blvd "
    "aka sra srta sres dra mme mlle \u0443\u043b"
)
_BEFORE_NUMBER: Final = _words(
    "no vol fig ref pp p ch sec jan feb mar apr may jun jul aug sep oct nov dec "
    "mon tue wed thu fri sat sun"
)
_CAPITALS: Final = _words("us uk usa eu ma ba bs md jd")
_CAPITALIZED: Final = _words("st co fr pl ct ave ln rd dr")


def sentence_ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Yield where sentences of a paragraph end, each behind its period, oldest first."""
    for match in _END.finditer(text, start, stop):
        at = match.start()
        before = text[at - 1] if at > start else ""
        if match[0] in ".\uff0e" and (before.isdigit() or before == "."):
            continue
        if match[0] != "." or not _is_abbreviation(text, start, at):
            yield match.end()


def without_period(text: str, start: int, end: int) -> int:
    """Return where a sentence ends without its single closing period."""
    last = text[end - 1] if end > start else ""
    before = text[end - 2] if end - 1 > start else ""
    if last == "." and before != "." and not _LIST_NUMBER.fullmatch(text, start, end):
        return end if _ACRONYM.fullmatch(_word_before(text, start, end - 1)) else end - 1
    is_wide = last != "" and last in _WIDE
    is_run = before != "" and before in _WIDE + "."
    return end - 1 if is_wide and not is_run else end


def _word_before(text: str, start: int, at: int) -> str:
    """Return the word that ends at `at`; empty if there is none, or a very long one."""
    since = max(start, at - _LONGEST_WORD)
    match = _WORD.search(text[since:at])
    if match is None or (match.start() == 0 and since > start):
        return ""
    if match.start() and (text[since + match.start() - 1].isalnum()):
        return ""
    return match[0]


def _is_abbreviation(text: str, start: int, at: int) -> bool:
    word = _word_before(text, start, at)
    if not word:
        return False
    lower = word.lower()
    if lower in _ALWAYS or _ACRONYM.fullmatch(word):
        return True
    if lower in _BEFORE_NUMBER:
        return _NUMBER_NEXT.match(text, at + 1) is not None
    if lower in _CAPITALS:
        return word.isupper()
    return lower in _CAPITALIZED and word[0].isupper()
