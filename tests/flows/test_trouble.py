"""A sync in a hostile world: full and vanished disks, damaged files, foreign rights, clocks that jump, garbage.

Whatever happens: words and no traceback, the right exit code, what was published stays as it is, and once the trouble
is over the next sync completes.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from board_server import BoardServer, Reply
from conftest import SOURCE, run_sync
from kills import next_sync
from told import SOFTMAX, change, in_archive, kix, process, ranked

from flows.freshness import freshness
from flows.lock import HomeBusy, holding
from flows.settings import Settings
from flows.sync import Request, sync
from warehouse.connection import published_path

ROOT = hasattr(os, "geteuid") and not os.geteuid()
WITHOUT_RIGHTS = ("setpriv", "--inh-caps=-dac_override", "--bounding-set=-dac_override") if ROOT else ()
"""The superuser may write everywhere, but for this."""

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@pytest.fixture(scope="module")
def board(board_folder: Path) -> Iterator[BoardServer]:
    with BoardServer(board_folder) as served:
        yield served


@pytest.fixture(scope="module")
def synced(board: BoardServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home synced once from `board`; tests take copies."""
    home = tmp_path_factory.mktemp("synced") / "home"
    assert next_sync_of(home, board) is None
    return home


@pytest.fixture
def copy(synced: Path, tmp_path: Path) -> Path:
    home = shutil.copytree(synced, tmp_path / "home")
    for path in home.glob("archive.sqlite-*"):
        path.unlink()
    return home


def next_sync_of(home: Path, board: BoardServer) -> str | None:
    return next_sync(home, board.base_url)


def run(home: Path, *arguments: str, limits: tuple[str, ...] = ()) -> tuple[int, str]:
    """Run the command in a process of its own. Returns its exit code and all it said; never a traceback."""
    with process(*arguments, home=home, limits=limits) as running:
        out, words = running.communicate(timeout=120)
    assert "Traceback" not in words, words
    return running.returncode, out + words


def sync_in_process(home: Path, board: BoardServer, limits: tuple[str, ...] = ()) -> tuple[int, str]:
    return run(home, "sync", "sol-execbench", "--base-url", board.base_url, limits=limits)


def ask(home: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(published_path(home), read_only=True) as db:
        return db.execute(query).fetchall()


def holds(home: Path) -> bool:
    return kix("verify", home=home)[0] == 0


# -- disks


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Callable[[str], None]]:
    """A disk of its own at `folder`; what is yielded gives it another size."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if not ROOT or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield lambda other: subprocess.run(["mount", "-o", f"remount,size={other}", str(folder)], check=True) and None
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


@pytest.mark.parametrize("room", ["120k", "3m"])
def test_a_disk_that_is_full_costs_nothing(room: str, board: BoardServer, tmp_path: Path) -> None:
    """Full while answers are kept, and while they are loaded."""
    home = tmp_path / "disk"
    with small_disk(home, room) as resize:
        code, words = sync_in_process(home, board)
        assert (code, "make room" in words) == (1, True), words
        assert not published_path(home).exists()
        resize("200m")
        assert next_sync_of(home, board) is None
        assert holds(home)
        assert not [path for path in home.iterdir() if "working" in path.name or "owner" in path.name]


@pytest.mark.skipif(not shutil.which("bash"), reason="needs ulimit")
def test_a_file_that_may_not_grow_costs_nothing(board: BoardServer, tmp_path: Path) -> None:
    code, words = sync_in_process(tmp_path, board, limits=("bash", "-c", 'ulimit -f 2000; exec "$@"', "-"))
    assert (code, "make room" in words) == (1, True), words
    assert not published_path(tmp_path).exists()
    assert next_sync_of(tmp_path, board) is None


def test_a_full_disk_leaves_what_was_published(synced: Path, board: BoardServer, tmp_path: Path) -> None:
    used = sum(path.stat().st_size for path in synced.iterdir())
    with small_disk(tmp_path / "disk", str(used + 1_000_000)) as resize:
        home = shutil.copytree(synced, tmp_path / "disk", dirs_exist_ok=True)
        before = published_path(home).read_bytes()
        code, words = sync_in_process(home, board)
        assert (code, "make room" in words) == (1, True), words
        assert published_path(home).read_bytes() == before
        assert kix("board", "sample_masked_softmax_rows", home=home)[0] == 0
        assert kix("doctor", home=home)[0] == 1
        resize("200m")
        assert next_sync_of(home, board) is None


def while_syncing(home: Path, board: BoardServer, do: Callable[[], None], at: int = 3) -> tuple[int, str]:
    """Sync in a process, and do something to it at its `at`-th answer."""
    numbers = iter(range(1, 1_000_000))

    def trouble(_path: str, _n: int) -> Reply | None:
        if next(numbers) == at:
            do()
        return None

    board.answer = trouble
    try:
        return sync_in_process(home, board)
    finally:
        board.answer = None


def replaced(home: Path) -> None:
    home.rename(home.with_name("moved away"))
    home.mkdir()


@pytest.mark.parametrize("vanish", [lambda home: home.rename(home.with_name("moved away")), replaced, shutil.rmtree],
                         ids=["moved", "replaced", "removed"])  # fmt: skip
def test_a_home_that_vanishes_is_told_and_nothing_is_published(
    vanish: Callable[[Path], object], copy: Path, board: BoardServer
) -> None:
    code, words = while_syncing(copy, board, lambda: vanish(copy) and None)
    assert (code, "bring the home back" in words) == (1, True), words
    assert not published_path(copy).exists()
    if (moved := copy.with_name("moved away")).exists():
        shutil.rmtree(copy, ignore_errors=True)
        moved.rename(copy)
        assert next_sync_of(copy, board) is None
        assert holds(copy)


def test_a_disk_that_is_taken_away_is_told(synced: Path, board: BoardServer, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "100m"):
        home = shutil.copytree(synced, tmp_path / "disk", dirs_exist_ok=True)
        take = ["umount", "-l", str(home)]
        code, words = while_syncing(home, board, lambda: subprocess.run(take, check=True) and None)
        assert (code, "bring the home back" in words) == (1, True), words
        assert not published_path(home).exists()


# -- damaged files


def damaged(data: bytes, how: str, chance: random.Random) -> bytes:
    if how == "empty":
        return b""
    if how == "cut":
        return data[: chance.randrange(1, len(data))]
    page = 4096 * chance.randrange(1, len(data) // 4096)
    return data[:page] + bytes(4096) + data[page + 4096 :]


@pytest.mark.parametrize(
    ("how", "seed"), [("empty", 0), ("cut", 0), ("cut", 1), ("zeros", 0), ("zeros", 1), ("zeros", 2)]
)
def test_a_damaged_archive_is_never_loaded_from_in_silence(how: str, seed: int, copy: Path, board: BoardServer) -> None:
    archive = copy / "archive.sqlite"
    archive.write_bytes(damaged(archive.read_bytes(), how, random.Random(seed)))
    before = published_path(copy).read_bytes()
    code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=copy)
    if code == 0:  # what it needed of the archive was whole
        assert not holds(copy)
    else:
        assert (code, "restore" in words) == (1, True), words
        assert published_path(copy).read_bytes() == before


@pytest.mark.parametrize(("how", "seed"), [("empty", 0), ("cut", 0), ("zeros", 0)])
def test_a_damaged_warehouse_is_told_and_made_anew(how: str, seed: int, copy: Path, board: BoardServer) -> None:
    path = published_path(copy)
    spoilt = damaged(path.read_bytes(), how, random.Random(seed))
    path.unlink()
    path.write_bytes(spoilt)
    code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=copy)
    assert code == 0 or "kix rebuild" in words, words  # what it needed of the warehouse may have been whole
    assert kix("rebuild", home=copy)[0] == 0
    assert holds(copy)


def test_what_is_left_of_a_working_copy_is_of_no_account(copy: Path, board: BoardServer) -> None:
    for name in ("warehouse.working.duckdb", "warehouse.working.duckdb.wal"):
        (copy / name).write_bytes(os.urandom(50_000))
    assert next_sync_of(copy, board) is None
    assert holds(copy)


def test_an_archive_that_is_lost_is_not_begun_anew_beside_its_warehouse(copy: Path, board: BoardServer) -> None:
    (copy / "archive.sqlite").unlink()
    before = published_path(copy).read_bytes()
    asked = len(board.requests)
    code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=copy)
    assert (code, "lacks sync 1" in words, "from a backup" in words) == (1, True, True)
    assert (published_path(copy).read_bytes(), len(board.requests)) == (before, asked)
    published_path(copy).unlink()  # the other way out that it names
    assert next_sync_of(copy, board) is None


def test_a_warehouse_that_is_lost_or_old_is_loaded_again_with_its_history(board_folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with BoardServer(board_folder) as edited:
        assert next_sync_of(home, edited) is None
        old = published_path(home).read_bytes()
        change(edited, SOFTMAX, ranked(SOFTMAX)[0]["id"], latency_ms=0.0312)
        assert next_sync_of(home, edited) is None
        for left in (None, old):
            published_path(home).unlink()
            if left:
                published_path(home).write_bytes(left)
            report = run_sync(home, edited.base_url)
            assert report.status == "complete"
            assert report.reloaded >= 2
            assert ask(home, "SELECT count(*) FROM lifecycle WHERE event = 'superseded'") == [(1,)]
        assert holds(home)


# -- who may what, and what is written beside


@pytest.mark.skipif(not ROOT or not shutil.which("setpriv"), reason="rights can only be given up by the superuser")
@pytest.mark.parametrize("command", [("sync", "sol-execbench", "--offline"), ("board", "softmax"), ("doctor",)])
def test_a_home_of_somebody_else_is_told(command: tuple[str, ...], copy: Path) -> None:
    copy.chmod(0o700)
    for parent in copy.parents:
        if parent.owner() == "root" and not parent.stat().st_mode & 1 and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    code, words = run(copy, *command, limits=NOBODY)
    assert code == 1, words
    assert str(copy) in words
    assert "ermission" in words or "rights" in words, words


@pytest.mark.skipif(ROOT and not shutil.which("setpriv"), reason="the superuser cannot give up its rights here")
def test_a_read_only_home_can_be_asked_and_not_synced(copy: Path, board: BoardServer) -> None:
    before = published_path(copy).read_bytes()
    for path in (*copy.iterdir(), copy):
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        code, words = sync_in_process(copy, board, limits=WITHOUT_RIGHTS)
        asked, _ = run(copy, "board", "sample_masked_softmax_rows", limits=WITHOUT_RIGHTS)
        state, told = run(copy, "doctor", limits=WITHOUT_RIGHTS)
    finally:
        copy.chmod(0o755)
    assert (code, str(copy) in words) == (1, True), words
    assert asked == 0
    assert (state, "cannot be written to" in told) == (0, True), told
    assert published_path(copy).read_bytes() == before


GARBAGE = ["", "no JSON", "[]", "null", "7", '{"pid": 1}', '{"pid": "x", "host": 1, "what": [], "since": null}',
           '{"pid": 1, "host": "h", "what": "\\u001b[31m", "since": "s"}', "[" * 100_000, "\udcff"]  # fmt: skip


@pytest.mark.parametrize("text", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_where_the_owner_is_written_is_no_trouble(text: str, tmp_path: Path) -> None:
    (tmp_path / "sync.lock.owner").write_text(text, encoding="utf-8", errors="surrogateescape")
    (tmp_path / "sync.lock").write_text("garbage")
    with holding(tmp_path, "kix sync", 0):
        (tmp_path / "sync.lock.owner").write_text(text, encoding="utf-8", errors="surrogateescape")
        with pytest.raises(HomeBusy) as busy, holding(tmp_path, "kix sync", 0):
            pass
        assert "\x1b" not in str(busy.value)
        code, out, _ = kix("status", home=tmp_path)
        assert (code, "in use by" in out) == (0, True)


def test_a_lock_of_a_dead_process_holds_nobody_up(copy: Path, board: BoardServer) -> None:
    asked, release = threading.Event(), threading.Event()

    def hold(_path: str, _n: int) -> Reply | None:
        asked.set()
        release.wait(60)
        return None

    board.answer = hold
    try:
        with process("sync", "sol-execbench", "--base-url", board.base_url, home=copy) as killed:
            assert asked.wait(60)
            killed.send_signal(signal.SIGKILL)
    finally:
        board.answer = None
        release.set()
    assert (copy / "sync.lock.owner").exists()
    assert kix("status", home=copy)[1].count("in use by") == 0
    assert next_sync_of(copy, board) is None
    assert not (copy / "sync.lock.owner").exists()


# -- clocks


class Clock:
    """A clock that jumps: each look at it is a second later, and `jumps` are added at that look."""

    def __init__(self, start: datetime, jumps: dict[int, timedelta] | None = None) -> None:
        self.time, self.looks, self._jumps = start, 0, jumps or {}

    def __call__(self) -> datetime:
        self.looks += 1
        self.time += timedelta(seconds=1) + self._jumps.get(self.looks, timedelta())
        return self.time


YEARS = timedelta(days=3653)
JUMPS = {
    "an hour back": [({}, timedelta(hours=-1))],
    "ten years on and back": [({}, YEARS), ({}, -YEARS)],
    "an hour back within": [({3: timedelta(hours=-1)}, timedelta())],
    "ten years on within": [({3: YEARS}, timedelta()), ({}, -YEARS)],
}


@pytest.mark.parametrize("jump", JUMPS)
def test_a_clock_that_jumps_changes_no_order_and_no_figure(jump: str, board_folder: Path, tmp_path: Path) -> None:
    home, moment = tmp_path / "home", datetime.now(UTC)
    leader = ranked(SOFTMAX)[0]
    with BoardServer(board_folder) as served:
        assert next_sync(home, served.base_url) is None
        for number, (within, between) in enumerate(JUMPS[jump]):
            change(served, SOFTMAX, leader["id"], latency_ms=0.0312 + number / 1000)
            moment += between
            settings = Settings(home=home)
            report = asyncio.run(sync(SOURCE, Request(base_url=served.base_url), settings, now=Clock(moment, within)))
            assert (report.status, report.sync_id, report.resumed) == ("complete", number + 2, False), report.error
    assert holds(home)
    for number in range(len(JUMPS[jump]) + 1):
        wanted = leader["latency_ms"] if number == 0 else 0.0312 + (number - 1) / 1000
        query = f"SELECT primary_value FROM leaderboard_as_of({number + 1}) WHERE external_id = '{leader['id']}'"
        assert ask(home, query) == [(pytest.approx(wanted * 1e6),)]


def test_a_sync_of_the_future_is_not_fresh(copy: Path) -> None:
    settings = Settings(home=copy)
    (fresh,) = freshness(settings)
    assert (fresh.stale, fresh.troubled) == (False, False)
    (ahead,) = freshness(settings, now=datetime.now(UTC) - YEARS)
    assert (ahead.stale, "clock" in ahead.sentence()) == (True, True)


def test_a_sync_of_the_future_is_not_gone_on_with(copy: Path, board: BoardServer) -> None:
    later = datetime.now(UTC) + YEARS
    in_archive(copy, "UPDATE syncs SET status = 'running', finished_at = NULL, started_at = ?", later.isoformat())
    published_path(copy).unlink()
    report = run_sync(copy, board.base_url)
    assert (report.status, report.resumed, report.sync_id) == ("complete", False, 2)
