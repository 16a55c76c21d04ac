"""What stands in a cell: Markdown becomes runs of text that share their looks.

Read by markdown-it's CommonMark rules, which leave `x_1` and `2*` as they are, with strikethrough
beside them as Discord has it. A `<br>` breaks the line; other HTML is text. Custom emojis, which
only Discord can draw, appear under their names.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import Struct
from msgspec.structs import replace

_CUSTOM_EMOJI: Final = re.compile(r"<a?(:\w{2,32}:)\d{1,20}>")
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_READER: Final = MarkdownIt("commonmark").enable("strikethrough")
_SWITCHES: Final = {"strong": "is_bold", "em": "is_italic", "s": "is_struck", "link": "is_link"}


class Look(Struct, frozen=True, kw_only=True):
    """How text looks."""

    is_bold: bool = False
    """Heavy."""
    is_italic: bool = False
    """Slanted, where the script has that."""
    is_code: bool = False
    """On a ground of its own."""
    is_struck: bool = False
    """Struck through."""
    is_link: bool = False
    """Coloured as a link."""


class Run(Struct, frozen=True, kw_only=True):
    """Text of one look."""

    text: str
    """The text; a line feed breaks the line."""
    look: Look = Look()
    """Its looks."""


def runs_of(cell: str, look: Look = Look()) -> tuple[Run, ...]:  # noqa: B008 - frozen
    """Return what `cell` reads, in order; `look` is what it begins with."""
    text = _CUSTOM_EMOJI.sub(r"\1", cell.replace("\\|", "|"))
    tokens = _READER.parseInline(text)[0].children or ()
    return tuple(run for run in _runs(tokens, look) if run.text)


def _runs(tokens: Sequence[Token], look: Look) -> Iterator[Run]:
    begun = look
    for token in tokens:
        name, _, end = token.type.rpartition("_")
        switch = _SWITCHES.get(name)
        if switch is not None:
            is_on = end == "open" or getattr(begun, switch)
            look = replace(look, **{switch: is_on})
        elif token.type in {"softbreak", "hardbreak"} or _BREAK.fullmatch(token.content):
            yield Run(text="\n")
        elif token.type == "code_inline":
            yield Run(text=token.content, look=replace(look, is_code=True))
        else:
            yield Run(text=token.content, look=look)
