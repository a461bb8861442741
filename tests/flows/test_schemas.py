"""An older and a newer kix on one home: the older refuses with the way out, the newer first keeps the old file."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from board_server import BoardServer
from conftest import TESTS, run_sync
from kills import next_sync
from told import kix, writing

from flows.maintenance import maintain
from flows.settings import Settings
from scrapers.archive import SCHEMA_VERSION, Archive
from scrapers.errors import SyncFailed
from warehouse.connection import WAREHOUSE, Working, published_path
from warehouse.migrations import sql_files

NEWEST = max(int(name[:4]) for name, _ in sql_files("migrations"))
SCHEMA_1 = (TESTS / "fixtures" / "archive-schema-1.sql").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def board(board_folder: Path) -> Iterator[BoardServer]:
    with BoardServer(board_folder) as served:
        yield served


@pytest.fixture(scope="module")
def synced(board: BoardServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("synced") / "home"
    assert next_sync(home, board.base_url) is None
    return home


@pytest.fixture
def current(synced: Path, tmp_path: Path) -> Path:
    return shutil.copytree(synced, tmp_path / "home")


def made_by_the_first_kix(path: Path) -> bytes:
    """A published warehouse as the first migration alone makes it. Returns its bytes."""
    name, text = sql_files("migrations")[0]
    path.unlink(missing_ok=True)
    with duckdb.connect(path) as db:
        db.execute(text)
        db.execute("INSERT INTO schema_migrations VALUES (1, ?, now())", [name])
    path.chmod(0o444)
    return path.read_bytes()


def schema(path: Path) -> int:
    with duckdb.connect(path, read_only=True) as db:
        return db.execute("SELECT max(number) FROM schema_migrations").fetchall()[0][0]


# -- a newer kix on an older home


def test_an_older_warehouse_is_kept_before_it_is_brought_up_to_date(board: BoardServer, tmp_path: Path) -> None:
    before = made_by_the_first_kix(published_path(tmp_path))
    kept = tmp_path / f"{WAREHOUSE}.schema-1.bak"
    code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path)
    assert code == 0, words
    assert f"to another schema: {kept}" in words
    assert kept.read_bytes() == before
    assert (schema(published_path(tmp_path)), schema(kept)) == (NEWEST, 1)
    assert kix("verify", home=tmp_path)[0] == 0
    assert run_sync(tmp_path, board.base_url).kept == []  # once


def test_a_dry_run_brings_nothing_up_to_date(board: BoardServer, tmp_path: Path) -> None:
    before = made_by_the_first_kix(published_path(tmp_path))
    assert run_sync(tmp_path, board.base_url, dry_run=True).status == "complete"
    assert published_path(tmp_path).read_bytes() == before
    assert list(tmp_path.glob("*.bak")) == []


def test_a_kill_between_keeping_and_replacing_leaves_no_second_copy(board: BoardServer, tmp_path: Path) -> None:
    before = made_by_the_first_kix(published_path(tmp_path))
    kept = tmp_path / f"{WAREHOUSE}.schema-1.bak"
    kept.hardlink_to(published_path(tmp_path))
    kept.with_name(kept.name + ".part").write_bytes(b"half")
    assert run_sync(tmp_path, board.base_url).kept == [str(kept)]
    assert kept.read_bytes() == before
    assert list(tmp_path.glob("*.part")) == []


def test_where_there_are_no_links_the_older_warehouse_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = made_by_the_first_kix(published_path(tmp_path))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    working = Working(tmp_path, "1GB")
    working.connection.execute("INSERT INTO schema_migrations VALUES (2, 'later', now())")
    working.publish()
    assert working.backup is not None
    assert working.backup.read_bytes() == before
    assert not working.backup.samefile(published_path(tmp_path))


def first_archive(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """An archive as the first kix made it, with a sync. Returns its rows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(SCHEMA_1)
        moment = "2026-01-01T00:00:00+00:00"
        db.execute(
            "INSERT INTO syncs VALUES (1, 'sol-execbench', 'https://a.example', '{}', ?, ?, 'failed', '0', '{}')",
            (moment, moment),
        )
    return archive_rows(path)


def archive_rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as db:
        ((version,),) = db.execute("PRAGMA user_version").fetchall()
        tables = ("bodies", "syncs", "fetches")
        return {"version": [(version,)]} | {one: db.execute(f"SELECT * FROM {one}").fetchall() for one in tables}


def test_an_older_archive_is_copied_before_it_is_brought_up_to_date(board: BoardServer, tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    before = first_archive(path)
    kept = tmp_path / "archive.sqlite.schema-1.bak"
    kept.with_name(kept.name + ".part").write_bytes(b"half a copy of a process that was killed")
    code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path)
    assert code == 0, words
    assert str(kept) in words
    assert archive_rows(kept) == before
    assert before["version"] == [(1,)]
    assert archive_rows(path)["version"] == [(SCHEMA_VERSION,)]
    assert list(tmp_path.glob("*.part")) == []
    with Archive(kept, read_only=True) as copy:
        assert copy.damage() == []


def test_without_room_for_the_copy_an_older_archive_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    before = first_archive(path)
    (tmp_path / "archive.sqlite.schema-1.bak.part").mkdir()  # where the copy would go
    with pytest.raises(SyncFailed, match="only after a backup"):
        Archive(path)
    assert archive_rows(path) == before


def test_backups_go_after_a_month(board: BoardServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_by_the_first_kix(published_path(tmp_path))
    (kept,) = run_sync(tmp_path, board.base_url).kept
    begun = Path(kept).stat().st_ctime
    for days, there in ((29, True), (31, False)):
        monkeypatch.setattr("time.time", lambda days=days: begun + days * 86400)
        words = maintain(Settings(home=tmp_path)).sentence()
        assert (Path(kept).exists(), Path(kept).name not in words) == (there, there)
    assert published_path(tmp_path).exists()


# -- an older kix on a newer home


def newer_warehouse(home: Path) -> None:
    with writing(home) as db:
        db.execute("INSERT INTO schema_migrations VALUES (?, 'later', now())", [NEWEST + 1])


@pytest.mark.parametrize("command", ["sync", "board", "verify"])
def test_a_newer_warehouse_is_refused_with_the_way_out(command: str, current: Path, board: BoardServer) -> None:
    newer_warehouse(current)
    before, asked = published_path(current).read_bytes(), len(board.requests)
    arguments = {"sync": ("sol-execbench", "--base-url", board.base_url), "board": ("softmax",)}
    code, out, words = kix(command, *arguments.get(command, ()), home=current)
    assert code == 1
    assert f"schema {NEWEST + 1}" in out + words
    assert "kix rebuild" in out + words
    assert published_path(current).read_bytes() == before
    assert len(board.requests) == asked  # told before anything is read


def test_the_way_out_of_a_newer_warehouse_keeps_it(current: Path) -> None:
    newer_warehouse(current)
    before = published_path(current).read_bytes()
    code, out, _ = kix("rebuild", home=current)
    kept = current / f"{WAREHOUSE}.schema-{NEWEST + 1}.bak"
    assert (code, str(kept) in out) == (0, True), out
    assert kept.read_bytes() == before
    assert kix("verify", home=current)[0] == 0


@pytest.mark.parametrize("command", ["sync", "verify", "rebuild", "maintain"])
def test_a_newer_archive_is_refused_with_the_way_out(command: str, current: Path, board: BoardServer) -> None:
    with closing(sqlite3.connect(current / "archive.sqlite")) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = archive_rows(current / "archive.sqlite")
    arguments = ("sol-execbench", "--base-url", board.base_url) if command == "sync" else ()
    code, out, words = kix(command, *arguments, home=current)
    assert code == 1
    assert f"schema {SCHEMA_VERSION + 1}" in out + words
    assert "use the newer kix" in out + words
    assert archive_rows(current / "archive.sqlite") == before
