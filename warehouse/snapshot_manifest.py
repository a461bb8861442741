"""The manifest of a snapshot: everything that a reader, a checker or a program needs to know of it, as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import orjson

from warehouse.connection import Connection, dicts
from warehouse.content import METHOD
from warehouse.export import File, State
from warehouse.snapshot import BY_NAME, FORMAT, PARTITION, TABLES, Column, rows_of

SYNTHETIC = "SYNTHETIC SAMPLE: no figure in it is real. Not for any claim about hardware, kernels or people."


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Whose data it is. `page_url` is where a person finds it, empty when there is no such page."""

    source: str
    title: str
    licence: str
    attribution: str
    page_url: str = ""
    synthetic: bool = False


def syncs_in(db: Connection, family: str | None) -> list[dict[str, Any]]:
    """Return the syncs whose rows a snapshot holds, in order."""
    query = (
        "SELECT sync_id, source, base_url, status, started_at, finished_at, kix_version FROM syncs"
        f" WHERE {rows_of(BY_NAME['syncs'], family)} ORDER BY sync_id"
    )
    return dicts(db.execute(query))


def make_manifest(
    db: Connection,
    state: State,
    files: list[File],
    *,
    snapshot: str,
    created_at: datetime,
    kix_version: str,
    sources: list[SourceInfo],
    syncs: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the manifest of a snapshot whose files were written."""
    comments = dict(_comments(db))
    return {
        "format": FORMAT,
        "snapshot": snapshot,
        "family": state.family,
        "created_at": created_at,
        "kix_version": kix_version,
        "schema_migration": state.migration,
        "content_digest": state.content_digest,
        "content_digest_method": METHOD,
        "warning": SYNTHETIC if any(one.synthetic for one in sources) else None,
        "sources": [asdict(one) for one in sources],
        "syncs": syncs,
        "last_sync": max((one["sync_id"] for one in syncs), default=0),
        "families": sorted({one.family for one in files if one.family is not None}),
        "partition_column": PARTITION,
        "tables": [
            {
                "name": table.name,
                "kind": table.kind,
                "meaning": comments[table.name],
                "partitioned": table.partitioned,
                "order": table.order.replace('"', "").split(", "),
                "rows": sum(one.rows for one in files if one.table == table.name),
                "columns": [asdict(one) for one in state.columns[table.name]],
            }
            for table in TABLES
        ],
        "files": [asdict(one) for one in files],
        "documents": [],
    }


def _comments(db: Connection) -> list[tuple[str, str]]:
    return db.execute(
        "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' UNION ALL"
        " SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'"
    ).fetchall()


def manifest_text(manifest: dict[str, Any]) -> bytes:
    """Write a manifest as JSON: times in UTC, two spaces in, a line at the end."""
    return orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE)


def files_in(manifest: dict[str, Any]) -> list[File]:
    """Return the Parquet files that a manifest lists. Raises `KeyError` and `TypeError` for one that is none."""
    names = File.__dataclass_fields__
    return [File(**{name: one[name] for name in names}) for one in manifest["files"]]


def columns_in(manifest: dict[str, Any]) -> dict[str, list[Column]]:
    """Return the columns of every table that a manifest lists."""
    return {table["name"]: [Column(**one) for one in table["columns"]] for table in manifest["tables"]}
