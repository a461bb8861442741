"""`kix rebuild`: the archive alone gives the same warehouse again, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from board_server import BoardServer
from conftest import run_sync
from told import Told, in_archive, kix, prints, process

from flows.lock import holding
from scrapers.archive import Archive
from scrapers.contract import Scope
from transforms.curated import curated
from warehouse.connection import WORKING, published_path

KEPT = {"ordered_rows", "schema_migrations", "view_definitions"}
"""How the file is kept, not what it says."""


def contents(home: Path) -> dict[str, Counter[str]]:
    """Every row of every table, and of the views that people ask."""
    with duckdb.connect(published_path(home), read_only=True) as db:
        tables = db.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall()
        names = {name for (name,) in tables} - KEPT | {"leaderboard", "records", "submissions", "eligibility"}
        return {name: Counter(map(repr, db.execute(f"FROM {name}").fetchall())) for name in sorted(names)}


def spoil(home: Path, data: bytes) -> None:
    path = published_path(home)
    path.unlink()
    path.write_bytes(data)


# -- the same again


def test_a_history_comes_out_the_same_row_for_row(home: Path) -> None:
    before = contents(home)
    assert all(before[table] for table in ("record_events", "standings", "lifecycle", "verdicts", "notes", "rejects"))
    code, out, _ = kix("rebuild", home=home)
    assert code == 0
    assert "7 syncs" not in out
    assert "6 syncs" in out  # of eight, one failed and one was interrupted
    assert "nothing is different" in out
    after = contents(home)
    for table, rows in before.items():
        assert after[table] == rows, table
    assert after.keys() == before.keys()
    assert oct(published_path(home).stat().st_mode)[-3:] == "444"
    assert [path.name for path in home.iterdir() if "working" in path.name] == []


def test_after_a_rebuild_a_sync_goes_on(home: Path, board_folder: Path) -> None:
    published_path(home).unlink()
    code, out, _ = kix("rebuild", "--json", home=home)
    assert (code, json.loads(out)["syncs"]) == (0, 6)
    assert json.loads(out)["changed"] == ["there was no warehouse before"]
    with BoardServer(board_folder) as board:  # the board as it was at first
        assert run_sync(home, board.base_url).status == "complete"
    code, out, words = kix("verify", home=home)
    assert code == 0, (out, words)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "text": lambda _: b"not a database" * 1000,
    "nothing": lambda _: b"",
    "cut": lambda data: data[: len(data) // 3],
    "zeros": lambda data: bytes(len(data)),
    "zeros behind the header": lambda data: data[:12_288] + bytes(len(data) - 12_288),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_warehouse_is_made_anew(damage: Callable[[bytes], bytes], short: Path, told: Told) -> None:
    spoil(short, damage(published_path(short).read_bytes()))
    code, out, words = kix("rebuild", home=short)
    assert (code, words) == (0, "")
    assert "could not be compared" in out
    assert "\n" not in out.partition("could not be compared")[2].strip()
    assert contents(short) == contents(told.short)


def test_one_damaged_block_is_no_reason_not_to_say_so(short: Path, told: Told) -> None:
    """The file opens, and only reading one of its tables fails."""
    data = bytearray(published_path(short).read_bytes())
    for start in range(12_288 + 2 * 262_144, len(data), 262_144):
        data[start + 50] ^= 1
    spoil(short, bytes(data))
    code, out, _ = kix("rebuild", home=short)
    assert code == 0
    assert "could not be compared" in out or "nothing is different" not in out
    assert contents(short) == contents(told.short)


def test_what_was_changed_in_the_warehouse_is_told_and_mended(short: Path, told: Told) -> None:
    path = published_path(short)
    path.chmod(0o644)
    with duckdb.connect(path) as db:
        db.execute("DELETE FROM rejects")
        db.execute("DELETE FROM measurements WHERE rowid = 0")
        db.execute("UPDATE runs SET kernel = 'another' WHERE rowid = 1")
    code, out, _ = kix("rebuild", home=short)
    assert code == 0
    assert "measurements: 1 row new: " in out
    assert "runs: 1 row gone (differs in kernel): " in out
    assert contents(short) == contents(told.short)


def test_a_warehouse_of_an_earlier_schema_is_brought_up_to_date(short: Path, told: Told) -> None:
    path = published_path(short)
    path.chmod(0o644)
    with duckdb.connect(path) as db:
        db.execute("DROP TABLE notes")
        db.execute("ALTER TABLE runs DROP COLUMN primary_high")
        db.execute("DELETE FROM schema_migrations WHERE number > 1")
    code, out, _ = kix("rebuild", home=short)
    assert code == 0
    assert "notes: new" in out
    assert "runs" not in out  # what both have is the same
    assert contents(short) == contents(told.short)


def test_a_sync_killed_after_publishing_is_not_lost(short: Path, told: Told) -> None:
    in_archive(short, "UPDATE syncs SET status = 'running', finished_at = NULL, report = NULL")
    code, out, _ = kix("rebuild", home=short)
    assert code == 0
    assert "nothing is different" in out
    assert contents(short) == contents(told.short)


# -- whole or not at all


def test_a_kill_at_any_moment_leaves_the_old_file(home: Path) -> None:
    before = published_path(home).read_bytes()
    for wait_s in (0, 0.3):
        (home / WORKING).unlink(missing_ok=True)
        with process("rebuild", home=home) as rebuilding:
            deadline = time.monotonic() + 60
            while not (home / WORKING).exists() and rebuilding.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(wait_s)
            rebuilding.send_signal(signal.SIGKILL)
            rebuilding.communicate()
        assert rebuilding.returncode == -signal.SIGKILL  # it was still at work
        assert published_path(home).read_bytes() == before
    assert (home / WORKING).exists()
    code, out, _ = kix("rebuild", home=home)
    assert (code, "nothing is different" in out) == (0, True)
    assert [path.name for path in home.iterdir() if "working" in path.name] == []


def fails_and_changes_nothing(home: Path) -> str:
    before = prints(home).get(published_path(home).name)
    code, out, words = kix("rebuild", home=home)
    assert (code, out) == (1, "")
    assert "the warehouse is as it was" in words
    assert prints(home).get(published_path(home).name) == before
    assert [path.name for path in home.iterdir() if "working" in path.name] == []
    return words


def test_a_home_in_use_says_by_whom(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIX_LOCK_TIMEOUT_S", "0.2")
    with holding(short, "kix sync elsewhere", 1):
        words = fails_and_changes_nothing(short)
    assert "`kix sync elsewhere`" in words
    assert f"process {os.getpid()}" in words


def test_without_an_archive_there_is_nothing_to_build_from(short: Path) -> None:
    for path in short.glob("archive.sqlite*"):
        path.unlink()
    assert "no archive" in fails_and_changes_nothing(short)
    assert not (short / "archive.sqlite").exists()


def test_an_empty_archive_gives_no_empty_warehouse(short: Path) -> None:
    for path in short.glob("archive.sqlite*"):
        path.unlink()
    with Archive(short / "archive.sqlite") as archive:
        assert "no sync that ended well" in fails_and_changes_nothing(short)
        record = archive.open_sync("sol-execbench", "https://x.example", Scope(), "normal", datetime.now(UTC), "1")
        archive.close_sync(record.sync_id, "failed", datetime.now(UTC), {})
    assert "no sync that ended well" in fails_and_changes_nothing(short)


def test_an_archive_of_a_kix_that_kept_no_readings_is_told(short: Path) -> None:
    with closing(sqlite3.connect(short / "archive.sqlite")) as db:
        for statement in ("DROP TABLE readings", "DROP TABLE verdicts", "DROP TABLE notes", "PRAGMA user_version = 1"):
            db.execute(statement)
    words = fails_and_changes_nothing(short)
    assert "sync 1" in words
    assert "an older kix" in words


def test_a_damaged_body_is_named(short: Path) -> None:
    with closing(sqlite3.connect(short / "archive.sqlite")) as db:
        ((digest,),) = db.execute("SELECT body_digest FROM fetches WHERE url LIKE '%/kernels/3'").fetchall()
    in_archive(short, "UPDATE bodies SET zstd = x'28b52ffd' WHERE body_digest = ?", digest)
    assert digest in fails_and_changes_nothing(short)


def test_a_source_that_this_kix_does_not_know_is_named(short: Path) -> None:
    in_archive(short, "UPDATE syncs SET source = 'elsewhere'")
    words = fails_and_changes_nothing(short)
    assert "elsewhere" in words


@pytest.mark.skipif(not shutil.which("bash"), reason="needs ulimit")
def test_a_full_disk_is_told(short: Path) -> None:
    """No file may grow beyond a limit, as on a full disk."""
    before = prints(short)
    with process("rebuild", home=short, limits=("bash", "-c", 'ulimit -f 600; exec "$@"', "-")) as rebuilding:
        _, words = rebuilding.communicate(timeout=60)
    assert rebuilding.returncode == 1
    assert "Traceback" not in words
    assert "the warehouse is as it was" in words
    assert prints(short) == before


# -- a better mapping


def test_an_improved_mapping_shows_after_a_rebuild(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(curated("gpus")["B200"], "product", "Better Name")
    code, out, _ = kix("verify", home=short)
    assert code == 1
    assert "environments: " in out
    assert "`kix rebuild`" in out
    code, out, _ = kix("rebuild", home=short)
    assert code == 0
    assert "environments: " in out
    assert "Better Name" in out
    assert kix("verify", home=short)[0] == 0
    with duckdb.connect(published_path(short), read_only=True) as db:
        assert ("Better Name",) in db.execute("SELECT DISTINCT product FROM leaderboard").fetchall()
