"""Defects that a reader of the README found once, each on the right outcome."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from board_server import BoardServer, Reply
from click.testing import CliRunner
from conftest import KIX, SAMPLE, run_sync

from flows.cli import main
from scrapers.contract import Scope

KERNELS = json.loads((SAMPLE / "kernels.json").read_text(encoding="utf-8"))["data"]["kernels"]


def kix(*arguments: str, home: Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, [*arguments, "--home", str(home)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def ask(home: Path, query: str) -> list[dict[str, Any]]:
    command = [*KIX, "sql", query, "--json", "--home", str(home)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_a_kernel_list_that_shrinks_is_told_once_and_withdraws_nothing(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url)
        board.bodies["/kernels"] = json.dumps({"data": {"kernels": KERNELS[:3]}}).encode()
        report = run_sync(tmp_path, board.base_url)
        assert report.status == "partial"
        assert f"{len(KERNELS) - 3} of {len(KERNELS)} kernels" in report.rejects[0].reason
        assert report.inserted["lifecycle"] == 0
        assert run_sync(tmp_path, board.base_url, scope=Scope(limit=1)).status == "complete"
        assert run_sync(tmp_path, board.base_url).status == "complete"


@pytest.mark.parametrize("field", ["sol_is_dummy", "latency_unit"])
def test_a_usual_field_of_a_definition_that_is_gone_is_drift(field: str, tmp_path: Path) -> None:
    detail = json.loads((SAMPLE / "kernels" / "1.json").read_text(encoding="utf-8"))
    del detail["data"][field]
    del detail["data"]["workloads"][0]["sol_ms"]
    detail["data"]["axes"]["batch_size"]["new_of_axis"] = 1
    with BoardServer(SAMPLE) as board:
        board.bodies["/kernels/1"] = json.dumps(detail).encode()
        report = run_sync(tmp_path, board.base_url, scope=Scope(limit=1))
    assert {(one.path, one.change, one.count) for one in report.drift} == {
        (f"kernel.{field}", "field gone", 1),
        ("kernel.workloads[].sol_ms", "field gone", 1),
        ("kernel.axes{}.new_of_axis", "new field", 1),
    }


def test_a_value_on_a_variable_axis_binds_nothing(tmp_path: Path) -> None:
    detail = json.loads((SAMPLE / "kernels" / "1.json").read_text(encoding="utf-8"))
    assert detail["data"]["axes"]["batch_size"]["type"] == "var"
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path / "as-it-is", board.base_url, scope=Scope(limit=1))
        detail["data"]["axes"]["batch_size"]["value"] = 99
        board.bodies["/kernels/1"] = json.dumps(detail).encode()
        run_sync(tmp_path / "with-value", board.base_url, scope=Scope(limit=1))
    query = "SELECT workload_digest FROM workloads ORDER BY 1"
    assert ask(tmp_path / "with-value", query) == ask(tmp_path / "as-it-is", query)


def test_fields_that_nothing_depends_on_cost_nothing(tmp_path: Path) -> None:
    listed = [kernel | {"submission_count": str(kernel["submission_count"])} for kernel in KERNELS[:1]]
    listed[0]["tags"] = [*listed[0]["tags"], 5]
    detail = json.loads((SAMPLE / "kernels" / "1.json").read_text(encoding="utf-8"))
    detail["data"]["gpu_types"] = "B200"
    with BoardServer(SAMPLE) as board:
        board.bodies["/kernels"] = json.dumps({"data": {"kernels": listed}}).encode()
        board.bodies["/kernels/1"] = json.dumps(detail).encode()
        report = run_sync(tmp_path, board.base_url)
    assert report.rejects == []
    assert report.inserted["runs"] > 40


def test_kernels_of_one_definition_each_have_their_board(tmp_path: Path) -> None:
    twin = json.loads((SAMPLE / "kernels" / "2.json").read_text(encoding="utf-8"))
    twin["data"] |= {"id": 1, "name": KERNELS[0]["name"]}
    with BoardServer(SAMPLE) as board:
        board.bodies["/kernels/1"] = json.dumps(twin).encode()
        run_sync(tmp_path, board.base_url, scope=Scope(limit=2))
    for kernel in KERNELS[:2]:
        code, out, _ = kix("board", kernel["name"], "--json", home=tmp_path)
        assert (code, bool(json.loads(out)["boards"])) == (0, True)


def test_a_report_that_could_not_be_written_is_told_before_anything_is_read(tmp_path: Path) -> None:
    code, _, words = kix("sync", "--sample", "--report", str(tmp_path / "nowhere" / "r.json"), home=tmp_path)
    assert (code, "nowhere" in words) == (2, True)
    assert not (tmp_path / "sample").exists()


def test_that_a_report_is_not_written_through_a_link_is_said_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "target.json")
    code, _, words = kix("sync", "--sample", "--report", str(tmp_path / "link.json"), home=tmp_path)
    assert (code, "symbolic link" in words) == (2, True)
    assert not (tmp_path / "target.json").exists()
    assert not (tmp_path / "sample").exists()


def test_a_damaged_warehouse_is_told_in_words(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url, scope=Scope(limit=1))
        (tmp_path / "warehouse.duckdb").chmod(0o644)
        (tmp_path / "warehouse.duckdb").write_bytes(b"no warehouse")
        code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path)
    assert (code, "cannot open" in words) == (1, True)


def test_the_sample_is_found_when_its_home_was_not_named(tmp_path: Path) -> None:
    assert kix("sync", "--sample", home=tmp_path)[0] == 0
    assert f"--home {tmp_path / 'sample'}" in kix("board", "rmsnorm", home=tmp_path)[2]
    assert f"--home {tmp_path / 'sample'}" in kix("sql", "select 1", home=tmp_path)[2]


def test_only_a_whole_reading_makes_a_source_fresh(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url, scope=Scope(limit=1))
        assert json.loads(kix("status", "--json", home=tmp_path)[1])["sources"][0]["last_synced_at"] is None
        run_sync(tmp_path, board.base_url)
        assert json.loads(kix("status", "--json", home=tmp_path)[1])["sources"][0]["last_synced_at"] is not None


def test_an_answer_that_is_read_only_in_part_is_no_failure(sample_home: Path) -> None:
    query = "select * from submissions, range(200)"
    command = [*KIX, "sql", query, "--format", "csv", "--home", str(sample_home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asked:
        assert asked.stdout is not None
        assert asked.stderr is not None
        os.read(asked.stdout.fileno(), 100)
        asked.stdout.close()
        assert asked.stderr.read() == b""
    assert asked.returncode == 0


def test_a_table_that_is_piped_is_whole(sample_home: Path) -> None:
    query = "select run_digest, comparison_key, manifest from runs limit 1"
    command = [*KIX, "sql", query, "--home", str(sample_home)]
    table = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    (row,) = ask(sample_home, query)
    assert all(value in table for value in row.values())


@pytest.mark.parametrize("url", ["http://", "ftp://board.example", "board.example/api"])
def test_an_address_that_is_none_is_wrong_usage(url: str, tmp_path: Path) -> None:
    assert kix("sync", "sol-execbench", "--base-url", url, home=tmp_path)[0] == 2


def test_sources_are_named_by_comma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIX_SOURCES", "sol-execbench, other")
    assert json.loads(kix("status", "--json", home=tmp_path)[1])["enabled"] == ["sol-execbench", "other"]


def test_a_settings_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "kix.toml").write_text("sources = [")
    code, _, words = kix("status", home=tmp_path)
    assert (code, str(tmp_path / "kix.toml") in words) == (2, True)


def test_a_tag_that_no_kernel_has_is_no_success(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        board.answer = lambda path, _n: None if path.endswith("/kernels") else Reply(500)
        code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, "--tag", "typo", home=tmp_path)
    assert (code, "typo" in words) == (1, True)
