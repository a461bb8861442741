"""What people say: verdicts on what is held for doubt, and notes. Who ranks and who leads follows at once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import KIX, SAMPLE, TESTS, run_sync
from told import SOFTMAX, Told, kix, listed, prints, process, ranked, writing

from flows.lock import holding
from scrapers.archive import Archive
from warehouse.connection import published_path

DERIVED = ("standings", "record_events", "leaderboard", "records", "eligibility", "submitters")


def ask(home: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with duckdb.connect(published_path(home), read_only=True) as db:
        return db.execute(query, list(values)).fetchall()


def derived(home: Path) -> dict[str, Counter[str]]:
    return {table: Counter(map(repr, ask(home, f"FROM {table}"))) for table in DERIVED}


def said(home: Path) -> list[tuple[Any, ...]]:
    """Verdicts and notes, as the warehouse has them; the archive's are the same."""
    queries = {
        "verdicts": "SELECT verdict_id, subject, verdict, reason, by_name, after_sync FROM verdicts ORDER BY 1",
        "notes": "SELECT note_id, run_digest, kind, note, by_name FROM notes ORDER BY 1",
    }
    with Archive(home / "archive.sqlite", read_only=True) as archive:
        kept = [(o.verdict_id, o.subject, o.verdict, o.reason, o.by_name, o.after_sync) for o in archive.verdicts()]
        kept += [(one.note_id, one.run_digest, one.kind, one.note, one.by_name) for one in archive.notes()]
    found = [row for query in queries.values() for row in ask(home, query)]
    assert found == kept
    return found


def run_of(home: Path, external_id: object) -> str:
    ((run,),) = ask(home, "SELECT run_digest FROM runs WHERE external_id = ?", str(external_id))
    return str(run)


def doubted() -> dict[str, Any]:
    """A result of the sample that is faster than light allows, counted from its files: it leads once it is accepted."""
    for path in sorted((SAMPLE / "kernels").glob("*.json")):
        kernel = json.loads(path.read_text(encoding="utf-8"))["data"]
        if kernel["sol_is_dummy"]:
            continue
        floor = min(entry["sol_ms"] for entry in kernel["workloads"])
        for one in listed(int(path.stem)):
            counts = one["status"] == "COMPLETED" and one["is_correct"] and not one["is_disqualified"]
            if counts and one["latency_ms"] and one["latency_ms"] < floor:
                return one
    raise AssertionError("the sample has none")


DOUBTED = doubted()
ID = f"sol-execbench:{DOUBTED['id']}"


@pytest.fixture
def sample(sample_home: Path, tmp_path: Path) -> Path:
    """A copy of the sample's home, where people have said nothing yet."""
    return shutil.copytree(sample_home, tmp_path / "sample")


def accept(home: Path, name: str = ID, *more: str) -> tuple[int, str, str]:
    return kix("review", "accept", name, "--reason", "confirmed", "--by", "Ada", *more, home=home)


# -- verdicts


def test_an_accepted_run_ranks_and_leads_at_once_and_a_held_one_does_not(sample: Path) -> None:
    run, before = run_of(sample, DOUBTED["id"]), derived(sample)
    assert ask(sample, "SELECT reason FROM eligibility WHERE run_digest = ?", run) == [("BELOW_SPEED_OF_LIGHT",)]
    code, out, _ = accept(sample)
    assert code == 0
    assert f"accept: {run}" in out
    assert f"record: {DOUBTED['kernel_name']} " in out
    assert f"by {DOUBTED['username']} ({ID}" in out
    ns = round(DOUBTED["latency_ms"] * 1e6)
    rank = "SELECT rank, tied, relative_to_best, primary_value FROM leaderboard WHERE run_digest = ?"
    assert ask(sample, rank, run) == [(1, False, 1.0, float(ns))]
    assert ask(sample, "SELECT external_id, primary_value FROM records WHERE run_digest = ?", run) == [
        (str(DOUBTED["id"]), float(ns))
    ]
    ((key,),) = ask(sample, "SELECT comparison_key FROM runs WHERE run_digest = ?", run)
    others = (
        "SELECT min(rank), count(*) = min(cohort_size) - 1 FROM leaderboard"
        " WHERE comparison_key = ? AND run_digest <> ?"
    )
    assert ask(sample, others, key, run) == [(2, True)]
    # A run counts from its observation on: what came later and is slower never led.
    ((at,),) = ask(sample, "SELECT observed_at FROM runs WHERE run_digest = ?", run)
    events = ask(sample, 'SELECT "at", run_digest FROM record_events WHERE comparison_key = ? ORDER BY number', key)
    assert events[-1] == (at, run)
    assert kix("verify", home=sample)[0] == 0

    code, out, _ = kix("review", "hold", ID, "--reason", "not again", "--by", "Grace", home=sample)
    assert code == 0
    assert f"was {ns} ns by {DOUBTED['username']}" in out or f"by {DOUBTED['username']}" in out
    assert derived(sample) == before
    assert said(sample) == [
        (1, run, "accept", "confirmed", "Ada", 1),
        (2, run, "hold", "not again", "Grace", 1),
    ]


def test_a_verdict_is_kept_with_its_time(sample: Path) -> None:
    before = datetime.now(UTC)
    accept(sample)
    ((at,),) = ask(sample, "SELECT decided_at FROM verdicts")
    assert before <= at <= datetime.now(UTC)


@pytest.mark.parametrize("name", ["digest", "digits", "prefix", "page"])
def test_a_review_goes_by_several_names(name: str, sample: Path) -> None:
    run = run_of(sample, DOUBTED["id"])
    names = {
        "digest": run,
        "digits": run[7:19],
        "prefix": run[:19],
        "page": f"sol-execbench:submission/{DOUBTED['id']}",
    }
    code, out, _ = accept(sample, names[name])
    assert (code, out.splitlines()[0]) == (0, f"accept: {run}")


def test_what_is_not_held_or_means_several_is_told(sample: Path) -> None:
    run = run_of(sample, DOUBTED["id"])
    with writing(sample) as db:
        twin = run[:20] + "".join("0" if char != "0" else "1" for char in run[20:])
        db.execute("INSERT INTO reviews SELECT * REPLACE (? AS subject) FROM reviews LIMIT 1", [twin])
    fine = ask(sample, "SELECT external_id FROM leaderboard LIMIT 1")[0][0]
    before = prints(sample)
    for name, words in {
        run[:18]: "several",
        "0000": "not held for review",
        f"sol-execbench:{fine}": "not held for review",
        "sol-execbench:999999999": "no run",
        "elsewhere:1": "no run",
        "that one": "names no run",
        "": "names no run",
        "\x1b[31m": "names no run",
    }.items():
        code, out, text = accept(sample, name)
        assert (code, out) == (1, ""), name
        assert words in text
        assert "\x1b" not in text
        assert "kix review list" in text or "no run" in words or "several" in words or "names" in words
    assert prints(sample) == before


def test_another_operation_under_a_name_is_decided_on_and_changes_no_rank(home: Path) -> None:
    ((operation,),) = ask(home, "SELECT subject FROM reviews WHERE reason = 'AMBIGUOUS_SLUG'")
    _, out, _ = kix("review", "list", home=home)
    assert f"{operation[:23]}…  AMBIGUOUS_SLUG" in out
    before = derived(home)
    code, out, _ = accept(home, operation[:23])
    assert (code, out) == (0, f"accept: {operation}\n")
    assert derived(home) == before
    assert "    accept by Ada" in kix("review", "list", home=home)[1]


def test_a_board_as_of_a_sync_knows_what_was_decided_before_the_next(told: Told) -> None:
    """It was accepted after sync 1 and held after sync 7 of eight."""
    there = [
        bool(ask(told.home, f"SELECT 1 FROM leaderboard_as_of({sync}) WHERE run_digest = ?", told.doubted))
        for sync in range(1, 9)
    ]
    assert there == [True] * 6 + [False] * 2
    assert ask(told.home, "SELECT 1 FROM leaderboard WHERE run_digest = ?", told.doubted) == []
    now = Counter(map(repr, ask(told.home, "FROM leaderboard")))
    assert Counter(map(repr, ask(told.home, "FROM leaderboard_as_of(8)"))) == now
    second = ranked(SOFTMAX)[1]
    shown = {sync: kix("board", second["kernel_name"], "--as-of", str(sync), home=told.home)[1] for sync in (6, 7)}
    assert [f"sol-execbench:{second['id']}" in text for text in shown.values()] == [True, False]
    assert "BELOW_SPEED_OF_LIGHT" in shown[7]


# -- reasons and names

HOSTILE = "seen \x1b[31mred\x1b[0m\nkix: all is well\r\u202egnitirw\u202c \x07\u009b2J"


def test_a_hostile_reason_is_kept_as_it_is_and_shown_harmlessly(sample: Path) -> None:
    code, out, _ = kix("review", "accept", ID, "--reason", HOSTILE, "--by", "A\x1b[1m\nda", home=sample)
    assert code == 0
    assert ask(sample, "SELECT reason, by_name FROM verdicts") == [(HOSTILE, "A\x1b[1m\nda")]
    _, shown, _ = kix("review", "list", home=sample)
    for text in (out, shown):
        assert not {char for char in text if char != "\n" and not char.isprintable()}
    assert "\nkix: all is well" not in shown
    _, text, _ = kix("review", "list", "--json", home=sample)
    (found,) = (one for one in json.loads(text) if one["verdict"])
    assert (found["verdict_reason"], found["by_name"]) == (HOSTILE, "A\x1b[1m\nda")


UNUSABLE = {"": "reason", " \n\t": "reason", "x" * 10_001: "10,001", "a\0b": "NUL", "a\udcffb": "UTF-8"}


@pytest.mark.parametrize(("reason", "words"), UNUSABLE.items(), ids=["empty", "blank", "long", "NUL", "surrogate"])
def test_an_unusable_reason_is_told_and_nothing_is_kept(reason: str, words: str, sample: Path) -> None:
    before = prints(sample)
    code, out, text = kix("review", "accept", ID, "--reason", reason, "--by", "Ada", home=sample)
    assert (code, out) == (2, "")
    assert words in text
    assert len(text) < 300
    code, _, text = kix("note", ID, reason, "--by", "Ada", home=sample)
    assert code == 2
    assert words in text or "text" in text
    assert prints(sample) == before


def test_a_very_long_reason_that_fits_is_kept_whole(sample: Path) -> None:
    reason = "ﬀ" * 10_000
    assert kix("review", "accept", ID, "--reason", reason, "--by", "Ada", home=sample)[0] == 0
    assert ask(sample, "SELECT reason FROM verdicts") == [(reason,)]


def test_who_signs(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KIX_NAME", raising=False)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "login")

    def note(*more: str) -> int:
        return kix("note", ID, "text", *more, home=sample)[0]

    assert note() == 0
    (sample / "kix.toml").write_text('name = "In the file"\n')
    assert note() == 0
    monkeypatch.setenv("KIX_NAME", " Set ")
    assert note() == 0
    assert note("--by", "Ada Łovelace") == 0
    assert [row[4] for row in said(sample)] == ["login", "In the file", "Set", "Ada Łovelace"]
    for empty in ("", "  ", "x" * 201, "a\udcff", "a\0"):
        assert note("--by", empty) == 2
    assert len(said(sample)) == 4


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root")
def test_without_a_login_name_the_next_step_is_told(sample: Path) -> None:
    rights = "+dac_override,+dac_read_search,+fowner"
    nobody = ("setpriv", "--reuid=54321", f"--inh-caps={rights}", f"--ambient-caps={rights}")
    known = ("LOGNAME", "USER", "LNAME", "USERNAME", "KIX_NAME")
    environment = {name: text for name, text in os.environ.items() if name not in known}
    environment |= {"PYTHONPATH": str(TESTS.parent), "KIX_HOME": str(sample)}
    command = [*nobody, *KIX, "note", ID, "text"]
    done = subprocess.run(command, check=False, env=environment, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2, done.stderr
    assert "no login name" in done.stderr
    assert "--by NAME" in done.stderr


def test_bytes_that_are_no_text_are_told(sample: Path) -> None:
    with process("note", ID, os.fsdecode(b"caf\xe9"), "--by", "Ada", home=sample) as noting:
        _, words = noting.communicate(timeout=60)
    assert noting.returncode == 2
    assert "UTF-8" in words


# -- notes


def test_notes_change_neither_ranks_nor_evidence(home: Path, told: Told) -> None:
    """On a superseded run, and one that ranks, by several names."""
    before = derived(home)
    runs = ask(home, "FROM runs ORDER BY run_digest")
    ((superseded,),) = ask(home, "SELECT run_digest FROM run_states WHERE event = 'superseded' LIMIT 1")
    leader = ask(home, "SELECT run_digest FROM records ORDER BY 1 LIMIT 1")[0][0]
    there = len(said(home))
    for name, run, kind in ((superseded, superseded, "note"), (leader[7:20], leader, "reproduction")):
        code, out, _ = kix("note", name, HOSTILE, "--kind", kind, "--by", "Ada", home=home)
        assert (code, out) == (0, f"{kind} on {run}\n")
        assert said(home)[-1][1:] == (run, kind, HOSTILE.strip(), "Ada")
    assert len(said(home)) == there + 2
    assert derived(home) == before
    assert ask(home, "FROM runs ORDER BY run_digest") == runs
    code, _, words = kix("note", "sol-execbench:999999999", "x", "--by", "Ada", home=home)
    assert code == 1
    assert "no run" in words
    code, _, words = kix("note", leader, "x", "--kind", "rumour", home=home)
    assert code == 2


# -- what comes in between


def test_what_a_kill_left_in_the_archive_alone_comes_with_the_next_sync(sample: Path) -> None:
    run, before = run_of(sample, DOUBTED["id"]), derived(sample)
    with Archive(sample / "archive.sqlite") as archive:
        archive.add_verdict(run, "accept", "confirmed", "Ada", datetime.now(UTC))
        archive.add_note(run, "note", "text", "Ada", datetime.now(UTC))
    code, out, _ = kix("verify", home=sample)
    assert code == 1
    assert "verdicts: 1 row only in what the archive gives" in out
    assert "comes with the next sync" in out
    report = run_sync(sample, mode="sample")
    assert (report.status, set(report.inserted.values())) == ("complete", {0})
    assert [(one["run_digest"], one["external_id"]) for one in report.records] == [(run, str(DOUBTED["id"]))]
    assert derived(sample) != before
    assert [row[:2] for row in said(sample)] == [(1, run), (1, run)]
    assert kix("verify", home=sample)[0] == 0


def test_the_next_word_makes_up_for_it_too(sample: Path) -> None:
    run = run_of(sample, DOUBTED["id"])
    with Archive(sample / "archive.sqlite") as archive:
        archive.add_verdict(run, "accept", "confirmed", "Ada", datetime.now(UTC))
    other = ask(sample, "SELECT run_digest FROM leaderboard LIMIT 1")[0][0]
    assert kix("note", other, "text", "--by", "Grace", home=sample)[0] == 0
    assert ask(sample, "SELECT rank FROM leaderboard WHERE run_digest = ?", run) == [(1,)]
    assert len(said(sample)) == 2


def test_a_home_in_use_says_by_whom(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIX_LOCK_TIMEOUT_S", "0.2")
    with holding(sample, "kix sync elsewhere", 1):
        code, out, words = accept(sample)
    assert (code, out) == (1, "")
    assert "`kix sync elsewhere`" in words
    assert said(sample) == []


@pytest.mark.skipif(not shutil.which("bash"), reason="needs ulimit")
def test_a_full_disk_is_told(sample: Path) -> None:
    before = prints(sample)[published_path(sample).name]
    for blocks in (1, 3_000):  # the archive has no room; the warehouse's copy has none
        limits = ("bash", "-c", f'ulimit -f {blocks}; exec "$@"', "-")
        with process("note", ID, "text", "--by", "Ada", home=sample, limits=limits) as noting:
            _, words = noting.communicate(timeout=60)
        assert noting.returncode == 1, words
        assert "Traceback" not in words
    assert prints(sample)[published_path(sample).name] == before
    assert not list(sample.glob("*working*"))
    assert kix("note", ID, "another", "--by", "Ada", home=sample)[0] == 0
    assert kix("verify", home=sample)[0] == 0


# -- what is shown


def test_reviews_are_listed_open_ones_first(sample: Path) -> None:
    run = run_of(sample, DOUBTED["id"])
    accept(sample)
    _, out, _ = kix("review", "list", home=sample)
    heads = [line for line in out.splitlines() if not line.startswith(" ")]
    assert len(heads) == len(ask(sample, "FROM reviews"))
    assert heads[-1] == f"{ID}  BELOW_SPEED_OF_LIGHT  {DOUBTED['kernel_name']}"
    assert out.splitlines()[-1] == f"    accept by Ada, {datetime.now(UTC):%Y-%m-%d}: confirmed"
    _, text, _ = kix("review", "list", "--json", home=sample)
    last = json.loads(text)[-1]
    assert (last["subject"], last["verdict"], last["by_name"]) == (run, "accept", "Ada")
    assert "is less than" in last["detail"]


def test_nothing_to_review_is_said(sample: Path) -> None:
    with writing(sample) as db:
        db.execute("DELETE FROM reviews")
    code, out, words = kix("review", "list", home=sample)
    assert (code, out) == (0, "")
    assert "nothing is held for review" in words


def test_the_report_of_a_sync_tells_what_is_held(tmp_path: Path) -> None:
    code, _, words = kix("sync", "--sample", home=tmp_path)
    assert code == 0  # what is only held for review does not count
    assert f"held for review: {len(ask(tmp_path / 'sample', 'FROM reviews'))} (see `kix review list`)" in words
