"""What a provider sends, less what it sends twice.

Two rules, each for a provider or a request that asks for it. A model that was made to begin with
some words (a prefill) may repeat them: what matches is dropped, and stays back as long as it may
still match; blanks before it are skipped. A provider that sends text again after a reconnection
does so in chunks that overlap the end of what there is: the overlap is dropped, if it is long
enough to be none of chance and no run of one character, since people do write `hahahaha`.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from actors.text.config import TextConfig

LEAST_OVERLAP: Final = 8
"""Characters below which an overlap is chance."""
TAIL: Final = 4_096
"""Characters of the text so far that are remembered for a provider that repeats itself."""


class Intake(Struct, frozen=True, kw_only=True):
    """What was taken so far, as far as it bears on what comes."""

    is_begun: bool = False
    """Whether what was prefilled is behind."""
    matched: int = 0
    """Characters kept back because they repeat the prefill, the blanks before it included."""
    blanks: str = ""
    """Those blanks."""
    tail: str = ""
    """The end of the text, for a provider that repeats itself."""


class Taken(Struct, frozen=True, kw_only=True):
    """What is left of a chunk."""

    intake: Intake
    """The state behind it."""
    text: str
    """What the rules get."""
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    """Characters dropped, by rule."""


def take(intake: Intake, chunk: str, config: TextConfig) -> Taken:
    """Take a chunk as it came."""
    dropped: dict[str, int] = {}
    if config.is_reemitting:
        size = _overlap(intake.tail, chunk)
        dropped["repeat"] = size
        chunk = chunk[size:]
        intake = replace(intake, tail=(intake.tail + chunk)[-TAIL:])
    if not config.prefill or intake.is_begun:
        return Taken(intake=intake, text=chunk, dropped=dropped)
    return _match(intake, chunk, config.prefill, dropped)


def _match(intake: Intake, chunk: str, prefill: str, dropped: dict[str, int]) -> Taken:
    text = intake.blanks + prefill[: intake.matched - len(intake.blanks)] + chunk
    start = 0
    while start < len(text) and text[start].isspace() and not prefill.startswith(text[start]):
        start += 1
    rest = text[start:]
    if rest.startswith(prefill):
        end = start + len(prefill)
        done = replace(intake, is_begun=True, matched=0, blanks="")
        return Taken(intake=done, text=text[end:], dropped=dropped | {"prefill": end})
    if prefill.startswith(rest):
        kept = replace(intake, matched=len(text), blanks=text[:start])
        return Taken(intake=kept, text="", dropped=dropped)
    done = replace(intake, is_begun=True, matched=0, blanks="")
    return Taken(intake=done, text=text, dropped=dropped)


def _overlap(tail: str, chunk: str) -> int:
    """Return how many characters at the front of `chunk` repeat the end of `tail`."""
    for size in _candidates(tail, chunk):
        part = chunk[:size]
        if tail.endswith(part) and len(set(part.strip())) > 1:
            return size
    return 0


def _candidates(tail: str, chunk: str) -> Iterator[int]:
    """Yield the sizes, largest first, at which an overlap would begin as `chunk` does."""
    seed, at = chunk[:LEAST_OVERLAP], max(0, len(tail) - len(chunk))
    if len(seed) < LEAST_OVERLAP:
        return
    at = tail.find(seed, at)
    while at >= 0:
        yield len(tail) - at
        at = tail.find(seed, at + 1)
