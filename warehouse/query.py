"""Questions that the commands ask the published warehouse."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import orjson

from scrapers.codes import Code
from warehouse.connection import WHOLE_READING, WarehouseError, dicts, first_row, published_path, reading
from warehouse.migrations import check_not_newer

Ended = tuple[str, datetime]
"""How a sync ended, and when."""

_EXTERNAL = re.compile(r"([a-z0-9][a-z0-9-]*):(?:submission/)?(.+)", re.DOTALL)
_PREFIX = re.compile(r"(?:sha256:)?([0-9a-f]{4,64})")


@dataclass(frozen=True, slots=True)
class Board:
    """One cohort's board: what makes its runs comparable, its ranked rows in order, and how many runs do not rank."""

    comparison_key: str
    comparability_family: str
    kernel: str
    product: str
    stack_version: str
    runs: int
    rows: list[dict[str, Any]]
    unranked: dict[str, int]


@dataclass(frozen=True, slots=True)
class KnownListing:
    """A kernel's latest listing in the warehouse, to tell whether anything changed since."""

    complete: bool
    body_digest: str
    definition_digest: str | None
    listed: int
    clean: bool
    entries_sync: int


def known_listings(db: duckdb.DuckDBPyConnection, source: str) -> dict[str, KnownListing]:
    """Return the latest listing of each kernel of a source."""
    rows = db.execute(
        "SELECT kernel, complete, body_digest, definition_digest, listed, clean, entries_sync FROM listings"
        " WHERE source = ? QUALIFY row_number() OVER (PARTITION BY kernel ORDER BY sync_id DESC) = 1",
        [source],
    ).fetchall()
    return {kernel: KnownListing(*rest) for kernel, *rest in rows}


def synced_as(home: Path, sync_id: int) -> Ended | None:
    """Return how and when a sync ended that is in the published warehouse, None for one that is not there.

    Raises `WarehouseError` when a newer kix wrote the warehouse.
    """
    if not published_path(home).exists():
        return None
    with reading(home) as db:
        check_not_newer(db)
        row = first_row(db, "SELECT status, finished_at FROM syncs WHERE sync_id = ?", [sync_id])
    return (str(row[0]), row[1]) if row else None


def published_syncs(db: duckdb.DuckDBPyConnection) -> dict[int, Ended]:
    """Return how and when each sync ended that brought rows to this state."""
    rows = db.execute(
        "SELECT sync_id, status, finished_at FROM syncs WHERE status IN ('complete', 'partial')"
    ).fetchall()
    return {sync_id: (status, finished_at) for sync_id, status, finished_at in rows}


def last_loaded(db: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the latest sync that brought anything to this state, 0 when there was none."""
    text = "SELECT coalesce(max(sync_id), 0) FROM (SELECT sync_id FROM syncs UNION ALL SELECT sync_id FROM listings)"
    (last,) = first_row(db, text) or (0,)
    return int(last)


def find_run(db: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the digest of the run that `name` means: a digest, a prefix of one, or `SOURCE:EXTERNAL_ID` (its current
    run). Raises `WarehouseError` when it means none or several."""
    if name.startswith("sha256:") and not _PREFIX.fullmatch(name):
        raise WarehouseError(f"{name!r} is no beginning of a digest: give at least 4 hex digits", code=Code.NOT_FOUND)
    if match := _PREFIX.fullmatch(name):
        rows = db.execute(
            "SELECT run_digest FROM runs WHERE starts_with(run_digest, ?) LIMIT 3", [f"sha256:{match[1]}"]
        ).fetchall()
    elif match := _EXTERNAL.fullmatch(name):
        rows = db.execute(
            "SELECT run_digest FROM submission_runs WHERE source = ? AND external_id = ? ORDER BY version DESC LIMIT 1",
            [match[1], match[2]],
        ).fetchall()
    else:
        raise WarehouseError(
            f"{name!r} names no run: give a digest, at least 4 digits of one, or SOURCE:ID such as sol-execbench:3483",
            code=Code.NOT_FOUND,
        )
    if not rows:
        words = f"no run {name} in this warehouse; `kix board KERNEL` lists the runs of a kernel"
        raise WarehouseError(words, code=Code.NOT_FOUND)
    if len(rows) > 1:
        raise WarehouseError(
            f"{name} begins several runs ({', '.join(row[0][:23] for row in rows)}…): give more digits",
            code=Code.AMBIGUOUS,
        )
    return str(rows[0][0])


def find_review(db: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the subject of the review that `name` means: the subject itself, a prefix of its digest, or the
    `SOURCE:EXTERNAL_ID` of a run. Raises `WarehouseError` when it means none or several."""
    if rows := db.execute("SELECT DISTINCT subject FROM reviews WHERE subject = ?", [name]).fetchall():
        return str(rows[0][0])
    if match := _PREFIX.fullmatch(name):
        rows = db.execute(
            "SELECT DISTINCT subject FROM reviews WHERE starts_with(subject, ?)", [f"sha256:{match[1]}"]
        ).fetchall()
    else:
        rows = db.execute("SELECT DISTINCT subject FROM reviews WHERE subject = ?", [find_run(db, name)]).fetchall()
    if not rows:
        raise WarehouseError(f"{name} is not held for review; `kix review list` shows what is", code=Code.NOT_FOUND)
    if len(rows) > 1:
        raise WarehouseError(f"{name} begins several reviews: give more digits", code=Code.AMBIGUOUS)
    return str(rows[0][0])


def reviews(db: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return what was raised for review, with the latest verdict where there is one, open ones first."""
    return dicts(db.execute(
        "SELECT r.subject, r.source, x.external_id, coalesce(x.kernel, o.title) AS kernel, r.reason, r.detail,"
        " r.first_seen_sync, v.verdict, v.reason AS verdict_reason, v.by_name, v.decided_at FROM reviews r"
        " LEFT JOIN runs x ON x.run_digest = r.subject LEFT JOIN operations o ON o.operation_digest = r.subject"
        " LEFT JOIN (FROM verdicts QUALIFY row_number() OVER (PARTITION BY subject ORDER BY verdict_id DESC) = 1) v"
        " ON v.subject = r.subject ORDER BY v.verdict NULLS FIRST, r.first_seen_sync DESC, kernel, r.subject"
    ))  # fmt: skip


def record_events(db: duckdb.DuckDBPyConnection, since: datetime | None) -> list[dict[str, Any]]:
    """Return the changes of leaders, newest first, from the time `since` on. Values are in `primary_unit`."""
    return dicts(db.execute(
        'SELECT e."at", e.kernel, c.product, c.stack_version, e.comparison_key, e.cause, e.source, e.external_id,'
        " e.run_digest, coalesce(n.username, i.project) AS project, e.primary_value, e.primary_unit,"
        " e.previous_run_digest,"
        " p.external_id AS previous_external_id, coalesce(m.username, j.project) AS previous_project,"
        " p.primary_value AS previous_value"
        " FROM record_events e JOIN cohorts c USING (comparison_key)"
        " LEFT JOIN runs r ON r.run_digest = e.run_digest"
        " LEFT JOIN implementations i ON i.implementation_digest = r.implementation_digest"
        " LEFT JOIN runs p ON p.run_digest = e.previous_run_digest"
        " LEFT JOIN implementations j ON j.implementation_digest = p.implementation_digest"
        f" LEFT JOIN later_names_as_of({2**63 - 1}) n ON n.source = r.source AND n.external_id = r.external_id"
        f" LEFT JOIN later_names_as_of({2**63 - 1}) m ON m.source = p.source AND m.external_id = p.external_id"
        ' WHERE ? IS NULL OR e."at" >= ? ORDER BY e."at" DESC, e.kernel, e.comparison_key, e.number DESC',
        [since, since],
    ))  # fmt: skip


def run_documents(db: duckdb.DuckDBPyConnection, run_digest: str) -> dict[str, Any]:
    """Return the three documents of a published run record, `{run, protocol, environment}`."""
    row = first_row(
        db,
        "SELECT r.manifest::VARCHAR, p.manifest::VARCHAR, e.manifest::VARCHAR FROM runs r"
        " JOIN protocols p ON p.digest = r.protocol_digest JOIN environments e ON e.digest = r.environment_digest"
        " WHERE r.run_digest = ?",
        [run_digest],
    )
    if row is None:
        raise WarehouseError(f"no run {run_digest} in this warehouse", code=Code.NOT_FOUND)
    return dict(zip(("run", "protocol", "environment"), map(orjson.loads, row), strict=True))


def find_kernel(db: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the kernel that `name` means: its full name, or a part that only one has. Raises `WarehouseError`."""
    listed = [row[0] for row in db.execute("SELECT DISTINCT kernel FROM listings ORDER BY kernel").fetchall()]
    if name in listed:
        return name
    near = [kernel for kernel in listed if name.lower() in kernel.lower()]
    if len(near) == 1:
        return str(near[0])
    if not near:
        words = f"no kernel is named like {name!r}; list them: kix sql 'select distinct kernel from runs'"
        raise WarehouseError(words, code=Code.NOT_FOUND)
    shown = ", ".join(near[:5]) + (f" and {len(near) - 5} more" if len(near) > 5 else "")
    raise WarehouseError(f"{name!r} is part of several kernels' names: {shown}", code=Code.AMBIGUOUS)


def boards(db: duckdb.DuckDBPyConnection, kernel: str, as_of: int | None = None) -> list[Board]:
    """Return the boards of a kernel, one a cohort, by stack version and product: as they are, or as they were after the
    sync `as_of`. Empty when it has no runs. Raises `WarehouseError` for a sync that is not there."""
    until, standings, reasons = 2**63 - 1, "leaderboard", "eligibility"
    if as_of is not None:
        if first_row(db, "SELECT 1 FROM syncs WHERE sync_id = ?", [as_of]) is None:
            words = f"no sync {as_of} in this warehouse; `kix sql 'from syncs'` lists them"
            raise WarehouseError(words, code=Code.NOT_FOUND)
        until, standings, reasons = as_of, f"leaderboard_as_of({as_of})", f"eligibility_as_of({as_of})"
    cohorts = dicts(db.execute(
        "SELECT c.comparison_key, c.comparability_family, c.kernel, c.product, c.stack_version, r.runs FROM cohorts c"
        " JOIN (SELECT comparison_key, count(*) AS runs FROM runs WHERE first_seen_sync <= ? AND comparison_key IN"
        "  (SELECT comparison_key FROM runs WHERE kernel = ?) GROUP BY ALL) r USING (comparison_key)"
        " ORDER BY c.product, c.stack_version, c.comparison_key",
        [until, kernel],
    ))  # fmt: skip
    result = []
    for cohort in cohorts:
        rows = dicts(db.execute(
            "SELECT rank, tied, cohort_size, project, primary_value, primary_unit, relative_to_best, observed_at,"
            f" source, external_id, run_digest, product, stack_version FROM {standings}"
            " WHERE comparability_family = ? AND comparison_key = ? ORDER BY place",
            [cohort["comparability_family"], cohort["comparison_key"]],
        ))  # fmt: skip
        unranked = db.execute(
            f"SELECT reason, count(*) FROM {reasons} WHERE comparison_key = ? GROUP BY reason ORDER BY reason",
            [cohort["comparison_key"]],
        ).fetchall()
        result.append(Board(**cohort, rows=rows, unranked=dict(unranked)))
    return result


def status(db: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return what is in the warehouse: the last syncs, freshness by source, counts of rows."""
    syncs = dicts(db.execute(
        "SELECT sync_id, source, status, base_url, started_at, finished_at FROM syncs ORDER BY sync_id DESC LIMIT 5"
    ))  # fmt: skip
    sources = dicts(db.execute(
        f"SELECT s.source, max(s.finished_at) FILTER ({WHOLE_READING}) AS last_synced_at,"
        " any_value(r.newest) AS newest_result_at, any_value(s.base_url) AS base_url FROM syncs s"
        " LEFT JOIN (SELECT source, max(observed_at) AS newest FROM runs GROUP BY source) r USING (source)"
        " GROUP BY s.source ORDER BY s.source"
    ))  # fmt: skip
    tables = ("operations", "workloads", "submissions", "runs", "cohorts", "reviews")
    counts = db.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables)).fetchall()
    return {"syncs": syncs, "sources": sources, "counts": dict(counts)}
