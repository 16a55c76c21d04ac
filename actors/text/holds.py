"""What keeps a line back: something that it opens and that has not been closed.

Told the visible text in order, at each place where it could be cut, and never again. A text is
held by an open `(` (a closer without opener never counts, and a face like `:(` opens nothing), by
an odd straight quotation mark, by a paired one, by `[` once the text holds a link, by emphasis
(`*`, `~~`), by a spoiler, and by a table that may go on. `_` never holds: names are full of it.

No hold is for ever: an opener that a blank line follows, or a thousand characters, is literal text
from then on, as in `6" tall`. Only a table is held for as long as it goes on.
"""

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from actors.text.spans import QUOTES, SOLID, inline_code, mask, urls
from actors.text.table_detection import cells, is_table_open

HOLD_LIMIT: Final = 1_000
"""Characters behind an opener after which it is literal text."""
NEVER: Final = 1 << 62
"""An offset that no opener is expired at."""

_TOKEN: Final = re.compile(
    r"\*+|~+|\|\||[\"()\[\]" + "".join(QUOTES) + "".join(QUOTES.values()) + "]"
)
_CLOSERS: Final = {")": "(", "]": "["} | {closer: opener for opener, closer in QUOTES.items()}
_OPENERS: Final = frozenset(_CLOSERS.values())
_FACE: Final = frozenset(":;=8'")
_SEPARATOR: Final = re.compile(r":?-+:?")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")


class Opener(Struct, frozen=True):
    """Something that is open."""

    mark: str
    """What opened it: `(`, `[`, `"`, `*`, `~~`, `||` or a quotation mark."""
    at: int
    """Where, in the caller's offsets."""
    size: int
    """What closes it: the stars that are missing, else 1."""


class Holds(Struct, frozen=True, kw_only=True):
    """What is open behind the text told so far."""

    openers: tuple[Opener, ...] = ()
    """Oldest first."""
    has_link: bool = False
    """Whether the text holds `](`, so that a `[` counts."""
    header: str = ""
    """The last line, where it could begin a table."""
    width: int = 0
    """Cells of the table that goes on, 0 outside one."""
    before: str = ""
    """The last character."""

    @property
    def newest(self) -> int | None:
        """Where the newest thing that holds was opened; None where nothing does."""
        if self.header or self.width:
            return NEVER
        if not self.openers:
            return None
        ats = [one.at for one in self.openers if one.mark != "[" or self.has_link]
        return max(ats, default=None)


def fold(holds: Holds, text: str, at: int, *, is_blank_line: bool = False) -> Holds:
    """Return the holds behind `text`, which goes on at offset `at` and has at most one newline.

    A text that does not end a line has to end outside inline code.
    """
    if is_blank_line:
        return Holds(before="\n")
    if _TOKEN.search(text) is None and "|" not in text:
        before = text[-1:] or holds.before
        return Holds(openers=holds.openers, has_link=holds.has_link, before=before)
    folding = _Folding(holds, text, at)
    folding.run()
    table = _table(holds, text)
    return Holds(
        openers=tuple(folding.openers),
        has_link=folding.has_link,
        header=table.header,
        width=table.width,
        before=text[-1:] or holds.before,
    )


def fold_lines(text: str) -> Holds:
    """Return the holds behind a whole text."""
    holds, at = Holds(), 0
    for match in _LINE.finditer(text):
        line = match[0]
        holds = fold(holds, line, at, is_blank_line=line.isspace() and line.endswith("\n"))
        at = match.end()
    return expire(holds, at)


def expire(holds: Holds, end: int) -> Holds:
    """Return `holds` at offset `end`, without the openers that are too far behind it."""
    if not holds.openers or end - holds.openers[0].at <= HOLD_LIMIT:
        return holds
    kept = tuple(one for one in holds.openers if end - one.at <= HOLD_LIMIT)
    return replace(holds, openers=kept)


class _Folding:
    """Moves through one text."""

    def __init__(self, holds: Holds, text: str, at: int) -> None:
        self._text = mask(text, inline_code(text), SOLID) if "`" in text else text
        self._text = mask(self._text, urls(self._text), SOLID)
        self._before = holds.before
        self._at = at
        self._is_row = text.lstrip().startswith("|") and not text.lstrip().startswith("||")
        self.openers = list(holds.openers)
        self.has_link = holds.has_link

    def run(self) -> None:
        for match in _TOKEN.finditer(self._text):
            self._expire(self._at + match.start())
            mark, at = match[0], match.start()
            if mark[0] in "*~":
                self._emphasis(mark, at)
            elif mark in ('"', "||"):
                self._toggle(mark, at)
            elif mark in _OPENERS:
                self._open_bracket(mark, at)
            else:
                self._take(_CLOSERS[mark], 1)

    def _expire(self, end: int) -> None:
        if self.openers and end - self.openers[0].at > HOLD_LIMIT:
            self.openers = [one for one in self.openers if end - one.at <= HOLD_LIMIT]

    def _near(self, index: int) -> str:
        if index < 0:
            return self._before
        return self._text[index : index + 1]

    def _open(self, mark: str, at: int, size: int = 1) -> None:
        self.openers.append(Opener(mark, self._at + at, size))

    def _open_bracket(self, mark: str, at: int) -> None:
        before = self._near(at - 1)
        if mark == "(" and before in _FACE:
            return
        self.has_link = self.has_link or (mark == "(" and before == "]")
        self._open(mark, at)

    def _toggle(self, mark: str, at: int) -> None:
        if mark == "||" and self._is_row:
            return
        if not self._take(mark, 1):
            self._open(mark, at)

    def _take(self, mark: str, size: int) -> bool:
        """Close `size` of what is open, newest first; return whether anything was."""
        taken = False
        for index in range(len(self.openers) - 1, -1, -1):
            one = self.openers[index]
            if one.mark != mark:
                continue
            taken = True
            if one.size > size:
                self.openers[index] = Opener(mark, one.at, one.size - size)
                break
            del self.openers[index]
            size -= one.size
            if not size:
                break
        return taken

    def _emphasis(self, run: str, at: int) -> None:
        if run == "~":
            return
        mark = "*" if run[0] == "*" else "~~"
        size = len(run) if mark == "*" else 1
        before, after = self._near(at - 1), self._near(at + len(run))
        if _closes(before, after, mark) and self._take(mark, size):
            return
        if after and not after.isspace() and not _is_word(before, mark):
            self._open(mark, at, size)


def _closes(before: str, after: str, mark: str) -> bool:
    return bool(before) and not before.isspace() and not _is_word(after, mark)


def _is_word(letter: str, mark: str) -> bool:
    """Return whether `letter` belongs to a word; for stars, Han, kana and Hangul do not."""
    if not letter or (letter != "_" and not letter.isalnum()):
        return False
    is_east_asian = (
        "\u3040" <= letter <= "\u30ff"
        or "\u3400" <= letter <= "\u9fff"
        or "\uac00" <= letter <= "\ud7a3"
        or "\uf900" <= letter <= "\ufaff"
        or "\U00020000" <= letter <= "\U0003ffff"
    )
    return mark != "*" or not is_east_asian


def _table(holds: Holds, line: str) -> Holds:
    """Return the table that goes on behind `line`, where it is a whole line."""
    if "|" not in line or "`" * 3 in line:
        return Holds()
    row = cells(line)
    is_separator = bool(row) and all(_SEPARATOR.fullmatch(cell) for cell in row)
    if holds.width and len(row) == holds.width and not is_separator:
        return Holds(width=holds.width)
    if holds.header and is_separator and len(cells(holds.header)) == len(row):
        return Holds(width=len(row))
    return Holds(header=line) if is_table_open(line) else Holds()
