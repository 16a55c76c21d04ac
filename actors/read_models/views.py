"""One typed SQL view an event kind, derived from the structs of the vocabulary.

A kind that is added to `events.codec` has its view without a line here. Pure text: no database.

Rules: a scalar field is a typed column, anything nested is JSON, an unknown value is NULL. Columns
bear the names of the stored JSON (`from`, `to` want quotes in SQL). A field that bears the name of
an envelope column is called `event_<name>`: `stops_requested.turn_id` is the scope's turn,
`event_turn_id` the one that the stop names.
"""

from collections.abc import Iterator
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct, inspect

from events.base import Event
from events.codec import EVENT_TYPES, kind_of

ENVELOPE: Final = (
    "position",
    "stream",
    "seq",
    "recorded_at",
    "turn_id",
    "channel_id",
    "guild_id",
)
"""The columns that every view begins with."""

_IRREGULAR: Final = {"send_failed": "send_failures"}


class ViewColumn(Struct, frozen=True, kw_only=True):
    """One field of an event as a column."""

    name: str
    """The column's name."""
    key: str
    """The field's name in the stored JSON."""
    type: str
    """DuckDB's type; UBIGINT is for Discord's ids, JSON for all that is nested."""


def view_name(event_type: type[Event]) -> str:
    """Return the plural of the kind: `raw_chunks`, `flushes`; of a participle, `turns_started`."""
    kind = kind_of(event_type)
    if kind in _IRREGULAR:
        return _IRREGULAR[kind]
    head, _, last = kind.rpartition("_")
    if head and last.endswith("ed"):
        return f"{_plural(head)}_{last}"
    return _plural(kind)


def _plural(words: str) -> str:
    if words.endswith(("s", "sh", "ch", "x")):
        return f"{words}es"
    if words.endswith("y") and words[-2:-1] not in "aeiou":
        return f"{words[:-1]}ies"
    return f"{words}s"


def view_columns(event_type: type[Event]) -> tuple[ViewColumn, ...]:
    """Return the columns of the kind's own fields, in the order of the struct."""
    hints = get_type_hints(event_type)
    info = inspect.type_info(event_type)
    assert isinstance(info, inspect.StructType)
    return tuple(
        ViewColumn(
            name=f"event_{field.encode_name}"
            if field.encode_name in ENVELOPE
            else field.encode_name,
            key=field.encode_name,
            type=_column_type(field.type, hints[field.name]),
        )
        for field in info.fields
    )


_SCALARS: Final[dict[type[inspect.Type], str]] = {
    inspect.StrType: "VARCHAR",
    inspect.FloatType: "DOUBLE",
    inspect.BoolType: "BOOLEAN",
    inspect.DateTimeType: "TIMESTAMP",
}


def _column_type(info: inspect.Type, hint: Any) -> str:  # noqa: ANN401 - annotations have no type
    match info:
        case inspect.UnionType(types=types):
            real = [one for one in types if not isinstance(one, inspect.NoneType)]
            return _column_type(real[0], hint) if len(real) == 1 else "JSON"
        case inspect.IntType():
            return "UBIGINT" if _is_id(hint) else "BIGINT"
        case inspect.LiteralType(values=values):
            return "VARCHAR" if all(isinstance(one, str) for one in values) else "BIGINT"
        case _:
            return _SCALARS.get(type(info), "JSON")


def _is_id(hint: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether the annotation is one of the id types: they alone are never negative."""
    if get_origin(hint) in (Union, UnionType):
        return any(_is_id(one) for one in get_args(hint))
    return getattr(hint, "__supertype__", None) is int


def view_sql(event_type: type[Event]) -> str:
    """Return the statement that makes the kind's view."""
    columns = view_columns(event_type)
    # A value that its type can't hold becomes NULL instead of failing every query of the view;
    # that is what json_transform does, and it parses each body once however many columns are read.
    shape = msgspec.json.encode({one.key: one.type for one in columns}).decode()
    fields = "".join(f', fields."{one.key}" AS "{one.name}"' for one in columns)
    envelope = ", ".join(ENVELOPE)
    return (
        f"CREATE OR REPLACE VIEW {view_name(event_type)} AS SELECT {envelope}{fields} "  # noqa: S608 - our words
        f"FROM (SELECT {envelope}, json_transform(body, '{shape}') AS fields "
        f"FROM events WHERE kind = '{kind_of(event_type)}')"
    )


def view_statements() -> Iterator[str]:
    """Yield one statement a kind."""
    return (view_sql(event_type) for event_type in EVENT_TYPES)


VIEW_NAMES: Final = frozenset(view_name(event_type) for event_type in EVENT_TYPES)
"""Every kind's view."""
