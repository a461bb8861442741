"""Mapping ahead in a second process: the same rows as without it, whatever becomes of that process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from board_server import BoardServer
from conftest import SAMPLE, SOURCE, run_sync

from flows import mapping
from flows.helper import Helper, begun_early
from flows.mapping import STAGED, Mapper
from flows.progress import silent
from scrapers.archive import Archive
from scrapers.contract import Findings, Part
from scrapers.errors import ArchiveDamaged
from warehouse.connection import published_path
from warehouse.staging import SHARED


@pytest.fixture(scope="module")
def read_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that has read the sample; its warehouse does not matter."""
    home = tmp_path_factory.mktemp("read")
    with BoardServer(SAMPLE) as board:
        run_sync(home, board.base_url)
    return home


@pytest.fixture
def archive(read_once: Path) -> Iterator[Archive]:
    with Archive(read_once / "archive.sqlite", read_only=True) as opened:
        yield opened


@pytest.fixture
def second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr(mapping, "CHUNK", 1)
    monkeypatch.setattr(mapping, "helper_if_possible", Helper)


Rows = dict[str, list[str]]
Before = Callable[[Mapper], None]


def staged(folder: Path) -> Rows:
    """The rows of each table in their order; of a shared object's, which each process stages, the first."""
    tables = {path.name: pl.read_parquet(path / "*.parquet").sort("place") for path in folder.iterdir()}
    for table in SHARED:
        tables[table] = tables[table].drop("place").unique(maintain_order=True)
    return {table: list(map(repr, frame.rows())) for table, frame in tables.items()}


def mapped(
    archive: Archive, folder: Path, *, begun: int = 0, before: Before = lambda mapper: None, early: Helper | None = None
) -> tuple[Rows, dict[int, Findings]]:
    """All parts of the archive's sync, their rows and what did not fit; once the second process has done some."""

    async def run(mapper: Mapper) -> tuple[Rows, dict[int, Findings]]:
        for number, part in enumerate(archive.reading(1).parts):
            mapper.ahead(number, part)
        await until_done(mapper, begun)
        before(mapper)
        found = await mapper.mapped(silent)
        mapper.staging.complete()
        return staged(mapper.staging.folder), found

    with Mapper(SOURCE, archive, folder / STAGED, early) as mapper:
        return asyncio.run(run(mapper))


async def until_done(mapper: Mapper, parts: int) -> None:
    """Wait until the second process has done this many: it begins with the first."""
    assert len(mapper._begun) >= parts
    async with asyncio.timeout(60):
        while not all(begun.done() for _, begun in mapper._begun[:parts]):
            await asyncio.sleep(0.01)


def kill(mapper: Mapper) -> None:
    mapper._helper._process.kill()
    mapper._helper._process.wait()


@pytest.fixture
def alone(archive: Archive, tmp_path: Path) -> tuple[Rows, dict[int, Findings]]:
    """What comes out without a second process."""
    rows, found = mapped(archive, tmp_path)
    assert len(rows["runs"]) > 200
    return rows, found


def test_the_second_process_gives_the_same_rows(archive: Archive, tmp_path: Path, alone, second_process) -> None:
    files = []

    def look(mapper: Mapper) -> None:
        assert mapper._helper.flush().result(30) is True
        files.extend(mapper.staging.folder.glob("runs/ahead-*"))

    assert mapped(archive, tmp_path, begun=3, before=look) == alone
    assert files
    assert not (tmp_path / STAGED).exists()


@pytest.mark.parametrize("begun", [1, 4])
def test_when_the_second_process_dies_all_is_done_here(
    archive: Archive, tmp_path: Path, alone, second_process, begun: int
) -> None:
    assert mapped(archive, tmp_path, begun=begun, before=kill) == alone


def test_files_of_a_process_that_died_are_not_read(archive: Archive, tmp_path: Path, alone, second_process) -> None:
    """It had put rows into files already: they are there once, not twice."""

    def flush_and_kill(mapper: Mapper) -> None:
        assert mapper._helper.flush().result(30) is True
        assert list(mapper.staging.folder.glob("*/ahead-*"))
        kill(mapper)

    assert mapped(archive, tmp_path, begun=3, before=flush_and_kill) == alone


def test_what_goes_wrong_there_is_told_from_here(archive: Archive, tmp_path: Path, second_process) -> None:
    part = archive.reading(1).parts[0]
    gone = Part(**{name: getattr(part, name) for name in Part.__slots__} | {"pages": ("sha256:" + "0" * 64,)})

    async def run(mapper: Mapper) -> None:
        mapper.ahead(0, gone)
        await until_done(mapper, 1)
        await mapper.mapped(silent)

    with Mapper(SOURCE, archive, tmp_path / STAGED) as mapper, pytest.raises(ArchiveDamaged, match="lacks the body"):
        asyncio.run(run(mapper))


def test_a_small_board_is_mapped_here(archive: Archive, tmp_path: Path) -> None:
    with Mapper(SOURCE, archive, tmp_path / STAGED) as mapper:
        for number, part in enumerate(archive.reading(1).parts):
            mapper.ahead(number, part)
        assert mapper._helper is None


@pytest.fixture
def early() -> Iterator[Helper]:
    with contextlib.closing(Helper()) as helper:
        yield helper


def test_one_that_was_started_early_maps_all_of_a_small_board(
    archive: Archive, tmp_path: Path, alone, early: Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_here(*_: object) -> None:
        raise AssertionError("a part was mapped here")

    monkeypatch.setattr(mapping, "_bundle", not_here)
    assert mapped(archive, tmp_path, early=early) == alone


def test_one_that_was_started_early_and_died_is_done_without(archive: Archive, tmp_path: Path, alone, early) -> None:
    early._process.kill()
    early._process.wait()
    assert mapped(archive, tmp_path, early=early) == alone


def test_where_no_thread_can_be_started_to_speak_with_it_all_is_mapped_here(
    archive: Archive, tmp_path: Path, alone, early: Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(early._thread, "submit", no_thread)
    assert mapped(archive, tmp_path, early=early) == alone


def test_with_a_large_board_the_early_one_and_this_one_meet(
    archive: Archive, tmp_path: Path, alone, early: Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapping, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr(mapping, "CHUNK", 100)
    assert mapped(archive, tmp_path, early=early) == alone


def test_an_early_one_is_for_the_first_sync_of_a_home_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with begun_early(tmp_path) as begun:
        assert begun is not None
        assert is_running(begun._process.pid)
    assert not is_running(begun._process.pid)
    published_path(tmp_path).touch()
    with begun_early(tmp_path) as begun:
        assert begun is None


def no_room(*_: object, **__: object) -> None:
    raise BlockingIOError("no room for another process")


@pytest.mark.parametrize(
    ("where", "name", "instead"),
    [(os, "sched_getaffinity", lambda _: {0}), (subprocess, "Popen", no_room)],
    ids=["one core", "no more processes"],
)
def test_without_a_second_process_all_is_done_here(
    archive: Archive, tmp_path: Path, alone, monkeypatch: pytest.MonkeyPatch, where, name: str, instead
) -> None:
    monkeypatch.setattr(mapping, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr(where, name, instead)
    with begun_early(tmp_path) as begun:
        assert begun is None
    assert mapped(archive, tmp_path) == alone


def test_the_second_process_ends_with_this_one(read_once: Path, tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from flows import mapping
from flows.registry import SOURCES
from scrapers.archive import Archive
mapping.WORTH_A_PROCESS = mapping.CHUNK = 1
mapping.helper_if_possible = mapping.Helper
archive = Archive(Path({str(read_once / "archive.sqlite")!r}), read_only=True)
with mapping.Mapper(SOURCES["sol-execbench"], archive, Path({str(tmp_path / STAGED)!r})) as mapper:
    mapper.ahead(0, archive.reading(1).parts[0])
    mapper._begun[0][1].result(60)
    print(mapper._helper._process.pid, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        os.kill(child, 0)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while is_running(child):
        assert time.monotonic() < deadline, "the second process lives on"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def test_an_interrupted_process_leaves_no_rows_to_the_next(archive: Archive, tmp_path: Path) -> None:
    left = tmp_path / STAGED / "runs" / "here-0.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half a file")
    rows, _ = mapped(archive, tmp_path)
    assert len(rows["runs"]) > 200
