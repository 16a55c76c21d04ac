"""Reads a tree of plain values against structs, and goes on after a fault to find the others.

msgspec alone stops at the first fault, and can't look into the environment. Knows the shapes that
`bot.settings` uses, and none of its keys.
"""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import inspect
from typing_extensions import TypeIs

from bot.secret import Secret
from bot.settings_errors import Fault

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Table = Mapping[str, object]


def child(key: str, name: str) -> str:
    """Return the dotted key of `name` in the table `key`, quoted where TOML would quote it."""
    shown = name if _BARE_KEY.fullmatch(name) else f'"{name}"'
    return f"{key}.{shown}" if key else shown


class SettingsReader:
    """Turns raw values into what `msgspec.convert` accepts, collecting faults on the way.

    A broken value gives way to its default or to an empty one of its type, so that what stands
    beside it can be judged too; `broken` says which keys these are.
    """

    def __init__(self, environ: Mapping[str, str], *, require_secrets: bool) -> None:
        self.faults: list[Fault] = []
        self.broken: set[str] = set()
        self._environ = environ
        self._require_secrets = require_secrets

    def fault(self, key: str, problem: str, allowed: str) -> None:
        """Record that the value of `key` can't be used."""
        self.faults.append(Fault(key=key, problem=problem, allowed=allowed))
        self.broken.add(key)

    def read(self, node: inspect.Type, raw: object, key: str) -> object:
        """Return `raw` as `node` wants it, or an empty stand-in after a fault."""
        match node:
            case inspect.StructType():
                return self._struct(node, raw, key)
            case inspect.DictType():
                return self._table(node, raw, key)
            case inspect.VarTupleType():
                return self._list(node, raw, key)
            case _:
                return self._leaf(node, raw, key)

    def _struct(self, node: inspect.StructType, raw: object, key: str) -> object:
        if not _is_table(raw):
            self.fault(key, f"is {_kind(raw)}", "a table")
            return empty(node)
        known = {one.encode_name: one for one in node.fields}
        for name in raw:
            if name not in known:
                self._unknown(key, name, known)
        values = {
            name: self._field(one, raw, child(key, name))
            for name, one in known.items()
            if name in raw or one.required
        }
        return {
            name: value
            for name, value in values.items()
            if known[name].required or child(key, name) not in self.broken
        }

    def _unknown(self, key: str, name: str, known: Collection[str]) -> None:
        near = difflib.get_close_matches(name, known, n=1)
        guess = f', did you mean "{near[0]}"?' if near else ""
        self.fault(child(key, name), f"unknown key{guess}", ", ".join(known))

    def _field(self, one: inspect.Field, table: Table, key: str) -> object:
        if one.encode_name in table:
            return self.read(one.type, table[one.encode_name], key)
        if isinstance(one.type, inspect.StructType):
            # An absent section: its required keys are named rather than the section.
            return self._struct(one.type, {}, key)
        if _is_secret(one.type) and not self._require_secrets:
            return ""
        self.fault(key, "is missing", describe(one.type))
        return empty(one.type)

    def _table(self, node: inspect.DictType, raw: object, key: str) -> object:
        if not _is_table(raw):
            self.fault(key, f"is {_kind(raw)}", describe(node))
            return {}
        return {name: self.read(node.value_type, raw[name], child(key, name)) for name in raw}

    def _list(self, node: inspect.VarTupleType, raw: object, key: str) -> object:
        if not _is_list(raw):
            self.fault(key, f"is {_kind(raw)}", describe(node))
            return []
        return [self.read(node.item_type, one, f"{key}[{i}]") for i, one in enumerate(raw)]

    def _leaf(self, node: inspect.Type, raw: object, key: str) -> object:
        match node:
            case inspect.StrType() | inspect.CustomType() | inspect.LiteralType():
                return self._text(node, raw, key)
            case inspect.IntType() | inspect.FloatType():
                return self._number(node, raw, key)
            case _:
                if isinstance(raw, bool):
                    return raw
                self.fault(key, f"is {_kind(raw)}", describe(node))
                return empty(node)

    def _number(
        self, node: inspect.IntType | inspect.FloatType, raw: object, key: str
    ) -> int | float:
        whole = isinstance(node, inspect.IntType)
        if isinstance(raw, bool) or not isinstance(raw, int if whole else (int, float)):
            self.fault(key, f"is {_kind(raw)}", describe(node))
            return node.ge or 0
        above = node.ge is None or raw >= node.ge
        below = node.le is None or raw <= node.le
        if not (above and below):
            self.fault(key, f"is {raw}", describe(node))
            return node.ge or 0
        return raw

    def _text(self, node: inspect.Type, raw: object, key: str) -> str:
        text = self._from_environment(node, raw, key) if _is_table(raw) else raw
        if text is None:
            return ""
        if not isinstance(text, str):
            self.fault(key, f"is {_kind(raw)}", describe(node))
            return ""
        if _is_secret(node) and self._require_secrets and not text.strip():
            self.fault(key, "is empty", describe(node))
        if isinstance(node, inspect.LiteralType) and text not in node.values:
            self.fault(key, f'is "{text}"', describe(node))
            return str(node.values[0])
        return text

    def _from_environment(self, node: inspect.Type, table: Table, key: str) -> str | None:
        name = table.get("env")
        if len(table) != 1 or not isinstance(name, str):
            self.fault(key, "is a table", describe(node))
            return None
        if not _VARIABLE.fullmatch(name):
            # Not repeated: whoever writes the secret itself here should not read it in a log.
            self.fault(key, "env names no environment variable", '{ env = "NAME" }')
            return None
        value = self._environ.get(name)
        is_secret = _is_secret(node)
        if value is None or (is_secret and not value.strip()):
            if self._require_secrets or not is_secret:
                state = "not set" if value is None else "empty"
                self.fault(key, f"environment variable {name} is {state}", describe(node))
            return None
        return value


def describe(node: inspect.Type) -> str:
    """Return what values `node` takes, in words."""
    match node:
        case inspect.LiteralType():
            return ", ".join(str(value) for value in node.values)
        case inspect.IntType() | inspect.FloatType():
            return _describe_number(node)
        case inspect.BoolType():
            return "true or false"
        case inspect.VarTupleType():
            return f"a list, each {describe(node.item_type)}"
        case inspect.DictType() | inspect.StructType():
            return "a table"
        case _:
            return 'a string, or { env = "NAME" }'


def _describe_number(node: inspect.IntType | inspect.FloatType) -> str:
    noun = "a whole number" if isinstance(node, inspect.IntType) else "a number"
    match node.ge, node.le:
        case None, None:
            return noun
        case least, None:
            return f"{noun}, at least {least:g}"
        case None, most:
            return f"{noun}, at most {most:g}"
        case least, most:
            return f"{noun} from {least:g} to {most:g}"


def empty(node: inspect.Type) -> object:
    """Return the emptiest value that `node` accepts, to stand where a broken one stood."""
    value: object = ""
    match node:
        case inspect.StructType():
            value = {one.encode_name: empty(one.type) for one in node.fields if one.required}
        case inspect.DictType():
            value = {}
        case inspect.VarTupleType():
            value = []
        case inspect.IntType() | inspect.FloatType():
            value = node.ge or 0
        case inspect.BoolType():
            value = False
        case inspect.LiteralType():
            value = node.values[0]
        case _:
            pass
    return value


def revive(kind: type, value: object) -> object:
    """Return `value` as the house's own type `kind`; a `dec_hook` for `msgspec.convert`."""
    if isinstance(value, str) and kind is Secret:
        return Secret(value)
    if isinstance(value, str) and kind is Path:
        return Path(value)
    raise NotImplementedError(f"{kind.__name__} is no type of the settings")


def _is_table(raw: object) -> TypeIs[Table]:
    return isinstance(raw, dict)


def _is_list(raw: object) -> TypeIs[Sequence[object]]:
    return isinstance(raw, list)


def _is_secret(node: inspect.Type) -> bool:
    return isinstance(node, inspect.CustomType) and node.cls is Secret


def _kind(raw: object) -> str:
    names = (
        (bool, "true or false"),
        (str, "a string"),
        (int, "a whole number"),
        (float, "a number"),
        (list, "a list"),
        (dict, "a table"),
    )
    return next((name for kind, name in names if isinstance(raw, kind)), "a date or time")
