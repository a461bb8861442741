"""Mapping ahead in a second process: the same rows as without it, whatever becomes of that process."""

from __future__ import annotations

import asyncio
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
from flows.mapping import STAGED, Mapper
from scrapers.archive import Archive
from scrapers.contract import Findings, Part
from scrapers.errors import ArchiveDamaged


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
    monkeypatch.setattr(mapping, "_has_second_core", lambda: True)


Rows = dict[str, list[tuple[object, ...]]]
Between = Callable[[Mapper, int], None]


def staged(folder: Path) -> Rows:
    tables = {path.name: pl.read_parquet(path / "*.parquet").sort("place") for path in folder.iterdir()}
    return {table: list(map(repr, frame.rows())) for table, frame in tables.items()}


def mapped(
    archive: Archive, folder: Path, *, ahead: bool, between: Between = lambda mapper, number: None
) -> tuple[Rows, list[Findings], int]:
    """All parts of the archive's sync: their rows, what did not fit, and how many the second process did."""
    parts = archive.reading(1).parts

    async def run(mapper: Mapper) -> tuple[Rows, list[Findings], int]:
        for number, part in enumerate(parts):
            if ahead:
                mapper.ahead(number, part)
        if ahead:
            await until_begun(mapper)
        found = []
        for number, part in enumerate(parts):
            found.append(await mapper.map(number, part))
            between(mapper, number)
        done = len(mapper._mapped_ahead)
        return staged(await mapper.end()), found, done

    with Mapper(SOURCE, archive, folder / STAGED) as mapper:
        return asyncio.run(run(mapper))


async def until_begun(mapper: Mapper, parts: int = 3) -> None:
    """Wait until the second process has done some: it begins with the first."""
    async with asyncio.timeout(60):
        while not all(mapper._begun[number].done() for number in range(parts)):
            await asyncio.sleep(0.01)


def test_the_second_process_gives_the_same_rows(archive: Archive, tmp_path: Path, second_process: None) -> None:
    alone, found, _ = mapped(archive, tmp_path, ahead=False)
    assert len(alone["runs"]) > 200
    shared, found_too, done = mapped(archive, tmp_path, ahead=True)
    assert done >= 3
    assert shared == alone
    assert found_too == found
    assert not (tmp_path / STAGED).exists()


@pytest.mark.parametrize("after", [0, 2, 5])
def test_when_the_second_process_dies_all_is_done_here(
    archive: Archive, tmp_path: Path, second_process: None, after: int
) -> None:
    def kill(mapper: Mapper, number: int) -> None:
        if number == after:
            mapper._helper._process.kill()
            mapper._helper._process.wait()

    alone, found, _ = mapped(archive, tmp_path, ahead=False)
    assert mapped(archive, tmp_path, ahead=True, between=kill)[:2] == (alone, found)


def test_files_of_a_process_that_died_are_not_read(
    archive: Archive, tmp_path: Path, second_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had put rows into files already: they are there once, not twice."""
    alone, _, _ = mapped(archive, tmp_path, ahead=False)
    written = []

    def flush_and_kill(mapper: Mapper, number: int) -> None:
        if number == 2:
            assert mapper._helper.flush().result(30) is True
            written.extend(mapper.staging.folder.glob("*/ahead-*"))
            mapper._helper._process.kill()
            mapper._helper._process.wait()

    assert mapped(archive, tmp_path, ahead=True, between=flush_and_kill)[0] == alone
    assert written


def test_what_goes_wrong_there_is_told_from_here(archive: Archive, tmp_path: Path, second_process: None) -> None:
    part = archive.reading(1).parts[0]
    gone = Part(**{name: getattr(part, name) for name in Part.__slots__} | {"pages": ("sha256:" + "0" * 64,)})

    async def run(mapper: Mapper) -> None:
        mapper.ahead(0, gone)
        async with asyncio.timeout(60):
            while not mapper._begun[0].done():
                await asyncio.sleep(0.01)
        await mapper.map(0, gone)

    with Mapper(SOURCE, archive, tmp_path / STAGED) as mapper, pytest.raises(ArchiveDamaged, match="lacks the body"):
        asyncio.run(run(mapper))


def test_a_small_board_is_mapped_here(archive: Archive, tmp_path: Path) -> None:
    with Mapper(SOURCE, archive, tmp_path / STAGED) as mapper:
        for number, part in enumerate(archive.reading(1).parts):
            mapper.ahead(number, part)
        assert mapper._helper is None


def test_the_second_process_ends_with_this_one(read_once: Path, tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from flows import mapping
from flows.registry import SOURCES
from scrapers.archive import Archive
mapping.WORTH_A_PROCESS = 1
mapping._has_second_core = lambda: True
archive = Archive(Path({str(read_once / "archive.sqlite")!r}), read_only=True)
with mapping.Mapper(SOURCES["sol-execbench"], archive, Path({str(tmp_path / STAGED)!r})) as mapper:
    mapper.ahead(0, archive.reading(1).parts[0])
    mapper._begun[0].result(60)
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
    rows, _, _ = mapped(archive, tmp_path, ahead=False)
    assert len(rows["runs"]) > 200
