"""What a model writes that is no part of what it says: stage directions, tokens of its own, gaps.

Code is left alone.
"""

import re
from typing import Final

from actors.text.code_mask import prose
from actors.text.tape import Tape

_DIRECTION: Final = re.compile(r"\[system:[^\]]*(?:\]|\Z)", re.IGNORECASE)
_LAST_TOKEN: Final = re.compile(
    r"\s*(?:<\|(?:im_end|eot_id|end|endoftext|end_of_text|end_of_turn|file_separator|file_sep)\|>"
    r"|<end_of_turn>|<eos>|</s>)\s*\Z"
)
_GAP: Final = re.compile(r"(?<=\n\n)\n+")
_STARRED_TAG: Final = re.compile(r"(?P<stars>\*{1,2})(?P<tag><[A-Za-z][\w-]{0,31}>)(?P=stars)")


def drop_directions(tape: Tape) -> None:
    """Drop blocks of `[system: …]`, to the end where one has none."""
    if "[" in tape.text:
        found = _DIRECTION.finditer(prose(tape.text))
        tape.edit([(*match.span(), "") for match in found], "direction")


def drop_noise(tape: Tape) -> None:
    """Drop a token that ends a turn, stars around a lone tag, and line breaks beyond two."""
    if "\n\n\n" in tape.text:
        gaps = _GAP.finditer(prose(tape.text))
        tape.edit([(*match.span(), "") for match in gaps], "blank")
    if "<" not in tape.text:
        return
    last = _LAST_TOKEN.search(prose(tape.text))
    if last is not None:
        tape.cut(*last.span(), "token")
    for match in reversed(list(_STARRED_TAG.finditer(prose(tape.text)))):
        tape.cut(match.end("tag"), match.end(), "token")
        tape.cut(match.start(), match.start("tag"), "token")
