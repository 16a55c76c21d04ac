"""Labels that a model writes before what it says, as if it wrote a play.

`Name (modifier): text` asks for a sprite of the speaker, or for somebody else's looks: the label
goes, the modifier stays in force. A label of the speaker's own goes too, wherever the model leaks
one. Where the very first label is somebody else's the model has taken another part: the answer
stops there (`speaker_guard`), or after two such tries goes on without the label. A later line of
somebody else's ends the answer as well, where the server asked for that; prose with an early colon
is no label.
"""

import re
from typing import Final

from msgspec.structs import replace

from actors.text.code_mask import prose
from actors.text.config import TextConfig
from actors.text.names import ANY_LABEL, Names, find_person, find_sprite, has_word, names_of
from actors.text.tape import Edit, Tape
from actors.text.voice import Voice

GUARD: Final = "speaker_guard"
_MOST_RETRIES: Final = 2
_SENTENCE_END: Final = ".!?\u2026\u3002\uff01\uff1f"
_LINE: Final = re.compile(r"^[^\n]*", re.MULTILINE)
_LIST_NUMBER: Final = re.compile(r"[^\S\n]*\d+\.[^\S\n]*")


def has_colon(text: str) -> bool:
    """Return whether `text` can hold a label at all."""
    return ":" in text or "\uff1a" in text


def take_label(tape: Tape, at: int, config: TextConfig, voice: Voice) -> tuple[Voice, bool]:
    """Take the label that the text begins with from `at` on.

    Returns:
        The voice behind it, and whether a label of the speaker's own was there.
    """
    names = names_of(config)
    match = names.modified.match(prose(tape.text), at)
    if match is not None:
        voice = _resolved(match["modifier"].strip(), config, voice)
        tape.cut(at, match.end(), "label")
        return voice, True
    match = names.head.match(prose(tape.text), at)
    if match is None:
        return voice, False
    tape.cut(at, match.end(), "label")
    return replace(voice, modifier="", is_copied=False), True


def guard_opening(tape: Tape, at: int, config: TextConfig, voice: Voice) -> Voice:
    """Look at the label of the turn's first text: whose part has the model taken?"""
    names = names_of(config)
    match = ANY_LABEL.match(prose(tape.text), at)
    if match is None or not has_word(match["name"]) or names.is_own(match["name"]):
        return voice
    if match["modifier"] is None and not names.is_participant(match["name"]):
        return voice
    if config.empty_retries < _MOST_RETRIES:
        tape.cut(0, len(tape.text), GUARD)
        return replace(voice, stop=GUARD)
    tape.cut(at, match.end(), "label")
    return voice


def drop_own_labels(tape: Tape, config: TextConfig, *, has_head: bool) -> None:
    """Drop labels of the speaker's own that stand where a model leaks them.

    So goes one with a modifier that begins a later line: it came too late to be obeyed.
    Where the text does not begin with one, what stands before the first is a leaked preamble.
    """
    places = _leaks(tape.text, names_of(config))
    if places and not has_head:
        start, end = places[0]
        if start > 0 and tape.text[end:].strip():
            tape.cut(0, end, "preamble")
            places = [(a - end, b - end) for a, b in places[1:]]
    edits: list[Edit] = [(start, end, "\n") for start, end in places]
    tape.edit(edits, "label")
    lines = names_of(config).modified_line.finditer(prose(tape.text))
    tape.edit([(*match.span(), "") for match in lines], "label")


def guard_lines(tape: Tape, config: TextConfig, voice: Voice) -> Voice:
    """End the text before the first line in which somebody else speaks."""
    names = names_of(config)
    text = prose(tape.text)
    is_first = not voice.has_said
    for line in _LINE.finditer(text):
        match = ANY_LABEL.match(text, line.start(), line.end())
        if match is not None and not is_first and names.speaks(match["name"]):
            tape.cut(line.start(), len(text), GUARD)
            return replace(voice, stop=GUARD)
        is_first = is_first and not line[0].strip()
    return voice


def drop_last_label(tape: Tape, config: TextConfig) -> None:
    """Drop a last line that is nothing but the label of somebody who takes part."""
    text = prose(tape.text)
    end = len(text.rstrip())
    start = text.rfind("\n", 0, end) + 1
    match = ANY_LABEL.match(text, start, end)
    if match is None or match.end() != end or not start:
        return
    if names_of(config).is_participant(match["name"]):
        tape.cut(start, end, "label")


def _resolved(modifier: str, config: TextConfig, voice: Voice) -> Voice:
    sprite = find_sprite(modifier, config.sprites)
    if sprite:
        return replace(voice, modifier=sprite, is_copied=False)
    person = find_person(modifier, config.participants)
    name = person.names[0] if person else ""
    return replace(voice, modifier=name, is_copied=bool(name))


def _leaks(text: str, names: Names) -> list[tuple[int, int]]:
    masked = prose(text)
    found = names.own_label.finditer(masked)
    return [match.span() for match in found if _is_leak(masked, match.start())]


def _is_leak(text: str, at: int) -> bool:
    """Return whether a label at `at` stands where models leak them, and no writer puts one.

    A name that ends a longer word (`Darren:` for Ren) is not its own, so that a label glued to a
    letter counts only where it begins with a capital behind a small one.
    """
    if at == 0:
        return True
    before = text[at - 1]
    if before == "\n":
        return True
    if not before.isspace():
        is_after_word = before.isdigit() or (before.islower() and text[at].isupper())
        return is_after_word or before in _SENTENCE_END + ">" or before > "\u2fff"
    line = text[text.rfind("\n", 0, at) + 1 : at]
    last = line.rstrip()[-1:]
    return bool(last) and last in _SENTENCE_END + ">" and not _LIST_NUMBER.fullmatch(line)
