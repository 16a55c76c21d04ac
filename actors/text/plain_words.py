"""Words that decide nothing: most chunks of a stream are, and are only added to the buffer.

The same as `scan` and `lines` would do with them, without taking the whole state up and laying it
down again.
"""

import re
from typing import Final

from msgspec.structs import replace

from actors.text.buffer import grow
from actors.text.fences import words
from actors.text.overflow import CODE_BOUND, WHOLE_BOUND
from actors.text.state import Buffer, TextState

_WORDS: Final = re.compile(r"[^`\n<]+")


def with_words(state: TextState, chunk: str) -> TextState | None:
    """Return the state behind `chunk` if it decides nothing; None if `Scan` has to read it."""
    if _WORDS.fullmatch(chunk) is None or not _takes_words(state):
        return None
    buffer = state.buffer
    size = buffer.size + len(chunk)
    if size >= _bound(state) or not _goes_on(buffer):
        return None
    parts = list(buffer.parts)
    grow(parts, chunk)
    line = words(buffer.line, chunk)
    return replace(state, buffer=replace(buffer, parts=tuple(parts), size=size, line=line))


def _takes_words(state: TextState) -> bool:
    """Return whether what comes goes to the buffer as it came."""
    config = state.config
    if state.held or state.thinking or state.voice.stop or config.is_reemitting:
        return False
    return (not config.prefill or state.intake.is_begun) and not _splits(state)


def _splits(state: TextState) -> bool:
    config = state.config
    return config.live_streaming and config.sentence_splitting and not state.buffer.line.is_code


def _goes_on(buffer: Buffer) -> bool:
    """Return whether the buffer's last line goes on, and no place to cut it waits."""
    return not (buffer.is_line_over or buffer.is_joining or buffer.line.run or buffer.cuts)


def _bound(state: TextState) -> int:
    if not state.config.live_streaming:
        return WHOLE_BOUND
    return CODE_BOUND if state.buffer.line.fence else state.buffer.bound
