"""Several at once on one home: syncs wait for each other, readers and exports wait for nobody and see whole states."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from board_server import BoardServer
from conftest import TESTS
from kills import next_sync
from told import SOFTMAX, change, kix, process, ranked

READERS = 2
SYNCS = 2
"""`benchmarks/readers.py` has twenty readers and ten syncs."""


def reader(home: Path, stop: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(TESTS / "readers.py"), str(home), str(stop)]
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_readers_see_one_whole_state_after_the_other(board_folder: Path, tmp_path: Path) -> None:
    home, stop, leader = tmp_path / "home", tmp_path / "stop", ranked(SOFTMAX)[0]
    with BoardServer(board_folder) as board:
        assert next_sync(home, board.base_url) is None
        readers = [reader(home, stop) for _ in range(READERS)]
        firsts = [one.stdout.readline() for one in readers if one.stdout]
        for number in range(SYNCS):
            change(board, SOFTMAX, leader["id"], latency_ms=0.0312 + number / 1000)
            assert next_sync(home, board.base_url) is None
        stop.touch()
        ends = [one.communicate(timeout=120) for one in readers]
    listed = sum(len(json.loads(path.read_text())) for path in (board_folder / "submissions").iterdir())
    states = {(number + 1, listed + number) for number in range(SYNCS + 1)}  # an edit is a version
    for one, first, (out, words) in zip(readers, firsts, ends, strict=True):
        assert one.returncode == 0, words
        seen = [tuple(map(int, line.split())) for line in (first + out).splitlines()]
        assert set(seen) <= states
        assert seen[-1] == max(states)


def test_two_syncs_an_export_and_a_question_at_once(board_folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with BoardServer(board_folder) as board:
        assert next_sync(home, board.base_url) is None
        change(board, SOFTMAX, ranked(SOFTMAX)[0]["id"], latency_ms=0.0312)
        sync = ("sync", "sol-execbench", "--base-url", board.base_url)
        held = (sys.executable, "-c", HOLD, str(home))
        with subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asking:
            assert asking.stdout is not None
            before = asking.stdout.readline()
            started = [
                process(*sync, home=home), process(*sync, home=home),
                process("export", str(tmp_path / "out"), home=home),
                process("sql", "select count(*) as n from runs", home=home),
            ]  # fmt: skip
            for one in started:
                _, words = one.communicate(timeout=120)
                assert one.returncode == 0, words
            after, _ = asking.communicate("ask again\n", timeout=60)
        assert (asking.returncode, after) == (0, before)  # it keeps the state that it opened
    assert kix("verify", home=home)[0] == 0
    assert kix("snapshots", str(tmp_path / "out"), "verify", home=home)[0] == 0


HOLD = """
import sys
import duckdb
with duckdb.connect(sys.argv[1] + "/warehouse.duckdb", read_only=True) as db:
    for _ in range(2):
        print(db.execute("SELECT count(*), max(first_seen_sync) FROM runs").fetchall(), flush=True)
        sys.stdin.readline()
"""
