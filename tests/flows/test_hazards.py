"""Each hazard of the recorded leaderboard's server, alone and in pairs: every sound answer is in, and no other.

What must come out follows from the recorded files of expected values and from what the server says that a hazard
touches. `KIX_ALL_HAZARDS=1` runs all pairs in place of those that are most unlike each other.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import KIX, Serve, run_sync

from flows.report import Report
from scrapers.contract import Scope

pytestmark = pytest.mark.replay
Expected = Callable[[str], list[dict[str, str]]]

HAZARDS = (
    "rate-limit", "flaky", "truncate", "slow", "drift", "malformed", "redirect-evil", "huge", "bomb", "edit", "vanish",
    "disqualify", "shift", "robots-deny",
)  # fmt: skip
UNLIKE = (
    ("rate-limit", "truncate"), ("flaky", "shift"), ("flaky", "robots-deny"), ("slow", "malformed"),
    ("drift", "truncate"),
    ("malformed", "redirect-evil"), ("redirect-evil", "bomb"), ("huge", "flaky"), ("edit", "rate-limit"),
    ("vanish", "shift"), ("disqualify", "drift"),
)  # fmt: skip
PAIRS = tuple(itertools.combinations(HAZARDS, 2)) if os.environ.get("KIX_ALL_HAZARDS") else UNLIKE
CASES = [*((one,) for one in HAZARDS), *PAIRS]

FIRST = 14
"""Kernels of the list that are read: they hold one of each kind that the hazards touch."""

REASONS = {
    "invalid_json": "unreadable answer",
    "html_page": "not JSON but text/html",
    "redirect-evil": "redirected to http://127.0.0.1",
    "huge": "body larger than the bound",
    "bomb": "body larger than the bound",
}
SERVER = ("--retry-after", "0", "--drip-seconds", "0.2", "--bomb-mib", "64", "--huge-mib", "64")
CLIENT = {"attempts": 20, "max_wait_s": 0.1, "max_body_bytes": 2 * 1024 * 1024}
"""Patient with what passes: a server that refuses every third request refuses one of them many times over."""


@dataclass
class Board:
    """What the recorded leaderboard holds of the kernels that are read: names by id, and ids of submissions by name."""

    names: dict[int, str]
    submissions: dict[str, list[int]]


@dataclass
class Wanted:
    """What must come out: submissions, the value of each one's run, and the reasons for what is missed by kernel.

    A run needs its kernel's detail, and a submission that is not disqualified. The value of one that the server made up
    is not recorded.
    """

    submissions: set[str] = field(default_factory=set)
    runs: dict[str, float | None] = field(default_factory=dict)
    missed: dict[int, str] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def affected(replay: Path) -> Callable[[tuple[str, ...]], dict[str, Any]]:
    def ask(hazards: tuple[str, ...]) -> dict[str, Any]:
        command = [sys.executable, str(replay / "serve.py"), "--hazard", ",".join(hazards), "--affected"]
        found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return found

    return ask


@pytest.fixture(scope="module")
def board(replay: Path, affected: Callable[[tuple[str, ...]], dict[str, Any]]) -> Board:
    """The first kernels of the list, and the two whose submissions the drift touches."""
    listed = json.loads((replay / "kernels.json").read_text(encoding="utf-8"))["data"]["kernels"]
    ids = {
        kernel["id"]: [one["id"] for one in json.loads((replay / "submissions" / f"{kernel['id']}.json").read_bytes())]
        for kernel in listed
    }
    drifting = set(affected(("drift",))["drift"].values())
    names = {
        kernel["id"]: kernel["name"]
        for place, kernel in enumerate(listed)
        if place < FIRST or drifting & set(ids[kernel["id"]])
    }
    return Board(names, {name: ids[number] for number, name in names.items()})


def nanoseconds(milliseconds: Any) -> float:
    return float((Decimal(str(milliseconds)) * 1_000_000).quantize(Decimal(1), ROUND_HALF_UP))


def wanted(board: Board, expected: Expected, touched: dict[str, Any]) -> Wanted:
    want = Wanted()
    kinds = {**touched.get("malformed", {}), **{name: touched[name] for name in REASONS if name in touched}}
    for kind, kernels in kinds.items():
        for kernel in [kernels] if isinstance(kernels, int) else kernels:
            if kernel in board.names:
                want.missed[kernel] = REASONS[kind]
    missed = {board.names[kernel] for kernel in want.missed}
    gone = set(map(str, touched.get("vanish", [])))
    edited = {str(one["id"]): nanoseconds(one["to"]) for one in touched.get("edit", [])}
    values = {row["submission_id"]: float(row["latency_ns"]) for row in expected("expected.csv")} | edited
    for number, name in board.names.items():
        listed = {str(one) for one in board.submissions[name]} - gone
        if "shift" in touched and len(listed) > 2:  # a list of one page never moves
            listed.add(str(900_000 + number))
        want.submissions |= listed
        want.runs |= {one: values.get(one) for one in listed if name not in missed}
    if "drift" in touched:
        want.rejected = {str(touched["drift"]["missing_username"])} & want.submissions
    for one in {*want.rejected, *map(str, touched.get("disqualify", []))} & set(want.runs):
        del want.runs[one]
    want.submissions -= want.rejected
    return want


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as db:
        return db.execute(query).fetchall()


def assert_the_warehouse_holds(home: Path, want: Wanted, expected: Expected) -> None:
    assert {one for (one,) in rows(home, "SELECT external_id FROM submissions")} == want.submissions
    runs = {one[0]: one[1:] for one in rows(home, "SELECT external_id, primary_value, run_digest FROM runs")}
    assert set(runs) == set(want.runs)
    published = {
        one["submission_id"]: (float(one["latency_ns"]), one["run_digest"]) for one in expected("expected.csv")
    }
    for one in runs.keys() & published.keys():
        value, digest = runs[one]
        assert value == want.runs[one]
        assert (digest == published[one][1]) is (value == published[one][0])  # an edited result is a run of its own
    assert {one for (one,) in rows(home, "SELECT external_id FROM leaderboard")} == set(want.runs)


def assert_the_report_names(report: Report, base_url: str, want: Wanted, *, drift: bool) -> None:
    without_definition = "kept without a run until the kernel's definition can be used"
    told = [(one.locator, one.reason) for one in report.rejects if without_definition not in one.reason]
    assert sorted(locator.partition(" at ")[0] for locator, _ in told) == sorted(
        [f"{base_url}/kernels/{kernel}" for kernel in want.missed] + [f"submission/{one}" for one in want.rejected]
    )
    for locator, reason in told:
        number = locator.rpartition("/")[2]
        assert want.missed.get(int(number) if number.isdigit() else 0, "`username`") in reason
    assert any("replay_new_field" in one.path for one in report.drift) is drift
    assert report.status == ("partial" if want.missed or want.rejected else "complete")
    assert report.exit_code == (3 if want.missed or want.rejected else 0)


@pytest.mark.parametrize("hazards", CASES, ids="+".join)
def test_every_sound_answer_is_in_and_no_other(
    serve: Serve, expected: Expected, affected: Callable[[tuple[str, ...]], dict[str, Any]], board: Board,
    tmp_path: Path, hazards: tuple[str, ...],
) -> None:  # fmt: skip
    log, home = tmp_path / "log", tmp_path / "home"
    with serve(*SERVER, "--log", str(log), "--hazard", ",".join(hazards)) as base_url:
        report = run_sync(home, base_url, scope=Scope(kernels=tuple(board.names.values())), **CLIENT)
    requests = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert not [one for one in requests if "canary" in one]
    if "robots-deny" in hazards:
        assert (report.status, report.exit_code) == ("failed", 1)
        assert "robots.txt forbids it" in str(report.error)
        assert not (home / "warehouse.duckdb").exists()
        assert {one["path"] for one in requests} == {"/robots.txt"}
        return
    want = wanted(board, expected, affected(hazards))
    assert_the_warehouse_holds(home, want, expected)
    assert_the_report_names(report, base_url, want, drift="drift" in hazards)


def test_a_body_that_drips_ends_at_the_bound_and_is_named(serve: Serve, board: Board, tmp_path: Path) -> None:
    scope = Scope(kernels=tuple(board.names.values())[3:10])
    started = time.monotonic()
    with serve("--hazard", "slow", "--drip-seconds", "60") as base_url:
        report = run_sync(tmp_path, base_url, scope=scope, attempts=1, answer_timeout_s=1)
        again = run_sync(tmp_path, base_url, scope=scope, attempts=5, answer_timeout_s=1, max_wait_s=0.1)
    assert time.monotonic() - started < 45  # one body alone would take longer
    assert report.exit_code == 3
    slow = [one for one in report.rejects if one.reason.startswith("no whole answer within 1 s")]
    assert slow
    assert all(one.locator.startswith(base_url) for one in slow)
    assert (again.exit_code, again.rejects) == (0, [])


def test_a_server_that_asks_to_wait_is_waited_for(serve: Serve, board: Board, tmp_path: Path) -> None:
    log = tmp_path / "log"
    scope = Scope(kernels=tuple(board.names.values())[:6])
    with serve("--hazard", "rate-limit", "--retry-after", "1", "--log", str(log)) as base_url:
        assert run_sync(tmp_path / "home", base_url, scope=scope).exit_code == 0
    requests = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    refused = [one["t"] for one in requests if one["status"] == 429]
    assert refused
    # Up to four were on their way already when one was refused; whoever comes later has waited for the second.
    late = [[one["t"] - moment for one in requests if one["t"] > moment] for moment in refused]
    assert all(sum(0.5 < wait < 0.9 for wait in waits) <= 4 for waits in late)
    assert all(sum(wait < 0.9 for wait in waits) <= 4 for waits in late)


MOST_KIB = 250 * 1024
SMALL_PARENT = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
"""Runs a command and prints the most memory it took, KiB. A process counts what its parent held when it was begun, so
the parent must be small: this one is not."""


@pytest.mark.parametrize("hazard", ["bomb", "huge"])
def test_neither_a_bomb_nor_an_endless_body_takes_memory(
    serve: Serve, board: Board, tmp_path: Path, hazard: str
) -> None:
    """At the usual bounds, against 1 GiB from a small body and against a body without end."""
    with serve("--hazard", hazard) as base_url:
        command = [*KIX, "sync", "sol-execbench", "--base-url", base_url, "--limit", "3", "--home", str(tmp_path)]
        measured = subprocess.run(
            [sys.executable, "-c", SMALL_PARENT, *command], stdout=subprocess.PIPE, text=True, check=False
        )
    assert measured.returncode == 3
    assert 50 * 1024 < int(measured.stdout) < MOST_KIB
    assert rows(tmp_path, "SELECT count(DISTINCT kernel) FROM runs") == [(2,)]
