"""Maintenance: unused space is given back, old snapshots go, what was fetched stays."""

from __future__ import annotations

import shutil
import sqlite3
from collections import namedtuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import run_sync

from flows.cli import main
from flows.export import export
from flows.lock import HomeBusy, holding
from flows.maintenance import maintain
from flows.people import write_note
from flows.settings import Settings
from scrapers.archive import Archive


@pytest.fixture
def home(tmp_path: Path) -> Path:
    assert run_sync(tmp_path, mode="sample").status == "complete"
    return tmp_path


def settings_of(home: Path, **changes: Any) -> Settings:
    return Settings(home=home, **{"lock_timeout_s": 0.1, **changes})


def leave_unused(home: Path) -> None:
    with sqlite3.connect(home / "archive.sqlite") as db:
        db.execute("CREATE TABLE gone AS SELECT randomblob(2000000) AS blob")
        db.commit()
        db.execute("DROP TABLE gone")
    db.close()


def rows(home: Path) -> dict[str, list[Any]]:
    with sqlite3.connect(home / "archive.sqlite") as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
        found = {name: db.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables}
    db.close()
    return found


def test_unused_space_is_given_back_and_nothing_else_changes(home: Path) -> None:
    leave_unused(home)
    before = rows(home)
    done = maintain(settings_of(home))
    assert done.archive_before > 2_000_000 > done.archive_after == (home / "archive.sqlite").stat().st_size
    assert "compacted from" in done.sentence()
    assert rows(home) == before
    with Archive(home / "archive.sqlite", read_only=True) as archive:
        assert all(archive.body(digest) for digest in archive.bodies())
    assert run_sync(home, mode="sample").status == "complete"


def test_an_archive_without_unused_space_is_left_as_it_is(home: Path) -> None:
    inode = (home / "archive.sqlite").stat().st_size
    done = maintain(settings_of(home))
    assert (done.archive_before, done.archive_after) == (inode, inode)
    assert "left as it is" in done.sentence()


def test_without_room_nothing_is_compacted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_unused(home)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10, 9, 1_000_000))
    done = maintain(settings_of(home))
    assert done.archive_after == done.archive_before > 2_000_000
    assert "1 MB free" in done.sentence()


def test_it_never_works_beside_a_sync(home: Path) -> None:
    with holding(home, "kix sync sol-execbench", 1), pytest.raises(HomeBusy, match="kix sync sol-execbench"):
        maintain(settings_of(home))


def test_old_snapshots_go_by_the_settings_alone(sample_home: Path, tmp_path: Path) -> None:
    own = shutil.copytree(sample_home, tmp_path / "own")
    folder = own / "export"
    first = export(settings_of(own), folder, now=lambda: datetime(2026, 11, 1, tzinfo=UTC)).snapshot
    write_note(settings_of(own), "sol-execbench:8193", "note", "seen again", "A. Reader")
    second = export(settings_of(own), folder, now=lambda: datetime(2026, 11, 2, tzinfo=UTC)).snapshot
    assert maintain(settings_of(own)).dropped == []
    assert maintain(settings_of(own, keep_snapshots=2)).dropped == []
    assert maintain(settings_of(own, keep_snapshots=1)).dropped == [first]
    assert [path.name for path in (folder / "snapshots").iterdir()] == [second]


def test_the_command_says_what_it_did(home: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["maintain", "--home", str(home), "--compact"])
    assert (done.exit_code, "was compacted" in done.output) == (0, True), done.output
    done = CliRunner().invoke(main, ["maintain", "--home", str(tmp_path / "new")])
    assert (done.exit_code, "there is no archive yet" in done.output) == (0, True)
