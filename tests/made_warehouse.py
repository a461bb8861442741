"""A published warehouse of runs that no source here has: cases, intervals, several measurements, other harnesses."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from manifest_samples import FULL, METADATA

from transforms.identity import comparison_key, correctness_digest
from transforms.manifests import Made, make
from warehouse.migrations import migrate
from warehouse.records import derive_standings

LOADED_AT = datetime(2026, 11, 2, 8, 30, tzinfo=UTC)
OBSERVED_AT = datetime(2026, 5, 21, 22, 5, 9, 698000, tzinfo=UTC)
FAMILY = "a_family"
MEDIAN = ("latency", "median", "ns", 5.0)
Spec = dict[str, Any]


@dataclass
class MadeRun:
    """A run to put in: specs are the samples with all fields unless given, `primary` is metric, statistic, unit, value
    and, where an interval is stated, its ends; None where the run states no figure."""

    external_id: str
    project: str = "A. Name"
    kernel: str = "007_a_kernel"
    run: Spec = field(default_factory=lambda: FULL["BenchmarkRun"])
    workload: Spec = field(default_factory=lambda: FULL["WorkloadCase"])
    protocol: Spec = field(default_factory=lambda: FULL["BenchmarkProtocol"])
    environment: Spec = field(default_factory=lambda: FULL["ExecutionEnvironment"])
    implementation: Spec = field(default_factory=lambda: FULL["ImplementationRevision"])
    primary: tuple[Any, ...] | None = MEDIAN
    measurements: list[tuple[str, str, str, float]] = field(default_factory=lambda: [MEDIAN])
    metrics: dict[str, float] = field(default_factory=dict)
    profile: str = "strict"
    source: str = "made-up"


def made_home(home: Path, *runs: MadeRun) -> list[str]:
    """Publish a warehouse of these runs in `home`; returns their digests."""
    home.mkdir(exist_ok=True)
    with duckdb.connect(home / "warehouse.duckdb") as db:
        db.execute("SET TimeZone = 'UTC'")
        migrate(db)
        put(db, "syncs", sync_id=1, source="made-up", base_url="https://made.example/api", scope="{}",
            status="complete", started_at=LOADED_AT, finished_at=LOADED_AT, kix_version="0")  # fmt: skip
        digests = [_add(db, run) for run in runs]
        derive_standings(db, everything=True)
        return digests


def put(db: duckdb.DuckDBPyConnection, table: str, **values: Any) -> None:
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))


def _add(db: duckdb.DuckDBPyConnection, one: MadeRun) -> str:
    workload = make("WorkloadSuite" if "cases" in one.workload else "WorkloadCase", METADATA, one.workload)
    protocol = make("BenchmarkProtocol", METADATA, one.protocol)
    environment = make("ExecutionEnvironment", {"name": "e"}, one.environment)
    implementation = make("ImplementationRevision", METADATA, one.implementation)
    digests = {
        "implementationDigest": implementation.digest, "workloadDigest": workload.digest,
        "protocolDigest": protocol.digest, "environmentDigest": environment.digest,
    }  # fmt: skip
    native = {"source": one.source, "externalId": one.external_id}
    run = make("BenchmarkRun", METADATA, one.run | digests | {"sourceNative": native})
    _add_parts(db, one, workload, protocol, environment, implementation)
    metric, statistic, unit, value, low, high = (*(one.primary or (None,) * 4), None, None)[:6]
    operation = one.workload["operationSpecDigest"]
    key = comparison_key(
        operation=operation, workload=workload.digest, protocol=protocol.digest, environment=environment.digest,
        correctness=correctness_digest(one.workload["correctness"]),
        metric=f"{metric}:{statistic}:{unit}" if one.primary else "none",
    )  # fmt: skip
    put(db, "runs", comparability_family=FAMILY, comparison_key=key, run_digest=run.digest, source=one.source,
        external_id=one.external_id, kernel=one.kernel, operation_digest=operation, workload_digest=workload.digest,
        implementation_digest=implementation.digest, protocol_digest=protocol.digest,
        environment_digest=environment.digest, status=run.spec["status"], primary_metric=metric,
        primary_statistic=statistic, primary_unit=unit, primary_value=value, primary_low=low, primary_high=high,
        observed_at=OBSERVED_AT, evidence="reproducible", profile=one.profile, manifest=run.text,
        first_seen_sync=1)  # fmt: skip
    put(db, "submission_runs", source=one.source, external_id=one.external_id, version=1, run_digest=run.digest,
        first_seen_sync=1)  # fmt: skip
    for name, number in one.metrics.items():
        put(db, "source_metrics", comparability_family=FAMILY, run_digest=run.digest, metric=name, value=number)
    for metric, statistic, unit, value in one.measurements:
        put(db, "measurements", comparability_family=FAMILY, run_digest=run.digest, metric=metric,
            statistic=statistic, unit=unit, value=value)  # fmt: skip
    return run.digest


def _add_parts(
    db: duckdb.DuckDBPyConnection, one: MadeRun, workload: Made, protocol: Made, environment: Made, code: Made
) -> None:
    def new(table: str, column: str, digest: str) -> bool:
        return not db.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", [digest]).fetchall()

    hardware = one.environment["hardware"]
    if new("workloads", "workload_digest", workload.digest):
        put(db, "workloads", workload_digest=workload.digest, operation_digest=one.workload["operationSpecDigest"],
            kind=workload.kind, external_id="a-case", manifest=workload.text, first_seen_sync=1)  # fmt: skip
    if new("protocols", "digest", protocol.digest):
        put(db, "protocols", digest=protocol.digest, name="p", comparability_family=FAMILY,
            harness=one.protocol["harness"]["name"], stack_version="v1", manifest=protocol.text,
            first_seen_sync=1)  # fmt: skip
    if new("environments", "digest", environment.digest):
        put(db, "environments", digest=environment.digest, name="e", vendor=hardware["vendor"],
            product=hardware["product"], architecture=hardware["architecture"], manifest=environment.text,
            first_seen_sync=1)  # fmt: skip
    if new("implementations", "implementation_digest", code.digest):
        put(db, "implementations", implementation_digest=code.digest, source=one.source,
            operation_digest=one.workload["operationSpecDigest"], project=one.project, external_id=one.external_id,
            language="cuda", manifest=code.text, first_seen_sync=1)  # fmt: skip
