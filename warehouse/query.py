"""Questions that the commands ask the published warehouse."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import orjson

from warehouse.connection import WHOLE_READING, WarehouseError, first_row, published_path, reading

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


def synced_as(home: Path, sync_id: int) -> str | None:
    """Return the status with which a sync is in the published warehouse, None when it is not."""
    if not published_path(home).exists():
        return None
    with reading(home) as db:
        row = first_row(db, "SELECT status FROM syncs WHERE sync_id = ?", [sync_id])
    return str(row[0]) if row else None


def find_run(db: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the digest of the run that `name` means: a digest, a prefix of one, or `SOURCE:EXTERNAL_ID` (its current
    run). Raises `WarehouseError` when it means none or several."""
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
            f"{name!r} names no run: give a digest, at least 4 digits of one, or SOURCE:ID such as sol-execbench:3483"
        )
    if not rows:
        raise WarehouseError(f"no run {name} in this warehouse; `kix board KERNEL` lists the runs of a kernel")
    if len(rows) > 1:
        raise WarehouseError(
            f"{name} begins several runs ({', '.join(row[0][:23] for row in rows)}…): give more digits"
        )
    return str(rows[0][0])


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
        raise WarehouseError(f"no run {run_digest} in this warehouse")
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
        raise WarehouseError(f"no kernel is named like {name!r}; list them: kix sql 'select distinct kernel from runs'")
    shown = ", ".join(near[:5]) + (f" and {len(near) - 5} more" if len(near) > 5 else "")
    raise WarehouseError(f"{name!r} is part of several kernels' names: {shown}")


def boards(db: duckdb.DuckDBPyConnection, kernel: str) -> list[Board]:
    """Return the boards of a kernel, one a cohort, by stack version and product. Empty when it has no runs."""
    cohorts = _dicts(db.execute(
        "SELECT comparison_key, comparability_family, kernel, product, stack_version, runs FROM cohorts"
        " WHERE comparison_key IN (SELECT comparison_key FROM runs WHERE kernel = ?)"
        " ORDER BY product, stack_version, comparison_key",
        [kernel],
    ))  # fmt: skip
    result = []
    for cohort in cohorts:
        rows = _dicts(db.execute(
            "SELECT rank, tied, cohort_size, project, primary_value, primary_unit, relative_to_best, observed_at,"
            " source, external_id, run_digest, product, stack_version FROM leaderboard"
            " WHERE comparability_family = ? AND comparison_key = ? ORDER BY place",
            [cohort["comparability_family"], cohort["comparison_key"]],
        ))  # fmt: skip
        unranked = db.execute(
            "SELECT reason, count(*) FROM eligibility WHERE comparison_key = ? GROUP BY reason ORDER BY reason",
            [cohort["comparison_key"]],
        ).fetchall()
        result.append(Board(**cohort, rows=rows, unranked=dict(unranked)))
    return result


def status(db: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return what is in the warehouse: the last syncs, freshness by source, counts of rows."""
    syncs = _dicts(db.execute(
        "SELECT sync_id, source, status, base_url, started_at, finished_at FROM syncs ORDER BY sync_id DESC LIMIT 5"
    ))  # fmt: skip
    sources = _dicts(db.execute(
        f"SELECT s.source, max(s.finished_at) FILTER ({WHOLE_READING}) AS last_synced_at,"
        " any_value(r.newest) AS newest_result_at, any_value(s.base_url) AS base_url FROM syncs s"
        " LEFT JOIN (SELECT source, max(observed_at) AS newest FROM runs GROUP BY source) r USING (source)"
        " GROUP BY s.source ORDER BY s.source"
    ))  # fmt: skip
    tables = ("operations", "workloads", "submissions", "runs", "cohorts", "reviews")
    counts = db.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables)).fetchall()
    return {"syncs": syncs, "sources": sources, "counts": dict(counts)}


def _dicts(cursor: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
