"""Ctrl-C and SIGTERM at every stage of `kix sync`: it ends at once, in words, and the next one goes on."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from board_server import API, BoardServer, Reply
from conftest import KIX, SAMPLE, run_sync

from flows.interrupts import run_interruptible
from flows.lock import holding
from scrapers.archive import Archive

END_S = 1.0
"""What the command may take to end, as the issue has it; and what the machine of the tests may add to it."""
SLACK_S = 9.0
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def board() -> Iterator[BoardServer]:
    with BoardServer(SAMPLE) as board:
        yield board


@contextlib.contextmanager
def syncing(home: Path, board: BoardServer, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [*KIX, "sync", "sol-execbench", "--base-url", board.base_url, "--home", str(home), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(what: Callable[[], object], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 30
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def hears_alarms(pid: int) -> bool:
    """Whether a process has begun its sync: it then has a handler for SIGALRM, the bit below its number."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("no /proc to see from what a process listens to")
    caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGALRM - 1))


def end(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str, float]:
    """Send the signal; return the exit code, what was said, and how long it took."""
    started = time.monotonic()
    process.send_signal(number)
    _, words = process.communicate(timeout=20)
    return process.returncode, words, time.monotonic() - started


STAGES: dict[str, Callable[[str, int], Reply | None]] = {
    "an answer that does not come": lambda path, n: Reply(200, JSON, b"x", pause_s=60) if n == 6 else None,
    "a body that drips": lambda path, n: Reply(200, JSON, b" " * 900, pause_s=0.1, chunk=1) if n == 6 else None,
    "between two tries": lambda path, n: Reply(503) if n >= 6 else None,
    "a wait that was asked for": lambda path, n: Reply(429, {"Retry-After": "25"}) if n == 6 else None,
}


@pytest.mark.parametrize(("stage", "number"), [*zip(STAGES, itertools.cycle([signal.SIGINT, signal.SIGTERM]))])
def test_while_fetching(board: BoardServer, tmp_path: Path, stage: str, number: signal.Signals) -> None:
    board.answer = STAGES[stage]
    with syncing(tmp_path, board) as process:
        wait_for(lambda: len([one for one in board.requests if API in one.path]) >= 6, process)
        time.sleep(0.3)
        code, words, took_s = end(process, number)
    assert code == 1
    assert "interrupted, nothing was changed; the next sync goes on where this one stopped" in words
    assert "Traceback" not in words
    assert took_s < END_S + SLACK_S
    assert not (tmp_path / "warehouse.duckdb").exists()
    with Archive(tmp_path / "archive.sqlite", read_only=True) as archive:
        held = {row[1].removeprefix("http://" + board.base_url.split("/")[2]) for row in archive.fetches(1) if row[7]}
    board.answer = None
    before = len(board.requests)
    report = run_sync(tmp_path, board.base_url)
    assert (report.status, report.resumed, report.sync_id) == ("complete", True, 1)
    asked = {request.path for request in board.requests[before:]} - {"/robots.txt"}
    assert len(held) >= 4
    assert asked & held == set()  # what the archive holds of this sync is not asked for again


def test_while_keeping_a_crawl_delay(board: BoardServer, tmp_path: Path) -> None:
    board.robots = "User-agent: *\nCrawl-delay: 30\nDisallow:\n"
    with syncing(tmp_path, board) as process:
        wait_for(lambda: len(board.requests) >= 2, process)
        code, words, took_s = end(process, signal.SIGTERM)
    assert (code, "interrupted" in words, took_s < END_S + SLACK_S) == (1, True, True)


def test_while_another_one_holds_the_home(board: BoardServer, tmp_path: Path) -> None:
    with holding(tmp_path, "a test", 1), syncing(tmp_path, board) as process:
        wait_for(lambda: hears_alarms(process.pid), process)
        time.sleep(0.5)  # it waits by then, for a minute
        code, words, took_s = end(process, signal.SIGINT)
        assert (tmp_path / "sync.lock.owner").exists()
    assert took_s < END_S + SLACK_S
    assert code == 1
    assert "interrupted" in words
    assert board.requests == []


def six_hundred(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**items[0], "id": items[0]["id"] * 1000 + n} for n in range(600)]


def test_what_was_done_before_the_one_that_was_interrupted_counts(
    board: BoardServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = board.base_url.removesuffix(API)
    monkeypatch.setenv("KIX_BASE_URLS", json.dumps({"sol-execbench": board.base_url, "kernelindex": origin}))
    board.answer = lambda path, n: Reply(200, {}, b"x", pause_s=60) if "sitemap" in path else None
    report = tmp_path / "report.json"
    command = [*KIX, "sync", "sol-execbench", "kernelindex", "--home", str(tmp_path), "--report", str(report)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: any("sitemap" in one.path for one in board.requests), process)
        code, words, _ = end(process, signal.SIGTERM)
    assert code == 1
    assert "sol-execbench: complete" in words
    assert "kernelindex: interrupted, nothing was changed" in words
    assert json.loads(report.read_text(encoding="utf-8"))["status"] == "complete"
    assert (tmp_path / "warehouse.duckdb").exists()


def test_what_waits_is_cancelled_in_order_and_the_handlers_are_as_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
    ended: list[str] = []

    async def work() -> None:
        asyncio.get_running_loop().call_later(0.05, signal.raise_signal, signal.SIGTERM)
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work(), break_off=False)
    assert ended == ["cancelled"]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)] == before


def test_what_never_waits_is_broken_off() -> None:
    async def work() -> None:
        signal.raise_signal(signal.SIGINT)
        time.sleep(30)

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert time.monotonic() - started < 10


def test_what_is_done_by_then_counts() -> None:
    async def work() -> str:
        signal.raise_signal(signal.SIGINT)
        return "done"

    assert run_interruptible(work()) == ("done", True)


def test_an_error_without_a_signal_is_that_error() -> None:
    async def work() -> None:
        raise ValueError("a fault")

    with pytest.raises(ValueError, match="a fault"):
        run_interruptible(work())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_starting(board: BoardServer, tmp_path: Path, number: signal.Signals) -> None:
    with syncing(tmp_path, board) as process:
        maps = Path(f"/proc/{process.pid}/maps")
        if not maps.exists():
            pytest.skip("no /proc to see from what a process has loaded")
        wait_for(lambda: "_pydantic_core" in maps.read_text(), process)
        code, words, _ = end(process, number)
    assert code == 1
    assert "interrupted" in words
    assert "nothing was changed" in words
    assert "Traceback" not in words


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, BoardServer]]:
    """A home with something published, and a board with so much that is new that its load takes a while."""
    home = tmp_path_factory.mktemp("many")
    with BoardServer(SAMPLE, max_limit=100) as board:
        assert run_sync(home, board.base_url).status == "complete"
        for kernel_id in (1, 2, 3):
            board.edit(kernel_id, six_hundred)
        yield home, board


@pytest.mark.parametrize("after_s", [0.0, 0.3, 0.8])
def test_while_loading_and_publishing(many: tuple[Path, BoardServer], tmp_path: Path, after_s: float) -> None:
    """Whatever it was doing: it has either published, and says so, or changed nothing, and says so."""
    published, board = many
    home = shutil.copytree(published, tmp_path / "home")
    before = (home / "warehouse.duckdb").read_bytes()
    with syncing(home, board) as process:
        wait_for((home / "warehouse.working.duckdb").exists, process)
        time.sleep(after_s)
        if process.poll() is None:
            code, words, took_s = end(process, signal.SIGTERM)
        else:
            (_, words), code, took_s = process.communicate(), process.returncode, 0.0
    assert took_s < END_S + SLACK_S
    assert "Traceback" not in words
    changed = (home / "warehouse.duckdb").read_bytes() != before
    assert (code, "nothing was changed" in words, "complete" in words) == (
        (0, False, True) if changed else (1, True, False)
    )
    assert not (home / "warehouse.working.duckdb").exists()
    requests = len(board.requests)
    report = run_sync(home, board.base_url)
    assert (report.status, report.resumed) == ("complete", not changed)
    if not changed:
        assert len(board.requests) - requests <= 1  # robots.txt at most: everything was there


def test_what_was_loaded_is_not_looked_through_for_garbage_and_what_comes_later_is() -> None:
    code = (
        "import gc\nfrom flows.interrupts import starting\n"
        "with starting('this'):\n    print(gc.isenabled())\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


SLOW_LOAD = """
import sys
from pathlib import Path
import warehouse.load as load
from flows.cli import main

files_of, (folder, marker), sys.argv[1:] = load.sql_files, sys.argv[1:3], sys.argv[3:]

def slow(wanted):
    if wanted != folder:
        return files_of(wanted)
    Path(marker).touch()
    return [*files_of(wanted), ("slow", "SELECT count(*) FROM range(100000000000) r(i) WHERE hash(i) = 1")]

load.sql_files = slow
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_load_is_broken_off_while_it_waits_for_its_second_connection(
    number: signal.Signals, board: BoardServer, tmp_path: Path
) -> None:
    home, marker = tmp_path / "home", tmp_path / "it is there"
    options = ["sync", "sol-execbench", "--base-url", board.base_url, "--home", str(home)]
    command = [sys.executable, "-c", SLOW_LOAD, "load/listings", str(marker), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(marker.exists, process)
            time.sleep(1)  # whatever is done beside it is done
            code, words, seconds = end(process, number)
        finally:
            process.kill()
    assert code == 1
    assert "interrupted, nothing was changed" in words
    assert seconds < END_S + SLACK_S
    assert list(home.glob("*.duckdb*")) == []
    assert run_sync(home, board.base_url).status == "complete"
