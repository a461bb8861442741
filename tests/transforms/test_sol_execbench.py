"""The SOL-ExecBench mapping, rule by rule. What is expected is written out here, or worked out here from the sample's
files with the standard library and `rfc8785`: nothing comes from the code under test."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from conftest import SAMPLE
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from scrapers.contract import Part
from scrapers.sol_execbench import parse
from transforms.bundle import COLUMNS, Bundle
from transforms.sol_execbench import transform

URL = "https://board.example/api/kernels/7"
DEFINITION, PAGE = "sha256:" + "d" * 64, "sha256:" + "e" * 64
FAMILY = "sol_execbench_leaderboard"


class Spelled(str):
    """A JSON number as its text spells it, such as `1.10`."""

    __slots__ = ()


def spelled(value: Any) -> str:
    """JSON text in which a Spelled stands as it is."""
    if isinstance(value, Spelled):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{spelled(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spelled, value)) + "]"
    return json.dumps(value)


def entry(**fields: Any) -> dict[str, Any]:
    return {"axes": {"N": 8}, "baseline_latency_ms": 0.01, "sol_ms": 0.001} | fields


def kernel(**fields: Any) -> dict[str, Any]:
    return {
        "id": 7,
        "name": "toy_scale",
        "title": "toy_scale",
        "description": "Doubles what it is given.",
        "gpu_types": ["B200"],
        "tags": ["L1", "elementwise", "model:toy-1b"],
        "axes": {"N": {"type": "var"}, "hidden": {"type": "const", "value": 64}},
        "inputs": {"x": {"shape": ["N", "hidden"], "dtype": "bfloat16"}},
        "outputs": {"y": {"shape": ["N", "hidden"], "dtype": "bfloat16"}},
        "baseline": "# no source text\n",
        "baseline_latency_ms": 0.01,
        "latency_unit": "ms",
        "sol_is_dummy": False,
        "workloads": [entry()],
    } | fields


def submission(**fields: Any) -> dict[str, Any]:
    return {
        "id": 41,
        "type": "kernel",
        "user_id": 5,
        "username": "ada | lab",
        "kernel_id": 7,
        "kernel_name": "toy_scale",
        "kernel_title": "toy_scale",
        "collection_id": None,
        "collection_submission_id": None,
        "collection_title": None,
        "submission_mode": "release",
        "status": "COMPLETED",
        "is_correct": True,
        "sol_score": Spelled("0.50"),
        "latency_ms": Spelled("0.25"),
        "benchmark_results": None,
        "fast_1_count": 1,
        "fast_1_total": 1,
        "avg_speedup": Spelled("2.0"),
        "gpu_type": "B200",
        "worker_id": "worker-3",
        "evaluation_stack_version": "v1.1",
        "is_disqualified": False,
        "disqualification_reason": None,
        "disqualification_source": None,
        "disqualified_at": None,
        "submitted_at": None,
        "finished_at": "2026-05-21T22:05:09.805999",
        "error_log": None,
        "original_filename": None,
    } | fields


def mapped_texts(definition: str | None, listing: str, name: str = "toy_scale", number: str = "7") -> Bundle:
    bodies = {PAGE: f'{{"data":{{"submissions":{listing}}}}}'.encode()}
    if definition is not None:
        bodies[DEFINITION] = f'{{"data":{definition}}}'.encode()
    part = Part(name, URL, number, DEFINITION if definition else None, (PAGE,), True, 0, 0)
    return transform(part, parse(part, bodies.__getitem__))


def mapped(definition: dict[str, Any] | None, *submissions: dict[str, Any]) -> Bundle:
    name = definition["name"] if definition else "toy_scale"
    return mapped_texts(None if definition is None else spelled(definition), spelled(list(submissions)), name)


def rows(bundle: Bundle, table: str) -> list[dict[str, Any]]:
    return [dict(zip(COLUMNS[table], row, strict=True)) for row in bundle.rows[table]]


def only(bundle: Bundle, table: str) -> dict[str, Any]:
    (row,) = rows(bundle, table)
    return row


def spec(row: dict[str, Any]) -> dict[str, Any]:
    return json.loads(row["manifest"])["spec"]


def metadata(row: dict[str, Any]) -> dict[str, Any]:
    return json.loads(row["manifest"])["metadata"]


def cases(bundle: Bundle) -> list[dict[str, Any]]:
    return [row for row in rows(bundle, "workloads") if row["kind"] == "WorkloadCase"]


def suite(bundle: Bundle) -> dict[str, Any]:
    (row,) = (row for row in rows(bundle, "workloads") if row["kind"] == "WorkloadSuite")
    return row


def bounds(bundle: Bundle) -> list[tuple[Any, ...]]:
    names = ("entry_index", "workload_digest", "baseline_latency_ns", "speed_of_light_ns")
    for row in rows(bundle, "workload_bounds"):
        assert row["suite_digest"] == suite(bundle)["workload_digest"]
    return [tuple(row[name] for name in names) for row in rows(bundle, "workload_bounds")]


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest(kind: str, body: dict[str, Any]) -> str:
    return sha256(rfc8785.dumps({"apiVersion": "kernelindex.dev/v1alpha1", "kind": kind, "spec": body}))


def entry_id(axes: dict[str, int]) -> str:
    parts = [f'"{name}":{axes[name]}' for name in sorted(axes, key=str.lower)]
    return hashlib.sha256(("{" + ",".join(parts) + "}").encode()).hexdigest()[:12]


def reasons(bundle: Bundle) -> list[str]:
    return [reject.reason for reject in bundle.rejects]


# -- the whole of a small kernel


def test_a_kernel_and_a_submission_become_the_manifests_that_the_rules_give() -> None:
    bundle = mapped(kernel(), submission())
    assert (bundle.rejects, bundle.drift) == ([], [])

    operation = {
        "family": "elementwise",
        "axes": {
            "n": {"role": "variable", "type": "integer"},
            "hidden": {"role": "constant", "type": "integer", "value": 64},
        },
        "inputs": [{"name": "x", "tensor": {"shape": ["n", "hidden"], "dtype": "bf16"}}],
        "outputs": [{"name": "y", "tensor": {"shape": ["n", "hidden"], "dtype": "bf16"}}],
        "semantics": {"mutation": "none", "determinism": "unspecified"},
    }
    o = digest("OperationSpec", operation)
    case = {
        "operationSpecDigest": o,
        "axes": {"n": 8},
        "tensors": {"x": {"shape": [8, 64], "dtype": "bf16"}},
        "correctness": {"comparator": "sol_execbench_eval"},
    }
    rule = "Correctness must pass on every case in the SOL evaluation stack."
    correctness = {"comparator": "sol_execbench_eval", "description": rule}
    whole_suite = {
        "operationSpecDigest": o,
        "cases": [{"externalId": entry_id({"N": 8}), "axes": {"n": 8}}],
        "correctness": correctness,
        "aggregation": {"metric": "latency", "statistic": "mean"},
    }
    w = digest("WorkloadSuite", whole_suite)
    implementation = {
        "projectRevision": {"version": "submission-41"},
        "operation": {"specDigest": o},
        "callable": {"language": "unknown"},
        "support": {"hardwareArchitectures": ["sm_100"], "productsTested": ["NVIDIA B200"], "dtypes": ["bf16"]},
        "licensing": {},
    }
    # The two published v1.1 digests, from the seeds.
    p = "sha256:6383f62490dad270ad2146a94f67b48fba5cfcbc0b9b180f02665c69cc4433a0"
    e = "sha256:f304afb2fedab4bbeadf8ac36a990ff517ab6e824dfe5a3ee0fe46259ff5e39f"
    run = {
        "implementationDigest": digest("ImplementationRevision", implementation),
        "workloadDigest": w,
        "protocolDigest": p,
        "environmentDigest": e,
        "status": "passed",
        "timing": {"primaryStatistic": "mean", "latencyNs": {"mean": 250_000}},
        "sourceNative": {
            "source": "sol-execbench",
            "benchmark": "toy_scale",
            "externalId": "41",
            "metrics": {
                "latency_ms": 0.25, "sol_score": 0.5, "avg_speedup": 2, "fast_1_count": 1, "fast_1_total": 1,
            },
        },
        "observedAt": "2026-05-21T22:05:09.805Z",
    }  # fmt: skip
    c = sha256(rfc8785.dumps({"correctness": correctness}))
    parts = {"operation": o, "workload": w, "protocol": p, "environment": e, "correctness": c}
    key = sha256(rfc8785.dumps({"v": 1, **parts, "metric": "latency:mean:ns"}))
    user = {"name": "ada | lab", "kind": "individual"}
    project = user | {"host": {"kind": "other", "id": "sol-execbench/user/ada | lab"}}

    row = only(bundle, "operations")
    assert (row["operation_digest"], spec(row)) == (o, operation)
    assert (row["slug"], row["title"], row["operation_family"]) == ("toy-scale", "toy_scale", "elementwise")
    assert row["tags"] == ["L1", "elementwise", "model:toy-1b"]
    (row,) = cases(bundle)
    assert (row["workload_digest"], spec(row)) == (digest("WorkloadCase", case), case)
    assert row["external_id"] == entry_id({"N": 8})
    assert metadata(row) == {"name": f"toy-scale-{entry_id({'N': 8})[:8]}", "title": "toy_scale · N=8"}
    row = suite(bundle)
    assert (row["workload_digest"], spec(row), row["external_id"]) == (w, whole_suite, "toy_scale/suite")
    assert metadata(row) == {"name": "toy-scale-suite", "title": "SOL workload suite: toy_scale"}
    row = only(bundle, "projects")
    assert (row["digest"], spec(row)) == (digest("SoftwareProject", project), project)
    assert (row["name"], row["display_name"]) == ("sol-user-ada-lab", "ada | lab")
    row = only(bundle, "implementations")
    assert spec(row) == implementation
    assert metadata(row) == {
        "name": "sol-submission-41",
        "title": "ada | lab · toy_scale",
        "authors": [{"name": "ada | lab"}],
    }
    row = only(bundle, "runs")
    assert (row["run_digest"], spec(row), row["comparison_key"]) == (digest("BenchmarkRun", run), run, key)
    assert metadata(row) == {
        "name": "sol-submission-41",
        "title": "ada | lab · toy_scale · B200",
        "labels": {"worker": "worker-3"},
    }
    primary = ("primary_metric", "primary_statistic", "primary_unit", "primary_value", "evidence", "status")
    assert [row[name] for name in primary] == ["latency", "mean", "ns", 250_000.0, "reported", "passed"]
    assert (row["external_id"], row["kernel"], row["comparability_family"]) == ("41", "toy_scale", FAMILY)
    assert row["observed_at"] == datetime(2026, 5, 21, 22, 5, 9, 805_000, tzinfo=UTC)


@pytest.mark.parametrize(("stack", "seed"), [("v1.0", "3483"), ("v1.1", "27772")])
def test_protocol_and_environment_are_the_published_ones(stack: str, seed: str, seeds: dict[str, Any]) -> None:
    bundle = mapped(kernel(), submission(evaluation_stack_version=stack))
    for table, name, column in (
        ("protocols", "protocol", "digest"),
        ("environments", "environment", "digest"),
    ):
        row, published = only(bundle, table), seeds[seed][name]
        assert json.loads(row["manifest"]) == published
        assert row[column] == seeds[seed]["run"]["spec"][f"{name}Digest"]


def test_a_kernel_without_submissions_has_cases_but_no_suite() -> None:
    bundle = mapped(kernel(workloads=[entry(), entry(axes={"N": 9})]))
    assert {row["kind"] for row in rows(bundle, "workloads")} == {"WorkloadCase"}
    assert len(cases(bundle)) == 2
    assert bundle.rows["workload_bounds"] == []


def test_the_order_of_a_listing_does_not_matter() -> None:
    listed = [submission(id=number, latency_ms=Spelled(f"0.{number}")) for number in (41, 42, 43)]
    there, back = mapped(kernel(), *listed), mapped(kernel(), *reversed(listed))
    for table in COLUMNS:
        assert Counter(map(repr, there.rows[table])) == Counter(map(repr, back.rows[table]))


def test_every_table_is_a_frame_with_or_without_rows() -> None:
    for bundle in (mapped(kernel(), submission()), mapped(kernel()), Bundle()):
        for table, columns in COLUMNS.items():
            frame = bundle.frame(table)
            assert frame.columns == list(columns)
            assert frame.height == len(bundle.rows[table])


# -- latency and the source's figures


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0.0123455", 12_346),
        ("1.23455e-2", 12_346),
        ("0.0123445", 12_345),
        ("0.01233449999999999", 12_334),
        ("0.0123454999999999999999999999", 12_345),
        ("0.0000005", 1),
        ("1.10", 1_100_000),
        ("2.5e-2", 25_000),
        ("2.5E-2", 25_000),
        ("0.050", 50_000),
        ("2", 2_000_000),
        ("1E+2", 100_000_000),
        ("0.015627", 15_627),
        ("1.000074", 1_000_074),
        ("0.001163104", 1_163),
        ("1.163104", 1_163_104),
    ],
)
def test_a_latency_is_rounded_half_up_on_the_digits_that_were_sent(text: str, ns: int) -> None:
    bundle = mapped(kernel(sol_is_dummy=True), submission(latency_ms=Spelled(text)))
    run = only(bundle, "runs")
    assert spec(run)["timing"]["latencyNs"] == {"mean": ns}
    assert type(spec(run)["timing"]["latencyNs"]["mean"]) is int
    assert run["primary_value"] == ns
    assert only(bundle, "submissions")["latency_ms"] == text
    assert spec(run)["sourceNative"]["metrics"]["latency_ms"] == float(text)


def test_the_sources_metrics_are_kept_as_numbers_and_absent_when_null() -> None:
    row = submission(
        sol_score=Spelled("5.1E-1"), avg_speedup=Spelled("1.30"), fast_1_count=None, fast_1_total=Spelled("16")
    )
    bundle = mapped(kernel(), row)
    run = only(bundle, "runs")
    assert '"metrics":{"avg_speedup":1.3,"fast_1_total":16,"latency_ms":0.25,"sol_score":0.51}' in run["manifest"]
    assert only(bundle, "submissions")["sol_score"] == 0.51


def test_a_number_sent_as_text_is_taken_and_reported() -> None:
    bundle = mapped(kernel(), submission(latency_ms="0.0123455", sol_score="0.50"))
    assert only(bundle, "runs")["primary_value"] == 12_346
    assert '"sol_score":0.5}' in only(bundle, "runs")["manifest"]
    assert {(one.path, one.change) for one in bundle.drift} == {
        ("submissions[].latency_ms", "number sent as text"),
        ("submissions[].sol_score", "number sent as text"),
    }
    assert bundle.rejects == []


@pytest.mark.parametrize("text", ["0", "0.0", "-0", "-0.5", "1e400", "0.0000004", "1e-300", "4.9e-7"])
def test_a_latency_that_cannot_be_one_is_rejected_and_the_submission_kept(text: str) -> None:
    bundle = mapped(kernel(), submission(latency_ms=Spelled(text)), submission(id=42))
    assert [row["external_id"] for row in rows(bundle, "runs")] == ["42"]
    assert [row["external_id"] for row in rows(bundle, "implementations")] == ["42"]
    kept = rows(bundle, "submissions")[0]
    assert (kept["external_id"], kept["latency_ms"], kept["run_digest"]) == ("41", text, None)
    (reject,) = bundle.rejects
    assert "41" in reject.locator
    assert text in reject.reason
    assert json.loads(reject.item)["id"] == 41


def test_a_score_beyond_a_double_is_rejected_and_the_submission_kept() -> None:
    bundle = mapped(kernel(), submission(avg_speedup=Spelled("1e999")))
    assert (bundle.rows["runs"], len(bundle.rejects)) == ([], 1)
    assert only(bundle, "submissions")["external_id"] == "41"


# -- when it was observed


@pytest.mark.parametrize(
    ("sent", "observed"),
    [
        ("2026-05-21T22:05:09.805999", "2026-05-21T22:05:09.805Z"),
        ("2026-05-21T22:05:09.805999Z", "2026-05-21T22:05:09.805Z"),
        ("2026-12-31T23:59:59.999999", "2026-12-31T23:59:59.999Z"),
        ("2026-05-21T22:05:09", "2026-05-21T22:05:09.000Z"),
        ("2026-05-21T22:05:09Z", "2026-05-21T22:05:09.000Z"),
        ("2026-05-21T22:05:09.7", "2026-05-21T22:05:09.700Z"),
        ("2026-05-21T22:05:09.80", "2026-05-21T22:05:09.800Z"),
        ("2026-05-21T22:05:09.123456789", "2026-05-21T22:05:09.123Z"),
        ("2026-05-21T22:05:09.698+02:00", "2026-05-21T20:05:09.698Z"),
    ],
)
def test_observed_at_is_cut_to_milliseconds(sent: str, observed: str) -> None:
    run = only(mapped(kernel(), submission(finished_at=sent, submitted_at="2026-01-01T00:00:00")), "runs")
    assert spec(run)["observedAt"] == observed
    assert run["observed_at"] == datetime.fromisoformat(observed)


def test_submitted_at_counts_when_there_is_no_finished_at() -> None:
    bundle = mapped(kernel(), submission(finished_at=None, submitted_at="2026-06-12T09:41:27.318999Z"))
    assert spec(only(bundle, "runs"))["observedAt"] == "2026-06-12T09:41:27.318Z"
    kept = only(bundle, "submissions")
    assert kept["finished_at"] is None
    assert kept["submitted_at"] == datetime(2026, 6, 12, 9, 41, 27, 318_999, tzinfo=UTC)


def test_without_either_time_there_is_no_run() -> None:
    bundle = mapped(kernel(), submission(finished_at=None, submitted_at=None), submission(id=42))
    assert [row["external_id"] for row in rows(bundle, "runs")] == ["42"]
    assert [row["external_id"] for row in rows(bundle, "submissions")] == ["41", "42"]
    (reject,) = bundle.rejects
    assert "finished_at" in reject.reason


@pytest.mark.parametrize("text", ["yesterday", "2026-02-30T00:00:00", "1747865109", "2026-05-21", ""])
def test_a_time_that_is_none_is_rejected_and_the_submission_kept(text: str) -> None:
    bundle = mapped(kernel(), submission(finished_at=text))
    assert (bundle.rows["runs"], len(bundle.rejects)) == ([], 1)
    assert only(bundle, "submissions")["finished_at"] is None
    assert json.loads(only(bundle, "submissions")["payload"])["finished_at"] == text


# -- what is a result


@pytest.mark.parametrize(
    "changes",
    [
        *({"status": status} for status in ("FAILED", "ERROR", "REJECTED", "CANCELLED", "PENDING", "DEFERRED_RESULT")),
        {"status": "SOMETHING_NEW"},
        {"status": "completed"},
        {"is_correct": False},
        {"is_correct": None},
        {"is_disqualified": True, "disqualification_reason": "stored output"},
        {"latency_ms": None},
    ],
    ids=str,
)
def test_what_is_no_result_is_a_submission_and_nothing_else(changes: dict[str, Any]) -> None:
    bundle = mapped(kernel(), submission(**changes))
    for table in ("runs", "implementations", "projects", "reviews"):
        assert bundle.rows[table] == []
    assert bundle.rejects == []
    kept = only(bundle, "submissions")
    assert kept["run_digest"] is None
    assert {name: kept[name] for name in changes} == changes


@pytest.mark.parametrize("said", [None, False, "missing"])
def test_a_submission_not_said_to_be_disqualified_counts(said: Any) -> None:
    row = submission(is_disqualified=said)
    if said == "missing":
        del row["is_disqualified"]
    bundle = mapped(kernel(), row)
    assert len(bundle.rows["runs"]) == 1
    assert [one.change for one in bundle.drift] == (["field gone"] if said == "missing" else [])


@pytest.mark.parametrize("definition", [None, kernel(workloads=[]), kernel(axes={"N": {"type": "guess"}})], ids=str)
def test_results_wait_for_a_definition_that_can_be_used(definition: dict[str, Any] | None) -> None:
    bundle = mapped(definition, submission(), submission(id=42), submission(id=43, status="FAILED"))
    assert bundle.rows["runs"] == []
    assert [(row["external_id"], row["run_digest"]) for row in rows(bundle, "submissions")] == [
        ("41", None), ("42", None), ("43", None),
    ]  # fmt: skip
    assert any("2 results" in reason for reason in reasons(bundle))


# -- doubt


FLOOR = (entry(sol_ms=Spelled("0.0020")), entry(axes={"N": 4}, sol_ms=Spelled("1.0e-3")))


@pytest.mark.parametrize(
    ("latency", "doubted"),
    [
        ("0.0009", True),
        ("0.0009999999", True),  # rounds to the floor's nanoseconds, and is below it
        ("9.99e-4", True),
        ("0.001", False),
        ("1e-3", False),
        ("0.0010000", False),
        ("0.0015", False),  # above the fastest case's bound, below the other's
    ],
)
def test_faster_than_light_is_kept_and_held_for_review(latency: str, doubted: bool) -> None:
    bundle = mapped(kernel(workloads=list(FLOOR)), submission(latency_ms=Spelled(latency)))
    run = only(bundle, "runs")
    assert (run["status"], spec(run)["status"]) == ("passed", "passed")
    assert bundle.rejects == []
    raised = [(row["subject"], row["reason"]) for row in rows(bundle, "reviews")]
    assert raised == ([(run["run_digest"], "BELOW_SPEED_OF_LIGHT")] if doubted else [])


@pytest.mark.parametrize(
    "changes",
    [
        {"sol_is_dummy": True},
        {"sol_is_dummy": None},
        {"workloads": [entry(), entry(axes={"N": 4}, sol_ms=None)]},
        {"workloads": [entry(), entry(axes={"N": 4}, sol_ms=0)]},
        {"workloads": [entry(), {"axes": {"N": 4}}]},
    ],
    ids=str,
)
def test_without_a_bound_on_every_case_nothing_is_doubted(changes: dict[str, Any]) -> None:
    bundle = mapped(kernel(**changes), submission(latency_ms=Spelled("0.000002")))
    assert len(bundle.rows["runs"]) == 1
    assert bundle.rows["reviews"] == []


def test_bounds_are_nanoseconds_and_may_be_fractions() -> None:
    entries = [
        entry(sol_ms=Spelled("0.0003124"), baseline_latency_ms=Spelled("0.0067685")),
        entry(axes={"N": 4}, sol_ms=Spelled("2.5e-2"), baseline_latency_ms=None),
    ]
    bundle = mapped(kernel(workloads=entries), submission())
    digests = {row["external_id"]: row["workload_digest"] for row in cases(bundle)}
    assert bounds(bundle) == [
        (0, digests[entry_id({"N": 8})], 6768.5, 312.4),
        (1, digests[entry_id({"N": 4})], None, 25_000.0),
    ]


@pytest.mark.parametrize("bound", ["-0.001", "1e400", '"n/a"', "true"])
@pytest.mark.parametrize("field", ["sol_ms", "baseline_latency_ms"])
def test_a_bound_that_is_none_is_rejected_alone(field: str, bound: str) -> None:
    entries = [entry(), entry(axes={"N": 9}, **{field: Spelled(bound)})]
    bundle = mapped(kernel(workloads=entries), submission(latency_ms=Spelled("0.0001")))
    assert [row["external_id"] for row in cases(bundle)] == [entry_id({"N": 8}), entry_id({"N": 9})]
    assert len(bundle.rows["runs"]) == len(bundle.rejects) == 1
    assert bounds(bundle)[0] == (0, cases(bundle)[0]["workload_digest"], 10_000.0, 1_000.0)
    assert len(bundle.rows["reviews"]) == (0 if field == "sol_ms" else 1)


# -- hardware and stack


@pytest.mark.parametrize(
    ("sent", "product", "architecture"),
    [
        ("B200", "NVIDIA B200", "sm_100"),
        ("NVIDIA_B200", "NVIDIA B200", "sm_100"),
        ("GB200", "NVIDIA GB200", "sm_100"),
        ("NVIDIA_GB200", "NVIDIA GB200", "sm_100"),
        ("H200", "NVIDIA H200", "sm_90"),
        ("H100", "NVIDIA H100", "sm_90"),
        ("NVIDIA_H100", "NVIDIA H100", "sm_90"),
        ("A100", "NVIDIA A100", "sm_80"),
        ("RTX_PRO_6000", "RTX PRO 6000", "unknown"),
        ("MI300X", "MI300X", "unknown"),
    ],
)
def test_a_gpu_is_named_by_product_and_architecture(sent: str, product: str, architecture: str) -> None:
    bundle = mapped(kernel(), submission(gpu_type=sent))
    row = only(bundle, "environments")
    assert (row["product"], row["architecture"]) == (product, architecture)
    hardware = spec(row)["hardware"]
    assert (hardware["product"], hardware["architecture"]) == (product, architecture)
    support = spec(only(bundle, "implementations"))["support"]
    assert support["hardwareArchitectures"] == [architecture]
    assert support["productsTested"] == [product]
    assert only(bundle, "submissions")["gpu_type"] == sent
    assert metadata(only(bundle, "runs"))["title"].endswith(f" · {sent}")


def test_the_vendors_prefix_makes_no_other_cohort() -> None:
    bundle = mapped(kernel(), submission(gpu_type="H100"), submission(id=42, gpu_type="NVIDIA_H100"))
    runs = rows(bundle, "runs")
    assert len({row["environment_digest"] for row in runs}) == 1
    assert len({row["comparison_key"] for row in runs}) == 1


def test_an_unknown_stack_is_a_version_of_its_own() -> None:
    stacks = ("v1.0", "v1.1", None)
    bundle = mapped(kernel(), *(submission(id=40 + n, evaluation_stack_version=one) for n, one in enumerate(stacks)))
    assert len({row["comparison_key"] for row in rows(bundle, "runs")}) == 3
    protocol = next(row for row in rows(bundle, "protocols") if row["stack_version"] == "unknown")
    assert spec(protocol)["harness"]["version"] == "unknown"
    assert metadata(protocol)["name"] == "sol-execbench-leaderboard-unknown"
    environment = next(row for row in rows(bundle, "environments") if row["name"] == "sol-execbench-b200-unknown")
    assert metadata(environment)["name"] == "sol-execbench-b200-unknown"
    assert spec(environment)["software"] == {"libraries": {"evaluation_stack": "unknown"}}
    assert [row["stack_version"] for row in rows(bundle, "submissions")] == ["v1.0", "v1.1", None]


# -- names


def test_names_are_cut_at_a_hundred_characters_and_titles_keep_the_whole() -> None:
    name = "Fused__" + "x" * 150
    bundle = mapped(kernel(name=name), submission(kernel_name=name))
    assert bundle.rejects == []
    slug = "fused-" + "x" * 94
    row = only(bundle, "operations")
    assert (row["slug"], metadata(row)["name"], row["title"]) == (slug, slug, name)
    assert metadata(cases(bundle)[0])["name"] == f"{slug}-{entry_id({'N': 8})[:8]}"
    assert metadata(suite(bundle))["name"] == f"{slug}-suite"
    assert suite(bundle)["external_id"] == f"{name}/suite"


@pytest.mark.parametrize(
    ("name", "slug"),
    [("064_Multi  Head (QKV)!", "064-multi-head-qkv"), ("__a__b__", "a-b"), ("Größe_µ", "gr-e"), ("A.B/C", "a-b-c")],
)
def test_names_are_reduced_to_letters_digits_and_hyphens(name: str, slug: str) -> None:
    bundle = mapped(kernel(name=name), submission(kernel_name=name, username=name))
    assert only(bundle, "operations")["slug"] == slug
    assert only(bundle, "projects")["name"] == f"sol-user-{slug}"
    assert spec(only(bundle, "projects"))["host"]["id"] == f"sol-execbench/user/{name}"


def test_two_users_of_one_reduced_name_are_two_projects() -> None:
    bundle = mapped(kernel(), submission(username="two-stage"), submission(id=42, username="two stage"))
    projects = rows(bundle, "projects")
    assert [row["name"] for row in projects] == ["sol-user-two-stage"] * 2
    assert len({row["digest"] for row in projects}) == 2


@pytest.mark.parametrize(
    ("changes", "family"),
    [
        ({"op_type": "Paged_Attention"}, "paged-attention"),
        ({"op_type": None}, "elementwise"),
        ({"op_type": ""}, "elementwise"),
        ({"tags": ["L2", "Quant", "FlashInfer-Bench", "model:x", "KV_cache", "rope"]}, "kv-cache"),
        ({"tags": ["model:x", "L1"]}, "uncategorized"),
        ({"tags": []}, "uncategorized"),
    ],
    ids=str,
)
def test_the_family_is_the_op_type_else_the_first_topic(changes: dict[str, Any], family: str) -> None:
    row = only(mapped(kernel(**changes)), "operations")
    assert (row["operation_family"], spec(row)["family"]) == (family, family)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"reference": "def run(x):\n    return 2 * x\n"}, {"language": "python"}),
        ({"reference": ""}, None),
        ({"reference": None}, None),
        ({"baseline": "def run(x): ..."}, None),
    ],
    ids=str,
)
def test_a_reference_is_python_when_there_is_one(changes: dict[str, Any], expected: Any) -> None:
    assert spec(only(mapped(kernel(**changes)), "operations")).get("reference") == expected


@pytest.mark.parametrize(
    ("sent", "token"),
    [
        ("bfloat16", "bf16"), ("BFLOAT16", "bf16"), ("float16", "fp16"), ("half", "fp16"), ("float32", "fp32"),
        ("float", "fp32"), ("float64", "fp64"), ("double", "fp64"), ("float8_e4m3fn", "fp8_e4m3"),
        ("float8_e4m3", "fp8_e4m3"), ("float8_e5m2", "fp8_e5m2"), ("nvfp4", "nvfp4"), ("float4_e2m1", "fp4_e2m1"),
        ("float4_e2m1fn_x2", "float4_e2m1fn_x2"), ("int8", "int8"), ("int64", "int64"), ("uint8", "uint8"),
        ("bool", "bool"), ("Float6-E3M2", "float6_e3m2"),
    ],
)  # fmt: skip
def test_element_types(sent: str, token: str) -> None:
    bundle = mapped(kernel(inputs={"x": {"shape": ["N"], "dtype": sent}}), submission())
    assert spec(only(bundle, "operations"))["inputs"][0]["tensor"]["dtype"] == token
    assert spec(cases(bundle)[0])["tensors"]["x"]["dtype"] == token
    assert spec(only(bundle, "implementations"))["support"]["dtypes"] == [token]


def test_an_implementation_supports_the_types_of_all_inputs() -> None:
    inputs = {
        "s": {"shape": None, "dtype": "float32"},
        "a": {"shape": ["N"], "dtype": "int64"},
        "b": {"shape": ["N"], "dtype": "bfloat16"},
        "c": {"shape": ["N"], "dtype": "int64"},
    }
    bundle = mapped(kernel(inputs=inputs), submission())
    assert spec(only(bundle, "implementations"))["support"]["dtypes"] == ["bf16", "fp32", "int64"]


# -- arguments, axes and expressions


@pytest.mark.parametrize("shape", [None, [], "missing"])
def test_an_argument_without_a_shape_is_a_scalar(shape: Any) -> None:
    eps = {"dtype": "float32"} | ({} if shape == "missing" else {"shape": shape})
    inputs = {"x": {"shape": ["N"], "dtype": "bfloat16"}, "eps": eps}
    bundle = mapped(kernel(inputs=inputs, outputs={"total": eps}), submission())
    operation = spec(only(bundle, "operations"))
    assert operation["inputs"][1] == {"name": "eps", "scalar": {"dtype": "fp32"}}
    assert operation["outputs"] == [{"name": "total", "scalar": {"dtype": "fp32"}}]
    assert list(spec(cases(bundle)[0])["tensors"]) == ["x"]


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("Q", "q"), ("q.Norm-weight", "q_norm_weight"), ("1st", "x_1st"), ("_hidden", "x__hidden"), ("größe", "gr__e"),
        ("µ", "x__"), ("", "x_"), ("a b", "a_b"),
    ],
)  # fmt: skip
def test_argument_names_become_tokens(sent: str, name: str) -> None:
    one = {"shape": ["N"], "dtype": "bfloat16"}
    bundle = mapped(kernel(inputs={sent: one}, outputs={sent: one}), submission())
    operation = spec(only(bundle, "operations"))
    assert [operation[side][0]["name"] for side in ("inputs", "outputs")] == [name, name]
    assert list(spec(cases(bundle)[0])["tensors"]) == [name]


def test_arguments_keep_their_order_and_shapes_their_kinds() -> None:
    inputs = {name: {"shape": ["N", "128", 3, "Hidden"], "dtype": "int8"} for name in ("z", "a", "m")}
    axes = {"N": {"type": "var"}, "Hidden": {"type": "const", "value": 5}}
    bundle = mapped(kernel(inputs=inputs, axes=axes), submission())
    operation = spec(only(bundle, "operations"))
    assert [one["name"] for one in operation["inputs"]] == ["z", "a", "m"]
    assert operation["inputs"][0]["tensor"]["shape"] == ["n", 128, 3, "hidden"]
    assert spec(cases(bundle)[0])["tensors"]["a"]["shape"] == [8, 128, 3, 5]


def derived(
    expression: str, shape: list[Any], axes: dict[str, Any] | None = None, **more: str
) -> tuple[dict[str, Any] | None, Bundle]:
    """The one case's spec (None when it was rejected) of a kernel with the derived axis D, and others before it."""
    definition = {"D": {"type": "expr", "expression": expression}}
    definition |= {name: {"type": "expr", "expression": text} for name, text in more.items()}
    definition |= {"N": {"type": "var"}, "K": {"type": "const", "value": 4}}
    inputs = {"x": {"shape": shape, "dtype": "int8"}}
    outputs = {"y": {"shape": ["N"], "dtype": "int8"}}
    entries = [entry(axes=axes or {"N": 100})]
    bundle = mapped(kernel(axes=definition, inputs=inputs, outputs=outputs, workloads=entries), submission())
    assert len(bundle.rows["runs"]) == 1
    assert len(spec(suite(bundle))["cases"]) == 1
    found = cases(bundle)
    return (spec(found[0]) if found else None), bundle


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("N + K", 104), ("N - K", 96), ("2 * N", 200), ("N // 3", 33), ("N % 7", 2), ("(N + 63) - (N + 63) % 64", 128),
        ("N - 1 - 2", 97), ("2 + 3 * K", 14), ("(2 + 3) * K", 20), ("N // K // 2", 12), ("N//K*3", 75), ("7", 7),
    ],
)  # fmt: skip
def test_a_derived_axis_is_evaluated(expression: str, value: int) -> None:
    case, bundle = derived(expression, ["D"])
    assert case is not None
    assert case["tensors"]["x"]["shape"] == [value]
    assert case["axes"] == {"n": 100}
    axes = spec(only(bundle, "operations"))["axes"]
    assert axes["d"] == {"role": "derived", "type": "integer", "expression": expression.lower()}


def test_an_expression_keeps_its_spacing() -> None:
    _, bundle = derived("(N  //  K)*2", ["N"])
    assert spec(only(bundle, "operations"))["axes"]["d"]["expression"] == "(n  //  k)*2"


def test_an_expression_may_refer_to_axes_that_come_later() -> None:
    case, _ = derived("Later + 1", ["D"], Later="Last * 2", Last="N - K")
    assert case is not None
    assert case["tensors"]["x"]["shape"] == [193]


def test_a_derived_axis_that_the_entry_gives_is_not_evaluated() -> None:
    case, bundle = derived("N + K", ["D"], {"N": 100, "D": 9})
    assert case is not None
    assert case["tensors"]["x"]["shape"] == [9]
    assert case["axes"] == {"n": 100, "d": 9}
    assert spec(suite(bundle))["cases"] == [{"externalId": entry_id({"D": 9, "N": 100}), "axes": {"n": 100, "d": 9}}]


def test_an_axis_that_the_definition_lacks_stays() -> None:
    case, _ = derived("N", ["N"], {"N": 100, "Split_K": 4})
    assert case is not None
    assert case["axes"] == {"n": 100, "split_k": 4}


@pytest.mark.parametrize("expression", ["Missing + 1", "D + 1", "N // (K - 4)", "ceil(N)", "N / 2", ""])
def test_a_derived_axis_that_no_tensor_needs_may_stay_unbound(expression: str) -> None:
    case, bundle = derived(expression, ["N"])
    assert case is not None, reasons(bundle)
    assert case["tensors"]["x"]["shape"] == [100]


@pytest.mark.parametrize(
    "expression",
    [
        "Missing + 1", "D + 1", "N // (K - 4)", "N % (K - 4)", "N / 2", "2 ** 3", "-N", "max(N, K)", "N if K else 2",
        "__import__('os').getpid()", "9999999999 * 9999999999", "0x10", "1e3", "N.real", "(N", "N +", "", "٣",
    ],
)  # fmt: skip
def test_an_expression_that_has_no_value_rejects_the_case_that_needs_it(expression: str) -> None:
    case, bundle = derived(expression, ["D"])
    assert case is None
    assert len(bundle.rejects) == 1
    assert bounds(bundle)[0][1] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"inputs": {"a-b": {"shape": ["N"], "dtype": "int8"}, "a_b": {"shape": ["hidden"], "dtype": "int64"}}},
        {"axes": {"N": {"type": "var"}, "n": {"type": "const", "value": 3}, "hidden": {"type": "const", "value": 64}}},
        {"workloads": [entry(axes={"N": 8, "n": 9})]},
    ],
    ids=["arguments", "axes", "an entry's axes"],
)
def test_two_names_that_become_one_are_not_merged_in_silence(changes: dict[str, Any]) -> None:
    assert mapped(kernel(**changes), submission()).rejects


# -- entries


def test_a_uuid_is_the_external_id_and_its_first_eight_the_name() -> None:
    uuid = "129347a8-578d-416f-aad9-8655416fc0b6"
    bundle = mapped(kernel(workloads=[entry(uuid=uuid)]), submission())
    (case,) = cases(bundle)
    assert (case["external_id"], metadata(case)["name"]) == (uuid, "toy-scale-129347a8")
    assert spec(suite(bundle))["cases"] == [{"externalId": uuid, "axes": {"n": 8}}]


def test_axis_names_are_sorted_without_regard_to_case_for_the_id() -> None:
    # printf '{"hidden_size":1024,"M":64,"N":3072}' | sha256sum
    axes = {"N": 3072, "M": 64, "hidden_size": 1024}
    definition = kernel(axes={name: {"type": "var"} for name in axes}, workloads=[entry(axes=axes)])
    definition["inputs"] = {"x": {"shape": ["M", "N", "hidden_size"], "dtype": "int8"}}
    definition["outputs"] = definition["inputs"]
    (case,) = cases(mapped(definition))
    assert case["external_id"] == "42fe24080028"
    assert case["external_id"] == entry_id(axes)
    assert metadata(case)["title"] == "toy_scale · N=3072, M=64, hidden_size=1024"
    assert spec(case)["axes"] == {"n": 3072, "m": 64, "hidden_size": 1024}
    assert spec(case)["tensors"]["x"]["shape"] == [64, 3072, 1024]


@pytest.mark.parametrize(
    ("tolerance", "allowed"),
    [
        (
            {"max_atol": Spelled("1e-2"), "max_rtol": Spelled("0.050")},
            {"maxAbsoluteError": 0.01, "maxRelativeError": 0.05},
        ),
        ({"max_atol": Spelled("0.5")}, {"maxAbsoluteError": 0.5}),
        ({"max_atol": None, "max_rtol": 1}, {"maxRelativeError": 1}),
        ({"max_atol": 0, "max_rtol": Spelled("0.0")}, {"maxAbsoluteError": 0, "maxRelativeError": 0}),
        ({}, {}),
        (None, {}),
    ],
    ids=str,
)
def test_a_published_tolerance_is_the_cases_correctness(tolerance: Any, allowed: dict[str, float]) -> None:
    bundle = mapped(kernel(workloads=[entry(tolerance=tolerance)]), submission())
    (case,) = cases(bundle)
    assert spec(case)["correctness"] == {"comparator": "sol_execbench_eval"} | allowed
    assert case["workload_digest"] == digest("WorkloadCase", spec(case))
    assert "maxAbsoluteError" not in suite(bundle)["manifest"]


@pytest.mark.parametrize("tolerance", [{"max_atol": Spelled("1e400")}, {"max_rtol": -1}, {"max_atol": True}], ids=str)
def test_a_tolerance_that_is_none_rejects_its_case_only(tolerance: dict[str, Any]) -> None:
    bundle = mapped(kernel(workloads=[entry(tolerance=tolerance), entry(axes={"N": 9})]), submission())
    assert [row["external_id"] for row in cases(bundle)] == [entry_id({"N": 9})]
    assert len(bundle.rejects) == len(bundle.rows["runs"]) == 1


def test_a_case_title_is_cut_to_199_and_an_ellipsis() -> None:
    axes = {"N": 8} | {f"extra_axis_number_{n:02}": 1000 + n for n in range(9)}
    definition = kernel(axes={name: {"type": "var"} for name in axes})
    definition["inputs"] = definition["outputs"] = {"x": {"shape": ["N"], "dtype": "int8"}}
    full = "toy_scale · " + ", ".join(f"{name}={value}" for name, value in axes.items())
    (case,) = cases(mapped(definition | {"workloads": [entry(axes=axes)]}))
    assert len(full) > 200
    assert metadata(case)["title"] == full[:199] + "…"
    exact = dict(list(axes.items())[:7])
    exact |= {"y" * (200 - len("toy_scale · " + ", ".join(f"{n}={v}" for n, v in exact.items())) - len(", =1")): 1}
    (case,) = cases(mapped(definition | {"workloads": [entry(axes=exact)]}))
    title = metadata(case)["title"]
    assert (len(title), title[-3:]) == (200, "y=1")


def test_equal_entries_are_one_case_and_stay_twice_in_the_suite() -> None:
    entries = [entry(), entry(axes={"N": 9}), entry(sol_ms=0.002)]
    bundle = mapped(kernel(workloads=entries), submission())
    digests = {row["external_id"]: row["workload_digest"] for row in cases(bundle)}
    assert len({row["workload_digest"] for row in cases(bundle)}) == 2
    first, second = entry_id({"N": 8}), entry_id({"N": 9})
    assert [one["externalId"] for one in spec(suite(bundle))["cases"]] == [first, second, first]
    assert [row[:2] for row in bounds(bundle)] == [
        (0, digests[first]), (1, digests[second]), (2, digests[first]),
    ]  # fmt: skip


def test_a_case_that_cannot_be_bound_is_rejected_alone() -> None:
    axes = {"N": {"type": "var"}, "K": {"type": "var"}}
    inputs = {"x": {"shape": ["N", "K"], "dtype": "int8"}}
    entries = [entry(axes={"N": 1, "K": 2}), entry(axes={"N": 3}), entry(axes={"N": 4, "K": 5})]
    bundle = mapped(kernel(axes=axes, inputs=inputs, outputs=inputs, workloads=entries), submission())
    assert [spec(row)["tensors"]["x"]["shape"] for row in cases(bundle)] == [[1, 2], [4, 5]]
    assert [one["axes"] for one in spec(suite(bundle))["cases"]] == [{"n": 1, "k": 2}, {"n": 3}, {"n": 4, "k": 5}]
    assert [row[1] is None for row in bounds(bundle)] == [False, True, False]
    assert len(bundle.rows["runs"]) == 1
    (reject,) = bundle.rejects
    assert entry_id({"N": 3}) in reject.locator
    assert json.loads(reject.item) == {"N": 3}
    assert "'k'" in reject.reason


def test_a_negative_size_is_no_case() -> None:
    case, bundle = derived("N - 101", ["D"])
    assert case is None
    assert len(bundle.rejects) == 1


# -- the sample, against its own files


def numbers(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


@pytest.mark.parametrize("file", sorted((SAMPLE / "kernels").glob("*.json")), ids=lambda file: file.stem)
def test_the_samples_kernels_and_results(file: Any) -> None:
    definition = numbers(file.read_text(encoding="utf-8"))["data"]
    listing = (SAMPLE / "submissions" / file.name).read_text(encoding="utf-8")
    listed = numbers(listing)
    text = file.read_text(encoding="utf-8").strip().removeprefix('{"data":').removesuffix("}")
    bundle = mapped_texts(text, listing, definition["name"], file.stem)
    assert (bundle.rejects, bundle.drift) == ([], [])

    assert {row["external_id"] for row in cases(bundle)} == {
        one.get("uuid") or entry_id(one["axes"]) for one in definition["workloads"]
    }
    results = [
        one for one in listed
        if one["status"] == "COMPLETED" and one["is_correct"] and not one["is_disqualified"] and one["latency_ms"]
    ]  # fmt: skip
    expected = {}
    for one in results:
        base, _, fraction = (one["finished_at"] or one["submitted_at"]).removesuffix("Z").partition(".")
        ns = int((Decimal(one["latency_ms"]) * 10**6 + Decimal("0.5")) // 1)
        expected[str(one["id"])] = (ns, f"{base}.{(fraction + '000')[:3]}Z", one["username"])
    names = {row["external_id"]: row["project"] for row in rows(bundle, "implementations")}
    assert {
        row["external_id"]: (
            spec(row)["timing"]["latencyNs"]["mean"], spec(row)["observedAt"], names[row["external_id"]],
        )
        for row in rows(bundle, "runs")
    } == expected  # fmt: skip
    assert [row["external_id"] for row in rows(bundle, "submissions")] == [str(one["id"]) for one in listed]
    floor = min(one["sol_ms"] for one in definition["workloads"])
    doubted = {str(one["id"]) for one in results if one["latency_ms"] < floor and definition["sol_is_dummy"] is False}
    runs = {row["run_digest"]: row["external_id"] for row in rows(bundle, "runs")}
    assert {runs[row["subject"]] for row in rows(bundle, "reviews")} == doubted


# -- one bad submission never spoils another


GOOD = [submission(id=11), submission(id=13, username="grace", latency_ms=Spelled("1.10"))]
raw_number = st.sampled_from(
    ["1e400", "-1e400", "1e-400", "-0", "0e0", "1E5", "9" * 30, "9" * 500, "0." + "1" * 500, "1e99999999999", "2.0"]
).map(Spelled)
leaf = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | raw_number
)
garbage = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
fields = st.dictionaries(st.sampled_from(sorted(submission())) | st.text(max_size=8), garbage, min_size=1, max_size=4)


def settled(bundle: Bundle) -> dict[str, Any]:
    """What a bundle says of the good submissions and of the kernel."""
    digests = {row["run_digest"] for row in rows(bundle, "runs") if row["external_id"] in ("11", "13")}
    return {
        "kernel": [bundle.rows[table] for table in ("operations", "workloads", "workload_bounds")],
        "own": [
            [row for row in rows(bundle, table) if row["external_id"] in ("11", "13")]
            for table in ("runs", "implementations", "submissions")
        ],
        "reviews": [row for row in rows(bundle, "reviews") if row["subject"] in digests],
        "users": [row for row in rows(bundle, "projects") if row["display_name"] in ("ada | lab", "grace")],
    }


ALONE = settled(mapped(kernel(), *GOOD))


@given(fields, st.sets(st.sampled_from(sorted(submission()))))
@settings(derandomize=True, max_examples=100, deadline=None)
@example({"benchmark_results": Spelled("1e400")}, set())
@example({"latency_ms": Spelled("1e400")}, set())
@example({"id": 2**80}, set())
@example({"username": "\x00"}, {"status"})
def test_garbage_in_one_submission_leaves_the_others_as_they_are(changes: dict[str, Any], gone: set[str]) -> None:
    assume(changes.get("id") not in (11, 13))
    bad = {name: value for name, value in submission(id=12, username="eve").items() if name not in gone} | changes
    bundle = mapped(kernel(), GOOD[0], bad, GOOD[1])
    assert settled(bundle) == ALONE
    for table in COLUMNS:
        bundle.frame(table)


@given(garbage)
@settings(derandomize=True, max_examples=40, deadline=None)
@example(Spelled("1e400"))
@example([[], {}])
def test_what_is_no_submission_at_all_leaves_the_others_as_they_are(item: Any) -> None:
    listing = f"[{spelled(GOOD[0])},{spelled(item)},{spelled(GOOD[1])}]"
    bundle = mapped_texts(spelled(kernel()), listing)
    assert settled(bundle) == ALONE
    assert len(bundle.rejects) == 1


@pytest.mark.parametrize("damage", ["\ufffd", "\\ufffd"], ids=["as it is", "escaped"])
def test_a_replacement_character_is_damage(damage: str) -> None:
    listing = spelled([submission(username="Zo@"), submission(id=42)]).replace("@", damage)
    bundle = mapped_texts(spelled(kernel()), listing)
    assert [row["external_id"] for row in rows(bundle, "submissions")] == ["42"]
    assert ["41" in reject.locator for reject in bundle.rejects] == [True]
