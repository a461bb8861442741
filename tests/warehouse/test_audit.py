"""`published_runs` and `audit`: the published pages against the recorded leaderboard, as they are and changed.

What is expected is taken from the published texts in `fixtures/seeds` and from the recording's own files.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import duckdb
import pytest
from board_server import BoardServer
from conftest import run_sync
from run_page import manifest_text, run_id, run_page

from flows.pages import pages_given
from flows.registry import SOURCES
from flows.report import Report
from flows.settings import Settings
from flows.sync import Request, sync
from scrapers.contract import Scope
from warehouse import audit
from warehouse.checks import run_checks
from warehouse.connection import reading

pytestmark = pytest.mark.replay
Read = Callable[..., Report]


@pytest.fixture
def home(replay_home: Path, tmp_path: Path) -> Path:
    """A home of its own with the recorded leaderboard."""
    return Path(shutil.copytree(replay_home, tmp_path / "home"))


@pytest.fixture
def read(home: Path, tmp_path: Path) -> Read:
    """Reads pages, given as HTML, that were saved as files."""

    def reading_pages(*pages: str, into: Path = home, dry_run: bool = False) -> Report:
        files = [tmp_path / f"page-{place}.html" for place in range(len(pages))]
        for file, html in zip(files, pages, strict=True):
            file.write_text(html, encoding="utf-8")
        names, paths = pages_given(tuple(map(str, files)))
        request = Request(Scope(pages=names), dry_run=dry_run, saved=paths)
        return asyncio.run(sync(SOURCES["kernelindex"], request, Settings(home=into)))

    return reading_pages


def findings(home: Path, state: str | None = None) -> list[dict[str, Any]]:
    with reading(home) as db:
        return [row for row in audit.findings(db) if state in (None, row["state"])]


def ask(home: Path, query: str) -> list[tuple[Any, ...]]:
    with reading(home) as db:
        return db.execute(query).fetchall()


def changed(html: str, old: str, new: str) -> str:
    assert html.count(old) == 1, (old, html.count(old))
    return html.replace(old, new)


def in_manifest(old: str, new: str, *, submission: str = "3483") -> str:
    text = manifest_text(submission)
    assert text.count(old) == 1
    return changed(run_page(submission), escape(text), escape(text.replace(old, new)))


def differing(home: Path) -> dict[str, tuple[str | None, str | None]]:
    return {row["field"]: (row["ours"], row["theirs"]) for row in findings(home, "differs")}


def test_the_published_runs_are_equal_to_ours(home: Path, read: Read, expected: Any) -> None:
    report = read(run_page("3483"), run_page("27772"))
    assert report.status == "complete"
    assert report.inserted["published_runs"] == 2
    digests = {row["submission_id"]: row["run_digest"] for row in expected("expected.csv")}
    equal = findings(home, "equal")
    assert {(row["external_id"], row["run_digest"]) for row in equal} == {
        (name, digests[name]) for name in ("3483", "27772")
    }
    assert findings(home, "differs") == findings(home, "only there") == []
    assert not any(row["counts"] for row in findings(home))
    assert report.audit == {"differs": 0, "only there": 0, "only here": 3, "rank differs": 2, "equal": 2}
    with reading(home) as db:
        assert run_checks(db) == []


def test_ranks_are_told_with_the_sizes_of_both_cohorts(home: Path, read: Read, expected: Any) -> None:
    read(run_page("3483"), run_page("27772"))
    ranks = expected("expected_ranks.csv")
    for submission, there in (("3483", 8), ("27772", 4)):  # the ranks on the published pages
        (ours,) = [row for row in ranks if row["submission_id"] == submission]
        size = sum(row["comparison_key"] == ours["comparison_key"] for row in ranks)
        (row,) = [row for row in findings(home, "rank differs") if row["external_id"] == submission]
        assert (row["ours"], row["theirs"]) == (ours["rank"], str(there))
        assert (row["our_cohort_size"], row["their_cohort_size"], row["counts"]) == (size, there, False)


def test_what_is_only_here_is_of_the_cohorts_that_the_index_shows(home: Path, read: Read, expected: Any) -> None:
    read(run_page("3483"))
    ranks = expected("expected_ranks.csv")
    (key,) = {row["comparison_key"] for row in ranks if row["submission_id"] == "3483"}
    wanted = {row["submission_id"] for row in ranks if row["comparison_key"] == key} - {"3483"}
    assert {row["external_id"] for row in findings(home, "only here")} == wanted
    assert not any(row["counts"] for row in findings(home, "only here"))


# -- changed pages


@pytest.mark.parametrize(
    ("old", "new", "field", "ours", "theirs"),
    [
        ('<span class="text-readout">1.16', '<span class="text-readout">1.15', "page: value", "1.16 ms", "1.15 ms"),
        ("SOL 0.0914", "SOL 0.0915", "page: metrics", "SOL 0.0914 · 0.12× reference · 0/16 cases faster",
         "SOL 0.0915 · 0.12× reference · 0/16 cases faster"),
        ("sha256:449ac0a4bf174ec0ad6110c", "sha256:449ac0a4bf174ec0ad6110d", "page: run digest",
         "sha256:449ac0a4bf174ec0ad6110c", "sha256:449ac0a4bf174ec0ad6110d"),
        ("submission/3483", "submission/3484", "page: external id", "3483", "3484"),
        ("sha256:f2fadd4714b17399", "sha256:f2fadd4714b1739a", "comparison_key", "sha256:f2fadd4714b17399",
         "sha256:f2fadd4714b1739a"),
    ],
)  # fmt: skip
def test_a_changed_word_differs(home: Path, read: Read, old: str, new: str, field: str, ours: str, theirs: str) -> None:
    report = read(changed(run_page("3483"), old, new))
    assert report.status == "complete"
    assert differing(home) == {field: (ours, theirs)}
    assert all(row["counts"] for row in findings(home, "differs"))
    assert findings(home, "equal") == []
    contradicts = [one["reason"] for one in report.reviews]
    assert contradicts == (["PAGE_CONTRADICTS_MANIFEST"] if field.startswith("page: ") else [])


def test_a_changed_latency_in_the_manifest_differs_from_our_run(home: Path, read: Read) -> None:
    read(in_manifest('"mean": 1163104', '"mean": 1163105'))
    differs = differing(home)
    assert set(differs) == {"run_digest", "primary_value", "page: run digest"}
    assert differs["primary_value"] == ("1163104 ns", "1163105 ns")
    assert differs["run_digest"][0].startswith("sha256:449ac0a4bf174ec0ad6110c")  # type: ignore[union-attr]


def test_a_changed_metric_in_the_manifest_differs_from_our_run(home: Path, read: Read) -> None:
    read(in_manifest('"sol_score": 0.091395', '"sol_score": 0.091396'))
    assert differing(home)["metric sol_score"] == ("0.091395", "0.091396")


@pytest.mark.parametrize(
    ("note", "standing"),
    [
        ("Retracted 2026-09-01: measured on another GPU", "retracted"),
        ("Disputed: the timer is doubted", "disputed"),
        ("Superseded by a corrected run; preserved for the audit trail.", "superseded"),
    ],
)
def test_a_note_that_we_know_nothing_of_differs(home: Path, read: Read, note: str, standing: str) -> None:
    read(run_page("3483", note=note))
    assert differing(home) == {"lifecycle": ("active", standing)}


def test_a_stale_run_is_equal(home: Path, read: Read) -> None:
    read(run_page("3483", note="Not re-observed recently."))
    assert [row["external_id"] for row in findings(home, "equal")] == ["3483"]


def test_what_only_the_index_has(home: Path, read: Read) -> None:
    read(in_manifest('"externalId": "3483"', '"externalId": "999999"'))
    (row,) = findings(home, "only there")
    assert (row["external_id"], row["counts"]) == ("999999", True)
    assert "read here" in row["detail"]


def test_a_source_that_was_never_read_here_is_no_difference(tmp_path: Path, read: Read) -> None:
    report = read(run_page("3483"), into=tmp_path / "empty")
    assert report.audit["only there"] == 1
    (row,) = findings(tmp_path / "empty", "only there")
    assert (row["counts"], row["detail"]) == (False, "its source was never read here")


# -- history


def test_a_page_that_says_something_else_opens_a_version(home: Path, read: Read) -> None:
    first = read(run_page("3483"), run_page("27772"))
    again = read(run_page("3483"))
    assert again.inserted["published_runs"] == 0
    moved = read(changed(run_page("3483"), "Rank <!-- -->8", "Rank <!-- -->9"))
    back = read(run_page("3483"))
    rows = ask(
        home,
        "SELECT version, rank_seen, is_current, first_seen_sync, last_seen_sync FROM published_runs"
        " WHERE external_id = '3483' ORDER BY version",
    )
    assert rows == [
        (1, 8, False, first.sync_id, again.sync_id),
        (2, 9, False, moved.sync_id, moved.sync_id),
        (3, 8, True, back.sync_id, back.sync_id),
    ]
    assert ask(home, "SELECT count(*) FROM published_runs WHERE external_id = '27772'") == [(1,)]
    assert len(findings(home, "equal")) == 2


def test_two_states_of_a_page_in_one_sync_are_two_versions(home: Path, read: Read) -> None:
    read(run_page("3483"), changed(run_page("3483"), "Rank <!-- -->8", "Rank <!-- -->9"), run_page("27772"))
    rows = ask(home, "SELECT version, rank_seen, is_current FROM published_runs WHERE external_id = '3483' ORDER BY 1")
    assert rows == [(1, 8, False), (2, 9, True)]
    with reading(home) as db:
        assert run_checks(db) == []


def test_a_mended_page_is_equal_again_and_its_problem_is_kept(home: Path, read: Read) -> None:
    read(changed(run_page("3483"), "SOL 0.0914", "SOL 0.0915"))
    read(run_page("3483"))
    assert findings(home, "differs") == []
    ((problem,),) = ask(home, "SELECT problems[1] FROM published_runs WHERE version = 1")
    assert "SOL 0.0915" in problem
    assert ask(home, "SELECT page, version, field FROM published_run_problems") == [(run_id("3483"), 1, "metrics")]


def test_a_rejected_page_leaves_what_was_seen_before(home: Path, read: Read) -> None:
    first = read(run_page("3483"))
    broken = read(run_page("3483").replace("</main>", ""))
    assert broken.status == "partial"
    assert {one.path for one in broken.drift} == {"page"}
    assert ask(home, "SELECT version, last_seen_sync FROM published_runs") == [(1, first.sync_id)]


def test_an_edit_upstream_that_the_index_has_not_seen_differs(home: Path, replay: Path, read: Read) -> None:
    kernel = "064_multi_head_qkv_projection_with_rope_backward"
    (kernel_id,) = [
        one["id"]
        for one in json.loads((replay / "kernels.json").read_text(encoding="utf-8"))["data"]["kernels"]
        if one["name"] == kernel
    ]
    read(run_page("3483"))
    with BoardServer(replay) as board:
        board.edit(kernel_id, lambda items: [one | ({"latency_ms": 1.1} if one["id"] == 3483 else {}) for one in items])
        report = run_sync(home, board.base_url, scope=Scope(kernels=(kernel,)))
    assert differing(home) == {"lifecycle": ("superseded", "active")}
    assert report.audit["differs"] == 1


def test_a_dry_run_tells_and_keeps_nothing(home: Path, read: Read) -> None:
    report = read(run_page("3483"), dry_run=True)
    assert (report.audit["equal"], report.inserted["published_runs"]) == (1, 1)
    assert ask(home, "FROM published_runs") == []


def test_nothing_is_there_before_a_page_was_read(replay_home: Path) -> None:
    with reading(replay_home) as db:
        assert audit.counts(db) == {}
        assert audit.findings(db) == []


@pytest.mark.parametrize(
    "damage",
    [
        "INSERT INTO published_run_versions FROM published_run_versions",
        "INSERT INTO published_run_sightings FROM published_run_sightings",
        "INSERT INTO published_run_problems FROM published_run_problems",
        "DELETE FROM published_run_sightings",
        "DELETE FROM published_run_versions",
        "UPDATE published_run_versions SET version = 2",
        "UPDATE published_run_versions SET run_digest = 'sha256:1'",
    ],
)
def test_damage_is_found_by_a_check(home: Path, read: Read, damage: str) -> None:
    read(changed(run_page("3483"), "SOL 0.0914", "SOL 0.0915"))
    file = home / "warehouse.duckdb"
    file.chmod(0o644)
    with duckdb.connect(file) as db:
        db.execute(damage)
        assert {failure.check for failure in run_checks(db)} == {"published_runs_hold_together"}
