"""Symbolic links in a home, in a folder of snapshots, and where an answer is to go: nothing is written through one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from flows import lock, prefect_server
from flows.cli import main
from flows.lock import holding
from flows.maintenance import export_folder
from flows.mapping import STAGED, Mapper
from flows.registry import SOURCES
from flows.settings import Settings
from scrapers.archive import Archive
from scrapers.errors import SyncFailed
from warehouse import snapshot_folder as shelf
from warehouse.connection import WarehouseError, Working, published_path, reading
from warehouse.increments import increment_path, write_increment

VICTIM = "what somebody else keeps here"
Outside = Callable[[], dict[str, str]]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that is none of kix's business, with a file and a folder in it."""
    folder = tmp_path / "outside"
    (folder / "folder").mkdir(parents=True)
    (folder / "file").write_text(VICTIM, encoding="utf-8")
    (folder / "folder" / "kept").write_text(VICTIM, encoding="utf-8")
    return folder


@pytest.fixture
def home(sample_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_home, tmp_path / "home"))


def untouched(outside: Path) -> bool:
    there = {str(path.relative_to(outside)): path for path in outside.rglob("*")}
    files = [path for path in there.values() if path.is_file()]
    return set(there) == {"file", "folder", "folder/kept"} and all(path.read_text() == VICTIM for path in files)


def put_link(path: Path, target: Path) -> None:
    if path.exists():
        path.unlink()
    path.symlink_to(target)


def kix(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments])


TARGETS = pytest.mark.parametrize("target", ["file", "not there"])


# -- the home


@TARGETS
@pytest.mark.parametrize("name", ["archive.sqlite", "archive.sqlite-wal", "archive.sqlite-shm"])
def test_the_archive_is_not_opened_through_a_link(name: str, target: str, home: Path, outside: Path) -> None:
    put_link(home / name, outside / target)
    for read_only in (False, True):
        with pytest.raises(SyncFailed, match=rf"{name}: it is a symbolic link"):
            Archive(home / "archive.sqlite", read_only=read_only)
    assert untouched(outside)


@TARGETS
def test_the_lock_is_not_taken_through_a_link(target: str, home: Path, outside: Path) -> None:
    put_link(home / "sync.lock", outside / target)
    with pytest.raises(OSError, match="it is a symbolic link"), holding(home, "a test", 0):
        pass
    assert lock.owner(home) is None
    assert untouched(outside)


@TARGETS
@pytest.mark.parametrize("name", ["sync.lock.owner", f"sync.lock.owner.{os.getpid()}"], ids=["in place", "aside"])
def test_who_holds_the_lock_is_not_written_through_a_link(name: str, target: str, home: Path, outside: Path) -> None:
    put_link(home / name, outside / target)
    with holding(home, "a test", 0):
        assert lock.owner_text(home).startswith("`a test`")
        assert not (home / name).is_symlink()
    assert untouched(outside)


@TARGETS
@pytest.mark.parametrize("name", ["warehouse.working.duckdb", "warehouse.working.duckdb.wal"])
def test_the_working_copy_is_not_made_through_a_link(name: str, target: str, home: Path, outside: Path) -> None:
    put_link(home / name, outside / target)
    published = published_path(home).read_bytes()
    working = Working(home, "256MB")
    working.connection.execute("CREATE TABLE new AS SELECT 1")
    working.publish()
    assert published_path(home).read_bytes() != published
    assert not published_path(home).is_symlink()
    assert untouched(outside)


def test_what_outgrows_memory_is_not_spilled_through_a_link(home: Path, outside: Path) -> None:
    put_link(home / "warehouse.working.duckdb.tmp", outside / "folder")
    seen: set[str] = set()
    working = Working(home, "64MB")
    try:
        working.connection.execute("SET threads = 1")
        working.connection.execute(
            "CREATE TABLE big AS SELECT hash(range) AS h, repeat('x', 50) AS t FROM range(800000)"
        )
        working.connection.execute("CREATE TABLE sorted AS FROM big ORDER BY h")
        seen = {path.name for path in (home / "warehouse.working.duckdb.tmp").glob("*")}
    finally:
        working.discard()
    assert untouched(outside)
    assert not (home / "warehouse.working.duckdb.tmp").is_symlink(), seen


@TARGETS
def test_rows_on_their_way_in_are_not_written_through_a_link(target: str, home: Path, outside: Path) -> None:
    put_link(home / STAGED, outside / target)
    with (
        Archive(home / "archive.sqlite") as archive,
        Mapper(SOURCES["sol-execbench"], archive, home / STAGED) as mapper,
    ):
        mapper.staging.complete()
        assert list(mapper.staging.folder.glob("runs/*.parquet"))
    assert not (home / STAGED).exists()
    assert untouched(outside)


@TARGETS
def test_publishing_replaces_a_link(target: str, home: Path, outside: Path) -> None:
    working = Working(home, "256MB")
    put_link(published_path(home), outside / target)
    working.publish()
    assert not published_path(home).is_symlink()
    assert untouched(outside)
    with reading(home) as db:
        assert db.execute("SELECT count(*) > 0 FROM runs").fetchall() == [(True,)]


@TARGETS
def test_a_sync_of_a_home_with_links_ends_in_words(target: str, home: Path, outside: Path) -> None:
    put_link(home / "archive.sqlite", outside / target)
    done = kix("sync", "sol-execbench", "--offline", "--home", home)
    assert done.exit_code == 1
    assert "archive.sqlite: it is a symbolic link" in done.stderr
    put_link(home / "sync.lock", outside / target)
    done = kix("sync", "sol-execbench", "--offline", "--home", home)
    assert done.exit_code == 1
    assert "it is a symbolic link" in done.stderr
    assert "sync.lock" in done.stderr
    assert kix("maintain", "--home", home).exit_code == 1
    assert kix("status", "--home", home).exit_code == 0
    assert untouched(outside)


@pytest.mark.parametrize("target", ["folder", "not there"])
def test_no_folder_of_the_home_is_a_link(target: str, tmp_path: Path, outside: Path) -> None:
    home = tmp_path / "fresh"
    home.mkdir()
    for name in ("sample", "prefect", "export"):
        put_link(home / name, outside / target)
    done = kix("sync", "--sample", "--home", home)
    assert done.exit_code == 1
    assert "it is a symbolic link" in done.stderr
    done = kix("serve", "--home", home)
    assert done.exit_code == 1
    assert "it is a symbolic link" in done.stderr
    with pytest.raises(OSError, match="it is a symbolic link"), prefect_server.own_server(home, None):
        pass
    with pytest.raises(WarehouseError, match="export is a symbolic link"):
        export_folder(Settings(home=home))
    assert untouched(outside)


# -- snapshots


@pytest.mark.parametrize("target", ["file", "folder", "not there"])
@pytest.mark.parametrize("name", ["snapshots", "latest.json", ".export.lock"])
def test_an_export_refuses_a_link_in_words(name: str, target: str, home: Path, outside: Path, tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    folder.mkdir()
    (folder / name).symlink_to(outside / target)
    done = kix("export", folder, "--home", home)
    assert done.exit_code == 1
    assert name in done.stderr
    assert "symbolic link" in done.stderr or "levels of symbolic links" in done.stderr
    assert list(folder.glob("snapshots/2*")) == []
    assert untouched(outside)


def test_an_export_replaces_links_where_it_writes_for_itself(home: Path, outside: Path, tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    folder.mkdir()
    for name, target in {
        ".export.lock.owner": "file", f".export.lock.owner.{os.getpid()}": "file", ".writing-latest.json": "file",
        ".writing-spill": "folder", ".writing-other": "not there",
    }.items():  # fmt: skip
        (folder / name).symlink_to(outside / target)
    assert kix("export", folder, "--home", home).exit_code == 0
    assert kix("snapshots", folder, "verify").exit_code == 0
    assert [path for path in folder.rglob("*") if path.is_symlink()] == []
    assert untouched(outside)


def test_a_pointer_is_not_written_through_a_link_that_appears_meanwhile(tmp_path: Path, outside: Path) -> None:
    folder, snapshot = tmp_path / "snapshots", "20261130T000000Z-0123456789ab"
    (folder / "snapshots" / snapshot).mkdir(parents=True)
    (folder / "snapshots" / snapshot / "manifest.json").write_text("{}", encoding="utf-8")
    (folder / ".writing-latest.json").symlink_to(outside / "file")
    with pytest.raises(FileExistsError):
        shelf.point(folder, None, snapshot)
    assert untouched(outside)


@pytest.mark.parametrize("whole", [True, False])
def test_no_increment_is_written_through_a_link(whole: bool, outside: Path, tmp_path: Path) -> None:
    since, snapshot = "20261129T000000Z-0123456789ab", "20261130T000000Z-0123456789ab"
    link = tmp_path / "increments" if whole else increment_path(tmp_path, since, snapshot)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside / "folder")
    with duckdb.connect() as db, pytest.raises(WarehouseError, match=f"{link.name} is a symbolic link"):
        write_increment(db, tmp_path, since, snapshot)
    assert untouched(outside)


def test_a_pruned_link_goes_and_what_it_leads_to_stays(home: Path, outside: Path, tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    assert kix("export", folder, "--home", home).exit_code == 0
    stale = folder / "snapshots" / "20200101T000000Z-0123456789ab"
    stale.symlink_to(outside / "folder")
    assert kix("snapshots", folder, "prune", "--keep", "1").exit_code == 0
    assert untouched(outside)
    assert "is no snapshot of kix" in kix("snapshots", folder, "verify").stdout


# -- where an answer is to go


def written_to(home: Path, path: Path) -> dict[str, list[str | Path]]:
    if not (home.parent / "of sample" / "sample").exists():
        shutil.copytree(home, home.parent / "of sample" / "sample")
    return {
        "sql": ["sql", "SELECT 1 AS a", "--format", "csv", "--output", path, "--home", home],
        "report": ["sync", "--sample", "--report", path, "--home", home.parent / "of sample"],
        "metrics": ["status", "--check", "--prometheus", path, "--home", home],
    }


@TARGETS
@pytest.mark.parametrize("command", ["sql", "report", "metrics"])
def test_no_answer_is_written_through_a_link(command: str, target: str, home: Path, outside: Path) -> None:
    path = outside.parent / "answer"
    path.symlink_to(outside / target)
    done = kix(*written_to(home, path)[command])
    assert "symbolic link" in done.stderr
    assert untouched(outside)
    assert path.is_symlink()


@pytest.mark.parametrize("command", ["sql", "report", "metrics"])
def test_no_answer_is_written_through_a_link_in_the_place_of_its_beginning(
    command: str, home: Path, outside: Path
) -> None:
    path = outside.parent / "answer"
    part = path.with_name(f"answer.{os.getpid()}.part")
    part.symlink_to(outside / "file")
    kix(*written_to(home, path)[command])
    assert path.is_file()
    assert not os.path.lexists(part)
    assert untouched(outside)


def test_standard_output_and_devices_can_still_be_named(home: Path) -> None:
    arguments = written_to(home, Path("/dev/null"))["sql"]
    assert kix(*arguments).exit_code == 0
    arguments = [str(one) for one in written_to(home, Path("/dev/stdout"))["sql"]]
    done = subprocess.run([sys.executable, "-m", "flows.cli", *arguments], capture_output=True, check=True)
    assert done.stdout == b"a\n1\n"
