"""What a monitor asks: is every source fresh, and did its last sync go well?"""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from board_server import BoardServer, Reply
from click.testing import CliRunner, Result
from conftest import SAMPLE, SOURCE

from flows.cli import main
from flows.cron import check_cron
from flows.freshness import freshness
from flows.schedule import jobs
from flows.settings import Settings
from flows.sync import Request, sync
from scrapers.archive import Archive
from scrapers.contract import Scope


def check(home: Path, *options: str, **settings: Any) -> Result:
    environment = {f"KIX_{name.upper()}": value for name, value in settings.items()}
    return CliRunner().invoke(main, ["status", "--check", "--home", str(home), *options], env=environment)


def sync_at(home: Path, moment: datetime, base_url: str, scope: Scope | None = None) -> str:
    request = Request(scope or Scope(), base_url)
    settings = Settings(home=home, attempts=1)
    return asyncio.run(sync(SOURCE, request, settings, now=lambda: moment)).status


def hours_ago(hours: float) -> datetime:
    return datetime.now(UTC) - timedelta(hours=hours)


@pytest.fixture
def board() -> Any:
    with BoardServer(SAMPLE) as board:
        yield board


def test_fresh_is_fine_and_stale_is_told_with_since_when(tmp_path: Path, board: BoardServer) -> None:
    read_at = hours_ago(20)
    assert sync_at(tmp_path, read_at, board.base_url) == "complete"
    done = check(tmp_path, sources="sol-execbench")
    assert done.exit_code == 0, done.output
    assert "fresh" in done.output
    done = check(tmp_path, sources="sol-execbench", stale_after_h='{"sol-execbench": 12}')
    assert done.exit_code == 1
    due = read_at + timedelta(hours=12)
    assert f"stale since {due:%Y-%m-%d %H:%M} UTC" in done.output
    assert "policy: 12 h" in done.output


def test_a_sync_of_a_part_makes_nothing_fresh(tmp_path: Path, board: BoardServer) -> None:
    assert sync_at(tmp_path, hours_ago(50), board.base_url) == "complete"
    assert sync_at(tmp_path, hours_ago(1), board.base_url, Scope(limit=1)) == "complete"
    assert check(tmp_path).exit_code == 1


def test_a_failed_sync_is_told_from_the_first_on(tmp_path: Path, board: BoardServer) -> None:
    sync_at(tmp_path, hours_ago(5), board.base_url)
    board.answer = lambda _path, _n: Reply(404)
    first = hours_ago(3)
    assert sync_at(tmp_path, first, board.base_url) == "failed"
    assert sync_at(tmp_path, hours_ago(1), board.base_url) == "failed"
    done = check(tmp_path, sources="sol-execbench")
    assert done.exit_code == 1
    assert f"its last sync failed, nothing went well since {first:%Y-%m-%d %H:%M} UTC" in done.output
    board.answer = None
    sync_at(tmp_path, hours_ago(0.5), board.base_url)
    assert check(tmp_path).exit_code == 0


def test_a_killed_sync_is_told_and_a_running_one_is_not(tmp_path: Path, board: BoardServer) -> None:
    from flows.lock import holding

    sync_at(tmp_path, hours_ago(5), board.base_url)
    with Archive(tmp_path / "archive.sqlite") as archive:
        archive.open_sync("sol-execbench", board.base_url, Scope(), "normal", hours_ago(0.1), "0")
    done = check(tmp_path)
    assert (done.exit_code, "was interrupted" in done.output) == (1, True)
    with holding(tmp_path, "kix sync sol-execbench", 1):
        assert not freshness(Settings(home=tmp_path))[0].troubled


def test_an_enabled_source_that_was_never_read_is_trouble(tmp_path: Path) -> None:
    done = check(tmp_path, sources="sol-execbench,kernelindex")
    assert done.exit_code == 1
    assert done.output.count("never read as a whole") == 2
    done = check(tmp_path)
    assert (done.exit_code, "nothing to check" in done.output) == (1, True)


def test_json_has_the_same(tmp_path: Path, board: BoardServer) -> None:
    sync_at(tmp_path, hours_ago(50), board.base_url)
    (one,) = json.loads(check(tmp_path, "--json").stdout)
    assert (one["source"], one["stale"], one["troubled"], one["last_status"]) == (
        "sol-execbench", True, True, "complete",
    )  # fmt: skip


def test_the_metrics_are_what_prometheus_reads(tmp_path: Path, board: BoardServer) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    read_at = hours_ago(50)
    sync_at(tmp_path, read_at, board.base_url)
    target = tmp_path / "kix.prom"
    assert check(tmp_path, "--prometheus", str(target)).exit_code == 1
    families = {one.name: one for one in text_string_to_metric_families(target.read_text())}
    assert all(one.type == "gauge" and one.documentation for one in families.values())
    assert all(name.startswith("kix_") for name in families)
    found = {
        (sample.name, sample.labels.get("source") or sample.labels.get("table")): sample.value
        for one in families.values()
        for sample in one.samples
    }
    assert found["kix_source_stale", "sol-execbench"] == 1
    assert found["kix_source_last_sync_failed", "sol-execbench"] == 0
    assert found["kix_source_last_read_timestamp_seconds", "sol-execbench"] == pytest.approx(read_at.timestamp(), abs=1)
    assert found["kix_source_stale_after_seconds", "sol-execbench"] == 36 * 3600
    assert found["kix_rows", "operations"] == 13
    assert [path.name for path in tmp_path.glob("kix.prom*")] == ["kix.prom"]
    done = check(tmp_path, "--prometheus", str(tmp_path / "gone" / "kix.prom"))
    assert (done.exit_code, "cannot write" in done.output) == (1, True)


def test_labels_are_escaped() -> None:
    from prometheus_client.parser import text_string_to_metric_families

    from flows.metrics import exposition

    hostile = 'a"b\\c\nd'
    text = exposition([], {"counts": {hostile: 1}, "sizes_bytes": {}, "lock": None})
    (sample,) = next(one for one in text_string_to_metric_families(text) if one.name == "kix_rows").samples
    assert sample.labels == {"table": hostile}


@pytest.mark.parametrize("text", ["17 3 * * *", "*/5 * * * *", "0,30 8-18/2 1 1,7 1-5", "0 0 * * 7"])
def test_cron_is_taken(text: str) -> None:
    assert check_cron(f"  {text} ") == text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("60 3 * * *", "minute '60'"), ("0 24 * * *", "hour '24'"), ("0 3 0 * *", "day of the month '0'"),
        ("0 3 * 13 *", "month '13'"), ("0 3 * * 8", "day of the week '8'"), ("0 3 * *", "4 fields"),
        ("@daily", "1 fields"), ("5/2 * * * *", "step"), ("*/0 * * * *", "step"), ("9-3 * * * *", "ends before"),
        ("a * * * *", "is no cron"), ("-1 * * * *", "is no cron"), ("0 3 * * mon", "is no cron"),
    ],
)  # fmt: skip
def test_what_is_no_cron_is_refused_by_name(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=r"cron|within|before|step") as error:
        check_cron(text)
    assert word in str(error.value)


@pytest.mark.parametrize("text", ["17 3 * * *", "*/5 * * * *", "0,30 8-18/2 1 1,7 1-5", "0 0 * * 7"])
def test_prefect_takes_what_we_take(text: str) -> None:
    from prefect.schedules import Cron

    assert Cron(text, timezone="UTC").cron == text


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"schedules": '{"sol-execbench": "61 * * * *"}'}, "the schedule of sol-execbench: minute '61'"),
        ({"schedules": '{"nobody": "1 * * * *"}'}, "nothing is called 'nobody'"),
        ({"stale_after_h": '{"nobody": 3}'}, "nothing is called 'nobody'"),
        ({"stale_after_h": '{"sol-execbench": -1}'}, "stale_after_h.sol-execbench"),
        ({"sources": "nobody"}, "nothing is called 'nobody'"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, settings: dict[str, str], word: str) -> None:
    done = check(tmp_path, **settings)
    assert (done.exit_code, word in done.output) == (2, True), done.output


def test_the_settings_file_says_what_runs_when(tmp_path: Path) -> None:
    (tmp_path / "kix.toml").write_text(
        'sources = ["sol-execbench"]\n[schedules]\nsol-execbench = "7 */6 * * *"\nverify = "off"\n'
    )
    found = {job.name: job.cron for job in jobs(Settings(home=tmp_path))}
    usual = {job.name: job.cron for job in jobs(Settings(home=tmp_path / "other"))}
    assert found == usual | {"sol-execbench": "7 */6 * * *", "verify": None}
    assert set(usual) == {"export", "verify", "maintenance"}, "no source is read that nobody enabled"
