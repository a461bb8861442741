"""The recorded leaderboard, synced: every digest, key and rank equals the published one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from conftest import KIX, Serve, run_sync

from flows.cli import main
from scrapers.contract import Scope

pytestmark = pytest.mark.replay
Expected = Callable[[str], list[dict[str, str]]]
RUN_FIELDS = (
    "operation_digest", "workload_digest", "implementation_digest", "protocol_digest", "environment_digest",
    "run_digest", "comparison_key",
)  # fmt: skip


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as db:
        return db.execute(query).fetchall()


def assert_published_digests(home: Path, expected: Expected) -> None:
    runs = rows(home, f"SELECT external_id, kernel, primary_value, {', '.join(RUN_FIELDS)} FROM runs")
    wanted = [
        (row["submission_id"], row["kernel_name"], float(row["latency_ns"]), *(row[name] for name in RUN_FIELDS))
        for row in expected("expected.csv")
    ]
    assert len(runs) == 524
    assert sorted(runs) == sorted(wanted)

    operations = rows(home, "SELECT title, slug, operation_family, operation_digest FROM operations")
    names = ("kernel_name", "slug", "family", "semantic_digest")
    assert sorted(operations) == sorted(tuple(row[n] for n in names) for row in expected("expected_operations.csv"))
    assert len(operations) == 174

    workloads = rows(
        home,
        "SELECT o.title, w.external_id, w.kind, w.workload_digest"
        " FROM workloads w JOIN operations o USING (operation_digest)",
    )
    names = ("kernel_name", "external_id", "kind", "workload_digest")
    assert sorted(workloads) == sorted(tuple(row[n] for n in names) for row in expected("expected_workloads.csv"))
    assert sum(kind == "WorkloadCase" for _, _, kind, _ in workloads) == 2938
    assert sum(kind == "WorkloadSuite" for _, _, kind, _ in workloads) == 174
    assert len({row[-1] for row in runs}) == 242


def test_every_digest_is_the_published_one(replay_home: Path, expected: Expected) -> None:
    assert_published_digests(replay_home, expected)


def test_paging_by_two_gives_the_same(serve: Serve, expected: Expected, tmp_path: Path) -> None:
    with serve("--max-limit", "2") as base_url:
        assert run_sync(tmp_path, base_url).status == "complete"
    assert_published_digests(tmp_path, expected)


def test_ranks_are_the_published_ones(replay_home: Path, expected: Expected) -> None:
    ranks = rows(replay_home, "SELECT comparison_key, rank, external_id, primary_value::BIGINT FROM leaderboard")
    wanted = [
        (row["comparison_key"], int(row["rank"]), row["submission_id"], int(row["latency_ns"]))
        for row in expected("expected_ranks.csv")
    ]
    assert sorted(ranks) == sorted(wanted)


@pytest.mark.parametrize("submission", ["3483", "27772"])
def test_the_seed_runs_come_out_as_published(replay_home: Path, seeds: dict[str, Any], submission: str) -> None:
    done = CliRunner().invoke(main, ["manifest", f"sol-execbench:{submission}", "--home", str(replay_home)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == seeds[submission]


@pytest.mark.parametrize("submission", ["3483", "27772"])
def test_the_seed_runs_figures_are_rows(replay_home: Path, seeds: dict[str, Any], submission: str) -> None:
    spec = seeds[submission]["run"]["spec"]
    of = f"JOIN runs USING (run_digest) WHERE external_id = '{submission}'"
    figures = rows(replay_home, f"SELECT metric, statistic, unit, value FROM measurements {of}")
    assert figures == [("latency", "mean", "ns", spec["timing"]["latencyNs"]["mean"])]
    native = rows(replay_home, f"SELECT metric, value FROM source_metrics {of}")
    assert dict(native) == spec["sourceNative"]["metrics"]


def test_one_kernel_has_a_board_for_each_stack(replay_home: Path) -> None:
    kernel = "064_multi_head_qkv_projection_with_rope_backward"
    done = CliRunner().invoke(main, ["board", kernel, "--json", "--home", str(replay_home)])
    boards = json.loads(done.stdout)["boards"]
    assert [board["stack_version"] for board in boards] == ["v1.0", "v1.1"]
    assert len({board["comparison_key"] for board in boards}) == 2
    text = CliRunner().invoke(main, ["board", kernel, "--home", str(replay_home)]).output
    assert "stack v1.0" in text
    assert "stack v1.1" in text
    assert "1.16 ms" in text  # the seed page's figure for run 3483


def test_the_same_sync_again_finds_nothing_new(serve: Serve, tmp_path: Path) -> None:
    with serve() as base_url:
        first = run_sync(tmp_path, base_url)
        again = run_sync(tmp_path, base_url)
    assert again.status == "complete"
    assert again.requests == again.not_modified + 1  # all but robots.txt
    assert set(again.inserted.values()) == {0}
    assert again.unchanged["runs"] == 524
    assert rows(tmp_path, "SELECT sync_id, status FROM syncs ORDER BY 1") == [
        (first.sync_id, "complete"),
        (again.sync_id, "complete"),
    ]


@pytest.mark.parametrize("after_s", [1.2, 2.2])
def test_a_killed_sync_changes_nothing_and_the_next_completes(
    serve: Serve, expected: Expected, tmp_path: Path, after_s: float
) -> None:
    with serve("--hazard", "edit") as base_url:
        run_sync(tmp_path, base_url, scope=Scope(limit=5))  # something published before
    before = (tmp_path / "warehouse.duckdb").read_bytes()
    with serve() as base_url:
        command = [
            *KIX,
            "sync",
            "sol-execbench",
            "--base-url",
            base_url,
            "--home",
            str(tmp_path),
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sync:
            time.sleep(after_s)
            os.kill(sync.pid, signal.SIGKILL)
        # Killed in its last breath, it may have published already: then the new state is there, and whole.
        changed = (tmp_path / "warehouse.duckdb").read_bytes() != before
        assert len(rows(tmp_path, "FROM syncs")) == (2 if changed else 1)
        report = run_sync(tmp_path, base_url)
    assert report.status == "complete"
    current = "SELECT r.external_id, r.run_digest FROM runs r ANTI JOIN eligibility USING (run_digest)"
    assert sorted(rows(tmp_path, current)) == sorted(
        (row["submission_id"], row["run_digest"]) for row in expected("expected.csv")
    )
