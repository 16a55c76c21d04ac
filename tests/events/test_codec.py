"""Events to text and back: every kind, every version that was ever written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from msgspec import Struct

from events.base import Event
from events.codec import EVENT_TYPES, UPCASTERS, Body, append_of, decode, encode, kind_of
from events.errors import CodecError
from events.turn import StopObserved, TurnSettings
from tests.events.samples import NOW, SCOPE, note
from tests.strategies import EVENTS, events

HISTORIES = sorted((Path(__file__).parents[1] / "histories").glob("*.v*.jsonl"))


class GoldenLine(Struct, frozen=True, kw_only=True):
    """One line of a history."""

    kind: str
    version: int
    body: msgspec.Raw


def golden_lines(path: Path) -> list[GoldenLine]:
    """Return the lines of a history."""
    decoder = msgspec.json.Decoder(GoldenLine)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def says(today: Any, then: Any) -> bool:  # noqa: ANN401 - plain JSON
    """Return whether `today` holds all that `then` holds; objects may have grown."""
    if isinstance(then, dict) and isinstance(today, dict):
        pairs = cast("dict[str, Any]", then).items()
        return all(key in today and says(today[key], value) for key, value in pairs)
    if isinstance(then, list) and isinstance(today, list):
        before, after = cast("list[Any]", then), cast("list[Any]", today)
        return len(before) == len(after) and all(map(says, after, before))
    return bool(today == then)


@given(event=events)
def test_decoding_undoes_encoding(event: Event) -> None:
    """What was recorded is what is replayed, to the last character."""
    assert decode(kind_of(event), event.version, encode(event)) == event


def test_every_event_has_a_strategy() -> None:
    """A kind that no property test has ever seen is one that nobody tried to break."""
    assert set(EVENTS) == set(EVENT_TYPES)


def test_every_event_has_a_golden_line() -> None:
    """Only a line that was written down shows that tomorrow's code still reads today's log."""
    kinds = {line.kind for path in HISTORIES for line in golden_lines(path)}

    assert kinds == {kind_of(one) for one in EVENT_TYPES}


@pytest.mark.parametrize("path", HISTORIES, ids=[path.stem for path in HISTORIES])
def test_a_golden_line_still_says_the_same(path: Path) -> None:
    """A field that was renamed, retyped or dropped would silently change every old turn."""
    for line in golden_lines(path):
        event = decode(line.kind, line.version, bytes(line.body))

        assert kind_of(event) == line.kind
        assert says(msgspec.json.decode(encode(event)), msgspec.json.decode(line.body))


def test_unknown_fields_are_ignored() -> None:
    """A log written by newer code, with one more field, is read by older code."""
    body = encode(note(3)).replace("{", '{"mood":"calm",', 1)

    assert decode("stop_observed", 1, body) == note(3)


@pytest.mark.parametrize(
    ("kind", "version", "body", "says"),
    [
        ("never_heard_of", 1, "{}", "unknown kind"),
        ("stop_observed", 2, "{}", "newer than this code"),
        ("stop_observed", 1, '{"kind":"stop_observed"}', "missing required field"),
        ("stop_observed", 0, "{}", "no upcaster from version 0"),
    ],
)
def test_what_cannot_be_decoded_is_named(kind: str, version: int, body: str, says: str) -> None:
    """The operator must learn which event, of which version, and why."""
    with pytest.raises(CodecError, match=says) as caught:
        decode(kind, version, body)

    assert (caught.value.kind, caught.value.version) == (kind, version)


@pytest.fixture
def upcast(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[Body], Body]], None]:
    """Give a way to register an upcaster of `stop_observed` for one test."""

    def register(version: int, upcaster: Callable[[Body], Body]) -> None:
        monkeypatch.setitem(UPCASTERS, ("stop_observed", version), upcaster)

    return register


def test_an_old_version_is_upcast_step_by_step(
    upcast: Callable[[int, Callable[[Body], Body]], None],
) -> None:
    """A change of meaning costs one function, never a rewritten log."""
    upcast(-1, lambda body: {**body, "stop": body["how"]})
    upcast(0, lambda body: {**body, "requester": "operator"})
    body = '{"kind":"stop_observed","position":4,"how":"operator"}'

    event = decode("stop_observed", -1, body)

    assert event == StopObserved(position=4, stop="operator", requester="operator")


def test_an_append_carries_kind_version_time_and_body() -> None:
    """The log stores these and understands none of them."""
    append = append_of("channel/1", [(note(1), NOW), (note(2), NOW)], scope=SCOPE, expected_seq=4)  # pyright: ignore[reportArgumentType] - a stream id is a str

    assert [(one.kind, one.version, one.recorded_at) for one in append.entries] == [
        ("stop_observed", 1, NOW)
    ] * 2
    assert [decode(one.kind, one.version, one.body) for one in append.entries] == [note(1), note(2)]


def test_settings_missing_in_an_old_turn_take_their_defaults() -> None:
    """A recorded struct grows only by fields with defaults."""
    assert msgspec.json.decode(b"{}", type=TurnSettings) == TurnSettings()
