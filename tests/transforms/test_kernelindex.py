"""Run pages to published records: digests come out as published, and whatever contradicts the manifest is named.

What is expected is taken from the published texts in `fixtures/seeds`.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

import pytest
from run_page import manifest_text, run_id, run_page

from scrapers.contract import Part
from scrapers.kernelindex.parse import parse
from transforms.bundle import COLUMNS, Bundle
from transforms.facts import source_metrics_line
from transforms.identity import canonical_json
from transforms.kernelindex import shown, transform
from transforms.measured import primary

DIGESTS = {"3483": "sha256:449ac0a4bf174ec0ad6110c", "27772": "sha256:6fa4f85da9b80839c97c94c"}


def mapped(html: str, address_id: str = "") -> Bundle:
    part = Part("p", "file:p.html", address_id, None, ("sha256:" + "b" * 64,), True, 0, 1)
    return transform(part, parse(part, lambda _digest: html.encode()))


def record(html: str, address_id: str = "") -> dict[str, Any]:
    (row,) = mapped(html, address_id).rows["published_runs"]
    return dict(zip(COLUMNS["published_runs"], row, strict=True))


def problems(html: str, address_id: str = "") -> dict[str, tuple[str, str]]:
    return {field: both for _, _, field, *both in mapped(html, address_id).rows["published_problems"]}


def changed(html: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in html, old
        html = html.replace(old, new)
    return html


def in_manifest(submission: str, old: str, new: str) -> str:
    text = manifest_text(submission)
    assert text.count(old) == 1, old
    return changed(run_page(submission), (escape(text), escape(text.replace(old, new))))


@pytest.mark.parametrize("submission", DIGESTS)
def test_digests_are_computed_from_the_manifest_and_are_the_published_ones(
    submission: str, seeds: dict[str, Any]
) -> None:
    bundle = mapped(run_page(submission))
    assert (bundle.rejects, bundle.drift, bundle.rows["published_problems"]) == ([], [], [])
    row = record(run_page(submission))
    seed = seeds[submission]
    assert row["run_digest"].startswith(DIGESTS[submission])
    assert row["digest_claimed"] == DIGESTS[submission]
    for name in ("run", "protocol", "environment"):
        assert row[f"{name}_manifest"] == canonical_json(seed[name]).decode()
    native = seed["run"]["spec"]["sourceNative"]
    assert (row["source"], row["external_id"], row["kernel"]) == ("sol-execbench", submission, native["benchmark"])
    assert row["primary_value"] == seed["run"]["spec"]["timing"]["latencyNs"]["mean"]
    assert (row["primary_metric"], row["primary_statistic"], row["primary_unit"]) == ("latency", "mean", "ns")
    assert row["comparability_family"] == "sol_execbench_leaderboard"
    assert row["observed_at"].isoformat().startswith(seed["run"]["spec"]["observedAt"][:23])
    assert (row["published_on"], row["page"]) == ("2026-08-24", run_id(submission))


TAMPERED = {
    "value": [('<span class="text-readout">1.16', '<span class="text-readout">1.15')],
    "value ": [('<span class="text-title">ms', '<span class="text-title">µs')],
    "statistic": [("</span></span><span>mean", "</span></span><span>median")],
    "metrics": [("SOL 0.0914", "SOL 0.0915")],
    "metrics ": [("0.12×", "0.13×")],
    "metrics  ": [("0/16 cases", "1/16 cases")],
    "run digest": [("sha256:449ac0a4bf174ec0ad6110c", "sha256:449ac0a4bf174ec0ad6110d")],
    "source": [("<span>source</span><span>NVIDIA SOL-ExecBench", "<span>source</span><span>Somebody")],
    "closing source": [('sol-execbench">NVIDIA SOL-ExecBench', 'sol-execbench">Somebody')],
    "external id": [("submission/3483", "submission/3484")],
    "observed": [("observed 2026-05-21", "observed 2026-05-22")],
    "profile": [("source-native comparison", "strict exact comparison")],
    "measurements.latency · mean": [("<span>latency · mean</span><span>1.16", "<span>latency · mean</span><span>1.17")],
    "protocol.comparabilityFamily": [("<span>sol_execbench_leaderboard<", "<span>another_family<")],
    "protocol.harness": [("evaluation stack v1.0</span>", "evaluation stack v1.1</span>")],
    "environment.gpu": [("NVIDIA B200 (sm_100)", "NVIDIA H100 (sm_90)")],
    "run id": [("01a0352b-0000<!-- -->", "01a0352b-0001<!-- -->")],
}


@pytest.mark.parametrize("field", TAMPERED)
def test_what_the_page_says_otherwise_than_its_manifest_is_named(field: str) -> None:
    html = changed(run_page("3483"), *TAMPERED[field])
    assert set(problems(html)) == {field.strip()}
    assert mapped(html).rejects == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('"mean": 1163104', '"mean": 1163105', {"run digest"}),
        ('"mean": 1163104', '"mean": 1263104', {"run digest", "value", "measurements.latency · mean"}),
        ('"sol_score": 0.091395', '"sol_score": 0.191395', {"run digest", "metrics"}),
        ('"externalId": "3483"', '"externalId": "3484"', {"run digest", "external id"}),
        ('"status": "passed"', '"status": "timeout"', {"run digest", "status"}),
        ('"version": "v1.0"', '"version": "v1.1"', {"protocol digest", "protocol.harness"}),
        ('"evaluation_stack": "v1.0"', '"evaluation_stack": "v1.1"', {"environment digest"}),
        ('2026-05-21T22', '2026-05-20T22', {"run digest", "observed"}),
        ("sha256:b7902379", "sha256:c7902379", {"run digest"}),
    ],
)  # fmt: skip
def test_a_changed_manifest_is_named(old: str, new: str, found: set[str]) -> None:
    assert set(problems(in_manifest("3483", old, new))) == found


def test_names_and_titles_in_the_manifest_are_no_part_of_the_digest() -> None:
    assert problems(in_manifest("3483", '"worker": "B200-ext-prod-2161"', '"worker": "another"')) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"status": "passed",', ""),
        ('"status": "passed",', '"status": "passed", "status": "passed",'),
        ('"status": "passed",', '"status": "passed", "new": 1,'),
        ('"kind": "BenchmarkRun"', '"kind": "BenchmarkProtocol"'),
        ('"protocol": {', '"protocols": {'),
        ('{\n  "run"', '[\n  "run"'),
        ('"mean": 1163104', '"mean": -1'),
        ('"mean": 1163104', '"mean": NaN'),
        ('"mean": 1163104', '"mean": ' + "[" * 100_000),
        ('"version": "v1.0"', '"version": null'),
    ],
)
def test_a_manifest_that_is_none_is_a_reject(old: str, new: str) -> None:
    bundle = mapped(in_manifest("3483", old, new))
    assert len(bundle.rejects) == 1
    assert bundle.rows["published_runs"] == []


def test_a_manifest_escaped_twice_is_a_reject() -> None:
    html = changed(run_page("3483"), (escape(manifest_text("3483")), escape(escape(manifest_text("3483")))))
    assert len(mapped(html).rejects) == 1


def test_something_more_beside_the_three_manifests_is_drift() -> None:
    bundle = mapped(in_manifest("3483", '{\n  "run"', '{\n  "workload": {},\n  "run"'))
    assert [(one.path, one.change) for one in bundle.drift] == [("page#manifest.workload", "new field")]
    assert len(bundle.rows["published_runs"]) == 1


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (r"<p class=\"font-mono\">.*?</p>", "page.metrics"),
        (r"<div class=\"flex\"><span>gpu</span>.*?</div>", "page.environment.gpu"),
        (r"<div class=\"flex\"><span>latency · mean</span>.*?</div>", "page#measurements"),
    ],
)
def test_a_page_that_is_silent_where_its_manifest_is_not_is_drift(pattern: str, path: str) -> None:
    html = re.sub(pattern, "", run_page("3483"), count=1)
    found = {one.path for one in mapped(html).drift}
    assert path in found
    assert problems(html) == {}


def test_the_address_is_held_against_the_canonical_link() -> None:
    assert problems(run_page("3483"), run_id("3483")) == {}
    html = run_page("3483")
    assert set(problems(html, run_id("27772"))) == {"canonical id"}
    assert record(html, run_id("27772"))["page"] == run_id("27772")


def test_two_pages_with_the_same_cut_id_are_two_pages() -> None:
    cut = [run_page(name).replace(run_id(name), "01a0352b") for name in DIGESTS]
    assert len({record(html, "01a0352b")["page"] for html in cut}) == 2


def test_a_page_without_a_whole_id_is_known_by_its_submission() -> None:
    row = record(run_page("3483", canonical=False))
    assert (row["page"], row["index_id"]) == ("sol-execbench:3483", "01a0352b")


@pytest.mark.parametrize(
    ("note", "kind"),
    [
        ("Retracted 2026-09-01: measured on another GPU", "retracted"),
        ("Disputed: the timer is doubted", "disputed"),
        ("Superseded by a corrected run; preserved for the audit trail.", "superseded"),
        ("Not re-observed recently.", "stale"),
    ],
)
def test_notes_are_kinds_and_open_another_state(note: str, kind: str) -> None:
    row = record(run_page("3483", note=note))
    assert (row["lifecycle"], row["lifecycle_notes"]) == ([kind], [note])
    assert row["state_digest"] != record(run_page("3483"))["state_digest"]


def test_the_state_is_of_what_is_said_not_of_its_spelling() -> None:
    html = run_page("3483")
    again = html.replace(" · source-native", "&nbsp;&middot;\nsource-native").replace("<main", "<!-- build 2 --><main")
    assert record(html)["state_digest"] == record(again)["state_digest"]


def test_a_day_that_is_none_is_no_day() -> None:
    html = changed(run_page("3483"), ("Published 2026-08-24", "Published 2026-13-24"))
    assert record(html)["published_on"] is None


def test_the_primary_measurement_is_the_named_centre_else_the_other_else_the_first() -> None:
    timing = {"primaryStatistic": "median", "latencyNs": {"mean": 7}, "samples": 3}
    one = primary({"timing": timing})
    assert one is not None
    assert (one.statistic, one.value, one.samples) == ("mean", 7, 3)
    assert primary({}) is None
    first = {"metric": "throughput", "statistic": "mean", "unit": "tokens_per_s", "value": 12.5}
    one = primary({"measurements": [first]})
    assert one is not None
    assert shown(one.value, one.unit) == "12.5 tokens_per_s"


def test_metrics_without_a_word_of_their_own_are_shown_by_name() -> None:
    # The seeds show the first three; the rule for others is the index's: name and value, underscores as spaces.
    assert source_metrics_line({"speedup_factor": 2, "reference_latency_ms": 1, "peak_ratio": 0.5}) == (
        "2.00× reference · peak ratio 0.5"
    )
    assert source_metrics_line({"latency_ms": 1}) == ""


def test_a_manifests_text_survives_as_json() -> None:
    assert json.loads(record(run_page("27772"))["run_manifest"]) == json.loads(manifest_text("27772"))["run"]
