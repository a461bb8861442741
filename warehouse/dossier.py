"""Everything a run page shows, as data: one question to the warehouse for each fact.

The rank is that of the board at hand. What the manifests do not state is left out.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import duckdb
import orjson

from scrapers.codes import Code
from transforms import facts
from transforms.identity import correctness_digest
from transforms.names import operation_title
from warehouse.connection import WarehouseError
from warehouse.dossier_parts import Component, Dossier, Identity, Leader, Primary, Standing
from warehouse.query import run_documents

Row = dict[str, Any]


def dossier(db: duckdb.DuckDBPyConnection, run_digest: str) -> Dossier:
    """Return a run's page. Raises `WarehouseError` when there is no such run."""
    run = _run(db, run_digest)
    documents = run_documents(db, run_digest)
    spec = documents["run"]["spec"]
    protocol, environment = documents["protocol"]["spec"], documents["environment"]["spec"]
    workload = orjson.loads(run["workload"])
    board = _board_rows(db, run)
    return Dossier(
        run_digest=run_digest,
        name=run_name(db, run_digest, run["source"], run["external_id"]),
        status=run["status"],
        evidence=run["evidence"],
        kernel=run["kernel"],
        operation=operation_title(run["kernel"]),
        primary=_primary(run, spec),
        standing=_standing(db, run, board),
        leader=_leader(db, run, board),
        observed_at=run["observed_at"],
        published_at=run["published_at"],
        read_from=run["read_from"],
        source_metrics=_source_metrics(db, run_digest),
        identity=_identity(run, workload),
        cohort=_cohort(run, workload, documents),
        correctness=facts.correctness_facts(spec),
        workload=facts.workload_facts(workload),
        measurements=_measurements(db, run, spec),
        protocol=facts.protocol_facts(protocol),
        environment=facts.environment_facts(environment),
        artifacts=facts.artifact_facts(spec),
        **_what_was_said(db, run_digest),
        documents=documents,
    )


def run_name(db: duckdb.DuckDBPyConnection, run_digest: str, source: str, external_id: str) -> str:
    """Return the short name of a run: `SOURCE:ID` when that finds it, else the beginning of its digest."""
    current = _rows(
        db,
        "SELECT run_digest FROM submission_runs WHERE source = ? AND external_id = ? ORDER BY version DESC LIMIT 1",
        source, external_id,
    )  # fmt: skip
    is_current = current == [{"run_digest": run_digest}]
    return f"{source}:{external_id}" if is_current else run_digest[: len("sha256:") + 16]


def _run(db: duckdb.DuckDBPyConnection, run_digest: str) -> Row:
    rows = _rows(
        db,
        "SELECT r.* EXCLUDE (manifest), s.finished_at AS published_at, s.base_url AS read_from,"
        " i.manifest::VARCHAR AS implementation, i.project, w.manifest::VARCHAR AS workload,"
        " w.external_id AS workload_id"
        " FROM runs r JOIN syncs s ON s.sync_id = r.first_seen_sync JOIN workloads w USING (workload_digest)"
        " JOIN implementations i USING (implementation_digest) WHERE r.run_digest = ?",
        run_digest,
    )
    if not rows:
        raise WarehouseError(f"no run {run_digest} in this warehouse", code=Code.NOT_FOUND)
    (run,) = rows
    renamed = _rows(
        db,
        "SELECT username AS project FROM submissions WHERE source = ? AND external_id = ?"
        " ORDER BY version DESC LIMIT 1",
        run["source"], run["external_id"],
    )  # fmt: skip
    return run | (renamed[0] if renamed else {})


def _board_rows(db: duckdb.DuckDBPyConnection, run: Row) -> list[Row]:
    """Return the leader's row of the run's board and its own, where they rank."""
    return _rows(
        db,
        "SELECT rank, tied, cohort_size, place, run_digest, source, external_id, project, primary_value, primary_unit"
        " FROM leaderboard WHERE comparability_family = ? AND comparison_key = ? AND (place = 1 OR run_digest = ?)"
        " ORDER BY place",
        run["comparability_family"], run["comparison_key"], run["run_digest"],
    )  # fmt: skip


def _primary(run: Row, spec: Row) -> Primary:
    samples = None
    if "timing" in spec:
        samples = spec["timing"].get("samples")
    elif spec.get("measurements"):
        samples = spec["measurements"][0].get("sampleCount")
    parts = ("metric", "statistic", "unit", "value", "low", "high")
    return Primary(**{part: run[f"primary_{part}"] for part in parts}, samples=samples)


def _standing(db: duckdb.DuckDBPyConnection, run: Row, board: list[Row]) -> Standing:
    own = next((row for row in board if row["run_digest"] == run["run_digest"]), {})
    reasons = _rows(
        db, "SELECT reason, detail FROM eligibility WHERE run_digest = ? ORDER BY reason", run["run_digest"]
    )
    size = board[0]["cohort_size"] if board else 0
    return Standing(own.get("rank"), own.get("tied"), size, run["profile"], reasons)


def _leader(db: duckdb.DuckDBPyConnection, run: Row, board: list[Row]) -> Leader | None:
    if not board:
        return None
    first = board[0]
    name = run_name(db, first["run_digest"], first["source"], first["external_id"])
    value, best = run["primary_value"], first["primary_value"]
    ratio = value / best if value is not None and best else None
    return Leader(first["run_digest"], name, first["project"], best, first["primary_unit"], ratio)


def _source_metrics(db: duckdb.DuckDBPyConnection, run_digest: str) -> dict[str, float]:
    rows = _rows(db, "SELECT metric, value FROM source_metrics WHERE run_digest = ? ORDER BY metric", run_digest)
    return {row["metric"]: row["value"] for row in rows}


def _identity(run: Row, workload: Row) -> Identity:
    return Identity(
        implementation=run["project"],
        project=run["project"],
        revision=facts.revision_label(orjson.loads(run["implementation"])["spec"]),
        workload=facts.workload_label(workload, run["workload_id"]),
        comparison_key=run["comparison_key"],
        comparability_family=run["comparability_family"],
        source=run["source"],
        external_id=run["external_id"],
    )


def _cohort(run: Row, workload: Row, documents: Row) -> list[Component]:
    metric = ":".join(run[f"primary_{part}"] or "" for part in ("metric", "statistic", "unit")).strip(":") or "none"
    rule = workload["spec"]["correctness"]
    return [
        Component("operation", operation_title(run["kernel"]), run["operation_digest"]),
        Component("workload", facts.workload_label(workload, run["workload_id"]), run["workload_digest"]),
        Component("protocol", facts.harness_label(documents["protocol"]["spec"]), run["protocol_digest"]),
        Component("environment", facts.environment_label(documents["environment"]), run["environment_digest"]),
        Component("correctness", facts.rule_label(rule), correctness_digest(rule)),
        Component("metric", metric, metric),
    ]


def _measurements(db: duckdb.DuckDBPyConnection, run: Row, spec: Row) -> list[Row]:
    """Return what was measured, the primary one first, with the number of samples where it is stated."""
    rows = _rows(
        db,
        "SELECT metric, statistic, unit, value FROM measurements WHERE run_digest = ?"
        " ORDER BY metric = ? AND statistic = ? AND unit = ? DESC, metric, statistic, unit",
        run["run_digest"], run["primary_metric"], run["primary_statistic"], run["primary_unit"],
    )  # fmt: skip
    samples = {(one["metric"], one["statistic"]): one.get("sampleCount") for one in spec.get("measurements", ())}
    timing = spec.get("timing", {})
    samples |= {("latency", statistic): timing.get("samples") for statistic in timing.get("latencyNs", ())}
    return [row | {"samples": samples.get((row["metric"], row["statistic"]))} for row in rows]


def _what_was_said(db: duckdb.DuckDBPyConnection, run_digest: str) -> dict[str, list[Row]]:
    """Return what became of a run and what people wrote about it, each in order of time."""
    questions = {
        "notes": 'SELECT kind, note, by_name, written_at FROM notes WHERE run_digest = ? ORDER BY note_id',
        "lifecycle": 'SELECT event, reason, "at", by_run_digest FROM lifecycle WHERE run_digest = ? ORDER BY sync_id',
        "replaces": "SELECT run_digest, reason, \"at\" FROM run_states WHERE event = 'superseded' AND by_run_digest = ?"
        ' ORDER BY sync_id, run_digest',
        "doubts": "SELECT reason, detail FROM reviews WHERE subject = ? ORDER BY reason",
        "verdicts": "SELECT verdict, reason, by_name, decided_at FROM verdicts WHERE subject = ? ORDER BY verdict_id",
    }  # fmt: skip
    return {name: _rows(db, question, run_digest) for name, question in questions.items()}


def _rows(db: duckdb.DuckDBPyConnection, question: str, *values: object) -> list[Row]:
    """Answer a question, times in UTC."""
    cursor = db.execute(question, list(values))
    names = [column[0] for column in cursor.description or ()]
    return [
        {
            name: value.astimezone(UTC) if isinstance(value, datetime) else value
            for name, value in zip(names, row, strict=True)
        }
        for row in cursor.fetchall()
    ]
