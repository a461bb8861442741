"""Applies the numbered SQL files, forward only, and keeps the views as this version of kix defines them."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import duckdb

from scrapers.codes import Code
from warehouse.connection import WarehouseError, applied
from warehouse.quoting import literal, quoted

FAMILY_VIEWS = (
    "runs", "measurements", "source_metrics", "leaderboard", "eligibility", "cohorts", "record_events", "records",
    "progress", "submitters",
)  # fmt: skip

NEWER = (
    "use the newer kix that wrote it; or `kix rebuild` makes one for this kix from the archive, and keeps the newer one"
    " beside it"
)


def sql_files(folder: str) -> list[tuple[str, str]]:
    """Return (name, text) of the SQL files in a folder of `warehouse/sql`, in order of their names."""
    entries = (entry for entry in files(__package__).joinpath("sql", folder).iterdir() if entry.name.endswith(".sql"))
    return sorted((entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8")) for entry in entries)


def migrate(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Apply what is missing, inside the caller's transaction. Returns the names applied.

    Raises `WarehouseError` when the schema is newer than this kix.
    """
    check_not_newer(connection)
    done = set(applied(connection))
    wanted = {int(name[:4]): (name, text) for name, text in sql_files("migrations")}
    names = []
    for number in sorted(wanted.keys() - done):
        name, text = wanted[number]
        connection.execute(text)
        connection.execute("INSERT INTO schema_migrations VALUES (?, ?, now())", [number, name])
        names.append(name)
    if names:  # they may have changed what the views are made over
        connection.execute("DELETE FROM view_definitions")
    if _make_views(connection, "main", "".join(text for _, text in sql_files("views"))):
        connection.execute("DELETE FROM view_definitions WHERE schema_name <> 'main'")
    return names


def _make_views(connection: duckdb.DuckDBPyConnection, schema: str, statements: str) -> bool:
    """Make a schema's views, unless they were made of the very same statements. Returns whether they were made."""
    digest = hashlib.sha256(statements.encode()).hexdigest()
    made = connection.execute("SELECT digest FROM view_definitions WHERE schema_name = ?", [schema]).fetchall()
    if made == [(digest,)]:
        return False
    connection.execute(statements)
    connection.execute("DELETE FROM view_definitions WHERE schema_name = ?", [schema])
    connection.execute("INSERT INTO view_definitions VALUES (?, ?)", [schema, digest])
    return True


def check_not_newer(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise `WarehouseError` when a newer kix made this schema."""
    found, known = max(applied(connection), default=0), _newest()
    if found > known:
        raise WarehouseError(f"the warehouse has schema {found}, this kix knows {known}: {NEWER}", code=Code.SCHEMA)


def _newest() -> int:
    return max(int(name[:4]) for name, _ in sql_files("migrations"))


def check_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise `WarehouseError` when a published file is of another schema than this kix reads."""
    found = max(applied(connection), default=0)
    wanted = _newest()
    if found != wanted:
        step = NEWER if found > wanted else "`kix sync` or `kix rebuild` brings it up to date"
        raise WarehouseError(f"the warehouse has schema {found}, this kix reads {wanted}: {step}", code=Code.SCHEMA)


def add_family_schemas(connection: duckdb.DuckDBPyConnection) -> None:
    """Give each comparability family a schema of its name, with the family's rows alone, over today's views."""
    families = connection.execute("SELECT DISTINCT comparability_family FROM protocols ORDER BY 1").fetchall()
    columns = connection.execute(
        "SELECT table_name, column_name, coalesce(comment, '') FROM duckdb_columns()"
        " WHERE schema_name = 'main' AND database_name = current_database()"
    ).fetchall()
    for (family,) in families:
        statements = [f"CREATE SCHEMA IF NOT EXISTS {quoted(family)}"]
        for view in FAMILY_VIEWS:
            comments = [(column, comment) for table, column, comment in columns if table == view]
            statements.append(_family_view(family, view, comments))
        _make_views(connection, family, ";\n".join(statements))


def _family_view(family: str, view: str, comments: list[tuple[str, str]]) -> str:
    name = f"{quoted(family)}.{view}"
    statements = [
        f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM main.{view} WHERE comparability_family = {literal(family)}",
        f"COMMENT ON VIEW {name} IS {literal(f'The rows of main.{view} that belong to the family {family}.')}",
        *(f"COMMENT ON COLUMN {name}.{quoted(column)} IS {literal(comment)}" for column, comment in comments),
    ]
    return ";\n".join(statements)
