"""The typed views: every kind has one, and it says what the event says."""

from datetime import UTC
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.read_models.money import MONEY_VIEW_NAMES
from actors.read_models.read_models import ReadModels
from actors.read_models.views import (
    ENVELOPE,
    VIEW_NAMES,
    ViewColumn,
    view_columns,
    view_name,
)
from events.base import ChannelId, Event, GuildId, Recorded, Scope, TurnId, turn_stream
from events.codec import EVENT_TYPES, encode, kind_of
from events.turn import StopRequested
from tests.actors.read_models.samples import History, structs, turn_id

_SCOPE = Scope(turn_id=turn_id(1), channel_id=ChannelId(2**64 - 1), guild_id=GuildId(3))


def test_every_kind_has_a_view_of_its_own(models: ReadModels) -> None:
    """A kind without a view would have to be parsed out of JSON by hand."""
    found = {row[0] for row in models.sql("SHOW TABLES").rows}

    known = {"events", "turns", "usage", "decision_quality"}
    assert found == VIEW_NAMES | MONEY_VIEW_NAMES | known
    assert len(VIEW_NAMES) == len(EVENT_TYPES)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("raw_chunk", "raw_chunks"),
        ("flush", "flushes"),
        ("receipt", "receipts"),
        ("usage_report", "usage_reports"),
        ("send_attempt", "send_attempts"),
        ("send_failed", "send_failures"),
        ("turn_started", "turns_started"),
        ("trigger_dropped", "triggers_dropped"),
        ("request_closed", "requests_closed"),
    ],
)
def test_a_view_is_named_by_the_plural_of_its_kind(kind: str, name: str) -> None:
    """Outside programs rely on these names."""
    types = {kind_of(one): one for one in EVENT_TYPES}

    assert view_name(types[kind]) == name


def _is_same(cell: object, wanted: object, type_name: str) -> bool:
    if type_name == "JSON":
        return (None if cell is None else msgspec.json.decode(str(cell))) == wanted
    if wanted is not None and type_name != "DOUBLE":
        return cell == wanted and type(cell) is type(wanted)
    return cell == wanted


@pytest.mark.parametrize("event_type", EVENT_TYPES, ids=kind_of)
def test_every_field_of_every_event_comes_out_typed_and_equal(
    models: ReadModels, event_type: type[Event]
) -> None:
    """A view that rounds, drops or shifts a field gives wrong figures without an error."""
    history = History()
    columns = view_columns(event_type)

    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(structs(event_type), min_size=1, max_size=25))
    def check(events: list[Event]) -> None:
        before = models.checkpoint()
        history.add(turn_stream(turn_id(1)), _SCOPE, *events)

        models.ingest(history.events)
        table = models.sql(f"FROM {view_name(event_type)} WHERE position > {before} ORDER BY ALL")

        assert [one.name for one in table.columns] == [*ENVELOPE, *(one.name for one in columns)]
        types = [one.type for one in table.columns[len(ENVELOPE) :]]
        assert types == [one.type for one in columns]
        for recorded, row in zip(history.events[before:], table.rows, strict=True):
            _assert_row_says_what_was_recorded(columns, recorded, row)

    check()


def _assert_row_says_what_was_recorded(
    columns: tuple[ViewColumn, ...], recorded: Recorded, row: tuple[Any, ...]
) -> None:
    assert row[: len(ENVELOPE)] == (
        recorded.position,
        recorded.stream,
        recorded.seq,
        recorded.recorded_at.astimezone(UTC),
        _SCOPE.turn_id,
        _SCOPE.channel_id,
        _SCOPE.guild_id,
    )
    stored = msgspec.json.decode(encode(recorded.event))
    for column, cell in zip(columns, row[len(ENVELOPE) :], strict=True):
        assert _is_same(cell, stored[column.key], column.type), column


def test_a_field_named_like_an_envelope_column_does_not_hide_it(models: ReadModels) -> None:
    """A stop stands in its channel's stream and names a turn: both must be readable."""
    history = History().stop(5)
    models.ingest(history.events)

    table = models.sql("SELECT turn_id, event_turn_id FROM stops_requested")

    assert table.rows == ((None, turn_id(5)),)
    assert isinstance(history.events[0].event, StopRequested)


def test_a_number_that_no_column_holds_is_unknown_and_breaks_nothing(models: ReadModels) -> None:
    """One absurd figure from a custom endpoint must not cost the figures of all others."""
    absurd = msgspec.convert(
        {
            "kind": "usage_report",
            "request": 1,
            "provider": "main",
            "model": "small",
            "measurement": "measured",
            "cost_pico": 2**63,
            "input_tokens": 5,
        },
        structs_of("usage_report"),
    )
    history = History().add(turn_stream(turn_id(1)), _SCOPE, absurd)

    models.ingest(history.events)

    view = models.sql("SELECT input_tokens, cost_pico FROM usage_reports").rows
    assert view == ((5, None),)
    figures = models.sql("SELECT input_tokens, cost_usd, cost_unknown FROM usage").rows
    assert figures == ((5, None, 1),)


def test_an_id_that_is_no_uuid_costs_its_column_and_no_more(models: ReadModels) -> None:
    """A poisoned event must not stop the read model for good."""
    scope = Scope(turn_id=TurnId("not-a-uuid"))
    history = History().add(
        turn_stream(TurnId("not-a-uuid")),
        scope,
        StopRequested(turn_id=TurnId("not-a-uuid"), requester="7", stop="stop"),
    )

    models.ingest(history.events)

    assert models.sql("SELECT turn_id, stream FROM events").rows == ((None, "turn/not-a-uuid"),)


def structs_of(kind: str) -> type[Event]:
    """Return the event type of a kind."""
    return next(one for one in EVENT_TYPES if kind_of(one) == kind)
