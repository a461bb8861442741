"""Loading: once is enough, counts are the sample's own, checks find damage, the file explains itself and is in order.

What is expected is counted here from the sample's JSON files.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from board_server import BoardServer
from conftest import SAMPLE, SOURCE, run_sync

from flows.settings import Settings
from flows.sync import Request, sync
from scrapers.contract import Scope
from warehouse import load
from warehouse.checks import run_checks
from warehouse.connection import published_path, reading
from warehouse.migrations import add_family_schemas, migrate, sql_files
from warehouse.records import derive_standings

FAMILY = "sol_execbench_leaderboard"
PROVENANCE = {"syncs", "fetches", "listings", "rejects", "drift"}
BIG = ("runs", "measurements", "source_metrics")

CONTRACT = {
    "runs": "run_digest, source, external_id, kernel, comparability_family, comparison_key, operation_digest,"
    " workload_digest, implementation_digest, protocol_digest, environment_digest, status, primary_metric,"
    " primary_statistic, primary_unit, primary_value, observed_at, evidence, manifest",
    "measurements": "comparability_family, run_digest, metric, statistic, unit, value",
    "source_metrics": "comparability_family, run_digest, metric, value",
    "operations": "operation_digest, source, slug, title, operation_family, tags, manifest",
    "workloads": "workload_digest, operation_digest, kind, external_id, manifest",
    "workload_bounds": "suite_digest, entry_index, workload_digest, baseline_latency_ns, speed_of_light_ns",
    "implementations": "implementation_digest, operation_digest, project, external_id, language, license, manifest",
    "projects": "digest, name, manifest",
    "protocols": "digest, name, manifest, comparability_family",
    "environments": "digest, name, manifest, vendor, product, architecture",
    "metadata_versions": "digest, kind, metadata, first_seen_sync",
    "submissions": "source, external_id, version, kernel, username, status, is_correct, is_disqualified, latency_ms,"
    " sol_score, gpu_type, stack_version, submitted_at, finished_at, first_seen_sync, last_seen_sync, payload",
    "listings": "sync_id, source, kernel, complete, body_digest",
    "families": "comparability_family, source, notes, cohorts, runs, first_observed_at, last_observed_at",
    "syncs": "sync_id, source, status, started_at, finished_at",
    "fetches": "sync_id, url, status, fetched_at, body_digest",
    "rejects": "sync_id, source, locator, item, reason",
    "drift": "sync_id, source, path, change",
    "reviews": "source, subject, reason",
    "lifecycle": "run_digest, event, reason, at, sync_id, by_run_digest",
    "leaderboard": "comparability_family, comparison_key, rank, tied, cohort_size, run_digest, external_id, source,"
    " kernel, project, product, stack_version, primary_value, primary_unit, relative_to_best, observed_at",
    "cohorts": "comparison_key, comparability_family, operation, workload, product, stack_version, runs,"
    " first_observed_at, last_observed_at",
}


def base_tables(db: duckdb.DuckDBPyConnection) -> list[str]:
    return [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()]


def contents(home: Path, tables: set[str] | None = None) -> dict[str, list[str]]:
    """The rows of each table, in the order in which they are stored."""
    with reading(home) as db:
        chosen = sorted(set(base_tables(db)) if tables is None else tables)
        return {name: [repr(row) for row in db.execute(f"FROM {name}").fetchall()] for name in chosen}


def ask(home: Path, query: str) -> list[tuple[Any, ...]]:
    with reading(home) as db:
        return db.execute(query).fetchall()


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- the sample, counted from its files


class Sample:
    """The sample as its JSON files have it; numbers are decimals of the digits that stand there."""

    def __init__(self) -> None:
        read = self._read
        self.index = read(SAMPLE / "kernels.json")["data"]["kernels"]
        self.kernels = {one["id"]: read(SAMPLE / f"kernels/{one['id']}.json")["data"] for one in self.index}
        self.listed = {number: read(SAMPLE / f"submissions/{number}.json") for number in self.kernels}
        self.submissions = [one for listing in self.listed.values() for one in listing]
        self.results = [
            one
            for one in self.submissions
            if one["status"] == "COMPLETED" and one["is_correct"] and not one["is_disqualified"] and one["latency_ms"]
        ]

    @staticmethod
    def _read(path: Path) -> Any:
        return json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)

    @staticmethod
    def ns(one: dict[str, Any]) -> int:
        return int((Decimal(one["latency_ms"]) * 10**6 + Decimal("0.5")) // 1)

    @staticmethod
    def setting(one: dict[str, Any]) -> tuple[str, str]:
        return one["gpu_type"].removeprefix("NVIDIA_"), one["evaluation_stack_version"] or "unknown"

    def doubted(self, one: dict[str, Any]) -> bool:
        kernel = self.kernels[one["kernel_id"]]
        return not kernel["sol_is_dummy"] and one["latency_ms"] < min(entry["sol_ms"] for entry in kernel["workloads"])

    def boards(self) -> dict[tuple[str, str, str], dict[str, int]]:
        """Kernel, GPU and stack → submission id → nanoseconds, of those that rank."""
        found: dict[tuple[str, str, str], dict[str, int]] = {}
        for one in self.results:
            if not self.doubted(one):
                found.setdefault((one["kernel_name"], *self.setting(one)), {})[str(one["id"])] = self.ns(one)
        return found


@pytest.fixture(scope="module")
def sample() -> Sample:
    return Sample()


def expected_counts(sample: Sample) -> dict[str, int]:
    results, kernels = sample.results, sample.kernels
    cases = {
        (number, json.dumps(entry["axes"]), str(entry.get("tolerance")))
        for number, kernel in kernels.items()
        for entry in kernel["workloads"]
    }
    suites = [number for number in kernels if sample.listed[number]]
    pages = sum(max(1, -(-len(listing) // 50)) for listing in sample.listed.values())
    metrics = ("latency_ms", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total")
    return {
        "operations": len(kernels),
        "workloads": len(cases) + len(suites),
        "workload_bounds": sum(len(kernels[number]["workloads"]) for number in suites),
        "projects": len({one["username"] for one in results}),
        "implementations": len(results),
        "protocols": len({sample.setting(one)[1] for one in results}),
        "environments": len({sample.setting(one) for one in results}),
        "runs": len(results),
        "measurements": len(results),
        "source_metrics": sum(one[name] is not None for one in results for name in metrics),
        "submissions": len(sample.submissions),
        "listings": len(kernels),
        "listing_entries": len(sample.submissions),
        "syncs": 1,
        "fetches": 1 + len(kernels) + pages,
        "rejects": 0,
        "drift": 0,
        "lifecycle": 0,
        "metadata_versions": 0,
        "reviews": sum(map(sample.doubted, results)),
        "families": 1,
        "cohorts": len({(one["kernel_id"], *sample.setting(one)) for one in results}),
        "leaderboard": sum(map(len, sample.boards().values())),
    }


def test_every_table_holds_what_the_samples_files_hold(sample_home: Path, sample: Sample) -> None:
    expected = expected_counts(sample)
    with reading(sample_home) as db:
        found = {table: db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in expected}
        found["fetches"] = db.execute("SELECT count(DISTINCT url) FROM fetches").fetchall()[0][0]
    assert found == expected
    assert set(expected) >= set(CONTRACT)


def test_an_answer_is_noted_once(sample_home: Path) -> None:
    assert ask(sample_home, "SELECT url, count(*) FROM fetches GROUP BY url HAVING count(*) > 1") == []


def test_every_submission_is_there_as_it_was_sent(sample_home: Path, sample: Sample) -> None:
    found = ask(
        sample_home,
        "SELECT external_id, version, kernel, username, status, is_correct, is_disqualified,"
        " latency_ms::DECIMAL(38, 20), gpu_type, stack_version, first_seen_sync, last_seen_sync, payload"
        " FROM submissions",
    )
    assert {row[0]: row[1:12] for row in found} == {
        str(one["id"]): (
            1, one["kernel_name"], one["username"], one["status"], one["is_correct"], one["is_disqualified"],
            None if one["latency_ms"] is None else Decimal(one["latency_ms"]),
            one["gpu_type"], one["evaluation_stack_version"], 1, 1,
        )
        for one in sample.submissions
    }  # fmt: skip
    texts = {
        line.strip().rstrip(",")
        for path in (SAMPLE / "submissions").glob("*.json")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("{")
    }
    assert {row[12] for row in found} == texts


def test_the_board_is_the_samples(sample_home: Path, sample: Sample) -> None:
    found = ask(
        sample_home,
        "SELECT kernel, product, stack_version, external_id, rank, tied, cohort_size, primary_value, relative_to_best,"
        " project FROM leaderboard",
    )
    names = {str(one["id"]): one["username"] for one in sample.results}
    expected = {}
    for (kernel, gpu, stack), board in sample.boards().items():
        values = sorted(set(board.values()))
        shared = Counter(board.values())
        for external_id, ns in board.items():
            expected[external_id] = (
                kernel, f"NVIDIA {gpu}", stack, external_id, values.index(ns) + 1, shared[ns] > 1, len(board),
                float(ns), pytest.approx(ns / values[0], rel=1e-12), names[external_id],
            )  # fmt: skip
    assert {row[3]: row for row in found} == expected
    assert any(row[5] for row in found)


def test_within_a_tie_the_newer_observation_stands_first(sample_home: Path) -> None:
    rows = ask(
        sample_home,
        "SELECT external_id, observed_at FROM leaderboard WHERE kernel = 'sample_rmsnorm_hidden4096'"
        " AND stack_version = 'v1.1' AND rank = 1 ORDER BY place",
    )
    assert len(rows) == 3
    assert rows == sorted(rows, key=lambda row: (-row[1].timestamp(), int(row[0])))


# -- twice is once


def test_loading_the_sample_twice_is_loading_it_once(sample_home: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(sample_home, home)
    before = contents(home)
    report = run_sync(home, mode="sample")
    assert report.status == "complete"
    assert set(report.inserted.values()) == {0}
    after = contents(home)
    for table in before.keys() - PROVENANCE:
        assert after[table] == before[table], table
    with_sync = [row for row in after["listings"] if row not in before["listings"]]
    assert len(with_sync) == len(before["listings"])
    assert after["syncs"][:1] == before["syncs"]
    assert len(after["syncs"]) == 2
    assert report.unchanged["runs"] == len(before["runs"])


@pytest.fixture(scope="module")
def board_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's board, read over HTTP once, and once more without any memory of the first reading."""
    home = tmp_path_factory.mktemp("board")
    with BoardServer(SAMPLE) as board:
        assert run_sync(home, board.base_url).status == "complete"
        first = contents(home)
        assert run_sync(home, board.base_url, mode="full").status == "complete"
    second = contents(home)
    for table in first.keys() - PROVENANCE:
        assert second[table] == first[table], table
    return home


def test_reading_over_http_gives_the_same_evidence_as_the_sample(board_home: Path, sample_home: Path) -> None:
    def evidence(home: Path) -> dict[str, Any]:
        queries = {
            table: f"SELECT * FROM {table} ORDER BY ALL"
            for table in ("workloads", "projects", "protocols", "environments", "implementations", "runs", *BIG[1:])
        }
        # A page's bytes and an operation's address differ; what is read from them does not.
        queries["operations"] = (
            "SELECT operation_digest, slug, title, operation_family, tags FROM operations ORDER BY ALL"
        )
        queries["submissions"] = "SELECT * EXCLUDE (body_digest, last_seen_sync) FROM submissions ORDER BY ALL"
        queries["leaderboard"] = "SELECT * FROM leaderboard ORDER BY ALL"
        return {name: ask(home, query) for name, query in queries.items()}

    assert evidence(board_home) == evidence(sample_home)


def test_a_changed_page_that_changes_no_item_adds_nothing(board_home: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(board_home, home)
    before = contents(home)
    with BoardServer(SAMPLE, max_limit=7) as board:  # other pages, the same items: everything is parsed again
        report = run_sync(home, board.base_url)
    assert (report.status, set(report.inserted.values())) == ("complete", {0})
    after = contents(home)
    for table in before.keys() - PROVENANCE - {"listing_entries"}:
        assert after[table] == before[table], table


def test_a_whole_second_is_a_time_like_any_other(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    report = asyncio.run(sync(SOURCE, Request(mode="sample"), Settings(home=tmp_path), now=lambda: moment))
    assert report.status == "complete"
    assert ask(tmp_path, "SELECT DISTINCT started_at, finished_at FROM syncs") == [(moment, moment)]
    assert ask(tmp_path, "SELECT DISTINCT fetched_at FROM fetches") == [(moment,)]


# -- checks


@pytest.fixture(scope="module")
def broken(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A copy of the sample's warehouse that may be damaged inside a transaction."""
    copy = tmp_path_factory.mktemp("broken") / "warehouse.duckdb"
    shutil.copyfile(published_path(sample_home), copy)
    with duckdb.connect(copy) as db:
        db.execute("SET TimeZone = 'UTC'")
        yield db


Damage = Callable[[str], set[str]]


@pytest.fixture
def damage(broken: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    """Runs SQL that changes at least one row, and returns the names of the checks that notice."""

    def done(text: str) -> set[str]:
        (changed,) = broken.execute(text).fetchall()[0]
        assert changed > 0
        return {failure.check for failure in run_checks(broken)}

    broken.execute("BEGIN")
    yield done
    broken.execute("ROLLBACK")


def test_a_sound_warehouse_passes(broken: duckdb.DuckDBPyConnection) -> None:
    assert run_checks(broken) == []


ONE_RUN = "(SELECT min(run_digest) FROM runs)"
BAD = "'sha256:' || upper(repeat('ab', 32))"


@pytest.mark.parametrize(
    "table",
    [
        "runs", "operation_specs", "workloads", "projects", "protocols", "environments", "implementations",
        "measurements", "source_metrics", "submission_versions", "submission_runs", "workload_bound_versions",
        "listings", "listing_entries", "syncs", "fetches", "reviews",
    ],
)  # fmt: skip
def test_a_row_that_is_there_twice_is_found(table: str, damage: Damage) -> None:
    assert damage(f"INSERT INTO {table} FROM {table} LIMIT 1")


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM operation_specs WHERE slug = 'sample-rope-half-split'",
        "DELETE FROM workloads WHERE workload_digest = (SELECT min(workload_digest) FROM runs)",
        f"DELETE FROM implementations WHERE implementation_digest ="
        f" (SELECT implementation_digest FROM runs WHERE run_digest = {ONE_RUN})",
        "DELETE FROM protocols WHERE stack_version = 'v1.0'",
        "DELETE FROM environments WHERE product = 'NVIDIA H200'",
        f"DELETE FROM runs WHERE run_digest = {ONE_RUN}",
        "DELETE FROM submission_versions WHERE external_id = '5003'",
        "UPDATE listings SET entries_sync = 77 WHERE kernel = 'sample_rope_half_split'",
        f"UPDATE measurements SET run_digest = {BAD} WHERE run_digest = {ONE_RUN}",
        f"UPDATE source_metrics SET run_digest = {BAD} WHERE run_digest = {ONE_RUN}",
        f"UPDATE submission_runs SET run_digest = {BAD} WHERE run_digest = {ONE_RUN}",
        f"INSERT INTO lifecycle VALUES ({BAD}, 'withdrawn', 'gone', now(), 1, NULL)",
        f"INSERT INTO lifecycle VALUES ({ONE_RUN}, 'superseded', 'changed', now(), 1, {BAD})",
        "DELETE FROM workloads WHERE workload_digest = (SELECT min(workload_digest) FROM workload_bounds)",
        f"UPDATE workload_bound_versions SET suite_digest = {BAD}",
    ],
)
def test_a_reference_to_nothing_is_found(text: str, damage: Damage) -> None:
    assert "references_resolve" in damage(text)


@pytest.mark.parametrize(
    "column",
    [
        "runs.run_digest", "runs.comparison_key", "operation_specs.operation_digest", "workloads.workload_digest",
        "projects.digest", "protocols.digest", "environments.digest",
        "implementations.implementation_digest", "submission_versions.body_digest", "submission_versions.state_digest",
        "listings.body_digest", "listings.definition_digest", "fetches.body_digest",
    ],
)  # fmt: skip
def test_a_digest_that_is_none_is_found(column: str, damage: Damage) -> None:
    table, _, name = column.partition(".")
    place = f"rowid = (SELECT min(rowid) FROM {table} WHERE {name} IS NOT NULL)"
    assert "digests_are_well_formed" in damage(f"UPDATE {table} SET {name} = {BAD} WHERE {place}")


@pytest.mark.parametrize(
    "wrong",
    ["repeat('ab', 32)", "'sha256:' || repeat('ab', 31)", "'sha256:' || repeat('xy', 32)", "run_digest || ' '", "''"],
)
def test_a_digest_is_64_hex_digits(wrong: str, damage: Damage) -> None:
    assert "digests_are_well_formed" in damage(f"UPDATE runs SET run_digest = {wrong} WHERE run_digest = {ONE_RUN}")


@pytest.mark.parametrize(
    "text",
    [
        f"UPDATE runs SET comparability_family = 'another' WHERE run_digest = {ONE_RUN}",
        "UPDATE runs SET comparability_family = 'another' WHERE kernel = 'sample_rope_half_split'",
        f"UPDATE measurements SET comparability_family = 'another' WHERE run_digest = {ONE_RUN}",
        f"UPDATE source_metrics SET comparability_family = 'another' WHERE run_digest = {ONE_RUN}",
        "UPDATE protocols SET comparability_family = 'another' WHERE stack_version = 'v1.0'",
    ],
)
def test_a_row_outside_its_family_is_found(text: str, damage: Damage) -> None:
    assert "families_are_partitions" in damage(text)


@pytest.mark.parametrize(
    "text",
    [
        f"UPDATE measurements SET value = value + 1 WHERE run_digest = {ONE_RUN}",
        f"UPDATE measurements SET unit = 'us' WHERE run_digest = {ONE_RUN}",
        f"DELETE FROM measurements WHERE run_digest = {ONE_RUN}",
        f"UPDATE runs SET primary_value = primary_value - 1 WHERE run_digest = {ONE_RUN}",
        f"UPDATE runs SET primary_value = 0 WHERE run_digest = {ONE_RUN}",
        f"UPDATE runs SET primary_value = -5 WHERE run_digest = {ONE_RUN}",
        "DELETE FROM listing_entries WHERE external_id = '5003'",
        "DELETE FROM listing_entries WHERE kernel = 'sample_rope_half_split'",
        "UPDATE listings SET listed = listed + 1 WHERE kernel = 'sample_kv_cache_quantize_append'",
    ],
)
def test_figures_that_do_not_add_up_are_found(text: str, damage: Damage) -> None:
    assert "figures_add_up" in damage(text)


@pytest.mark.parametrize(
    "column", ["operation_digest", "workload_digest", "protocol_digest", "environment_digest", "primary_statistic"]
)
def test_a_cohort_of_two_kinds_is_found(column: str, damage: Damage) -> None:
    other = "'median'" if column == "primary_statistic" else f"(SELECT max({column}) FROM runs)"
    crowded = (
        f"(SELECT min(comparison_key) FROM runs WHERE {column} <> {other} AND comparison_key IN"
        " (SELECT comparison_key FROM runs GROUP BY ALL HAVING count(*) > 1))"
    )
    text = (
        f"UPDATE runs SET {column} = {other} WHERE run_digest ="
        f" (SELECT min(run_digest) FROM runs WHERE comparison_key = {crowded})"
    )
    assert "cohorts_are_of_one_kind" in damage(text)


def test_a_run_in_another_cohort_is_found(damage: Damage) -> None:
    text = f"UPDATE runs SET comparison_key = (SELECT max(comparison_key) FROM runs) WHERE run_digest = {ONE_RUN}"
    assert "cohorts_are_of_one_kind" in damage(text)


def test_a_failure_says_what_and_how_often(broken: duckdb.DuckDBPyConnection, damage: Damage) -> None:
    damage(f"UPDATE measurements SET value = value + 1 WHERE run_digest = {ONE_RUN}")
    (failure,) = run_checks(broken)
    (digest,) = broken.execute(f"SELECT {ONE_RUN}").fetchall()[0]
    assert failure.count == 1
    assert digest in str(failure)


def test_nothing_is_published_when_a_check_fails(tmp_path: Path) -> None:
    home, scope = tmp_path / "home", Scope(kernels=("sample_masked_softmax_rows",))
    published = published_path(home)
    with BoardServer(SAMPLE) as board:
        assert run_sync(home, board.base_url, scope=scope).status == "complete"
        published.chmod(0o644)
        with duckdb.connect(published) as db:
            db.execute(f"DELETE FROM measurements WHERE run_digest = {ONE_RUN}")
        published.chmod(0o444)
        before, rows = sha256(published), contents(home)
        board.edit(3, lambda items: [items[0] | {"error_log": "something new"}, *items[1:]])
        report = run_sync(home, board.base_url, scope=scope)
    assert report.status == "failed"
    assert report.error is not None
    assert "figures add up" in report.error
    assert sha256(published) == before
    assert contents(home) == rows
    assert sorted(path.name for path in home.iterdir() if path.name.startswith("warehouse")) == ["warehouse.duckdb"]


# -- the file explains itself


def test_every_table_view_and_column_has_a_comment(sample_home: Path) -> None:
    tables = "SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE NOT internal"
    views = "SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal"
    columns = "SELECT schema_name, table_name || '.' || column_name, comment FROM duckdb_columns() WHERE NOT internal"
    found = {kind: ask(sample_home, query) for kind, query in (("t", tables), ("v", views), ("c", columns))}
    for rows in found.values():
        assert {schema for schema, _, _ in rows} >= {"main"}
        assert [(schema, name) for schema, name, comment in rows if not (comment or "").strip()] == []
    for kind in "vc":
        assert FAMILY in {schema for schema, _, _ in found[kind]}
    shown = {name for (name, *_) in ask(sample_home, "PRAGMA show_tables")}
    assert shown == {name for kind in "tv" for schema, name, _ in found[kind] if schema == "main"}


@pytest.mark.parametrize("table", CONTRACT)
def test_the_contracts_columns_are_there(table: str, sample_home: Path) -> None:
    wanted = set(CONTRACT[table].replace(" ", "").split(","))
    found = {
        name
        for (name,) in ask(
            sample_home,
            f"SELECT column_name FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = '{table}'",
        )
    }
    assert wanted - found == set()


def test_the_contracts_types_hold(sample_home: Path) -> None:
    types = dict(
        ask(
            sample_home,
            "SELECT table_name || '.' || column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main'",
        )
    )
    assert types["submissions.latency_ms"] == "VARCHAR"
    assert types["operations.tags"] == "VARCHAR[]"
    assert {types[name] for name in types if name.endswith(("_ns", ".primary_value"))} == {"DOUBLE"}
    times = {name: kind for name, kind in types.items() if name.endswith("_at") or name == "lifecycle.at"}
    assert set(times.values()) == {"TIMESTAMP WITH TIME ZONE"}
    assert {types[f"{table}.stack_version"] for table in ("submissions", "protocols", "leaderboard")} == {"VARCHAR"}


def test_a_family_is_never_null(sample_home: Path) -> None:
    rows = ask(
        sample_home,
        "SELECT table_name, is_nullable FROM duckdb_columns() WHERE column_name = 'comparability_family'"
        " AND schema_name = 'main' AND table_name IN (SELECT table_name FROM duckdb_tables())",
    )
    tables = (*BIG, "protocols", "record_events", "standings", "published_run_versions")
    assert dict(rows) == dict.fromkeys(tables, False)


def test_a_familys_schema_shows_its_rows_alone(sample_home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "warehouse.duckdb"
    shutil.copyfile(published_path(sample_home), copy)
    views = ("runs", "measurements", "source_metrics", "leaderboard", "cohorts")
    with duckdb.connect(copy) as db:
        whole = {view: db.execute(f"SELECT count(*) FROM {FAMILY}.{view}").fetchall()[0][0] for view in views}
        assert whole == {view: db.execute(f"SELECT count(*) FROM main.{view}").fetchall()[0][0] for view in views}
        for table, swap in (
            ("protocols", "'other_family' AS comparability_family, 'other_protocol' AS digest"),
            ("runs", "'other_family' AS comparability_family, 'other_protocol' AS protocol_digest,"
             " 'other_run' AS run_digest, 'other_key' AS comparison_key"),
            ("measurements", "'other_family' AS comparability_family, 'other_run' AS run_digest"),
            ("source_metrics", "'other_family' AS comparability_family, 'other_run' AS run_digest"),
        ):  # fmt: skip
            db.execute(f"INSERT INTO {table} SELECT * REPLACE ({swap}) FROM {table} LIMIT 1")
        derive_standings(db, runs=["other_run"])
        add_family_schemas(db)
        for view in views:
            assert db.execute(f"SELECT comparability_family FROM other_family.{view}").fetchall() == [("other_family",)]
            families = db.execute(f"SELECT comparability_family, count(*) FROM {FAMILY}.{view} GROUP BY ALL").fetchall()
            assert families == [(FAMILY, whole[view])]
            assert (
                db.execute(f"DESCRIBE other_family.{view}").fetchall() == db.execute(f"DESCRIBE main.{view}").fetchall()
            )
        uncommented = db.execute(
            "SELECT table_name, column_name FROM duckdb_columns()"
            " WHERE schema_name = 'other_family' AND comment IS NULL"
        ).fetchall()
        assert uncommented == []


VIEWS = "SELECT schema_name, view_name, sql, view_oid FROM duckdb_views() WHERE NOT internal ORDER BY ALL"


def test_views_are_made_anew_only_when_their_definitions_changed(sample_home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "warehouse.duckdb"
    shutil.copyfile(published_path(sample_home), copy)

    def bring_up_to_date() -> list[tuple[object, ...]]:
        migrate(db)
        add_family_schemas(db)
        return db.execute(VIEWS).fetchall()

    with duckdb.connect(copy) as db:
        db.execute("USE warehouse.main")
        as_made = db.execute(VIEWS).fetchall()
        assert bring_up_to_date() == as_made
        # As a version of kix left them that defines this one otherwise.
        db.execute("CREATE OR REPLACE VIEW leaderboard AS SELECT 1 AS comparability_family")
        db.execute("UPDATE view_definitions SET digest = 'another' WHERE schema_name = 'main'")
        made_anew = bring_up_to_date()
        assert [row[:3] for row in made_anew] == [row[:3] for row in as_made]
        assert not {row[3] for row in made_anew} & {row[3] for row in as_made}  # the families' too


def test_big_tables_have_no_index(sample_home: Path) -> None:
    assert ask(sample_home, "SELECT table_name, index_name FROM duckdb_indexes()") == []
    kinds = "('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')"
    assert ask(sample_home, f"SELECT table_name FROM duckdb_constraints() WHERE constraint_type IN {kinds}") == []


# -- two connections


def with_statement(folder: str, statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a load run one more statement, after those of a folder."""

    def longer(wanted: str) -> list[tuple[str, str]]:
        files = sql_files(wanted)
        return [*files, ("99_more", statement)] if wanted == folder else files

    monkeypatch.setattr(load, "sql_files", longer)


@pytest.mark.parametrize("folder", ["load/runs", "load/listings"])
def test_what_goes_wrong_on_either_connection_fails_the_load_and_publishes_nothing(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_statement(folder, "SELECT error('this one broke')", monkeypatch)
    with BoardServer(SAMPLE) as board:
        failed = run_sync(tmp_path, board.base_url)
        assert failed.status == "failed"
        assert "this one broke" in str(failed.error)
        assert sorted(path.name for path in tmp_path.glob("*.duckdb*")) == []
        monkeypatch.undo()
        assert run_sync(tmp_path, board.base_url).status == "complete"


def test_when_the_first_connection_breaks_the_second_begins_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    broke = threading.Event()

    def run(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
        if folder == "load/runs":
            broke.set()
            raise duckdb.Error("this one broke")
        if folder == "load/listings":
            broke.wait()
            time.sleep(0.5)  # between two files, where an interrupt meets nothing
            for number in range(3):
                connection.execute("SELECT count(*) FROM range(1000000000) r(i) WHERE hash(i) = 1")
                ran.append(number)

    monkeypatch.setattr(load, "_run_files", run)
    with BoardServer(SAMPLE) as board:
        assert "this one broke" in str(run_sync(tmp_path, board.base_url).error)
    assert ran == []


def test_where_no_thread_can_be_started_the_load_fails_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(load.ThreadPoolExecutor, "submit", no_thread)
    with BoardServer(SAMPLE) as board:
        failed = run_sync(tmp_path, board.base_url)
    assert failed.status == "failed"
    assert "can't start new thread; nothing was published" in str(failed.error)
    assert sorted(path.name for path in tmp_path.glob("*.duckdb*")) == []


NEEDS_100_MB = "SELECT length(list(i)) FROM range(12000000) r(i)"


@pytest.mark.parametrize("folder", ["load/runs", "load/listings"])
def test_a_small_load_that_needs_more_memory_gets_all_that_is_allowed(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[str] = []
    counts = load.Loader._counts

    def noted(loader: load.Loader) -> dict[str, int]:
        limits.append(loader._db.execute("SELECT current_setting('memory_limit')").fetchall()[0][0])
        return counts(loader)

    monkeypatch.setattr(load.Loader, "_counts", noted)
    with_statement(folder, NEEDS_100_MB, monkeypatch)
    monkeypatch.setattr(load, "FRUGAL", "60MB")
    with BoardServer(SAMPLE) as board:
        assert run_sync(tmp_path / "once more", board.base_url).status == "complete"
        assert limits == ["953.6 MiB"] * 2  # before it, and after the first part was done again
        monkeypatch.undo()
        assert run_sync(tmp_path / "at once", board.base_url).status == "complete"
    once_more, at_once = contents(tmp_path / "once more"), contents(tmp_path / "at once")
    moments = {"syncs", "fetches", "schema_migrations"}
    assert {name for name in at_once if once_more[name] != at_once[name]} <= moments
    assert [len(once_more[name]) for name in moments] == [len(at_once[name]) for name in moments]


def test_a_load_that_needs_more_memory_than_is_allowed_says_so_and_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_statement("load/runs", NEEDS_100_MB, monkeypatch)
    monkeypatch.setattr(load, "FRUGAL", "50MB")
    monkeypatch.setenv("KIX_MEMORY_LIMIT", "60MB")
    with BoardServer(SAMPLE) as board:
        failed = run_sync(tmp_path, board.base_url)
    assert failed.status == "failed"
    assert "Out of Memory" in str(failed.error)
    assert sorted(path.name for path in tmp_path.glob("*.duckdb*")) == []


# -- order on disk


def stored_keys(home: Path, table: str) -> list[tuple[str, str]]:
    """Family and cohort of each row of a big table, in the order in which it is stored."""
    with reading(home) as db:
        of = dict(db.execute("SELECT run_digest, comparison_key FROM runs").fetchall())
        rows = db.execute(f"SELECT comparability_family, run_digest FROM {table} ORDER BY rowid").fetchall()
        assert rows == db.execute(f"SELECT comparability_family, run_digest FROM {table}").fetchall()
    return [(family, of[run]) for family, run in rows]


@pytest.mark.parametrize("table", BIG)
def test_the_first_load_is_stored_in_order(table: str, sample_home: Path) -> None:
    keys = stored_keys(sample_home, table)
    assert len(set(keys)) > 1
    assert keys == sorted(keys)


def test_the_order_is_made_anew_when_the_tail_outgrows_a_tenth(tmp_path: Path) -> None:
    softmax, rope = "sample_masked_softmax_rows", "sample_rope_half_split"
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url, scope=Scope(kernels=(rope,)))
        first = {table: stored_keys(tmp_path, table) for table in BIG}

        def faster(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
            done = next(one for one in items if one["status"] == "COMPLETED" and one["is_correct"])
            return [one | {"latency_ms": 0.0077} if one is done else one for one in items]

        board.edit(2, faster)
        run_sync(tmp_path, board.base_url, scope=Scope(kernels=(rope,)))
        for table in BIG:  # one in some thirty: the tail stays where it is
            keys = stored_keys(tmp_path, table)
            assert keys[: len(first[table])] == first[table]
            assert len(keys) > len(first[table])
        before = contents(tmp_path, set(BIG))

        run_sync(tmp_path, board.base_url, scope=Scope(kernels=(rope, softmax)))
    added = set(stored_keys(tmp_path, "runs")) - set(first["runs"])
    assert min(added) < max(first["runs"])  # appended and left there, they would not be in order
    for table in BIG:
        keys = stored_keys(tmp_path, table)
        assert keys == sorted(keys), table
        assert Counter(contents(tmp_path, {table})[table]) >= Counter(before[table])
