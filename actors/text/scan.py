"""One step of the text path: from characters to segments.

Every decision is made at a character and depends only on those before it, never on where a chunk
ends. A `Scan` takes a state up, reads on, and lays it down; nobody else sees it change.

A closing reasoning tag without an opening one: a model that forgot to open its reasoning has said
nothing else yet. So as long as no message of the stream has left, all that was held since the last
flush was reasoning; after that, the tag alone is dropped and the text before it stays. Text that a
tag stands in as code (a fence, or inline code that is open on its line) is an answer about tags:
there it is plain.
"""

from msgspec.structs import replace

from actors.text import details
from actors.text.blocks import Ending
from actors.text.buffer import grow
from actors.text.caps import cap_of, fit
from actors.text.config import TextConfig
from actors.text.fences import TOKEN
from actors.text.intake import take
from actors.text.lines import Lines
from actors.text.messages import Composed, Draft, compose
from actors.text.overflow import WHOLE_BOUND
from actors.text.reasoning import Tag, can_grow, end_of_block, is_cut_off_tag, tag_at
from actors.text.state import Boundary, Buffer, Segment, TextState

_DETAILS = "details"


class Scan:
    """A state that is being moved on."""

    def __init__(self, state: TextState, *, is_tool_call: bool = False) -> None:
        self._state = state
        self._is_tool_call = is_tool_call
        self._intake = state.intake
        self._held = state.held
        self._thinking = state.thinking
        self._hidden = dict(state.hidden)
        self._details = state.details
        self._note = list(state.note)
        self._messages = state.messages
        self._voice = state.voice
        self._lines = Lines(self._config, state.buffer, self._emit, self._hide)
        self._segments: list[Segment] = []

    def done(self) -> tuple[TextState, tuple[Segment, ...]]:
        """Return the state after what was read, and the segments that it gave."""
        state = replace(
            self._state,
            intake=self._intake,
            held=self._held,
            thinking=self._thinking,
            buffer=self._lines.done(),
            hidden=self._hidden,
            details=self._details,
            note=tuple(self._note),
            messages=self._messages,
            voice=self._voice,
        )
        return state, tuple(self._segments)

    def read(self, chunk: str) -> None:
        """Read on."""
        taken = take(self._intake, chunk, self._state.config)
        self._intake = taken.intake
        for rule, count in taken.dropped.items():
            self._hide(rule, count)
        text, self._held = self._held + taken.text, ""
        at = 0
        while at < len(text):
            if self._voice.stop:
                self._hide(self._voice.rule, len(text) - at + self._lines.forget())
                return
            at = self._think(text, at) if self._thinking else self._see(text, at)

    def finish(self, boundary: Boundary) -> None:
        """Decide on what is held, now that nothing follows, and flush all that is left."""
        self._hide("prefill", self._intake.matched)
        held, self._held = self._held, ""
        if self._thinking:
            self._take_note(held)
            self._hide(self._rule, len(held))
            self._end_note()
        elif held and details.is_cut_off(held):
            self._hide(_DETAILS, len(held))
        elif is_cut_off_tag(held):
            self._hide("reasoning", len(held))
        elif held:
            self._lines.put(held)
        self._lines.settle()
        if self._voice.stop:
            self._hide(self._voice.rule, self._lines.forget())
        if self._lines.size or self._hidden:
            self._lines.flush_rest(boundary)

    @property
    def _rule(self) -> str:
        return _DETAILS if self._thinking == _DETAILS else "reasoning"

    def _hide(self, rule: str, count: int) -> None:
        if count:
            self._hidden[rule] = self._hidden.get(rule, 0) + count

    # -- tags ----------------------------------------------------------------------------------

    def _think(self, text: str, at: int) -> int:
        if self._thinking == _DETAILS:
            end, is_over = details.end_of_details(text, at)
            self._take_note(text[at:end])
        else:
            end, is_over = end_of_block(text, at, self._thinking)
        self._hide(self._rule, end - at)
        if is_over:
            self._end_note()
            return end
        self._held = text[end:]
        return len(text)

    def _take_note(self, text: str) -> None:
        if self._thinking == _DETAILS and sum(map(len, self._note)) < WHOLE_BOUND:
            grow(self._note, text)

    def _end_note(self) -> None:
        note = details.content("".join(self._note))
        if note:
            self._details = (*self._details, note)
        self._note, self._thinking = [], ""

    def _see(self, text: str, at: int) -> int:
        match = TOKEN.match(text, at)
        assert match is not None
        part = match[0]
        if part == "<":
            return self._see_bracket(text, at)
        if part[0] == "`":
            self._lines.put_ticks(part)
        else:
            self._lines.put(part)
        return match.end()

    def _see_bracket(self, text: str, at: int) -> int:
        self._lines.settle()
        if not self._lines.is_code:
            tag = tag_at(text, at)
            if tag is not None:
                self._obey(tag, tag.end - at)
                return tag.end
            end = details.opener_at(text, at)
            if end:
                self._hide(_DETAILS, end - at)
                self._thinking = _DETAILS
                return end
            if can_grow(text, at) or details.can_grow(text, at):
                self._held = text[at:]
                return len(text)
        self._lines.put("<")
        return at + 1

    def _obey(self, tag: Tag, size: int) -> None:
        self._hide("reasoning", size)
        if not tag.is_closer:
            self._thinking = tag.name
        elif not self._messages:
            self._hide("reasoning", self._lines.forget())

    # -- segments ------------------------------------------------------------------------------

    def _emit(self, text: str, boundary: Boundary, buffer: Buffer, is_last: bool) -> Ending:  # noqa: FBT001 - the buffer's callback
        draft = Draft(
            text=text,
            start=buffer.start,
            begin=buffer.begin,
            orphan=buffer.orphan if buffer.orphan < len(text) else 0,
            is_last=is_last,
            is_cut_short=is_last and self._is_tool_call,
        )
        composed = self._capped(compose(draft, self._config, self._voice), is_last=is_last)
        withheld = dict(self._hidden)
        for rule, count in composed.withheld.items():
            withheld[rule] = withheld.get(rule, 0) + count
        voice = composed.voice
        self._segments.append(
            Segment(
                text=text,
                boundary=boundary,
                start=buffer.start,
                end=buffer.start + len(text),
                pieces=composed.pieces,
                withheld=withheld,
                details=self._details,
                stop="" if self._voice.stop else voice.stop,
                modifier=voice.modifier,
                is_copied=voice.is_copied,
            )
        )
        self._lines.over = voice.rule
        self._hidden, self._details = {}, ()
        self._messages += len(composed.pieces)
        if self._is_last_message:
            self._lines.hold()
        is_over = voice.is_copied and (boundary == "newline" or "\n" in text)
        self._voice = replace(voice, modifier="", is_copied=False) if is_over else voice
        return composed.ending

    # -- caps ----------------------------------------------------------------------------------

    @property
    def _is_last_message(self) -> bool:
        most = self._state.config.most_messages
        return bool(most) and self._messages >= most - 1

    @property
    def _config(self) -> TextConfig:
        """What the path was told; the last message that is allowed is not sent live."""
        config = self._state.config
        return replace(config, live_streaming=False) if self._is_last_message else config

    def _capped(self, composed: Composed, *, is_last: bool) -> Composed:
        """Return what a segment gives within the cap, and end the answer where that is used up."""
        config = self._state.config
        room = config.most_messages - self._messages
        if not config.most_messages or len(composed.pieces) < room:
            return composed
        fitted = fit(composed.pieces, room, config.limit)
        if is_last and not fitted.dropped:
            return replace(composed, pieces=fitted.pieces)
        cap = cap_of(config.most_messages)
        withheld = dict(composed.withheld)
        if fitted.dropped:
            withheld[cap] = withheld.get(cap, 0) + fitted.dropped
        stop = composed.voice.stop or cap
        return replace(
            composed,
            pieces=fitted.pieces,
            withheld=withheld,
            voice=replace(composed.voice, stop=stop),
        )
