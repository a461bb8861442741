"""The folder of snapshots: whole or not there, never changed, kept up with, verified, pruned."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import threading
import time
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from conftest import KIX, run_sync
from snapshots import at, exported, files_below, improve, manifest_of, snapshot_rows, synced, warehouse_rows

from flows.cli import main
from flows.export import LOCK
from flows.lock import HomeBusy, holding
from flows.snapshots import listed, prune, verify
from warehouse.connection import WarehouseError

FAMILY = "sol_execbench_leaderboard"


def kix(*arguments: str, home: Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, [*arguments, "--home", str(home)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def names(directory: Path) -> set[str]:
    return {one.name for one in directory.iterdir()} - {LOCK}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str], dict[str, bytes]]:
    """Three states of a board, exported one after another, the last two with increments: the home, the folder, the
    three IDs, and the first snapshot's bytes when it was new."""
    folder = tmp_path_factory.mktemp("story")
    out = folder / "out"
    with synced(folder) as (home, board):
        ids = [exported(home, out, now=at("2026-01-01T10:00:00")).snapshot]
        first = files_below(out / "snapshots" / ids[0])
        improve(board, home, 0.0412)
        ids.append(exported(home, out, since=ids[0], now=at("2026-02-01T10:00:00")).snapshot)
        board.edit(12, lambda items: items[1:])
        improve(board, home, 0.0405)
        ids.append(exported(home, out, since=ids[1], now=at("2026-03-01T10:00:00")).snapshot)
        exported(home, out, since=ids[0], now=at("2026-03-01T11:00:00"))
    return home, out, ids, first


# -- what is made, and what is not


def test_a_snapshot_never_changes(story: Any) -> None:
    _, out, ids, first = story
    assert files_below(out / "snapshots" / ids[0]) == first
    assert names(out) == {"latest.json", "snapshots", "increments"}
    assert {one.name for one in (out / "snapshots").iterdir()} == set(ids)
    assert json.loads((out / "latest.json").read_text())["snapshot"] == ids[2]
    assert verify(out) == []


def test_the_command_says_what_it_made_and_that_the_second_time_is_nothing(sample_home: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    code, text, _ = kix("export", out, "--json", home=sample_home)
    done = json.loads(text)
    assert (code, done["new"], done["rows"]["runs"]) == (0, True, sum(warehouse_rows(sample_home, "runs").values()))
    assert Path(done["path"]) == tmp_path / "out" / "snapshots" / done["snapshot"]
    before = files_below(tmp_path / "out")
    code, text, _ = kix("export", out, home=sample_home)
    assert code == 0
    assert "nothing new" in text
    assert "SYNTHETIC" in text
    assert files_below(tmp_path / "out") == before
    code, text, _ = kix("export", out, "--family", FAMILY, "--json", home=sample_home)
    pointers = [json.loads((tmp_path / "out" / name).read_text()) for name in ("latest.json", f"latest-{FAMILY}.json")]
    assert [one["snapshot"] for one in pointers] == [done["snapshot"], json.loads(text)["snapshot"]]
    code, text, _ = kix("snapshots", out, home=sample_home)
    assert (code, len(text.splitlines())) == (0, 2)
    assert kix("snapshots", out, "verify", home=sample_home)[:2] == (0, "all is as it was written\n")


def test_wrong_wishes_are_said_in_words_and_leave_nothing(sample_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _, words = kix("export", str(out), "--family", "nobody's", home=sample_home)
    assert code == 1
    assert FAMILY in words
    assert not out.exists()
    code, _, words = kix("export", str(out), home=tmp_path / "nowhere")
    assert code == 1
    assert "kix sync" in words
    assert not out.exists()
    code, _, words = kix("export", str(out), "--since", "../../etc", home=sample_home)
    assert code == 1
    assert "no snapshot" in words
    assert not out.exists()
    (tmp_path / "file").write_text("mine")
    code, _, words = kix("export", str(tmp_path / "file"), home=sample_home)
    assert code == 1
    assert "is a file" in words
    code, _, words = kix("export", "/proc/no/such", home=sample_home)
    assert code == 1
    assert "the export failed" in words
    assert kix("snapshots", str(tmp_path), home=sample_home)[0] == 1
    assert kix("snapshots", str(tmp_path), "prune", home=sample_home)[0] == 2


def test_no_link_is_followed(sample_home: Path, tmp_path: Path) -> None:
    outside, out = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    out.mkdir()
    (out / "snapshots").symlink_to(outside)
    with pytest.raises(WarehouseError, match="symbolic link"):
        exported(sample_home, out)
    assert list(outside.iterdir()) == []
    (out / "snapshots").unlink()
    (outside / "mine.json").write_text("mine")
    (out / ".writing-latest.json").symlink_to(outside / "mine.json")
    exported(sample_home, out)
    assert (outside / "mine.json").read_text() == "mine"
    assert verify(out) == []


def test_a_full_disk_is_said_and_leaves_nothing(sample_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [*KIX, "export", str(out), "--home", str(sample_home)]

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # bytes: less than the runs take

    done = subprocess.run(command, preexec_fn=small, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "the export failed" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


# -- others at the same time


def test_two_exports_at_once_make_one_snapshot(sample_home: Path, tmp_path: Path) -> None:
    command = [*KIX, "export", str(tmp_path / "out"), "--home", str(sample_home), "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [json.loads(one.communicate(timeout=120)[0]) for one in both]
    assert sorted(one["new"] for one in said) == [False, True]
    assert len({one["snapshot"] for one in said}) == 1
    assert len(list((tmp_path / "out" / "snapshots").iterdir())) == 1
    assert verify(tmp_path / "out") == []


def test_what_a_living_export_writes_is_left_alone(sample_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / ".writing-theirs").mkdir(parents=True)
    with holding(out, "kix export", 1, name=LOCK):
        command = [*KIX, "export", str(out), "--home", str(sample_home)]
        environment = os.environ | {"KIX_LOCK_TIMEOUT_S": "0.2"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"process {os.getpid()}" in done.stderr
        assert (out / ".writing-theirs").exists()
        with pytest.raises(HomeBusy):
            _prune_now(out)
    assert exported(sample_home, out).new
    assert names(out) == {"latest.json", "snapshots"}


def _prune_now(out: Path) -> None:
    from flows import snapshots

    (out / "snapshots").mkdir(exist_ok=True)
    before, snapshots.WAIT_S = snapshots.WAIT_S, 0.1
    try:
        prune(out, keep=1)
    finally:
        snapshots.WAIT_S = before


def test_an_export_during_syncs_is_of_one_state(tmp_path: Path) -> None:
    with synced(tmp_path) as (home, board):
        stop = threading.Event()

        def go_on() -> None:
            for number in range(100):
                improve(board, home, 0.0412 - number * 1e-5)
                if stop.is_set():
                    return

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            done = [_export_in_a_process(home, tmp_path / "out")]
        finally:
            stop.set()
            thread.join()
    for one in done:
        path = Path(one["path"])
        runs, figures = snapshot_rows(path, "runs"), snapshot_rows(path, "measurements")
        assert len({row[2] for row in runs}) == len({row[1] for row in figures}) == one["rows"]["runs"]
        assert {row[2] for row in runs} == {row[3] for row in snapshot_rows(path, "submission_runs")}
        last = manifest_of(path)["last_sync"]
        assert max(row[20] for row in runs) <= last == max(row[0] for row in snapshot_rows(path, "syncs"))
    assert verify(tmp_path / "out") == []


def _export_in_a_process(home: Path, out: Path) -> dict[str, Any]:
    command = [*KIX, "export", str(out), "--home", str(home), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("files", [1, 38])
def test_a_killed_export_is_invisible_and_cleared_away(files: int, sample_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with subprocess.Popen([*KIX, "export", str(out), "--home", str(sample_home)], stdout=subprocess.DEVNULL) as export:
        while export.poll() is None and len(list(out.glob(".writing-*/**/*.*"))) < files:
            time.sleep(0.002)
        export.send_signal(signal.SIGKILL)
    assert not (out / "latest.json").exists()
    assert listed(out) == []
    assert any(one.name.startswith(".writing-") for one in out.iterdir())
    assert exported(sample_home, out).new
    assert names(out) == {"latest.json", "snapshots"}
    assert len(listed(out)) == 1
    assert verify(out) == []


def test_a_snapshot_that_a_kill_left_unnamed_is_named_by_the_next_export(sample_home: Path, tmp_path: Path) -> None:
    first = exported(sample_home, tmp_path)
    (tmp_path / "latest.json").unlink()
    again = exported(sample_home, tmp_path)
    assert (again.snapshot, again.new) == (first.snapshot, True)
    assert [one.pointers for one in listed(tmp_path)] == [("latest.json",)]


# -- increments


def applied(base: Path, increment: Path, into: Path) -> None:
    """Apply an increment with DuckDB, as its manifest says."""
    with duckdb.connect() as db:
        for table in manifest_of(increment)["tables"]:
            name = table["name"]
            old, new = (f"FROM read_parquet('{one}/{name}/**/*.parquet', hive_partitioning=false)"
                        for one in (base, increment))  # fmt: skip
            query = {"append": f"({old}) UNION ALL BY NAME ({new})", "replace": new, "same": old}[table["mode"]]
            (into / name).mkdir(parents=True)
            db.execute(f"COPY ({query}) TO '{into / name / 'part-0.parquet'}' (FORMAT parquet)")


@pytest.mark.parametrize("chain", [(0, 1), (1, 2), (0, 2), (0, 1, 2)], ids=str)
def test_increments_applied_to_the_older_snapshot_give_the_newer_one(
    chain: tuple[int, ...], story: Any, tmp_path: Path
) -> None:
    _, out, ids, _ = story
    state = out / "snapshots" / ids[chain[0]]
    for older, newer in pairwise(chain):
        applied(state, out / "increments" / f"{ids[older]}_to_{ids[newer]}", tmp_path / str(newer))
        state = tmp_path / str(newer)
    newest = out / "snapshots" / ids[chain[-1]]
    for table in manifest_of(newest)["tables"]:
        assert snapshot_rows(state, table["name"]) == snapshot_rows(newest, table["name"]), table["name"]


def test_an_increment_has_only_new_rows_of_what_only_grows(story: Any) -> None:
    home, out, ids, _ = story
    increment = out / "increments" / f"{ids[0]}_to_{ids[1]}"
    modes = {one["name"]: one["mode"] for one in manifest_of(increment)["tables"]}
    for table in ("runs", "measurements", "source_metrics", "submission_runs", "lifecycle", "fetches", "listings"):
        assert modes[table] == "append", table
    assert modes["workloads"] == modes["protocols"] == "same"
    assert snapshot_rows(increment, "runs") == warehouse_rows(home, "runs", "first_seen_sync = 2")
    assert manifest_of(increment)["since"] == ids[0]


def test_nothing_new_since_the_current_snapshot(story: Any) -> None:
    home, out, ids, _ = story
    done = exported(home, out, since=ids[2])
    assert (done.new, done.increment) == (False, None)
    with pytest.raises(WarehouseError, match="name one of the same"):
        exported(home, out, since=ids[2], family=FAMILY)


# -- verify and prune


def spoil_byte(path: Path, _: Path) -> str:
    file = next((path / "runs").rglob("*.parquet"))
    file.chmod(0o644)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    return "its bytes are not those that were written"


def lose_file(path: Path, _: Path) -> str:
    (path / "operations" / "part-0.parquet").unlink()
    return "operations/part-0.parquet is missing"


def add_file(path: Path, _: Path) -> str:
    (path / "runs" / "part-1.parquet").write_bytes(b"")
    return "runs/part-1.parquet is not in the manifest"


def point_nowhere(path: Path, out: Path) -> str:
    said = {"snapshot": "20200101T000000Z-000000000000", "manifest_sha256": "0" * 64}
    (out / "latest.json").write_text(json.dumps(said))
    return "names 20200101T000000Z-000000000000, which is not there"


def change_manifest(path: Path, _: Path) -> str:
    file = path / "manifest.json"
    file.chmod(0o644)
    file.write_text(file.read_text().replace("0.1.0", "9.9.9"))
    return "is not the one that it names"


def change_rows_everywhere(path: Path, _: Path) -> str:
    """Rows and every SHA-256 made up; the content digest is found out from the rows."""
    file = path / "lifecycle" / "part-0.parquet"
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE rows AS FROM '{file}'")
        db.execute("INSERT INTO rows VALUES ('x', 'retracted', '', now(), 1, NULL)")
        file.unlink()
        db.execute(f"COPY rows TO '{file}' (FORMAT parquet)")
    import hashlib

    manifest = manifest_of(path)
    for one in manifest["files"]:
        if one["table"] == "lifecycle":
            data = file.read_bytes()
            one |= {"rows": one["rows"] + 1, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (path / "manifest.json").chmod(0o644)
    (path / "manifest.json").write_text(json.dumps(manifest))
    return "its content is sha256:"


@pytest.mark.parametrize(
    "spoil", [spoil_byte, lose_file, add_file, point_nowhere, change_manifest, change_rows_everywhere]
)
def test_verify_names_what_is_wrong(spoil: Any, sample_home: Path, tmp_path: Path) -> None:
    done = exported(sample_home, tmp_path)
    wanted = spoil(done.path, tmp_path)
    assert any(wanted in problem for problem in verify(tmp_path)), verify(tmp_path)
    code, text, _ = kix("snapshots", str(tmp_path), "verify", "--json", home=sample_home)
    assert (code, json.loads(text)["holds"]) == (1, False)


def test_prune_keeps_what_the_policy_the_pointers_and_the_newest_ask_for(sample_home: Path, tmp_path: Path) -> None:
    from warehouse import snapshot_folder

    newest = exported(sample_home, tmp_path, now=at("2026-03-05T00:00:00")).snapshot
    family = exported(sample_home, tmp_path, family=FAMILY, now=at("2026-01-01T00:00:00")).snapshot
    suffix = newest.partition("-")[2]
    older = [f"202603{day:02}T000000Z-{suffix}" for day in (1, 2, 3, 4)]
    for one in older:
        folder = tmp_path / "snapshots" / one
        folder.mkdir()
        manifest = manifest_of(tmp_path / "snapshots" / newest) | {"snapshot": one}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    now = at("2026-03-05T12:00:00")
    with pytest.raises(ValueError, match="what to keep"):
        prune(tmp_path)
    assert prune(tmp_path, keep=4, now=now) == older[:1]
    assert prune(tmp_path, keep_days=3, now=now) == older[1:2]
    snapshot_folder.point(tmp_path, None, older[2])
    assert prune(tmp_path, keep=1, now=lambda: now() + timedelta(days=900)) == older[3:]
    assert [one.snapshot for one in listed(tmp_path)] == [family, older[2], newest]
    assert names(tmp_path) == {"latest.json", f"latest-{FAMILY}.json", "snapshots"}


def test_an_older_snapshots_increment_goes_with_it(tmp_path: Path) -> None:
    with synced(tmp_path) as (home, board):
        out = tmp_path / "out"
        first = exported(home, out, now=at("2026-01-01T00:00:00")).snapshot
        improve(board, home, 0.0412)
        second = exported(home, out, since=first, now=at("2026-01-02T00:00:00")).snapshot
        run_sync(home, board.base_url)
        improve(board, home, 0.0402)
        third = exported(home, out, since=second, now=at("2026-01-03T00:00:00")).snapshot
    assert prune(out, keep=1) == [first, second]
    assert [one.name for one in (out / "increments").iterdir()] == [f"{second}_to_{third}"]
    assert verify(out) == []
