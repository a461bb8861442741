"""A home with a history: syncs of every kind over a board that changes in between, and what people said.

With it, how the tests of the commands ask it and do damage to it.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from board_server import BoardServer, Reply
from click.testing import CliRunner
from conftest import KIX, SAMPLE, SOURCE, TESTS, run_sync

from flows import people
from flows.cli import main
from flows.settings import Settings
from flows.sync import Request, sync
from scrapers.contract import Scope
from warehouse.connection import published_path

SOFTMAX, DEQUANT = 3, 12
NAMES = {SOFTMAX: "sample_masked_softmax_rows", DEQUANT: "sample_fp4_weight_dequant"}
Item = dict[str, Any]


def listed(kernel: int) -> list[Item]:
    return json.loads((SAMPLE / f"submissions/{kernel}.json").read_text(encoding="utf-8"))


def ranked(kernel: int) -> list[Item]:
    """What ranks on the kernel's board of the B200 and stack v1.1, best first."""
    board = [
        one
        for one in listed(kernel)
        if one["status"] == "COMPLETED" and one["is_correct"] and not one["is_disqualified"] and one["latency_ms"]
        if (one["evaluation_stack_version"], one["gpu_type"]) == ("v1.1", "B200")
    ]
    return sorted(board, key=lambda one: one["latency_ms"])


@dataclass
class Told:
    """The home, a copy of it after the first sync, and the runs that people spoke about."""

    home: Path
    short: Path
    doubted: str
    noted: str


def small_board(folder: Path) -> Path:
    """Two kernels of the sample, as a board of their own."""
    for part in ("kernels", "submissions"):
        (folder / part).mkdir(parents=True)
        for number in NAMES:
            shutil.copyfile(SAMPLE / part / f"{number}.json", folder / part / f"{number}.json")
    index = json.loads((SAMPLE / "kernels.json").read_text(encoding="utf-8"))
    index["data"]["kernels"] = [one for one in index["data"]["kernels"] if one["id"] in NAMES]
    (folder / "kernels.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def change(board: BoardServer, kernel: int, number: int, **fields: Any) -> None:
    board.edit(kernel, lambda items: [one | fields if one["id"] == number else one for one in items])


def define(board: BoardServer, kernel: int, alter: Callable[[Item], None]) -> None:
    answer = json.loads(board.bodies[f"/kernels/{kernel}"])
    alter(answer["data"])
    board.bodies[f"/kernels/{kernel}"] = json.dumps(answer).encode()


def interrupted_sync(home: Path, board: BoardServer, scope: Scope) -> None:
    """Begin a sync and end it as SIGTERM does, at its second answer."""

    async def begin() -> None:
        task = asyncio.ensure_future(sync(SOURCE, Request(scope, board.base_url), Settings(home=home)))
        loop, asked = asyncio.get_running_loop(), itertools.count(1)

        def stop(_path: str, _n: int) -> None:
            if next(asked) == 2:
                loop.call_soon_threadsafe(task.cancel)
                time.sleep(0.1)

        board.answer = stop
        with pytest.raises(asyncio.CancelledError):
            await task
        board.answer = None

    asyncio.run(begin())


def tell(home: Path, board: BoardServer) -> Told:
    """Sync ten times; what happens in each is said beside it."""
    leader, second, third, *_, last = ranked(SOFTMAX)
    settings = Settings(home=home)

    def read(status: str, *kernels: int) -> None:
        report = run_sync(home, board.base_url, scope=Scope(kernels=tuple(NAMES[one] for one in kernels)))
        assert report.status == status, (report.error, report.rejects)

    change(board, SOFTMAX, second["id"], latency_ms=0.0000021)  # faster than light
    read("complete")
    doubted = people.decide(settings, f"sol-execbench:{second['id']}", "accept", "measured here too", "Ada")[0]
    short = shutil.copytree(home, home.with_name("short"))
    # 2: an edited leader, a renamed submitter, a later note, and one that is gone
    change(board, SOFTMAX, leader["id"], latency_ms=0.0312)
    change(board, SOFTMAX, third["id"], username="Renamed")
    change(board, SOFTMAX, last["id"], error_log="a note")
    board.edit(DEQUANT, lambda items: [one for one in items if one["id"] != ranked(DEQUANT)[0]["id"]])
    read("complete")
    noted = people.write_note(settings, f"sol-execbench:{leader['id']}", "reproduction", "0.0313 ms here", "Ada")
    # 3: the board shows a login page
    board.answer = lambda _path, _n: Reply(200, {"Content-Type": "text/html"}, b"<html>log in</html>")
    read("failed")
    # 4: a page is missing and a field is new; 5: interrupted, and not gone on with
    board.answer = lambda path, _n: Reply(404) if f"kernel_id={SOFTMAX}&" in path else None
    change(board, DEQUANT, ranked(DEQUANT)[1]["id"], is_disqualified=True, disqualification_reason="stored output")
    change(board, DEQUANT, ranked(DEQUANT)[2]["id"], brand_new="drift")
    read("partial")
    interrupted_sync(home, board, Scope(kernels=(NAMES[DEQUANT],)))
    # 6: both kernels change, the definition and its bounds too; interrupted and gone on with
    define(board, SOFTMAX, lambda data: data.update(description="In other words."))
    define(board, SOFTMAX, lambda data: data["workloads"][0].update(sol_ms=0.0000125))
    change(board, SOFTMAX, leader["id"], latency_ms=leader["latency_ms"])  # taken back
    board.edit(DEQUANT, lambda items: [ranked(DEQUANT)[0], *items])  # back again
    interrupted_sync(home, board, Scope())
    read("complete")
    # 7: unchanged
    read("complete")
    people.decide(settings, doubted, "hold", "not seen again", "Grace")
    people.write_note(settings, noted, "note", "the edit was taken back", "Grace")
    # 8: one of the kernels; another operation under its name is for people to look at
    define(board, DEQUANT, lambda data: data["axes"].update(num_heads={"type": "const", "value": 17}))
    change(board, DEQUANT, ranked(DEQUANT)[3]["id"], latency_ms=0.0123)
    read("complete", DEQUANT)
    return Told(home, short, doubted, noted)


# -- asking, and damage


def kix(*arguments: str, home: Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, [*arguments, "--home", str(home)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def prints(home: Path) -> dict[str, str]:
    """Digest of every file; but SQLite's own bookkeeping beside a database that is open."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in home.iterdir()
        if not path.name.endswith(("-shm", "-wal"))
    }


@contextmanager
def writing(home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Opens the published file for writing, as nobody should."""
    path = published_path(home)
    path.chmod(0o644)
    with duckdb.connect(path) as db:
        yield db
    path.chmod(0o444)


def in_archive(home: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(home / "archive.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        assert db.execute(statement, values).rowcount > 0


def process(*arguments: str, home: Path, limits: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [*limits, *KIX, *arguments, "--home", str(home)]
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
