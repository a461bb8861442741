"""The data dictionary: every table, view and macro with its comment, as markdown. `python -m warehouse.dictionary`
prints it; docs/data-dictionary.md is its output, and a test fails when that is stale."""

from __future__ import annotations

import sys

import duckdb

from warehouse.connection import Connection
from warehouse.migrations import migrate

HEAD = """# Data dictionary

Every table and view of `warehouse.duckdb`, as their comments in the database say. This page is made from them
(`make dictionary`). Views are what to ask first; each also exists in a schema for every comparability family, with the
family's rows alone, where it has a column `comparability_family`. Times are UTC; a unit stands in the name or in the
comment. Tables only grow, but for `standings` and `record_events`, which are derived from the others after every sync,
and what says how the file is kept (`ordered_rows`, `view_definitions`).
"""
OBJECTS = """
    SELECT view_name AS name, 'View' AS kind, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'
    UNION ALL
    SELECT table_name, 'Table', comment FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'
    ORDER BY kind DESC, name
"""
COLUMNS = """
    SELECT column_name, data_type, comment FROM duckdb_columns()
    WHERE schema_name = 'main' AND table_name = ? ORDER BY column_index
"""
MACROS = """
    SELECT function_name, parameters, comment FROM duckdb_functions()
    WHERE function_type = 'table_macro' AND NOT internal AND schema_name = 'main' ORDER BY function_name
"""


def data_dictionary(db: Connection) -> str:
    """Return the markdown for a database with today's schema."""
    lines = [HEAD]
    for name, kind, comment in db.execute(OBJECTS).fetchall():
        lines += [f"## {name}", "", f"{kind}. {comment}", "", "| column | type | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{column}` | {of} | {text} |" for column, of, text in db.execute(COLUMNS, [name]).fetchall()]
        lines.append("")
    lines += ["## Macros", "", "Asked like tables: `FROM leaderboard_as_of(12)`.", ""]
    lines += [f"- `{name}({', '.join(names)})`: {comment}" for name, names, comment in db.execute(MACROS).fetchall()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the dictionary of an empty warehouse."""
    with duckdb.connect() as db:
        migrate(db)
        sys.stdout.write(data_dictionary(db))


if __name__ == "__main__":
    main()
