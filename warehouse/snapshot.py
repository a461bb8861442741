"""What a snapshot consists of: its tables, in which order their rows stand, and how everything is named.

Evidence decides on a snapshot's identity (`warehouse/content.py`), provenance and what is derived only accompany it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import quote

from scrapers.codes import Code
from warehouse.connection import Connection, WarehouseError
from warehouse.quoting import literal

FORMAT = "kix-snapshot/1"
PARTITION = "comparability_family"
PART = "part-0.parquet"
LONGEST_NAME = 240
"""Bytes of a folder's or pointer's name; file systems end at 255."""

_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}")

_RUNS = "(SELECT {0} FROM runs WHERE comparability_family = $F)"
_OPERATIONS = f"operation_digest IN {_RUNS.format('operation_digest')}"
_SUITES = f"suite_digest IN (SELECT workload_digest FROM workloads WHERE {_OPERATIONS})"
_BY_RUN = f"run_digest IN {_RUNS.format('run_digest')}"
_BY_SOURCE = f"source IN {_RUNS.format('source')}"
_BY_SUBMISSION = f"(source, external_id) IN {_RUNS.format('(source, external_id)')}"
_BY_SUBJECT = f"(subject IN {_RUNS.format('run_digest')} OR subject IN {_RUNS.format('operation_digest')})"
_BY_ANY_DIGEST = " OR ".join(
    f"digest IN {_RUNS.format(name + '_digest')}"
    for name in ("operation", "workload", "implementation", "protocol", "environment")
)
_CODE = f"implementation_digest IN {_RUNS.format('implementation_digest')}"
_WITH_SYNC = "first_seen_sync > $SYNC"
_OF_NEW_RUN = "run_digest IN (SELECT run_digest FROM $RUNS WHERE first_seen_sync > $SYNC)"

Kind = Literal["evidence", "provenance", "derived"]


@dataclass(frozen=True, slots=True)
class Table:
    """One table or view of the warehouse, as it is exported.

    `order`: of its rows. `of_family`: which rows belong to a family `$F`. `since`: which rows a later sync than `$SYNC`
    brought; empty where rows may change, so that an increment has the table whole. `uncounted`: columns of evidence
    that do not count for its identity: documents, which a digest in the same row names, and when it was last seen.
    """

    name: str
    kind: Kind
    order: str
    of_family: str = "comparability_family = $F"
    since: str = ""
    uncounted: tuple[str, ...] = ()
    partitioned: bool = False


_DOCUMENT = ("manifest",)
_PAGE = ("run_manifest", "protocol_manifest", "environment_manifest", "last_seen_sync")

TABLES = (
    Table("runs", "evidence", "comparability_family, comparison_key, run_digest", since=_WITH_SYNC,
          uncounted=_DOCUMENT, partitioned=True),
    Table("measurements", "evidence", "comparability_family, run_digest, metric, statistic", since=_OF_NEW_RUN,
          partitioned=True),
    Table("source_metrics", "evidence", "comparability_family, run_digest, metric", since=_OF_NEW_RUN,
          partitioned=True),
    Table("leaderboard", "derived", "comparability_family, comparison_key, place", partitioned=True),
    Table("record_events", "derived", "comparability_family, comparison_key, number", partitioned=True),
    Table("operations", "evidence", "operation_digest", _OPERATIONS, uncounted=_DOCUMENT),
    Table("workloads", "evidence", "operation_digest, workload_digest", _OPERATIONS, _WITH_SYNC, _DOCUMENT),
    Table("workload_bound_versions", "evidence", "suite_digest, entry_index, kernel, first_seen_sync", _SUITES,
          _WITH_SYNC),
    Table("implementations", "evidence", "operation_digest, implementation_digest", _CODE, _WITH_SYNC, _DOCUMENT),
    Table("projects", "evidence", "digest",
          f"display_name IN (SELECT project FROM implementations WHERE {_CODE})", _WITH_SYNC, _DOCUMENT),
    Table("protocols", "evidence", "comparability_family, digest", since=_WITH_SYNC, uncounted=_DOCUMENT),
    Table("environments", "evidence", "digest", f"digest IN {_RUNS.format('environment_digest')}", _WITH_SYNC,
          _DOCUMENT),
    Table("metadata_versions", "evidence", "digest, first_seen_sync", _BY_ANY_DIGEST, _WITH_SYNC),
    Table("submissions", "evidence", "source, kernel, external_id, version", _BY_SUBMISSION,
          uncounted=("payload", "last_seen_sync")),
    Table("submission_renames", "evidence", "source, external_id, first_seen_sync", _BY_SUBMISSION, _WITH_SYNC),
    Table("submission_runs", "evidence", "source, external_id, version", _BY_RUN, _WITH_SYNC),
    Table("lifecycle", "evidence", "run_digest, sync_id, event", _BY_RUN, "sync_id > $SYNC"),
    Table("reviews", "evidence", "source, subject, reason", _BY_SUBJECT, _WITH_SYNC),
    Table("verdicts", "evidence", "verdict_id", _BY_SUBJECT),
    Table("notes", "evidence", "note_id", _BY_RUN),
    Table("published_runs", "evidence", "page, version", uncounted=_PAGE),
    Table("records", "derived", "comparability_family, comparison_key"),
    Table("progress", "derived", 'comparability_family, comparison_key, "at", run_digest'),
    Table("cohorts", "derived", "comparability_family, comparison_key"),
    Table("eligibility", "derived", "comparability_family, comparison_key, run_digest, reason"),
    Table("families", "derived", "comparability_family, source"),
    Table("submitters", "derived", "comparability_family, source, project"),
    Table("run_states", "derived", "run_digest", _BY_RUN),
    Table("workload_bounds", "derived", "suite_digest, entry_index, kernel", _SUITES),
    Table("freshness", "derived", "source, kernel", _BY_SOURCE),
    Table("audit", "derived", "state, source, external_id, page, field, run_digest", _BY_RUN),
    Table("syncs", "provenance", "sync_id", _BY_SOURCE),
    Table("listings", "provenance", "source, kernel, sync_id", _BY_SOURCE, "sync_id > $SYNC"),
    Table("listing_entries", "provenance", "source, kernel, sync_id, external_id, version", _BY_SUBMISSION,
          "sync_id > $SYNC"),
    Table("fetches", "provenance", "sync_id, fetch_id",
          f"sync_id IN (SELECT sync_id FROM syncs WHERE {_BY_SOURCE})", "sync_id > $SYNC"),
    Table("rejects", "provenance", "sync_id, source, locator, item, reason", _BY_SOURCE, "sync_id > $SYNC"),
    Table("drift", "provenance", "sync_id, source, path, change", _BY_SOURCE, "sync_id > $SYNC"),
    Table("published_run_sightings", "provenance", "sync_id, page",
          "page IN (SELECT page FROM published_runs WHERE comparability_family = $F)", "sync_id > $SYNC"),
)  # fmt: skip
"""Everything but what is in another one already (standings, operation_specs, submission_versions,
published_run_versions and published_run_problems are behind the views), and what says how the file is kept
(schema_migrations, ordered_rows, view_definitions)."""

BY_NAME = {table.name: table for table in TABLES}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `type` as it is in the Parquet file (JSON is text there), `unit` null where it has none."""

    name: str
    type: str
    unit: str | None
    meaning: str


_UNITS_BY_NAME = (
    (re.compile(r".*_ns"), "ns"),
    (re.compile(r".*_ms"), "ms"),
    (re.compile(r".*_bytes"), "bytes"),
    (re.compile(r"primary_(value|low|high)|best_value"), "in the column {}"),
    (re.compile(r"value_claimed"), "in the column unit_claimed"),
    (re.compile(r".*relative.*|best_over_floor"), "1 (a ratio)"),
    (re.compile(r"sol_score"), "1 (the source's own score)"),
)


def unit_of(name: str, kind: str, siblings: set[str]) -> str | None:
    """Return a column's unit, derived from its name and type; `siblings` are the names beside it. None without one."""
    if kind.startswith("TIMESTAMP"):
        return "UTC, to the microsecond"
    if kind == "DATE":
        return "day"
    if name == "value":
        return "in the column unit" if "unit" in siblings else "the source's own, see the column metric"
    for pattern, unit in _UNITS_BY_NAME:
        if pattern.fullmatch(name):
            return unit.format("primary_unit" if "primary_unit" in siblings else "unit")
    return None


def columns_of(db: Connection, table: str) -> list[Column]:
    """Return a table's declared columns, with the meanings that its comments give. Raises `WarehouseError` when there
    is no such table: an older kix wrote the file."""
    rows = db.execute(
        "SELECT column_name, data_type, coalesce(comment, '') FROM duckdb_columns() WHERE schema_name = 'main'"
        " AND table_name = ? AND database_name = current_database() ORDER BY column_index",
        [table],
    ).fetchall()
    if not rows:
        raise WarehouseError(
            f"the warehouse has no table {table}: an older kix wrote it; run `kix sync` once, then export",
            code=Code.SCHEMA,
        )
    names = {name for name, _, _ in rows}
    kinds = [(name, "VARCHAR" if kind == "JSON" else kind, text) for name, kind, text in rows]
    return [Column(name, kind, unit_of(name, kind, names), text) for name, kind, text in kinds]


def rows_of(table: Table, family: str | None) -> str:
    """Return the SQL condition for the rows that are exported."""
    return "true" if family is None else f"({table.of_family.replace('$F', literal(family))})"


def snapshot_id(created_at: datetime, content_digest: str) -> str:
    """Return a snapshot's ID: the UTC time to the second, and the first 12 digits of its content digest."""
    return f"{created_at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{content_digest.removeprefix('sha256:')[:12]}"


def is_snapshot_id(text: str) -> bool:
    """Whether a text has the form of an ID; nothing else ever becomes part of a path."""
    return _ID.fullmatch(text) is not None


def encoded(family: str) -> str:
    """Return a family's name as one part of a path, percent-encoded as readers of hive partitions decode it.

    Letters, digits, `.`, `_`, `-` and `~` stay. A first character that is no letter is encoded too, so that readers who
    guess types before they decode do not take a name for a number or a date. Raises `WarehouseError` for a name that
    is too long for a folder.
    """
    name = quote(family, safe="")
    if name and not (name[0].isascii() and name[0].isalpha()) and name[0] != "%":
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name) > LONGEST_NAME - len(PARTITION) - 1:
        raise WarehouseError(
            f"the comparability family {family[:40]!r}… is too long for a folder's name ({len(name)} bytes)",
            code=Code.EXPORT_FAILED,
        )
    return name


def folder_of(table: str, family: str | None) -> str:
    """Return where a table's file stands in a snapshot, or in it the file of one family."""
    return table if family is None else f"{table}/{PARTITION}={encoded(family)}"


def pointer_of(family: str | None) -> str:
    """Return the name of the file that names the current snapshot, of everything or of one family."""
    return "latest.json" if family is None else f"latest-{encoded(family)}.json"
