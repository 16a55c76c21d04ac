"""What belongs together within prose: links, quotations, asides, emphasis, spoilers, tags.

Spans are found left to right, the earliest start first; one that crosses an earlier one is none,
one that stands inside another is nested in it. An opener without its closer protects nothing. A
blank line or a code block ends all that is open, but spoilers: what is hidden stays hidden.

Emphasis must be real: a run opens where it stands before a visible character and not behind a
word, and closes the other way round; `_` wants a letter or digit on its inner side as well. Double
markers, once open, also close behind a blank, as Discord shows them. A `(` directly behind `:`,
`;`, `=`, `8` or `'` is a face. Each kind keeps its own openers, so that the cost is linear however
the text is built.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

CODE: Final = "\x01"
"""Stands for each character of a code block or a table in a mask."""
SOLID: Final = "\x00"
"""Stands for each character of inline code, of a URL or of a tag in a mask."""
WRAPS: Final = frozenset(("*", "**", "***", "_", "__", "___", "~~", "||"))
"""Markers that close and open again where a span is cut."""

TAG: Final = re.compile(
    r"<(?:a?:\w{1,64}:\d{1,24}|@[!&]?\d{1,24}|#\d{1,24}|t:-?\d{1,16}(?::\w)?"
    r"|/[^<>\n]{1,99}:\d{1,24}|(?:https?|ftps?)://[^\s<>]{1,1900})>"
)
"""A custom emoji, mention, time, command or bracketed address as Discord writes it."""
URL: Final = re.compile(
    r"\b(?:https?|ftps?)://[^\s<>()\[\]{}\"'\u201c\u201d\u3001\u3002\uff0c\uff01\uff1f\u300c-\u300f]+"
)
"""An address; what `URL_TAIL` names at its end is not part of it."""
URL_TAIL: Final = ".,;:!?*_~|`\x00\x01"
QUOTES: Final = {
    "\u300c": "\u300d",
    "\u300e": "\u300f",
    "\uff62": "\uff63",
    "\u00ab": "\u00bb",
    "\u2039": "\u203a",
    "\u201c": "\u201d",
    "\u3008": "\u3009",
    "\u300a": "\u300b",
}
"""Paired quotation marks, opener to closer; apostrophes are never openers."""

_CLOSERS: Final = {closer: opener for opener, closer in QUOTES.items()}
_TICKS: Final = re.compile(r"`+|\n")
_TOKEN: Final = re.compile(
    r"\\[^\w\s]|\n[^\S\n]*\n\s*|\x01+|\*+|_+|~+|\|+|[\"()\[\]"
    + "".join(QUOTES)
    + "".join(_CLOSERS)
    + "]"
)
_FACE: Final = frozenset(":;=8'")
_LONGEST_RUN: Final = 3
_BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n")


class Span(Struct, frozen=True):
    """A stretch of text that belongs together; indices into the text."""

    start: int
    """Where it begins."""
    end: int
    """Where it ends, exclusive."""
    marker: str = ""
    """What opens and closes it, if it can be closed and opened again where it is cut."""


def mask(text: str, spans: Iterable[tuple[int, int]], letter: str) -> str:
    """Return `text` with each character of `spans` (ascending, disjoint) replaced by `letter`."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += (text[at:start], letter * (end - start))
        at = end
    parts.append(text[at:])
    return "".join(parts)


def inline_code(masked: str) -> list[tuple[int, int]]:
    """Return the spans of inline code: runs of equally many backticks on one line."""
    spans: list[tuple[int, int]] = []
    line: list[tuple[int, int]] = []
    for match in _TICKS.finditer(masked):
        if match[0] == "\n":
            spans += _paired(line)
            line = []
        else:
            line.append(match.span())
    return spans + _paired(line)


def urls(text: str) -> list[tuple[int, int]]:
    """Return where addresses stand in `text`."""
    found: list[tuple[int, int]] = []
    if "://" not in text:
        return found
    for match in URL.finditer(text):
        url = match[0].rstrip(URL_TAIL)
        if not url.endswith(":/"):
            found.append((match.start(), match.start() + len(url)))
    return found


def has_blank_line(text: str, start: int, end: int) -> bool:
    """Return whether a blank line stands within a stretch of `text`."""
    return _BLANK_LINE.search(text, start, end) is not None


def find_atoms(masked: str) -> tuple[list[tuple[int, int]], str]:
    """Return inline code, tags and addresses, and the text with them masked."""
    atoms = inline_code(masked) if "`" in masked else []
    masked = mask(masked, atoms, SOLID)
    tags = [match.span() for match in TAG.finditer(masked)]
    masked = mask(masked, tags, SOLID)
    addresses = urls(masked)
    return [*atoms, *tags, *addresses], mask(masked, addresses, SOLID)


def find_spans(text: str, solid: Iterable[tuple[int, int]]) -> list[Span]:
    """Return the spans of `text`, outer ones before inner ones, outside of `solid`.

    `solid` are its code blocks and tables, ascending and disjoint.
    """
    atoms, masked = find_atoms(mask(text, solid, CODE))
    candidates = [Span(start, end) for start, end in atoms]
    candidates += _Pairs(masked).find()
    return _nested(candidates)


def _paired(runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    following: dict[int, int] = {}
    partner: list[int | None] = [None] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        size = runs[index][1] - runs[index][0]
        partner[index] = following.get(size)
        following[size] = index
    spans: list[tuple[int, int]] = []
    index = 0
    while index < len(runs):
        other = partner[index]
        if other is None:
            index += 1
        else:
            spans.append((runs[index][0], runs[other][1]))
            index = other + 1
    return spans


def _nested(candidates: list[Span]) -> list[Span]:
    """Return the candidates that cross none before them."""
    candidates.sort(key=lambda span: (span.start, -span.end))
    kept: list[Span] = []
    around: list[Span] = []
    for span in candidates:
        while around and around[-1].end <= span.start:
            around.pop()
        if around and span.end > around[-1].end:
            continue
        around.append(span)
        kept.append(span)
    return kept


class _Pairs:
    """Finds openers and their closers in one pass over a mask."""

    def __init__(self, masked: str) -> None:
        self._text = masked
        self._open: defaultdict[str, list[int]] = defaultdict(list)
        self._spoiler: int | None = None
        self._links: dict[int, int] = {}
        self._found: list[Span] = []

    def find(self) -> list[Span]:
        for match in _TOKEN.finditer(self._text):
            part, at = match[0], match.start()
            first = part[0]
            if first in "\n" + CODE:
                self._clear()
            elif first in "*_~":
                self._emphasis(part, at)
            elif first == "|":
                self._bars(part, at)
            elif first == '"':
                self._quote(at)
            elif first != "\\":
                self._bracket(first, at)
        return self._found

    def _near(self, index: int) -> str:
        """Return a character, or a blank beyond either end."""
        return self._text[index] if 0 <= index < len(self._text) else " "

    def _clear(self) -> None:
        self._open.clear()
        self._links.clear()
        if self._spoiler is not None and self._near(self._spoiler + 2) in " \t":
            self._spoiler = None

    def _emphasis(self, run: str, at: int) -> None:
        size = len(run)
        if size > _LONGEST_RUN or (run[0] == "~" and size != len("~~")):
            return
        before, after = self._near(at - 1), self._near(at + size)
        opens = not after.isspace() and not _is_word(before, run[0])
        closes = not before.isspace() and not _is_word(after, run[0])
        if run[0] == "_":
            opens, closes = opens and after.isalnum(), closes and before.isalnum()
        stack = self._open[run]
        is_loose = size == len("**") and not opens and not _is_word(after, run[0])
        if (closes or is_loose) and stack:
            self._add(stack.pop(), at + size, run)
        elif opens:
            stack.append(at)

    def _bars(self, run: str, at: int) -> None:
        if len(run) != len("||"):
            return
        if self._spoiler is None:
            self._spoiler = at
        else:
            self._add(self._spoiler, at + len(run), run)
            self._spoiler = None

    def _quote(self, at: int) -> None:
        stack = self._open['"']
        if stack:
            self._add(stack.pop(), at + 1)
            return
        before = self._near(at - 1)
        is_behind_word = before.isascii() and before.isalnum()
        if not is_behind_word and not self._near(at + 1).isspace():
            stack.append(at)

    def _bracket(self, letter: str, at: int) -> None:
        if letter == "(":
            if self._near(at - 1) not in _FACE:
                self._open["("].append(at)
        elif letter == "[" or letter in QUOTES:
            self._open[letter].append(at)
        elif letter == ")":
            self._close_aside(at)
        elif letter == "]":
            opened = self._open["["]
            if opened:
                self._links[at + 1] = opened.pop()
        elif self._open[_CLOSERS[letter]]:
            self._add(self._open[_CLOSERS[letter]].pop(), at + 1)

    def _close_aside(self, at: int) -> None:
        if self._open["("]:
            start = self._open["("].pop()
            self._add(self._links.get(start, start), at + 1)

    def _add(self, start: int, end: int, marker: str = "") -> None:
        self._found.append(Span(start, end, marker))


def _is_word(letter: str, marker: str) -> bool:
    """Return whether `letter` belongs to a word; for stars, Han, kana and Hangul do not."""
    if letter != "_" and not letter.isalnum():
        return False
    return marker != "*" or not _is_east_asian(letter)


def _is_east_asian(letter: str) -> bool:
    return (
        "\u3040" <= letter <= "\u30ff"
        or "\u3400" <= letter <= "\u9fff"
        or "\uac00" <= letter <= "\ud7a3"
        or "\u1100" <= letter <= "\u11ff"
        or "\uf900" <= letter <= "\ufaff"
        or "\U00020000" <= letter <= "\U0003ffff"
    )
