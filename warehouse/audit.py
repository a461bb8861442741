"""Our runs against the public index's: what the view `audit` says, in order, and counted."""

from __future__ import annotations

from typing import Any

import duckdb

from warehouse.connection import dicts

STATES = ("differs", "only there", "only here", "rank differs", "equal")


def findings(db: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return the rows of the view `audit`: what counts first, then by state, kernel and submission."""
    query = "SELECT * FROM audit ORDER BY NOT counts, list_position(?, state), source, kernel, external_id, page, field"
    return dicts(db.execute(query, [list(STATES)]))


def counts(db: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return how many runs are in each state; no states at all when no page of the index was ever read."""
    if not db.execute("SELECT 1 FROM published_run_versions LIMIT 1").fetchall():
        return {}
    rows = db.execute("SELECT state, count(DISTINCT coalesce(page, run_digest)) FROM audit GROUP BY state").fetchall()
    return {state: dict(rows).get(state, 0) for state in STATES}
