"""A board whose every name and text is hostile: what is kept of it, where it is shown, and what is written where."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from board_server import BoardServer
from click.testing import CliRunner
from conftest import run_sync
from terminal import obeyed, on_terminal
from told import SOFTMAX, small_board

from flows.cli import main
from flows.report import Report
from warehouse.connection import reading

EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\u202eevil\u2066\u200b\ufeff\rover\n# big <img src=x>"
NAMES = {
    "kernel_name": f"../../../escape/{EVIL}'; DROP TABLE runs; --",
    "gpu_type": f"CON\\..\\..\\{EVIL}",
    "evaluation_stack_version": f"\"v1.1\"); ATTACH 'x.db'; --{EVIL}",
    "username": f'~/.ssh/authorized_keys"{EVIL}`$(touch owned)`',
}
LONG = "x" * 5_000


def hostile(item: dict[str, Any], place: int) -> dict[str, Any]:
    item = item | NAMES | {"kernel_id": SOFTMAX}
    changed = {
        0: {"username": LONG},
        1: {"disqualification_reason": EVIL, "is_disqualified": True},
        2: {"gpu_type": EVIL},
        4: {"evaluation_stack_version": "CON"},
        5: {"latency_ms": 1e-7},
        11: {"latency_ms": 1e303},
        6: {"submitted_at": EVIL, "finished_at": EVIL},
    }
    return item | changed.get(place, {})


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile-board")


@pytest.fixture(scope="module")
def board(base: Path) -> Iterator[BoardServer]:
    folder = small_board(base / "board")
    with BoardServer(folder) as server:
        for path in ("/kernels", f"/kernels/{SOFTMAX}"):
            answer = json.loads(server.bodies[path])
            for kernel in answer["data"].get("kernels", [answer["data"]]):
                if kernel["id"] == SOFTMAX:
                    kernel.update(name=NAMES["kernel_name"], title=EVIL)
            server.bodies[path] = json.dumps(answer).encode()
        server.edit(SOFTMAX, lambda items: [hostile(one, place) for place, one in enumerate(items)])
        yield server


@pytest.fixture(scope="module")
def synced(base: Path, board: BoardServer) -> tuple[Path, Report]:
    home = base / "deep" / "er" / "home"
    return home, run_sync(home, board.base_url)


@pytest.fixture(scope="module")
def runs(synced: tuple[Path, Report]) -> list[str]:
    with reading(synced[0]) as db:
        query = "SELECT source || ':' || external_id FROM leaderboard WHERE kernel = ? ORDER BY comparison_key, place"
        return [name for (name,) in db.execute(query, [NAMES["kernel_name"]]).fetchall()]


def test_names_are_kept_as_they_are_and_only_what_is_no_figure_or_time_is_refused(
    synced: tuple[Path, Report], runs: list[str]
) -> None:
    home, report = synced
    assert report.status == "partial"
    assert runs
    with reading(home) as db:
        found = db.execute("SELECT DISTINCT kernel, product, project FROM leaderboard WHERE kernel = ?",
                           [NAMES["kernel_name"]]).fetchall()  # fmt: skip
        assert (NAMES["kernel_name"], NAMES["gpu_type"], NAMES["username"]) in found
        assert db.execute("SELECT count(*) FROM submissions WHERE username = ?", [LONG]).fetchall() == [(1,)]
        assert db.execute("SELECT max(primary_value) < 1e300 FROM runs").fetchall() == [(True,)]
    refused = {one.locator: one.reason for one in report.rejects}
    assert set(refused) == {"submission/7214", "submission/7126", "submission/6455"}
    assert "less than half a nanosecond" in refused["submission/7214"]
    assert "is no time" in refused["submission/7126"]


def files_outside(base: Path, *folders: Path) -> set[Path]:
    return {path for path in base.rglob("*") if not any(path.is_relative_to(one) for one in folders)}


COMMANDS = ["board", "records", "status", "status --check", "review list", "show", "cite", "compare", "audit"]


def arguments(command: str, runs: list[str]) -> list[str]:
    words = command.split()
    given = {"board": [NAMES["kernel_name"]], "show": runs[:1], "cite": runs[:1], "compare": runs[:2]}
    return words + given.get(words[0], [])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
def test_no_command_passes_on_what_a_terminal_obeys(
    command: str, as_json: bool, synced: tuple[Path, Report], runs: list[str]
) -> None:
    options = ["--json"] if as_json else []
    done = CliRunner().invoke(main, [*arguments(command, runs), *options, "--home", str(synced[0])])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.output.strip()
    assert obeyed(done.output) == set()
    if as_json and done.exit_code == 0:
        json.loads(done.stdout)


def test_no_text_makes_a_line_of_its_own(tmp_path: Path) -> None:
    home = tmp_path / "nothing\nkix: all is well\x0b\x85\u2028kix: all is well"
    done = CliRunner().invoke(main, ["board", "a_kernel", "--home", str(home)])
    assert done.exit_code == 1
    assert done.stderr.startswith("kix: no warehouse in ")
    assert done.stderr.splitlines() == [done.stderr.rstrip("\n")]


@pytest.mark.parametrize("command", ["board", "manifest"])
def test_nor_in_a_real_terminal(command: str, synced: tuple[Path, Report], runs: list[str]) -> None:
    given = [NAMES["kernel_name"]] if command == "board" else runs[:1]
    text = on_terminal([sys.executable, "-m", "flows.cli", command, *given, "--home", str(synced[0])])
    assert "red" in text
    assert obeyed(text) == set()


def test_nor_while_it_syncs(board: BoardServer, base: Path) -> None:
    text = on_terminal(
        [sys.executable, "-m", "flows.cli", "sync", "sol-execbench", "--base-url", board.base_url, "--home",
         str(base / "other")], {"KIX_REQUESTS_PER_S": "1000"},
    )  # fmt: skip
    assert "rejected:" in text
    assert obeyed(text) == set()


def test_a_manifest_in_a_pipe_is_canonical_to_the_byte(synced: tuple[Path, Report], runs: list[str]) -> None:
    done = CliRunner().invoke(main, ["manifest", runs[0], "--home", str(synced[0])])
    assert NAMES["kernel_name"] in json.dumps(json.loads(done.stdout), ensure_ascii=False) or "\u202e" in done.stdout


def test_the_report_as_markdown_has_upstream_text_in_code_spans_only(synced: tuple[Path, Report]) -> None:
    text = synced[1].markdown()
    assert obeyed(text) == set()
    outside = "".join(part for place, part in enumerate(text.split("`")) if place % 2 == 0)
    assert "evil" not in outside
    assert "<img" not in outside


def test_nothing_is_written_but_in_the_home_and_the_folder_of_snapshots(
    synced: tuple[Path, Report], base: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = base / "deep" / "er" / "snapshots"
    before = files_outside(base, synced[0], folder)
    done = CliRunner().invoke(main, ["export", str(folder), "--home", str(synced[0])])
    assert done.exit_code == 0, done.output
    assert obeyed(done.output) == set()
    assert files_outside(base, synced[0], folder) == before
    assert list(tmp_path.iterdir()) == []
    names = [part for path in folder.rglob("*") for part in path.relative_to(folder).parts]
    assert all(name.isascii() and name.isprintable() and len(os.fsencode(name)) < 256 for name in names)
    for document in folder.rglob("*.md"):
        assert obeyed(document.read_text(encoding="utf-8")) == set()
    for document in folder.rglob("*.json"):
        json.loads(document.read_bytes())
