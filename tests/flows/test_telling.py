"""The log: one event a line, as text or JSON, about which sync; nothing of it obeys, and no secret is in it."""

from __future__ import annotations

import ast
import json
import logging
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from board_server import BoardServer, Reply
from click.testing import CliRunner
from told import DEQUANT, SOFTMAX, change, kix, ranked

from flows.cli import main
from flows.settings import Settings
from flows.telling import listen
from scrapers.telling import EVENTS, about, tell

ROOT = Path(__file__).parents[2]
TEXT_LINE = re.compile(r'\S+Z (info|warning|error) [a-z.]+( [a-z_]+=("([^"\\]|\\.)*"|[^\s"=]+))*')
HOSTILE = 'evil\nsync.ended \x1b[31m\u202e\x9b\x7f\u2028" = \\ end'


@pytest.fixture
def board(board_folder: Path) -> Iterator[BoardServer]:
    with BoardServer(board_folder) as served:
        yield served


@pytest.fixture(autouse=True)
def _nobody_listens_afterwards(tmp_path: Path) -> Iterator[None]:
    yield
    listen(Settings(home=tmp_path, log="off"))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "events.jsonl"
    monkeypatch.setenv("KIX_LOG", "json")
    monkeypatch.setenv("KIX_LOG_FILE", str(path))
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def read(board: BoardServer, home: Path, *more: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = kix("sync", "sol-execbench", "--base-url", board.base_url, "--json", *more, home=home)
    return code, json.loads(out)


def named(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] == name]


def test_a_sync_is_told_from_its_start_to_its_end(board: BoardServer, tmp_path: Path, log: Path) -> None:
    code, report = read(board, tmp_path / "home")
    events = lines_of(log)
    assert code == 0
    told = [event["event"] for event in events]
    steps = ["step.done", "index.read", "step.done", "loaded", "published", "step.done"]
    assert told == ["sync.started", *steps, "sync.ended"]
    assert {(event["sync_id"], event["source"]) for event in events} == {(report["sync_id"], "sol-execbench")}
    (index,), (loaded,), (ended,) = (named(events, name) for name in ("index.read", "loaded", "sync.ended"))
    assert (index["listed"], index["chosen"]) == (2, 2)
    assert loaded["runs"] == report["inserted"]["runs"]
    assert (ended["status"], ended["requests"], ended["bytes"]) == ("complete", len(board.requests), report["bytes"])
    assert ended["seconds"] >= 0
    moments = [datetime.fromisoformat(event["time"]) for event in events]
    assert moments == sorted(moments)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"]) for event in events)
    assert {moment.utcoffset() for moment in moments} == {timedelta(0)}


def test_the_second_sync_is_told_under_its_own_number_below_the_first(
    board: BoardServer, tmp_path: Path, log: Path
) -> None:
    read(board, tmp_path / "home")
    read(board, tmp_path / "home")
    assert [event["sync_id"] for event in named(lines_of(log), "sync.started")] == [1, 2]


def test_trouble_with_requests_is_told_with_codes(board: BoardServer, tmp_path: Path, log: Path) -> None:
    def answer(path: str, n: int) -> Reply | None:
        if path.endswith(f"/kernels/{SOFTMAX}"):
            return Reply(404)
        first = sum(request.path == path for request in board.requests) == 0
        return Reply(503, {"Retry-After": "1"}) if path.endswith(f"/kernels/{DEQUANT}") and first else None

    board.answer = answer
    code, report = read(board, tmp_path / "home")
    assert code == 3
    events = lines_of(log)
    (retried,), (failed,) = named(events, "request.retried"), named(events, "request.failed")
    rejected, without = named(events, "rejected")
    assert retried["url"].endswith(f"/kernels/{DEQUANT}")
    assert (retried["attempt"], retried["status"], retried["code"]) == (1, 503, "source-failing")
    assert 1 <= retried["wait_s"] < 2
    assert (failed["level"], failed["status"], failed["code"]) == ("warning", 404, "no-such-answer")
    assert (rejected["locator"], rejected["code"]) == (failed["url"], "no-such-answer")
    assert (without["reason"], without["code"]) == (report["rejects"][1]["reason"], "item-unusable")
    assert [one["code"] for one in report["rejects"]] == ["no-such-answer", "item-unusable"]
    assert named(events, "sync.ended")[0]["status"] == "partial"


def test_a_failed_sync_is_told_with_its_code_everywhere(board: BoardServer, tmp_path: Path, log: Path) -> None:
    board.bodies["/kernels"] = b'{"data": {"kernels": []}}'
    code, out, words = kix("sync", "sol-execbench", "--base-url", board.base_url, "--json", home=tmp_path / "home")
    ended = lines_of(log)[-1]
    assert (code, json.loads(out)["error_code"]) == (1, "index-unusable")
    assert words.rstrip().endswith("[index-unusable]")
    assert (ended["event"], ended["level"], ended["code"]) == ("sync.ended", "error", "index-unusable")


def test_drift_and_records_are_told(board: BoardServer, tmp_path: Path, log: Path) -> None:
    read(board, tmp_path / "home")
    leader, second, *_ = ranked(SOFTMAX)
    assert named(lines_of(log), "record.changed") == []  # nobody led before
    change(board, SOFTMAX, second["id"], latency_ms=leader["latency_ms"] / 2, brand_new=1)
    read(board, tmp_path / "home")
    events = lines_of(log)
    (record,), (drift,) = named(events, "record.changed"), named(events, "drift")
    assert (record["external_id"], record["previous_project"]) == (str(second["id"]), leader["username"])
    assert (drift["path"], drift["change"], drift["level"]) == ("submissions[].brand_new", "new field", "warning")


@pytest.mark.parametrize("form", ["json", "text"])
def test_what_comes_from_upstream_stays_one_line_that_nothing_obeys(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listen(Settings(home=tmp_path, log=form))  # type: ignore[arg-type]
    with about(sync_id=7, source=HOSTILE):
        tell("rejected", logging.WARNING, locator=HOSTILE, plain="a/b?c", empty="", none=None, figure=1.5, yes=True)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    line = said.rstrip("\n")
    assert line.isprintable()
    if form == "json":
        found = json.loads(line)
    else:
        assert TEXT_LINE.fullmatch(line), line
        pairs = re.findall(r' ([a-z_]+)=("(?:[^"\\]|\\.)*"|\S+)', line)
        found = {name: json.loads(value) if value[0] == '"' else value for name, value in pairs}
        assert (found["sync_id"], found["plain"], found["figure"], found["yes"]) == ("7", "a/b?c", "1.5", "true")
    assert (found["locator"], found["source"], found["empty"]) == (HOSTILE, HOSTILE, "")
    assert "none" not in found


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_user_and_password_of_any_url_is_told(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listen(Settings(home=tmp_path, log=form))  # type: ignore[arg-type]
    tell("rejected", reason="see https://user:hunter2@elsewhere.example/x and //user:hunter2@127.0.0.1/y")
    said = capsys.readouterr().err
    assert "elsewhere.example/x" in said
    assert "hunter2" not in said


def test_a_text_without_end_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listen(Settings(home=tmp_path, log="json"))
    tell("rejected", reason="x" * 1_000_000)
    assert 1_000 < len(capsys.readouterr().err) < 10_000


def test_nothing_is_told_unless_it_is_asked_for(board: BoardServer, tmp_path: Path) -> None:
    board.answer = lambda path, n: Reply(404) if path.endswith(f"/kernels/{SOFTMAX}") else None
    _, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path / "home")
    assert "sync.started" not in words
    assert not EVENTS.isEnabledFor(logging.CRITICAL)
    assert EVENTS.handlers == []


def test_errors_of_a_command_are_told_too(tmp_path: Path, log: Path) -> None:
    code, _, words = kix("board", "rmsnorm", home=tmp_path / "empty")
    (event,) = lines_of(log)
    assert (code, event["event"], event["code"]) == (1, "command.failed", "no-warehouse")
    assert words.strip() == f"kix: {event['reason']} [no-warehouse]"


def test_exports_and_maintenance_are_told(sample_home: Path, tmp_path: Path, log: Path) -> None:
    assert kix("export", str(tmp_path / "snapshots"), home=sample_home)[0] == 0
    assert kix("maintain", home=tmp_path / "home")[0] == 0
    exported, maintained = lines_of(log)
    assert (exported["event"], exported["new"], maintained["event"]) == ("exported", True, "maintained")
    manifest = json.loads((Path(exported["path"]) / "manifest.json").read_text(encoding="utf-8"))
    assert exported["rows"] == sum(table["rows"] for table in manifest["tables"])


def test_text_on_standard_error_is_of_the_form_that_is_documented(
    board: BoardServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIX_LOG", "text")
    _, out, words = kix("sync", "sol-execbench", "--base-url", board.base_url, "--json", home=tmp_path / "home")
    assert json.loads(out)["status"] == "complete"
    lines = [line for line in words.splitlines() if TEXT_LINE.fullmatch(line)]
    assert [line.split()[2] for line in lines][0::7] == ["sync.started", "sync.ended"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_log_that_cannot_be_written_is_said_once_and_stops_nothing(
    board: BoardServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIX_LOG", "text")
    monkeypatch.setenv("KIX_LOG_FILE", "/dev/full")
    code, _, words = kix("sync", "sol-execbench", "--base-url", board.base_url, home=tmp_path / "home")
    assert code == 0
    assert words.count("the log ends here") == 1
    assert "No space left" in words


@pytest.mark.parametrize("how", ["link", "folder"])
def test_a_log_in_the_wrong_place_ends_the_command_before_it_begins(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events"
    path.symlink_to(tmp_path / "elsewhere") if how == "link" else path.mkdir()
    monkeypatch.setenv("KIX_LOG", "json")
    monkeypatch.setenv("KIX_LOG_FILE", str(path))
    code, _, words = kix("sync", "--sample", home=tmp_path / "home")
    assert (code, words.rstrip().endswith("[file-unusable]")) == (1, True), words
    assert not (tmp_path / "home").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_a_rotated_log_is_let_go(tmp_path: Path, log: Path) -> None:
    listen(Settings(home=tmp_path))
    tell("drift")
    log.rename(tmp_path / "old")
    tell("loaded")
    assert [event["event"] for event in lines_of(tmp_path / "old") + lines_of(log)] == ["drift", "loaded"]


@pytest.mark.parametrize(
    "given",
    [
        ("sync", "--limit", "none"),
        ("sync", "--no-such-option"),
        ("board",),
        ("no-such-command",),
        ("--no-such-option",),
        ("review", "accept"),
        ("sync", "no-such-source"),
        ("sql", "select 1", "--safe-csv"),
    ],
)
def test_wrong_usage_has_its_code_whoever_finds_it(given: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 2
    assert done.stderr.count("[usage]") == 1


def test_help_is_no_error() -> None:
    assert "[usage]" not in CliRunner().invoke(main, ["review"]).output + CliRunner().invoke(main, []).output


def test_every_event_is_documented() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([a-z.]+)` \| (?:info|warning|error)", page, re.MULTILINE))
    told = {
        node.args[0].value
        for room in ("flows", "scrapers")
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tell" and node.args
        if isinstance(node.args[0], ast.Constant)
    }
    assert documented == told
    assert len(told) > 10
