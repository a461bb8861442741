"""Which code goes with which trouble, as docs/errors.md tells it: at the source, in the home, and in what was asked."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from board_server import BoardServer, Reply
from conftest import SAMPLE, run_sync
from told import in_archive, kix

from flows.lock import holding
from scrapers.codes import WRONG_USAGE, Code
from warehouse.connection import published_path

JSON = {"Content-Type": "application/json"}
AT_THE_SOURCE: dict[str, list[Reply]] = {
    "no-such-answer": [Reply(404), Reply(403), Reply(410)],
    "source-busy": [Reply(429), Reply(429, {"Retry-After": "86400"}), Reply(503, {"Retry-After": "86400"})],
    "source-failing": [Reply(500), Reply(503)],
    "transfer-broken": [
        Reply(200, JSON, b"{" * 99, truncate=True),
        Reply(200, {"Content-Encoding": "gzip"}, b"no gzip"),
    ],
    "redirect": [Reply(302, {"Location": "https://elsewhere.example/"}), Reply(302, {"Location": "?again"})],
    "answer-too-large": [Reply(200, JSON, b" " * 2_000_000)],
    "answer-unreadable": [
        Reply(200, {"Content-Type": "text/html"}, b"<html>log in</html>"),
        Reply(200, JSON, b"{"),
        Reply(200, JSON, b'{"data": []}'),
        Reply(200, JSON | {"Content-Encoding": "br"}, b"x"),
    ],
    "index-unusable": [Reply(200, JSON, b'{"data": {"kernels": []}}')],
}
ROBOTS: dict[str, str | Reply] = {
    "robots": "User-agent: *\nDisallow: /",
    "crawl-delay": "User-agent: *\nCrawl-delay: 3600",
    "robots-unreadable": Reply(500),
}


@pytest.fixture(scope="module")
def board() -> Iterator[BoardServer]:
    with BoardServer(SAMPLE) as served:
        yield served


@pytest.fixture(autouse=True)
def _as_usual(board: BoardServer) -> None:
    board.answer, board.robots = None, "User-agent: *\nDisallow:\n"


@pytest.mark.parametrize(("code", "reply"), [(code, reply) for code, them in AT_THE_SOURCE.items() for reply in them])
def test_trouble_at_the_source(code: str, reply: Reply, board: BoardServer, tmp_path: Path) -> None:
    board.answer = lambda path, n: reply
    report = run_sync(tmp_path, board.base_url, attempts=1, max_body_bytes=1_500_000)
    assert (report.status, report.error_code) == ("failed", code), report.error


@pytest.mark.parametrize("code", ROBOTS)
def test_trouble_with_its_rules(code: str, board: BoardServer, tmp_path: Path) -> None:
    board.robots = ROBOTS[code]
    report = run_sync(tmp_path, board.base_url, attempts=1)
    assert (report.status, report.error_code) == ("failed", code), report.error


def test_an_answer_that_is_not_there_offline(tmp_path: Path) -> None:
    assert run_sync(tmp_path, mode="offline").error_code == "not-in-archive"


def test_a_page_of_another_site(tmp_path: Path) -> None:
    command = ["sync", "kernelindex", "--page", "https://elsewhere.example/runs/1", "--base-url", "http://127.0.0.1:9"]
    _, out, _ = kix(*command, "--json", home=tmp_path)
    assert [one["code"] for one in json.loads(out)["rejects"]] == ["address-refused"]


def cut_archive(home: Path) -> None:
    path = home / "archive.sqlite"
    path.write_bytes(path.read_bytes()[:5000])


def pragma(home: Path, setting: str) -> None:
    with closing(sqlite3.connect(home / "archive.sqlite")) as db:
        db.execute(f"PRAGMA {setting}")
        db.commit()


def broken_warehouse(home: Path) -> None:
    published_path(home).chmod(0o644)
    published_path(home).write_bytes(b"no database" * 1000)


NOWHERE = ("sync", "sol-execbench", "--base-url", "http://127.0.0.1:9")
Damage = Callable[[Path], object]
IN_THE_HOME: list[tuple[str, Damage, tuple[str, ...]]] = [
    ("archive-unusable", cut_archive, ("rebuild",)),
    ("archive-unusable", lambda home: pragma(home, "application_id = 7"), ("rebuild",)),
    ("schema", lambda home: pragma(home, "user_version = 999"), ("rebuild",)),
    ("archive-empty", lambda home: (home / "archive.sqlite").unlink(), ("rebuild",)),
    ("archive-damaged", lambda home: in_archive(home, "DELETE FROM bodies"), ("rebuild",)),
    ("archive-incomplete", lambda home: in_archive(home, "DELETE FROM readings"), ("rebuild",)),
    ("archive-incomplete", lambda home: (home / "archive.sqlite").unlink(), NOWHERE),
    ("home-mixed", lambda home: None, NOWHERE),
    ("warehouse-unreadable", broken_warehouse, ("board", "rmsnorm")),
    ("no-warehouse", lambda home: published_path(home).unlink(), ("sql", "select 1")),
    ("file-unusable", lambda home: None, ("sql", "select 1", "--output", "/dev/null/x")),
    ("not-found", lambda home: None, ("show", "sol-execbench:0")),
    ("not-found", lambda home: None, ("board", "no-such-kernel")),
    ("not-found", lambda home: None, ("snapshots", "/dev/null")),
    ("ambiguous", lambda home: None, ("board", "sample")),
    ("not-comparable", lambda home: None, ("compare", "sol-execbench:8193", "sol-execbench:8204")),
    ("nothing-read", lambda home: None, ("audit",)),
    ("query-refused", lambda home: None, ("sql", "drop table runs")),
    ("query-failed", lambda home: None, ("sql", "select no_such_column from runs")),
    ("usage", lambda home: None, ("note", "sol-execbench:8193", " ")),
]  # fmt: skip


@pytest.mark.parametrize(("code", "damage", "command"), IN_THE_HOME)
def test_trouble_in_the_home_and_with_what_was_asked(
    code: str, damage: Damage, command: tuple[str, ...], sample_home: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for path in sample_home.glob("*.*"):
        (home / path.name).write_bytes(path.read_bytes())
    damage(home)
    if command[0] == "snapshots":  # has no home
        command = ("snapshots", str(tmp_path))
    exit_code, _, words = kix(*command, home=home)
    said = re.findall(r"^kix: .* \[([a-z-]+)\]$", words, re.MULTILINE)
    assert said == [code], words
    assert exit_code == (2 if Code(code) in WRONG_USAGE else 1)


@pytest.mark.parametrize(
    ("setting", "value", "query"),
    [
        (
            "KIX_SQL_TIMEOUT_S",
            "0.5",
            "select count(*) from range(100000000) a, range(1000000) b where a.range > b.range",
        ),
        ("KIX_SQL_MEMORY_MB", "20", "select list(range) from range(50000000)"),
    ],
)
def test_a_query_that_wants_too_much(
    setting: str, value: str, query: str, sample_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(setting, value)
    assert kix("sql", query, home=sample_home)[2].rstrip().endswith("[query-too-large]")


def test_a_home_in_use(sample_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIX_LOCK_TIMEOUT_S", "0")
    with holding(tmp_path, "a test", 0):
        code, _, words = kix("sync", "sol-execbench", home=tmp_path)
    assert (code, words.rstrip().endswith("[home-busy]")) == (1, True), words


def test_a_setting_that_makes_no_sense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIX_ATTEMPTS", "many")
    code, _, words = kix("status", home=tmp_path)
    assert (code, words.rstrip().endswith("[setting]")) == (2, True), words
