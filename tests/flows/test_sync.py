"""The command against the bundled sample and a board on loopback: what it says, how it ends, what it leaves."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from pathlib import Path

import duckdb
import pytest
from board_server import BoardServer, Reply
from click.testing import CliRunner
from conftest import KIX, SAMPLE, run_sync

from flows.cli import main
from flows.lock import holding
from scrapers.contract import Scope


def kix(*arguments: str, home: Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, [*arguments, "--home", str(home)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def count(home: Path, table: str) -> int:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]


def test_the_sample_lives_in_a_home_of_its_own(tmp_path: Path) -> None:
    code, _, words = kix("sync", "--sample", home=tmp_path)
    assert code == 0
    assert "synthetic" in words
    assert (tmp_path / "sample" / "warehouse.duckdb").exists()
    assert not (tmp_path / "warehouse.duckdb").exists()
    assert "SYNTHETIC" in kix("status", home=tmp_path / "sample")[1]


def test_real_rows_never_come_beside_synthetic_ones(tmp_path: Path) -> None:
    run_sync(tmp_path, mode="sample")
    with BoardServer(SAMPLE) as board:
        code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path)
    assert code == 1
    assert "another --home" in words
    assert board.requests == []


def test_the_report_has_what_others_rely_on(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        code, out, _ = kix(
            "sync", "sol-execbench", "--base-url", board.base_url, "--json", "--report", str(tmp_path / "r.json"),
            home=tmp_path,
        )  # fmt: skip
    report = json.loads(out)
    assert code == 0
    assert report == json.loads((tmp_path / "r.json").read_text())
    assert {
        "sync_id", "source", "status", "started_at", "finished_at", "requests", "not_modified", "bytes", "discovered",
        "inserted", "unchanged", "rejects", "drift", "reviews", "incomplete", "warehouse",
    } <= report.keys()  # fmt: skip
    kernels = json.loads((SAMPLE / "kernels.json").read_text())["data"]["kernels"]
    listed = sum(len(json.loads(path.read_text())) for path in (SAMPLE / "submissions").iterdir())
    assert report["discovered"]["kernels"] == len(kernels)
    assert report["discovered"]["submissions"] == listed == count(tmp_path, "submissions")
    assert report["requests"] == len(board.requests)


def test_a_dry_run_publishes_nothing(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        report = run_sync(tmp_path, board.base_url, dry_run=True)
    assert (report.status, report.inserted["runs"] > 200) == ("complete", True)
    assert not (tmp_path / "warehouse.duckdb").exists()


def test_offline_gives_what_the_archive_holds(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url)
        asked = len(board.requests)
        (tmp_path / "warehouse.duckdb").unlink()
        report = run_sync(tmp_path, board.base_url, mode="offline")
        assert len(board.requests) == asked
    assert (report.status, report.requests) == ("complete", 0)
    assert count(tmp_path, "runs") > 200


def test_offline_without_an_archive_says_so(tmp_path: Path) -> None:
    code, _, words = kix("sync", "sol-execbench", "--offline", home=tmp_path)
    assert code == 1
    assert "not in the archive" in words


def test_a_scope_reads_only_its_kernels_and_withdraws_nothing(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url)
        name = "sample_rmsnorm_hidden4096"
        report = run_sync(tmp_path, board.base_url, scope=Scope(kernels=(name,)))
    assert report.discovered["kernels"] == 1
    assert count(tmp_path, "lifecycle") == 0


def test_what_is_missing_makes_a_sync_partial(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        board.answer = lambda path, _n: Reply(404) if path.endswith("/kernels/3") else None
        code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path)
        assert code == 3
        assert "/kernels/3" in words
        assert "404" in words
        board.answer = None
        code, _, _ = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path)
    assert code == 0


def test_a_board_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url)
        before = (tmp_path / "warehouse.duckdb").read_bytes()
        board.answer = lambda _path, _n: Reply(200, {"Content-Type": "text/html"}, b"<html>log in</html>")
        code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path)
    assert code == 1
    assert "nothing was changed" in words
    assert (tmp_path / "warehouse.duckdb").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sync"], "no source is enabled"),
        (["sync", "nowhere"], "no source is called 'nowhere'"),
        (["sync", "sol-execbench", "--base-url", "ftp://x"], "no http or https address"),
        (["sync", "sol-execbench", "--full", "--offline"], "exclude each other"),
        (["sync", "--sample", "sol-execbench"], "takes no SOURCE"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], says: str, tmp_path: Path) -> None:
    code, _, words = kix(*arguments, home=tmp_path)
    assert code == 2
    assert says in words


def test_a_wrong_setting_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIX_CONNECTIONS", "many")
    code, _, words = kix("status", home=tmp_path)
    assert code == 2
    assert "KIX_CONNECTIONS" in words
    assert "many" in words


def test_settings_come_from_the_homes_file(tmp_path: Path) -> None:
    (tmp_path / "kix.toml").write_text('sources = ["sol-execbench"]\n')
    assert json.loads(kix("status", "--json", home=tmp_path)[1])["enabled"] == ["sol-execbench"]


def test_the_second_of_two_syncs_waits_and_then_says_who_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIX_LOCK_TIMEOUT_S", "0.2")
    with BoardServer(SAMPLE) as board, holding(tmp_path, "kix sync elsewhere", 1):
        code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path)
    assert code == 1
    assert "kix sync elsewhere" in words
    assert board.requests == []


def test_readers_keep_their_state_through_a_sync_and_never_wait(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url, scope=Scope(limit=3))
        with duckdb.connect(tmp_path / "warehouse.duckdb", read_only=True) as reader:
            seen = reader.execute("SELECT count(*) FROM runs").fetchall()
            assert run_sync(tmp_path, board.base_url).status == "complete"
            assert reader.execute("SELECT count(*) FROM runs").fetchall() == seen
    assert count(tmp_path, "runs") > seen[0][0]


def test_a_stray_log_of_a_careless_opener_is_no_trap(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url, scope=Scope(limit=3))
        (tmp_path / "warehouse.duckdb.wal").write_bytes(b"left behind")
        assert run_sync(tmp_path, board.base_url).status == "complete"
    assert kix("board", "rmsnorm_hidden4096", home=tmp_path)[0] == 0


def test_sigterm_ends_a_sync_cleanly_and_the_next_goes_on(tmp_path: Path) -> None:
    release = threading.Event()

    def hold(path: str, n: int) -> Reply | None:
        if n == 12:
            release.wait(20)
        return None

    with BoardServer(SAMPLE) as board:
        board.answer = hold
        command = [
            *KIX,
            "sync",
            "sol-execbench",
            "--base-url",
            board.base_url,
            "--home",
            str(tmp_path),
        ]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as sync:
            deadline = time.monotonic() + 20
            while len(board.requests) < 11 and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.3)
            sync.send_signal(signal.SIGTERM)
            _, words = sync.communicate(timeout=10)
        release.set()
        assert sync.returncode == 1
        assert "interrupted" in words
        assert not (tmp_path / "warehouse.duckdb").exists()
        had = {request.path for request in board.requests if request.status == 200}
        before = len(board.requests)
        report = run_sync(tmp_path, board.base_url)
    assert (report.status, report.resumed) == ("complete", True)
    asked = [request.path for request in board.requests[before:] if not request.path.endswith("robots.txt")]
    held = {path for path in asked if path in had}
    assert len(held) <= 4  # at most the answers on their way when it was stopped


def test_what_a_killed_load_left_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    spilled = tmp_path / "warehouse.working.duckdb.tmp"
    for folder in (spilled, tmp_path / "tmp"):
        folder.mkdir()
        (folder / "file").write_bytes(b"x")
    (tmp_path / "warehouse.working.duckdb").write_bytes(b"half written")
    with BoardServer(SAMPLE) as board:
        assert run_sync(tmp_path, board.base_url, scope=Scope(limit=1)).status == "complete"
    assert not spilled.exists()
    assert not (tmp_path / "warehouse.working.duckdb").exists()
    assert (tmp_path / "tmp" / "file").exists()
