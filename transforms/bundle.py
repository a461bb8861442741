"""What a transform hands to the warehouse: rows by table, in declared columns, and what could not be mapped.

A bundle holds the manifests and facts of some parts of one source. It knows no clock and no sync: the warehouse adds
those. Rows that carry a digest may repeat between bundles; loading is idempotent by digest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from scrapers.contract import Drift, Reject

if TYPE_CHECKING:
    import polars as pl

TEXT, INTEGER, REAL, FLAG, TEXTS, MOMENT = "text", "integer", "real", "flag", "texts", "moment"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

COLUMNS: dict[str, dict[str, str]] = {
    "operations": {
        "operation_digest": TEXT, "slug": TEXT, "title": TEXT, "operation_family": TEXT, "tags": TEXTS,
        "manifest": TEXT,
    },
    "workloads": {
        "workload_digest": TEXT, "operation_digest": TEXT, "kind": TEXT, "external_id": TEXT,
        "manifest": TEXT,
    },
    "workload_bounds": {
        "suite_digest": TEXT, "entry_index": INTEGER, "workload_digest": TEXT,
        "baseline_latency_ns": REAL, "speed_of_light_ns": REAL, "kernel": TEXT,
    },
    "projects": {"digest": TEXT, "name": TEXT, "display_name": TEXT, "manifest": TEXT},
    "implementations": {
        "implementation_digest": TEXT, "operation_digest": TEXT, "project": TEXT, "external_id": TEXT,
        "language": TEXT, "license": TEXT, "manifest": TEXT,
    },
    "protocols": {
        "digest": TEXT, "name": TEXT, "comparability_family": TEXT, "harness": TEXT, "stack_version": TEXT,
        "notes": TEXT, "manifest": TEXT,
    },
    "environments": {
        "digest": TEXT, "name": TEXT, "vendor": TEXT, "product": TEXT, "architecture": TEXT,
        "manifest": TEXT,
    },
    "runs": {
        "run_digest": TEXT, "external_id": TEXT, "kernel": TEXT, "comparability_family": TEXT, "comparison_key": TEXT,
        "operation_digest": TEXT, "workload_digest": TEXT, "implementation_digest": TEXT, "protocol_digest": TEXT,
        "environment_digest": TEXT, "status": TEXT, "primary_metric": TEXT, "primary_statistic": TEXT,
        "primary_unit": TEXT, "primary_value": REAL, "observed_at": MOMENT, "evidence": TEXT, "profile": TEXT,
        "manifest": TEXT, "primary_low": REAL, "primary_high": REAL,
    },
    "submissions": {
        "external_id": TEXT, "kernel": TEXT, "username": TEXT, "status": TEXT, "is_correct": FLAG,
        "is_disqualified": FLAG, "disqualification_reason": TEXT, "latency_ms": TEXT, "sol_score": REAL,
        "gpu_type": TEXT, "stack_version": TEXT, "submitted_at": MOMENT, "finished_at": MOMENT, "payload": TEXT,
        "state_digest": TEXT, "body_digest": TEXT, "run_digest": TEXT,
    },
    "listings": {
        "kernel": TEXT, "complete": FLAG, "body_digest": TEXT, "definition_digest": TEXT, "listed": INTEGER,
        "clean": FLAG, "entries_sync": INTEGER,
    },
    "reviews": {"subject": TEXT, "reason": TEXT, "detail": TEXT},
    "published_runs": {
        "page": TEXT, "index_id": TEXT, "run_digest": TEXT, "source": TEXT, "external_id": TEXT, "kernel": TEXT,
        "comparability_family": TEXT, "status": TEXT, "primary_metric": TEXT, "primary_statistic": TEXT,
        "primary_unit": TEXT, "primary_value": REAL, "observed_at": MOMENT, "title": TEXT, "operation": TEXT,
        "workload": TEXT, "digest_claimed": TEXT, "comparison_key_claimed": TEXT, "value_claimed": TEXT,
        "unit_claimed": TEXT, "statistic_claimed": TEXT, "samples_claimed": INTEGER, "metrics_claimed": TEXT,
        "source_claimed": TEXT, "external_id_claimed": TEXT, "rank_seen": INTEGER, "not_eligible": TEXT,
        "profile": TEXT, "observed_on": TEXT, "published_on": TEXT, "lifecycle": TEXTS, "lifecycle_notes": TEXTS,
        "run_manifest": TEXT, "protocol_manifest": TEXT, "environment_manifest": TEXT, "state_digest": TEXT,
        "body_digest": TEXT,
    },
    "published_problems": {
        "page": TEXT, "state_digest": TEXT, "field": TEXT, "claimed": TEXT, "manifest_says": TEXT,
    },
}  # fmt: skip
"""Column → type of every table a bundle can carry. Times are UTC; `latency_ms` is the source's decimal text."""


@dataclass(slots=True)
class Bundle:
    """Rows by table. `add` appends one; `rejects` and `drift` are what did not fit on the way."""

    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: {table: [] for table in COLUMNS})
    rejects: list[Reject] = field(default_factory=list)
    drift: list[Drift] = field(default_factory=list)

    def add(self, table: str, *values: Any) -> None:
        """Append a row, its values in the order of `COLUMNS[table]`."""
        self.rows[table].append(values)

    def frame(self, table: str) -> pl.DataFrame:
        """Return a table's rows as a frame with the declared types, also when there are none."""
        import polars as pl

        # polars takes a moment apart in Python, at ten times the cost of a number.
        types: dict[str, pl.DataType | type[pl.DataType]] = {
            TEXT: pl.String, INTEGER: pl.Int64, REAL: pl.Float64, FLAG: pl.Boolean, TEXTS: pl.List(pl.String),
            MOMENT: pl.Int64,
        }  # fmt: skip
        kinds = COLUMNS[table]
        columns = zip(*self.rows[table], strict=True) if self.rows[table] else ((),) * len(kinds)
        series = []
        for (name, kind), values in zip(kinds.items(), columns, strict=True):
            sent = [*map(_microseconds, values)] if kind == MOMENT else values
            one = pl.Series(name, sent, dtype=types[kind], strict=True)
            series.append(one.cast(pl.Datetime("us", "UTC")) if kind == MOMENT else one)
        return pl.DataFrame(series)


def _microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND
