"""Which queries of strangers are admitted: one SELECT over the warehouse's own tables, by functions that only compute.

DuckDB's parser says what a query names. Table functions and DuckDB's own views are admitted by name, so whatever a
later DuckDB brings is closed until somebody looks at it; functions of values are admitted but for those named here.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from scrapers.codes import Code, CodedError

MOST_CHARACTERS = 100_000
"""Of a query: parsing is not interrupted by the time limit of DuckDB."""

MOST_WORDS = 2_000
"""Characters of what is said on a refusal: DuckDB quotes values, however long they are."""

OPEN_FUNCTIONS = frozenset((
    "range", "generate_series", "unnest", "repeat", "repeat_row", "summary", "json_each", "json_tree",
    "icu_calendar_names", "pg_timezone_names", "pragma_table_info", "pragma_version", "duckdb_columns",
    "duckdb_constraints", "duckdb_functions", "duckdb_indexes", "duckdb_keywords", "duckdb_schemas",
    "duckdb_sequences", "duckdb_tables", "duckdb_types", "duckdb_views",
))  # fmt: skip
"""Table functions of DuckDB that show nothing but their arguments and the catalogue of the warehouse. `histogram` is
none: it takes the name of any table."""

OPEN_VIEWS = frozenset((
    "columns", "constraint_column_usage", "constraint_table_usage", "key_column_usage", "referential_constraints",
    "schemata", "table_constraints", "tables", "views", "check_constraints", "character_sets", "duckdb_columns",
    "duckdb_constraints", "duckdb_indexes", "duckdb_schemas", "duckdb_tables", "duckdb_types", "duckdb_views",
    "sqlite_master", "sqlite_schema", "pg_attribute", "pg_class", "pg_constraint", "pg_description", "pg_index",
    "pg_indexes", "pg_namespace", "pg_tables", "pg_type", "pg_views",
))  # fmt: skip
"""Views of DuckDB itself that show nothing but the catalogue."""

CLOSED_FUNCTIONS = re.compile(
    r"current_setting|getenv|getvariable|query|query_table|json_execute_\w+|json_serialize_plan|\w*substrait\w*"
    r"|write_log|parse_duckdb_log_message|nextval|currval|setval|setseed|sleep_ms|pg_sleep|__internal_\w+|combine"
    r"|finalize|to_aggregate_state"
)
"""Functions of values that do more than compute: they show settings, run or plan another text, keep a state, wait, or
take DuckDB's own internals apart."""

OWN_TABLES = "SELECT table_name FROM duckdb_columns() WHERE NOT internal"
OWN_FUNCTIONS = "SELECT function_name FROM duckdb_functions() WHERE NOT internal"
_ADVICE = re.compile(r"\n+(?:Please try|Alternatively|Stack Trace).*", re.DOTALL)
_PATH = re.compile(r"(?<![\w/\\.:~-])(?:[~…]|[A-Za-z]:|file:/*)?(?:[\\/][^\s\\/'\"`,;:()\[\]<>|]+)+[\\/]?")


class QueryRefused(CodedError):
    """The query was not answered: refused, wrong, too slow or too large. The message says which."""

    code = Code.QUERY_REFUSED


def only_select(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    """Return the one SELECT statement that `query` is. Raises `QueryRefused` for anything else."""
    if len(query) > MOST_CHARACTERS:
        raise QueryRefused(f"this query has {len(query):,} characters, at most {MOST_CHARACTERS:,} are read")
    statements = connection.extract_statements(query)
    if not statements:
        raise QueryRefused("there is no question: give one SELECT")
    if len(statements) != 1:
        raise QueryRefused(f"one statement at a time, please: this is {len(statements)}")
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = str(statements[0].type).rpartition(".")[2]
        raise QueryRefused(f"only SELECT is answered here, not {kind}: the warehouse changes by `kix sync` alone")
    for name in _closed_names(connection, _tree(connection, statements[0].query)):
        raise QueryRefused(f"{name[:60]} is not answered here: a query sees the warehouse and nothing else")
    return statements[0]


def _tree(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    """Return a statement as DuckDB's parser understood it."""
    text = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0]
    try:
        tree = json.loads(text)
    except RecursionError:
        raise QueryRefused("this query is nested too deeply: take it apart with WITH") from None
    if tree["error"]:
        raise QueryRefused(f"this kind of question is not answered here: {tree.get('error_message', 'unknown')}")
    return tree


def _closed_names(connection: duckdb.DuckDBPyConnection, tree: Any) -> Iterator[str]:
    views = _names(connection, "SELECT view_name FROM duckdb_views() WHERE internal")
    for node in _nodes(tree):
        name = str(node.get("table_name") or "")
        # `SHOW name` shows a table, or else the setting of that name.
        if node.get("show_type") == "SHOW" and name.lower() not in _names(connection, OWN_TABLES):
            yield name
        if name.lower() in views - OPEN_VIEWS:
            yield name
        name = str(node.get("function_name") or "")
        if CLOSED_FUNCTIONS.fullmatch(name.lower()):
            yield name
        if node.get("type") == "TABLE_FUNCTION":
            name = node["function"].get("function_name", "this")
            if name.lower() not in OPEN_FUNCTIONS and name.lower() not in _names(connection, OWN_FUNCTIONS):
                yield name


def _names(connection: duckdb.DuckDBPyConnection, query: str) -> set[str]:
    return {name.lower() for (name,) in connection.execute(query).fetchall()}


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def in_words(error: BaseException, query: str, host_paths: list[str]) -> str:
    """Say what was wrong with a query: DuckDB's words, short, without its advice on settings, and without any path of
    this machine that the query did not name itself."""
    text = _ADVICE.sub("", str(error)[: 10 * MOST_WORDS])
    for path in host_paths:
        text = text.replace(path, "…")
    text = _PATH.sub(lambda found: found[0] if found[0] in query else "…", text)
    return text if len(text) <= MOST_WORDS else text[:MOST_WORDS] + " …"


def paths_of_host(warehouse: str) -> list[str]:
    """Return the paths of this machine that are known by name, longest first: there may be spaces in them."""
    file = Path(warehouse).absolute()
    known = [file, file.resolve(), file.parent, file.parent.resolve(), Path(sys.prefix), Path(sys.base_prefix)]
    return sorted({str(path) for path in known if path != Path(path.anchor)}, key=len, reverse=True)
