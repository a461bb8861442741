"""The recorded leaderboard, changing: edited, thinned out, disqualified, and as it was again, in one home."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import Serve, run_sync

from flows.rebuild import rebuild
from flows.report import Report
from flows.settings import Settings
from flows.verify import verify

pytestmark = pytest.mark.replay
Expected = Callable[[str], list[dict[str, str]]]
STEPS = ("plain", "edit", "vanish", "disqualify", "plain again")


@pytest.fixture(scope="module")
def affected(replay: Path) -> dict[str, Any]:
    """What each hazard touches: `edit` submission → latency in ns, `vanish` and `disqualify` submissions."""
    found = {}
    for hazard in ("edit", "vanish", "disqualify"):
        command = [sys.executable, str(replay / "serve.py"), "--hazard", hazard, "--affected"]
        found[hazard] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[hazard]
    edited = {str(one["id"]): float(_ns(str(one["to"]))) for one in found["edit"]}
    return {"edit": edited, **{name: {str(one) for one in found[name]} for name in ("vanish", "disqualify")}}


def _ns(milliseconds: str) -> int:
    return int((Decimal(milliseconds) * 1_000_000).quantize(Decimal(1), ROUND_HALF_UP))


@pytest.fixture(scope="module")
def story(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Report]]:
    """The home after all steps, and the report of each."""
    home = tmp_path_factory.mktemp("changing")
    reports = []
    before: dict[str, Counter[Any]] = {}
    for step in STEPS:
        hazard = () if step.startswith("plain") else ("--hazard", step)
        with serve(*hazard) as base_url:
            reports.append(run_sync(home, base_url))
        after = evidence(home)
        for table, kept in before.items():
            assert kept <= after[table], f"rows of {table} were changed or are gone after {step}"
        before = after
    return home, reports


def evidence(home: Path) -> dict[str, Counter[Any]]:
    derived = ("ordered_rows", "record_events", "standings")
    tables = rows(home, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")
    return {name: Counter(rows(home, f"SELECT hash(one) FROM {name} one")) for (name,) in tables if name not in derived}


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as db:
        db.execute("SET TimeZone = 'UTC'")
        return db.execute(query).fetchall()


def test_every_step_is_complete(story: tuple[Path, list[Report]]) -> None:
    assert [report.status for report in story[1]] == ["complete"] * 5


def test_the_events_are_exactly_those_that_the_hazards_imply(
    story: tuple[Path, list[Report]], affected: dict[str, Any], expected: Expected
) -> None:
    first = {row["submission_id"]: row["run_digest"] for row in expected("expected.csv")}
    found = rows(
        story[0],
        "SELECT l.sync_id, r.external_id, l.event, l.run_digest, b.external_id, b.primary_value FROM lifecycle l"
        " JOIN runs r USING (run_digest) LEFT JOIN runs b ON b.run_digest = l.by_run_digest",
    )
    edited = {row[1]: row for row in found if row[:1] == (3,) and row[2] == "superseded"}
    wanted = [(2, one, "superseded", first[one], one, value) for one, value in affected["edit"].items()]
    # The edit is taken back while others vanish: the first run is current again, and takes the edited one's place.
    wanted += [(3, one, "reinstated", first[one], None, None) for one in affected["edit"]]
    originals = {row["submission_id"]: float(row["latency_ns"]) for row in expected("expected.csv")}
    wanted += [(3, one, "superseded", edited[one][3], one, originals[one]) for one in affected["edit"]]
    wanted += [(3, one, "withdrawn", first[one], None, None) for one in affected["vanish"]]
    wanted += [(4, one, "reinstated", first[one], None, None) for one in affected["vanish"]]
    wanted += [(4, one, "retracted", first[one], None, None) for one in affected["disqualify"]]
    wanted += [(5, one, "reinstated", first[one], None, None) for one in affected["disqualify"]]
    assert Counter(found) == Counter(wanted)
    assert set(edited) == set(affected["edit"])
    assert not {row[3] for row in edited.values()} & set(first.values())


def values_at(step: int, affected: dict[str, Any], expected: Expected) -> dict[str, list[tuple[float, str]]]:
    """Map each cohort to the (value, submission) that rank after a step, best first."""
    cohorts: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for row in expected("expected.csv"):
        one, value = row["submission_id"], float(row["latency_ns"])
        if step == 2:
            value = affected["edit"].get(one, value)
        if (step == 3 and one in affected["vanish"]) or (step == 4 and one in affected["disqualify"]):
            continue
        cohorts[row["comparison_key"]].append((value, one))
    return {key: sorted(members) for key, members in cohorts.items()}


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_the_boards_of_every_step_can_still_be_read(
    story: tuple[Path, list[Report]], affected: dict[str, Any], expected: Expected, step: int
) -> None:
    wanted = set()
    for key, members in values_at(step, affected, expected).items():
        best = sorted({value for value, _ in members})
        wanted |= {(key, best.index(value) + 1, one, value) for value, one in members}
    board = f"leaderboard_as_of({step})"
    found = rows(story[0], f"SELECT comparison_key, rank, external_id, primary_value FROM {board}")
    assert sorted(found) == sorted(wanted)
    if step == 5:
        assert rows(story[0], "FROM leaderboard ORDER BY ALL") == rows(story[0], f"FROM {board} ORDER BY ALL")


@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_the_notice_names_the_boards_with_another_leader(
    story: tuple[Path, list[Report]], affected: dict[str, Any], expected: Expected, step: int
) -> None:
    before, after = (values_at(number, affected, expected) for number in (step - 1, step))
    first = {row["submission_id"]: row["run_digest"] for row in expected("expected.csv")}
    told = {one["comparison_key"]: one for one in story[1][step - 1].records}
    for key, was in before.items():
        now = after.get(key, [])
        # A leader keeps the record while nothing is strictly better; an edit makes another run of the same submission.
        kept = now and was and now[0][0] == was[0][0] and len(now) > 1 and now[0][0] == now[1][0]
        if not kept and (now[:1] != was[:1]):
            assert (told[key]["primary_value"], told[key]["external_id"]) == (now[0] if now else (None, None))
            assert told[key]["previous_value"] == (was[0][0] if was else None)
        elif not kept:
            assert key not in told
    assert {one["run_digest"] for one in told.values()} <= {None, *first.values()} or step == 2


def test_the_record_events_before_any_change_are_the_published_ones(replay_home: Path, expected: Expected) -> None:
    found = rows(
        replay_home,
        """SELECT e.comparison_key, strftime(e."at", '%Y-%m-%dT%H:%M:%S.%gZ'), e.external_id,
            coalesce(p.external_id, ''), e.primary_value::BIGINT::VARCHAR
        FROM record_events e LEFT JOIN runs p ON p.run_digest = e.previous_run_digest""",
    )
    assert sorted(found) == sorted(tuple(row.values()) for row in expected("expected_record_events.csv"))


def test_at_the_end_everyone_leads_who_did_at_first(story: tuple[Path, list[Report]], replay_home: Path) -> None:
    leaders = "SELECT comparison_key, run_digest FROM records ORDER BY ALL"
    now, first = dict(rows(story[0], leaders)), dict(rows(replay_home, leaders))
    differing = {key for key in first if now[key] != first[key]}
    ties = {key for (key,) in rows(replay_home, "SELECT comparison_key FROM leaderboard WHERE rank = 1 AND tied")}
    assert differing <= ties


def test_the_whole_story_can_be_proved_and_told_again_from_the_archive(story: tuple[Path, list[Report]]) -> None:
    async def proofs() -> dict[str, tuple[str, ...]]:
        return {proof.what: proof.examples async for proof in verify(Settings(home=story[0]))}

    assert not any(asyncio.run(proofs()).values())
    done = asyncio.run(rebuild(Settings(home=story[0])))
    assert (done.syncs, done.changed) == (5, [])
