"""What SQL of people may run: judged on the parse tree, before anything of it is executed.

DuckDB itself parses the text, in a process that holds nothing, and every node of the tree must be
of a kind listed here: a list of what is forbidden would be short by whatever the next DuckDB adds.
That a statement is a SELECT says little, since a CTE may hold DELETE or COPY TO.
The gate is one of several walls; `guarded` has the others (read-only transaction, no external
access, limits).
"""

import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any, Final, cast

import duckdb

from actors.errors import SqlRefusedError
from actors.read_models.parsing import Parser, Tree

MAX_QUERY_CHARACTERS: Final = 64 * 1024
"""A longer query is refused unparsed."""

ALLOWED: Final = "allowed is one SELECT (WITH, UNION, DESCRIBE, SUMMARIZE and EXPLAIN included)"
"""How a refusal ends."""

_NODES: Final = frozenset(
    {
        "SELECT_NODE",
        "SET_OPERATION_NODE",
        "RECURSIVE_CTE_NODE",
        "CTE_NODE",
        "BASE_TABLE",
        "EMPTY",
        "EXPRESSION_LIST",
        "JOIN",
        "PIVOT",
        "SHOW_REF",
        "SUBQUERY",
        "TABLE_FUNCTION",
        "DISTINCT_MODIFIER",
        "LIMIT_MODIFIER",
        "LIMIT_PERCENT_MODIFIER",
        "ORDER_MODIFIER",
        "ORDER_DEFAULT",
        "ASCENDING",
        "DESCENDING",
    }
)
_CLASSES: Final = frozenset(
    {
        "BETWEEN",
        "CASE",
        "CAST",
        "COLLATE",
        "COLUMN_REF",
        "COMPARISON",
        "CONJUNCTION",
        "CONSTANT",
        "FUNCTION",
        "LAMBDA",
        "OPERATOR",
        "POSITIONAL_REFERENCE",
        "STAR",
        "SUBQUERY",
        "TYPE",
        "WINDOW",
    }
)
_TABLE_FUNCTIONS: Final = frozenset(
    {
        "range",
        "generate_series",
        "unnest",
        "json_each",
        "json_tree",
    }
)
_CATALOG_VIEWS: Final = frozenset({"tables", "columns"})

# Their result is as large as an argument says, and DuckDB builds such values outside its memory
# limit and does not look for an interrupt meanwhile: len(range(10**9)) took 20 GB and 64 s.
_SIZED_BY_ARGUMENT: Final = frozenset(
    {
        "range",
        "generate_series",
        "repeat",
        "lpad",
        "rpad",
        "list_resize",
        "array_resize",
        "format",
        "printf",
        "bitstring",
        "to_base",
        "equi_width_bins",
        "reservoir_quantile",
    }
)
# Settings and variables of the instance, SQL kept in a string, waiting.
_TELLTALE: Final = frozenset(
    {
        "current_setting",
        "getvariable",
        "getenv",
        "json_serialize_plan",
        "json_execute_serialized_sql",
        "pg_sleep",
        "sleep_ms",
    }
)
_HARMLESS_VOLATILE: Final = frozenset(
    {
        "random",
        "uuid",
        "uuidv4",
        "uuidv7",
        "gen_random_uuid",
    }
)

_BLANKS: Final = r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*+"
_EXPLAIN: Final = re.compile(
    rf"\A{_BLANKS}explain\b(?P<analyze>{_BLANKS}analyze\b)?", re.IGNORECASE | re.DOTALL
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_FIRST_WORD: Final = re.compile(rf"\A{_BLANKS}(\w+)", re.DOTALL)


class SqlGate:
    """Says of a query whether it may run. Thread safe."""

    def __init__(self, tables: Collection[str], macros: Collection[str] = ()) -> None:
        self._tables = frozenset(tables)
        self._parser = Parser()
        self._functions = _allowed_functions() | frozenset(macros)

    def check(self, query: str) -> str:
        """Return the statement to execute.

        Raises:
            SqlRefusedError: It is not one statement that only reads what people may read.
        """
        if len(query) > MAX_QUERY_CHARACTERS:
            raise SqlRefusedError(
                f"the query has {len(query)} characters, at most {MAX_QUERY_CHARACTERS}"
            )
        if "\0" in query or (not query.isascii() and _SURROGATE.search(query)):
            raise SqlRefusedError(f"the query holds a character that is no text; {ALLOWED}")
        explain = _EXPLAIN.match(query)
        if explain is None:
            self._judge(self._parse(query))
            return query
        inner = query[explain.end() :]
        self._judge(self._parse(inner))
        return f"EXPLAIN ANALYZE {inner}" if explain["analyze"] else f"EXPLAIN {inner}"

    def close(self) -> None:
        """Close the parser."""
        self._parser.close()

    def _parse(self, query: str) -> Tree:
        tree = self._parser.parse(query)
        if tree["error"]:
            raise SqlRefusedError(_why_unparsed(query, tree))
        if len(tree["statements"]) != 1:
            raise SqlRefusedError(
                f"the query holds {len(tree['statements'])} statements; {ALLOWED}"
            )
        statement: Tree = tree["statements"][0]
        return statement

    def _judge(self, statement: Tree) -> None:
        # With each part of the tree go the names of the CTEs in whose scope it stands. A stack of
        # our own, since a tree may be deeper than Python's.
        open_ends: list[tuple[Any, frozenset[str]]] = [(statement, self._tables)]
        while open_ends:
            part, tables = open_ends.pop()
            if isinstance(part, dict):
                node = cast("Tree", part)
                tables |= _cte_names(node)
                self._judge_node(node, tables)
                open_ends.extend((child, tables) for child in _children(node))
            elif isinstance(part, list):
                open_ends.extend((child, tables) for child in cast("list[Any]", part))

    def _judge_node(self, node: Tree, tables: frozenset[str]) -> None:
        kind = node.get("type")
        if "class" in node:
            self._judge_expression(node)
        elif isinstance(kind, str) and not kind.endswith("_TYPE_INFO"):
            if kind not in _NODES:
                raise SqlRefusedError(f"{_in_words(kind)} is not allowed; {ALLOWED}")
            if kind == "BASE_TABLE":
                _judge_table(node, tables)
            elif kind == "TABLE_FUNCTION":
                _judge_table_function(node)
            elif kind == "SHOW_REF":
                _judge_show(node)

    def _judge_expression(self, node: Tree) -> None:
        if node["class"] not in _CLASSES:
            raise SqlRefusedError(f"{_in_words(node['class'])} is not allowed; {ALLOWED}")
        # Window functions proper have types of their own; what aggregates in a window is named.
        if node["class"] != "FUNCTION" and node["type"] != "WINDOW_AGGREGATE":
            return
        name = str(node["function_name"]).lower()
        if name in _SIZED_BY_ARGUMENT:
            raise SqlRefusedError(
                f"{name}() is not allowed, since the memory limit can't hold it; "
                "where rows will do, FROM range(…) is"
            )
        if name not in self._functions:
            close = get_close_matches(name, self._functions, n=1, cutoff=0.8)
            hint = f"; did you mean {close[0]}()" if close else ""
            raise SqlRefusedError(f"{name}() is not a function that a query may call{hint}")


def _allowed_functions() -> frozenset[str]:
    """Return the functions of this DuckDB that only compute, as its own catalog says."""
    with duckdb.connect(":memory:", config={"threads": "1"}) as connection:
        rows = connection.execute(
            "SELECT lower(function_name), bool_or(coalesce(has_side_effects, false)) "
            "FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') "
            "GROUP BY ALL"
        ).fetchall()
    pure = {name for name, has_effects in rows if not has_effects}
    # unnest is no function to the catalog, but to the parser.
    return frozenset((pure | _HARMLESS_VOLATILE | {"unnest"}) - _SIZED_BY_ARGUMENT - _TELLTALE)


def _children(node: Tree) -> Iterator[Any]:
    for key, value in node.items():
        if key == "function" and node.get("type") == "TABLE_FUNCTION":
            # Its name is judged as a table's, so only what stands inside it is left.
            yield from _children(value)
        else:
            yield value


def _cte_names(node: Tree) -> frozenset[str]:
    entries = node.get("cte_map", {}).get("map", ())
    return frozenset(str(entry["key"]).lower() for entry in entries)


def _judge_table(node: Tree, tables: frozenset[str]) -> None:
    path = [str(one).lower() for one in node["qualified_name"]["path"]]
    match path:
        case [name] | ["main", name] if name in tables:
            return
        case ["information_schema", name] if name in _CATALOG_VIEWS:
            return
        case _:
            name = ".".join(path)
            close = get_close_matches(name, tables, n=1)
            hint = f"did you mean {close[0]}" if close else "SHOW TABLES names them all"
            raise SqlRefusedError(f"{name} is not a table that a query may read; {hint}")


def _judge_table_function(node: Tree) -> None:
    name = str(node["function"]["function_name"]).lower()
    if name not in _TABLE_FUNCTIONS:
        raise SqlRefusedError(
            f"FROM {name}() is not allowed; allowed are {', '.join(sorted(_TABLE_FUNCTIONS))}"
        )


def _judge_show(node: Tree) -> None:
    is_tables = node["show_type"] == "SHOW_SPECIAL" and node["table_name"].strip('"') == "tables"
    if not is_tables and node["show_type"] not in {"DESCRIBE", "SUMMARY"}:
        raise SqlRefusedError(f"this SHOW is not allowed; SHOW TABLES and DESCRIBE are, {ALLOWED}")


def _in_words(kind: str) -> str:
    return kind.removesuffix("_QUERY_NODE").removesuffix("_NODE").replace("_", " ")


def _why_unparsed(query: str, answer: Tree) -> str:
    if answer.get("error_type") != "not implemented":
        return f"the query can't be parsed: {answer['error_message'].partition(chr(10))[0]}"
    word = _FIRST_WORD.match(query)
    named = word[1].upper() if word else "this statement"
    if named in {"SELECT", "WITH", "FROM"}:
        return f"the query holds more than a SELECT; {ALLOWED}"
    return f"{named} is not allowed; {ALLOWED}"
