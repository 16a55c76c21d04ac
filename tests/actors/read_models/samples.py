"""Events for the read models: any event by Hypothesis, and whole turns by hand."""

import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec import Struct

from events.base import (
    ChannelId,
    Event,
    GuildId,
    MessageId,
    Position,
    Recorded,
    Scope,
    Seq,
    StreamId,
    TriggerId,
    TurnId,
    UserId,
    channel_stream,
    delivery_stream,
    turn_stream,
)
from events.delivery import Receipt, SendAttempt, SendFailed
from events.generation import RawChunk, RequestOpened
from events.spending import UsageReport
from events.turn import StopRequested, TriggerReceived, TurnEnded, TurnSettings, TurnStarted

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""When sample histories begin; each event comes a second after the one before."""
CHANNEL = ChannelId(1187)
GUILD = GuildId(42)


def turn_id(number: int) -> TurnId:
    """Return an id that sorts by `number`, as UUIDv7s do by time."""
    return TurnId(f"0192{number:08x}"[:8] + f"-{number:04x}-7000-8000-{number:012x}")


@contextmanager
def holding(path: Path) -> Generator[int]:
    """Let another process hold the DuckDB file at `path`; gives its process id."""
    program = (
        "import duckdb, sys; connection = duckdb.connect(sys.argv[1]); "
        "print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(  # noqa: S603 - our own Python
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder.pid
        finally:
            holder.communicate()


class History:
    """A log in memory: gives each event its position and seq."""

    def __init__(self, start: datetime = START) -> None:
        self.events: list[Recorded] = []
        self._now = start
        self._seqs: Counter[StreamId] = Counter()

    def add(self, stream: StreamId, scope: Scope, *events: Event) -> "History":
        """Append `events` to `stream`."""
        for event in events:
            self._seqs[stream] += 1
            self.events.append(
                Recorded(
                    position=Position(len(self.events) + 1),
                    stream=stream,
                    seq=Seq(self._seqs[stream]),
                    recorded_at=self._now,
                    scope=scope,
                    event=event,
                )
            )
            self._now += timedelta(seconds=1)
        return self

    def pass_time(self, by: timedelta) -> "History":
        """Let the next event come later."""
        self._now += by
        return self

    def turn(
        self,
        number: int,
        *,
        reports: tuple[UsageReport, ...] = (),
        channel: ChannelId = CHANNEL,
        guild: GuildId | None = GUILD,
        ending: TurnEnded | None = None,
        failures: tuple[SendFailed, ...] = (),
    ) -> "History":
        """Append a whole turn of one message; without `ending` it stays open."""
        turn = turn_id(number)
        scope = Scope(turn_id=turn, channel_id=channel, guild_id=guild)
        asked = Scope(channel_id=channel, guild_id=guild)
        self.add(channel_stream(channel), asked, trigger(number, channel, guild))
        self.add(turn_stream(turn), scope, started(number, channel, guild))
        self.add(turn_stream(turn), scope, opened(1), RawChunk(request=1, payloads=('{"x":"y"}',)))
        self.add(delivery_stream(turn), scope, attempt(channel))
        self.add(delivery_stream(turn), scope, *(failures or (receipt(number, channel),)))
        self.add(turn_stream(turn), scope, *reports)
        if ending is not None:
            self.add(turn_stream(turn), scope, ending)
        return self

    def stop(self, number: int, channel: ChannelId = CHANNEL) -> "History":
        """Append a stop of a turn to its channel."""
        stop = StopRequested(turn_id=turn_id(number), requester="7", stop="stop")
        return self.add(channel_stream(channel), Scope(channel_id=channel), stop)


def trigger(number: int, channel: ChannelId, guild: GuildId | None) -> TriggerReceived:
    """Return the trigger of turn `number`."""
    return TriggerReceived(
        trigger_id=TriggerId(str(9000 + number)),
        trigger="mention",
        channel_id=channel,
        guild_id=guild,
        author_id=UserId(7),
        author_name="Ada",
        content="hello",
        persona="Rejoinder",
    )


def started(number: int, channel: ChannelId, guild: GuildId | None) -> TurnStarted:
    """Return the start of turn `number`."""
    return TurnStarted(
        trigger_id=TriggerId(str(9000 + number)),
        channel_id=channel,
        guild_id=guild,
        author_id=UserId(7),
        author_name="Ada",
        prompt="hello",
        persona="Rejoinder",
        system_prompt="",
        models=("main/first", "main/second"),
        settings=TurnSettings(),
        seed=1,
        code_version="0",
        text_version=1,
    )


def opened(request: int, model: str = "small") -> RequestOpened:
    """Return the opening of a request."""
    return RequestOpened(
        request=request,
        provider="main",
        kind_of_provider="openai",
        model=model,
        attempt="first",
        url="https://example.org",
        body="{}",
    )


def attempt(channel: ChannelId = CHANNEL) -> SendAttempt:
    """Return a first attempt."""
    return SendAttempt(attempt=1, flush=1, channel_id=channel, content="hi")


def receipt(number: int, channel: ChannelId = CHANNEL) -> Receipt:
    """Return the receipt of the first attempt."""
    return Receipt(attempt=1, message_id=MessageId(5000 + number), destination_id=channel)


def report(request: int = 1, **fields: Any) -> UsageReport:  # noqa: ANN401 - fields of the report
    """Return a usage report, measured unless `fields` say otherwise."""
    given: dict[str, Any] = {
        "provider": "main",
        "model": "small",
        "measurement": "measured",
    } | fields
    return UsageReport(request=request, **given)


_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
_INT = st.integers(min_value=0, max_value=2**63 - 1)
_SCALARS: dict[object, st.SearchStrategy[Any]] = {
    str: _TEXT,
    int: _INT,
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    TurnId: st.uuids().map(str),
}


def values(hint: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401, PLR0911 - annotations have no type; one line a form
    """Return a strategy for the values that an annotation allows."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    if hasattr(hint, "__supertype__"):
        base = hint.__supertype__
        return st.integers(0, 2**64 - 1) if base is int else values(base)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return structs(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of(*(values(one) for one in arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    assert origin is dict, hint
    return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)


def structs(struct_type: type[Struct]) -> st.SearchStrategy[Any]:
    """Return a strategy that fills every field of a struct."""
    hints = get_type_hints(struct_type)
    fields = {name: values(hints[name]) for name in struct_type.__struct_fields__}
    return st.builds(struct_type, **fields)
