"""What a run page says, as data. Expected values are those of the format's specification and of what was put in."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest
from board_server import BoardServer
from conftest import SAMPLE, run_sync
from made_warehouse import LOADED_AT, MEDIAN, OBSERVED_AT, MadeRun, made_home, put
from manifest_samples import FULL, LEAST

from scrapers.contract import Scope
from transforms.facts import Fact
from warehouse.comparison import Comparison, compare
from warehouse.connection import WarehouseError, reading
from warehouse.dossier import dossier
from warehouse.dossier_parts import Dossier
from warehouse.query import find_run
from warehouse.records import derive_standings

SOFTMAX = "sample_masked_softmax_rows"
LISTED = json.loads((SAMPLE / "submissions" / "3.json").read_text(encoding="utf-8"))
# The board of stack v1.1, best first: 8358, 7962, 6499, 6983, 7214, 7027, 8325, 6840.
EDITED, DISQUALIFIED, GONE, TOO_FAST, RETURNED = 8358, 7962, 6499, 6983, 7214
STAYS = 8325


def page(home: Path, name: str) -> Dossier:
    with reading(home) as db:
        return dossier(db, find_run(db, name))


def of(number: int) -> str:
    return f"sol-execbench:{number}"


@pytest.fixture(scope="module")
def changed_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four syncs of one kernel: as listed; one submission gone; edits, a disqualification, another gone and the first
    back; nothing new."""
    home = tmp_path_factory.mktemp("changed")
    changes: dict[int, dict[str, Any]] = {
        EDITED: {"latency_ms": 0.9},
        DISQUALIFIED: {"is_disqualified": True, "disqualification_reason": "returns a stored output"},
        TOO_FAST: {"latency_ms": 0.0000021},
    }
    with BoardServer(SAMPLE) as board:

        def sync() -> None:
            assert run_sync(home, board.base_url, scope=Scope(kernels=(SOFTMAX,))).status == "complete"

        sync()
        board.edit(3, lambda items: [one for one in items if one["id"] != RETURNED])
        sync()
        back = next(one for one in LISTED if one["id"] == RETURNED)
        board.edit(3, lambda items: [one | changes.get(one["id"], {}) for one in items if one["id"] != GONE] + [back])
        sync()
        sync()
    return home


@pytest.fixture
def own_home(sample_home: Path, tmp_path: Path) -> Iterator[tuple[Path, duckdb.DuckDBPyConnection]]:
    """A copy of the sample's warehouse that may be written to; closed before it is read."""
    shutil.copyfile(sample_home / "warehouse.duckdb", tmp_path / "warehouse.duckdb")
    with duckdb.connect(tmp_path / "warehouse.duckdb") as db:
        db.execute("SET TimeZone = 'UTC'")
        yield tmp_path, db


# -- what became of a run


def test_a_superseded_run_says_by_which_and_why_and_is_still_found_by_its_digest(changed_home: Path) -> None:
    new = page(changed_home, of(EDITED))
    (replaced,) = new.replaces
    old = page(changed_home, replaced["run_digest"])
    assert [(one["event"], one["by_run_digest"]) for one in old.lifecycle] == [("superseded", new.run_digest)]
    assert "0.044898" in old.lifecycle[0]["reason"]
    assert old.name == old.run_digest[:23]
    assert [row["reason"] for row in old.standing.reasons] == ["SUPERSEDED"]
    assert (old.standing.rank, old.standing.tied) == (None, None)
    assert old.primary.value == 44_898
    assert new.primary.value == 900_000
    assert (new.name, new.standing.reasons, new.lifecycle) == (of(EDITED), [], [])


@pytest.mark.parametrize(
    ("number", "events", "why"),
    [(DISQUALIFIED, ["retracted"], "returns a stored output"), (GONE, ["withdrawn"], "gone from a complete listing")],
)
def test_what_fell_says_why_and_does_not_rank(number: int, events: list[str], why: str, changed_home: Path) -> None:
    fallen = page(changed_home, of(number))
    assert [one["event"] for one in fallen.lifecycle] == events
    assert fallen.lifecycle[0]["reason"] == why
    assert fallen.lifecycle[0]["at"].tzinfo is UTC
    assert [row["reason"] for row in fallen.standing.reasons] == ["RETRACTED"]
    assert fallen.standing.rank is None


def test_a_run_is_published_when_the_sync_that_first_loaded_it_ended(changed_home: Path) -> None:
    with reading(changed_home) as db:
        ended = [one.astimezone(UTC) for (one,) in db.execute("SELECT finished_at FROM syncs ORDER BY 1").fetchall()]
    assert len(ended) == 4
    assert page(changed_home, of(STAYS)).published_at == ended[0]
    assert page(changed_home, of(RETURNED)).published_at == ended[0]
    assert page(changed_home, of(EDITED)).published_at == ended[2]


def test_what_returned_ranks_again_and_tells_both(changed_home: Path) -> None:
    back = page(changed_home, of(RETURNED))
    assert [one["event"] for one in back.lifecycle] == ["withdrawn", "reinstated"]
    # 7214 leads now: those before it were edited, disqualified, gone, and edited to what cannot be.
    assert (back.standing.rank, back.standing.reasons) == (1, [])
    assert back.leader is not None
    assert (back.leader.run_digest, back.leader.ratio) == (back.run_digest, 1)


def test_what_is_too_fast_is_held_and_compared_with_the_leader_all_the_same(changed_home: Path) -> None:
    held = page(changed_home, of(TOO_FAST))
    assert [row["reason"] for row in held.standing.reasons] == ["BELOW_SPEED_OF_LIGHT"]
    assert [row["reason"] for row in held.doubts] == ["BELOW_SPEED_OF_LIGHT"]
    assert held.leader is not None
    assert held.leader.name == of(RETURNED)
    assert held.leader.ratio == pytest.approx(2 / 60_086)  # 2.1 ns are 2 whole ones


def test_the_rank_is_that_of_the_board_at_hand(changed_home: Path) -> None:
    one = page(changed_home, of(STAYS))
    # Before it: 7214 and 7027; after it: 6840 and the edited 8358.
    assert (one.standing.rank, one.standing.cohort_size, one.standing.tied) == (3, 5, False)
    assert one.leader is not None
    assert one.leader.ratio == pytest.approx(62_290 / 60_086)
    assert one.leader.project == "halfwarp"


def test_a_renamed_user_has_the_new_name(tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        run_sync(tmp_path, board.base_url, scope=Scope(kernels=(SOFTMAX,)))
        was = page(tmp_path, of(STAYS))
        board.edit(3, lambda items: [one | {"username": "new name"} if one["id"] == STAYS else one for one in items])
        run_sync(tmp_path, board.base_url, scope=Scope(kernels=(SOFTMAX,)))
    now = page(tmp_path, of(STAYS))
    assert now.run_digest == was.run_digest
    assert (was.identity.project, now.identity.project, now.identity.implementation) == (
        "grid_stride", "new name", "new name",
    )  # fmt: skip


def test_a_verdict_lifts_the_doubt_and_is_told(own_home: tuple[Path, duckdb.DuckDBPyConnection]) -> None:
    home, db = own_home
    ((digest,),) = db.execute("SELECT subject FROM reviews WHERE reason = 'BELOW_SPEED_OF_LIGHT' LIMIT 1").fetchall()
    when = datetime(2026, 11, 3, 12, tzinfo=UTC)
    put(db, "verdicts", verdict_id=1, subject=digest, verdict="accept", reason="measured again", by_name="B. Reader",
        decided_at=when, after_sync=1)  # fmt: skip
    derive_standings(db, runs=[digest])
    db.close()
    one = page(home, digest)
    assert one.standing.rank == 1
    assert one.standing.reasons == []
    assert [row["reason"] for row in one.doubts] == ["BELOW_SPEED_OF_LIGHT"]
    assert one.verdicts == [
        {"verdict": "accept", "reason": "measured again", "by_name": "B. Reader", "decided_at": when}
    ]


def test_notes_come_in_order_and_change_neither_evidence_nor_rank(
    own_home: tuple[Path, duckdb.DuckDBPyConnection],
) -> None:
    home, db = own_home
    before = dossier(db, find_run(db, of(8270)))
    when = datetime(2026, 11, 3, 12, tzinfo=UTC)
    for number, kind in ((2, "reproduction"), (1, "note")):
        put(db, "notes", note_id=number, run_digest=before.run_digest, kind=kind, note=f"note {number}",
            by_name="B. Reader", written_at=when)  # fmt: skip
    db.close()
    after = page(home, of(8270))
    assert [(one["kind"], one["note"]) for one in after.notes] == [("note", "note 1"), ("reproduction", "note 2")]
    assert (after.evidence, after.standing) == (before.evidence, before.standing)
    assert before.notes == []


def test_equal_values_share_the_rank(sample_home: Path) -> None:
    first, second = page(sample_home, of(8270)), page(sample_home, of(8259))
    assert first.primary.value == second.primary.value
    assert first.standing == second.standing
    assert (first.standing.rank, first.standing.tied) == (1, True)
    assert first.leader == second.leader


# -- runs of other kinds


def test_a_case_shows_axes_tensors_and_tolerances(tmp_path: Path) -> None:
    (digest,) = made_home(tmp_path, MadeRun("1"))
    one = page(tmp_path, digest)
    assert one.identity.workload == "batch = 8"
    assert one.workload == [
        Fact("batch", "8"),
        Fact("q", "bf16 [8, 0, 128] strides [128, -1, 1] align 16"),
        Fact("scale", "fp32 -0.125"),
        Fact("definition comparator", "allclose"),
        Fact("maxAbsoluteError", "0.001"),
        Fact("maxRelativeError", "0"),
        Fact("requiredMatchedRatio", "1"),
        Fact("nanPolicy", "reject"),
        Fact("infinityPolicy", "ignore"),
    ]


def test_a_label_has_every_axis_and_an_id_where_there_is_none(tmp_path: Path) -> None:
    wide = FULL["WorkloadCase"] | {"axes": {"batch": 8, "heads": 32}}
    made_home(tmp_path, MadeRun("1", workload=wide), MadeRun("2", workload=LEAST["WorkloadCase"]))
    assert page(tmp_path, "made-up:1").identity.workload == "batch = 8 · heads = 32"
    assert page(tmp_path, "made-up:2").identity.workload == "case a-case"
    assert page(tmp_path, "made-up:2").workload == [Fact("definition comparator", "allclose")]


def test_a_suite_counts_its_entries_repeats_included(tmp_path: Path) -> None:
    silent = FULL["WorkloadSuite"] | {"aggregation": {"metric": "latency", "statistic": "unspecified"}}
    made_home(tmp_path, MadeRun("1", workload=FULL["WorkloadSuite"]), MadeRun("2", workload=silent))
    assert page(tmp_path, "made-up:1").identity.workload == "suite of 2 cases · mean latency"
    assert page(tmp_path, "made-up:2").identity.workload == "suite of 2 cases · latency"
    assert page(tmp_path, "made-up:1").workload == [
        Fact("definition comparator", "sol_execbench_eval"), Fact("description", "On every case."),
    ]  # fmt: skip


def test_protocol_and_environment_show_what_they_state_in_the_index_order(tmp_path: Path) -> None:
    made_home(tmp_path, MadeRun("1"))
    one = page(tmp_path, "made-up:1")
    assert [(fact.label, fact.value) for fact in one.protocol] == [
        ("harness", "A harness v1"),
        ("timer", "cuda_events"),
        ("synchronization", "device"),
        ("compileIncluded", "false"),
        ("warmupIterations", "0"),
        ("measuredIterations", "10"),
        ("samples", "10"),
        ("inputRegeneration", "never"),
        ("primaryStatistic", "median"),
        ("outlierPolicy", "none dropped"),
        ("correctnessReference", "definition reference implementation"),
        ("comparabilityFamily", "a_family"),
    ]
    assert [(fact.label, fact.value) for fact in one.environment] == [
        ("gpu", "NVIDIA B200 (sm_100)"),
        ("gpuCount", "1"),
        ("memoryBytes", "192000000000"),
        ("operatingSystem", "Ubuntu 24.04"),
        ("driver", "570"),
        ("cudaToolkit", "12.8"),
        ("framework", "torch 2.8.0"),
        ("compiler", "nvcc"),
        ("clocksLocked", "true"),
        ("persistenceMode", "false"),
        ("imageDigest", "sha256:" + "0a" * 32),
    ]


def test_what_a_manifest_does_not_state_is_left_out(tmp_path: Path) -> None:
    (digest,) = made_home(
        tmp_path,
        MadeRun(
            "1", run=LEAST["BenchmarkRun"], workload=LEAST["WorkloadCase"], protocol=LEAST["BenchmarkProtocol"],
            environment=LEAST["ExecutionEnvironment"], implementation=LEAST["ImplementationRevision"],
            primary=None, measurements=[],
        ),
    )  # fmt: skip
    one = page(tmp_path, digest)
    assert [fact.label for fact in one.protocol] == ["harness", "timer", "primaryStatistic"]
    assert one.environment == [Fact("gpu", "X (unknown)")]
    assert (one.correctness, one.artifacts, one.measurements, one.source_metrics) == ([], [], [], {})
    assert (one.identity.revision, one.primary.value, one.leader) == (None, None, None)
    assert [row["reason"] for row in one.standing.reasons] == ["MISSING_PRIMARY_METRIC", "STATUS_TIMEOUT"]
    assert one.standing.cohort_size == 0


def test_correctness_measurements_interval_and_artifacts(tmp_path: Path) -> None:
    rows = [("throughput", "mean", "gb_per_s", 12.5), ("latency", "mean", "ns", 6.0), MEDIAN]
    (digest,) = made_home(tmp_path, MadeRun("1", primary=(*MEDIAN, 4.0, 6.0), measurements=rows))
    one = page(tmp_path, digest)
    assert [(fact.label, fact.value) for fact in one.correctness] == [
        ("comparator", "allclose"),
        ("max absolute error", "0.5"),
        ("max relative error", "1e-7"),
        ("matched ratio", "0.999"),
        ("result", "passed"),
    ]
    shown = [(row["metric"], row["statistic"], row["value"], row["samples"]) for row in one.measurements]
    assert shown == [("latency", "median", 5, 3), ("latency", "mean", 6, 3), ("throughput", "mean", 12.5, None)]
    assert (one.primary.value, one.primary.low, one.primary.high, one.primary.samples) == (5, 4, 6, 3)
    kept = f"sha256:{'0a' * 32} · artifacts/0a"
    assert one.artifacts == [
        Fact("logs", kept), Fact("rawSamples", kept), Fact("harness", f"https://example.org/a?b=c#d at {'0a' * 20}"),
    ]  # fmt: skip
    assert (one.evidence, one.standing.profile, one.observed_at) == ("reproducible", "strict", OBSERVED_AT)
    assert (one.published_at, one.read_from) == (LOADED_AT, "https://made.example/api")


def test_a_run_that_did_not_pass_says_so(tmp_path: Path) -> None:
    failed = FULL["BenchmarkRun"] | {"status": "incorrect_numerical"}
    (digest,) = made_home(tmp_path, MadeRun("1", run=failed))
    one = page(tmp_path, digest)
    assert one.correctness[-1] == Fact("result", "failed")
    assert [row["reason"] for row in one.standing.reasons] == ["STATUS_INCORRECT_NUMERICAL"]


def test_a_page_is_json(tmp_path: Path) -> None:
    (digest,) = made_home(tmp_path, MadeRun("1"))
    data = orjson.loads(orjson.dumps(page(tmp_path, digest)))
    assert data["identity"]["comparability_family"] == "a_family"
    assert data["environment"][0] == {"label": "gpu", "value": "NVIDIA B200 (sm_100)"}


def test_a_run_that_is_not_there_is_told(sample_home: Path) -> None:
    with reading(sample_home) as db, pytest.raises(WarehouseError, match="no run sha256:00"):
        dossier(db, "sha256:" + "00" * 32)


# -- side by side


def compared(home: Path, *names: str) -> Comparison:
    with reading(home) as db:
        return compare([dossier(db, find_run(db, name)) for name in names])


def test_runs_of_a_cohort_are_relative_to_the_best_of_those_given(changed_home: Path) -> None:
    result = compared(changed_home, of(STAYS), of(6840), of(DISQUALIFIED))
    assert result.comparable
    assert [run.name for run in result.runs] == [of(STAYS), of(6840), of(DISQUALIFIED)]
    # 7962, disqualified with 50 µs, is the best of these; its mark stays.
    assert [run.relative for run in result.runs] == pytest.approx([62_290 / 50_000, 68_799 / 50_000, 1])
    assert [(run.rank, run.reasons) for run in result.runs] == [(3, []), (4, []), (None, ["RETRACTED"])]


OTHER_RULE = {"comparator": "allclose", "maxAbsoluteError": 0.002}


@pytest.mark.parametrize(
    ("change", "component", "values"),
    [
        (
            {"kernel": "008_gqa_decode", "workload": {"operationSpecDigest": "sha256:" + "0b" * 32}},
            "operation",
            ["A kernel", "GQA decode"],
        ),
        ({"workload": {"axes": {"batch": 9}}}, "workload", ["batch = 8", "batch = 9"]),
        (
            {"protocol": {"harness": {"name": "A harness", "version": "v2"}}},
            "protocol",
            ["A harness v1", "A harness v2"],
        ),
        (
            {"environment": {"hardware": {"vendor": "nvidia", "product": "NVIDIA H100", "architecture": "sm_90"}}},
            "environment",
            ["NVIDIA B200 (sm_100)", "NVIDIA H100 (sm_90)"],
        ),
        (
            {"workload": {"correctness": OTHER_RULE}},
            "correctness",
            [
                "allclose, infinityPolicy ignore, maxAbsoluteError 0.001, maxRelativeError 0, nanPolicy reject,"
                " requiredMatchedRatio 1",
                "allclose, maxAbsoluteError 0.002",
            ],
        ),
        ({"primary": ("latency", "mean", "ns", 6.0)}, "metric", ["latency:median:ns", "latency:mean:ns"]),
    ],
)
def test_runs_of_two_cohorts_are_refused_with_what_differs(
    change: dict[str, Any], component: str, values: list[str], tmp_path: Path
) -> None:
    other = MadeRun("2")
    for name, value in copy.deepcopy(change).items():
        setattr(other, name, getattr(other, name) | value if isinstance(value, dict) else value)
    made_home(tmp_path, MadeRun("1"), other)
    result = compared(tmp_path, "made-up:1", "made-up:2")
    assert (result.comparable, result.runs) == (False, [])
    found = {difference.component: difference.values for difference in result.differences}
    assert found[component] == dict(zip(("made-up:1", "made-up:2"), values, strict=True))
    # A workload holds its operation and its rule, so it differs with them; nothing else does.
    assert found.keys() - {component} <= ({"workload"} if component in ("operation", "correctness") else set())


def test_what_differs_and_is_called_the_same_is_told_apart_by_digest(tmp_path: Path) -> None:
    drivers = [copy.deepcopy(FULL["ExecutionEnvironment"]) for _ in range(2)]
    drivers[1]["software"]["driver"] = "580"
    made_home(tmp_path, *(MadeRun(str(number), environment=one) for number, one in enumerate(drivers)))
    (difference,) = compared(tmp_path, "made-up:0", "made-up:1").differences
    first, second = difference.values.values()
    assert first != second
    assert first.startswith("NVIDIA B200 (sm_100) [sha256:")
