"""Emojis as Discord writes them: known ones whole, unknown ones gone, none where none is wanted.

A model writes `:mug:`, `:mug` or a tag with a wrong id; what names an emoji of the guild becomes
its tag. What names none is dropped, unless the guild keeps it, since it would show as colons. A
shortcode stands between characters that are no letters: `std::vector::x` and `10:30:45` hold none,
nor is one that code follows at once, as in ``:ref:`x` ``.
Without a list of the guild's emojis nothing is known of a tag, and it stays. Code is left alone.

An emoji that the persona used lately may be dropped as well; not where that would leave nothing but
punctuation.
"""

import re
from functools import lru_cache
from typing import Final

from actors.text.code_mask import prose
from actors.text.config import TextConfig
from actors.text.spans import CODE
from actors.text.tape import Edit, Tape
from events.scene import ServerEmoji

_NAME: Final = r"[A-Za-z0-9_]{2,32}"
_TAG: Final = r"<(?:a?:)?(?P<tag>\w{1,32}):\d{1,24}>"
_CODE: Final = rf"(?<![\w:<]):(?P<code>{_NAME}):(?![\w:{CODE}])"
_HALF: Final = rf"(?<![\w:<]):(?P<half>{_NAME})(?=\s|\Z)"
_EMOJI: Final = re.compile(rf"{_TAG}|{_CODE}|{_HALF}")
_PICTOGRAPHS: Final = re.compile(
    "[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u231a\u231b\u23e9-\u23fa]"
    "[\ufe0e\ufe0f\u20e3\u200d\U0001f3fb-\U0001f3ff]*"
)


def drop_worn(tape: Tape, config: TextConfig) -> None:
    """Drop emojis that were used lately, where something else is said."""
    if not config.worn_emojis or ":" not in tape.text:
        return
    text = prose(tape.text)
    edits: list[Edit] = []
    for match in _EMOJI.finditer(text):
        name = match["tag"] or match["code"]
        if name and name.casefold() in config.worn_emojis:
            edits.append((*_with_blanks(text, *match.span()), ""))
    rest = _without(text, edits).strip()
    if not rest or any(letter.isalnum() for letter in rest):
        tape.edit(edits, "emoji")


def write_emojis(tape: Tape, config: TextConfig) -> None:
    """Write emojis as Discord does, and drop what is none."""
    if not config.uses_emojis:
        _drop_all(tape)
        return
    if ":" not in tape.text:
        return
    text, known = prose(tape.text), _known(config)
    edits: list[Edit] = []
    for match in _EMOJI.finditer(text):
        name = match["tag"] or match["code"] or match["half"]
        emoji = known.get(name) or known.get(name.casefold())
        if emoji is not None:
            if match[0] != emoji:
                edits.append((*match.span(), emoji))
        elif match["half"] is None and _is_unwanted(match, config):
            edits.append((*_with_blanks(text, *match.span()), ""))
    tape.edit(edits, "emoji")


def _is_unwanted(match: re.Match[str], config: TextConfig) -> bool:
    if config.keeps_unknown_emojis:
        return False
    return match["tag"] is None or bool(config.emojis)


@lru_cache(maxsize=64)
def _known(config: TextConfig) -> dict[str, str]:
    """Return the tags of the guild's emojis, by name and by folded name."""
    tags = {one.name.casefold(): _tag(one) for one in reversed(config.emojis)}
    return tags | {one.name: _tag(one) for one in config.emojis}


def _tag(emoji: ServerEmoji) -> str:
    return f"<{'a' if emoji.is_animated else ''}:{emoji.name}:{emoji.emoji_id}>"


def _drop_all(tape: Tape) -> None:
    text = prose(tape.text)
    found = [match.span() for match in _EMOJI.finditer(text) if match["half"] is None]
    tape.edit([(*_with_blanks(text, *span), "") for span in found], "emoji")
    text = prose(tape.text)
    found = [match.span() for match in _PICTOGRAPHS.finditer(text)]
    tape.edit([(*span, "") for span in found], "emoji")


def _with_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a stretch with the blanks behind it that its absence would double."""
    if start == 0 or text[start - 1].isspace():
        while end < len(text) and text[end] in " \t":
            end += 1
    return start, end


def _without(text: str, edits: list[Edit]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, _ in edits:
        parts.append(text[at:start])
        at = end
    return "".join([*parts, text[at:]])
