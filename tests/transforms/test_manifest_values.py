"""The value types of the manifest format, each at its edges."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_samples import FULL, LEAST, METADATA, Place, accepted, changed, enveloped, refused, run_with

from transforms.manifests import make

DIGEST = "sha256:" + "0a" * 32


def shown(text: str) -> str:
    return repr(text)[:30]


@pytest.mark.parametrize(
    "digest",
    [
        *("", "0" * 64, "sha256:" + "0" * 63, "sha256:" + "0" * 65, "sha256:" + "A" * 64, "sha512:" + "0" * 64),
        *(DIGEST + "\n", "\n" + DIGEST, DIGEST + " ", "sha256:" + "\u0660" * 64),
    ],
    ids=shown,
)
def test_other_digests_are_refused(digest: str) -> None:
    with refused("spec.workloadDigest: "):
        run_with("workloadDigest", digest)


@pytest.mark.parametrize(
    "token", ["", "A", "1a", "_a", "a-b", "a.b", "a b", "a\n", "\na", " a", "é", "aé", "a\u0661"], ids=shown
)
def test_other_tokens_are_refused(token: str) -> None:
    for place, named in (
        ("timing.primaryStatistic", "spec.timing.primaryStatistic: "),
        ("measurements.0.unit", "spec.measurements[0].unit: "),
        ("correctness.comparator", "spec.correctness.comparator: "),
    ):
        with refused(named):
            run_with(place, token)
    with refused("spec.sourceNative.metrics."):
        run_with("sourceNative.metrics", {token: 1})
    assert not accepted({**enveloped("SoftwareProject"), "metadata": {"name": "a", "labels": {token: "x"}}})
    assert not accepted(enveloped("WorkloadCase", changed(LEAST["WorkloadCase"], ("axes",), {token: 1})))


@pytest.mark.parametrize("token", ["a", "a1", "a_", "sm_100", "a" * 500], ids=shown)
def test_tokens(token: str) -> None:
    assert run_with("timing.primaryStatistic", token).spec["timing"]["primaryStatistic"] == token


@pytest.mark.parametrize("slug", ["", "-a", "A", "a_b", "a.b", "a\n", "a" * 101, "é"], ids=shown)
def test_other_slugs_are_refused(slug: str) -> None:
    with refused("spec.sourceNative.source: "):
        run_with("sourceNative.source", slug)


@pytest.mark.parametrize("slug", ["a", "0", "001-a-", "a--b", "a" * 100], ids=shown)
def test_slugs(slug: str) -> None:
    assert run_with("sourceNative.source", slug).spec["sourceNative"]["source"] == slug


@pytest.mark.parametrize("name", ["", "-a", ".a", "_a", "A", "a b", "a/b", "a\n", "a" * 201, "é"], ids=shown)
def test_other_names_are_refused(name: str) -> None:
    with refused("metadata.name: "):
        make("SoftwareProject", {"name": name}, LEAST["SoftwareProject"])


@pytest.mark.parametrize("name", ["a", "0.a_b-c", "a" * 200], ids=shown)
def test_names(name: str) -> None:
    assert make("SoftwareProject", {"name": name}, LEAST["SoftwareProject"]).name == name


@pytest.mark.parametrize(
    "instant",
    [
        "",
        "2026-05-21",
        "2026-05-21T22:05:09",
        "2026-05-21T22:05:09.698",
        "2026-05-21T22:05:09+00:00",
        "2026-05-21T22:05:09-00:00",
        "2026-05-21T22:05:09z",
        "2026-05-21t22:05:09Z",
        "2026-05-21 22:05:09Z",
        "2026-05-21T22:05Z",
        "2026-05-21T22:05:09.Z",
        "2026-05-21T22:05:09Z\n",
        "2026-05-21T24:00:00Z",
        "2026-05-21T22:60:00Z",
        "2026-05-21T22:05:60Z",
        "2026-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "\u0662\u0660\u0662\u0666-05-21T22:05:09Z",
    ],
    ids=shown,
)
def test_other_instants_are_refused(instant: str) -> None:
    with refused("spec.observedAt: "):
        run_with("observedAt", instant)


@pytest.mark.parametrize(
    "instant", ["2026-05-21T22:05:09.698Z", "2026-05-21T22:05:09Z", "2024-02-29T23:59:59.123456789Z"]
)
def test_instants_stay_as_they_are(instant: str) -> None:
    assert run_with("observedAt", instant).spec["observedAt"] == instant


def project_at(url: str) -> dict[str, Any]:
    return {"name": "a", "sourceRefs": [{"url": url}]}


@pytest.mark.parametrize(
    "url",
    [
        *("", "https://", "https:///a", "https://?a", "http://a.org", "ftp://a.org", "//a.org", "a.org", "https:a.org"),
        *(" https://a.org", "https://a.org/ b", "https://a.org\n", "https://a.org/\x00", "javascript:alert(1)"),
        "https://" + "a" * 1993,
    ],
    ids=shown,
)
def test_other_urls_are_refused(url: str) -> None:
    with refused("metadata.sourceRefs[0].url: "):
        make("SoftwareProject", project_at(url), LEAST["SoftwareProject"])


@pytest.mark.parametrize(
    "url", ["https://a.org", "https://a.org:8443/b?c#d", "https://é.org/é", "https://" + "a" * 1992], ids=shown
)
def test_urls_stay_as_they_are(url: str) -> None:
    assert make("SoftwareProject", project_at(url), LEAST["SoftwareProject"]).metadata == project_at(url)


@pytest.mark.parametrize("commit", ["", "0" * 39, "0" * 41, "A" * 40, "HEAD", "0" * 40 + "\n"], ids=shown)
def test_other_commits_are_refused(commit: str) -> None:
    with refused("spec.evidence.harness.commit: "):
        run_with("evidence.harness.commit", commit)


@pytest.mark.parametrize("status", ["", "PASSED", "completed", "Passed", "passed\n"], ids=shown)
def test_other_statuses_are_refused(status: str) -> None:
    with refused("spec.status: "):
        run_with("status", status)


@pytest.mark.parametrize(
    ("kind", "place", "limit"),
    [
        ("SoftwareProject", ("metadata", "title"), 200),
        ("SoftwareProject", ("metadata", "description"), 2000),
        ("SoftwareProject", ("metadata", "labels", "worker"), 200),
        ("WorkloadSuite", ("spec", "cases", 0, "externalId"), 200),
        ("WorkloadSuite", ("spec", "correctness", "description"), 500),
        ("ImplementationRevision", ("spec", "projectRevision", "version"), 100),
    ],
    ids=str,
)
def test_texts_have_limits_in_characters(kind: str, place: Place, limit: int) -> None:
    assert accepted(changed(enveloped(kind), place, "é" * limit))
    assert not accepted(changed(enveloped(kind), place, "é" * (limit + 1)))


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"], ids=shown)
def test_texts_are_unicode(text: str) -> None:
    with refused("metadata.title: "):
        make("SoftwareProject", {"name": "a", "title": text}, LEAST["SoftwareProject"])
    with refused("spec.settings.environmentVariables"):
        environment = changed(FULL["ExecutionEnvironment"], ("settings", "environmentVariables"), {text: "x"})
        make("ExecutionEnvironment", METADATA, environment)


@pytest.mark.parametrize(
    ("authored", "nanoseconds"),
    [
        *((text, 8_000) for text in ("0.008 ms", "8 us", "8us", "8 \u00b5s", "8 \u03bcs", "8000 ns", "0.000008 s")),
        *((8_000, 8_000), ("0 ns", 0), (0, 0), ("1.5 s", 1_500_000_000), (2**53 - 1, 2**53 - 1)),
    ],
)
def test_authored_durations_have_the_identity_of_their_nanoseconds(authored: int | str, nanoseconds: int) -> None:
    made = run_with("timing.latencyNs.mean", authored)
    assert made.spec["timing"]["latencyNs"]["mean"] == nanoseconds
    assert made.digest == run_with("timing.latencyNs.mean", nanoseconds).digest
    both = run_with("timing.latencyNs.confidence95", [authored, authored])
    assert both.spec["timing"]["latencyNs"]["confidence95"] == [nanoseconds, nanoseconds]


@pytest.mark.parametrize(
    "duration",
    [-1, 1.0, 0.5, True, "", "1", "0.5 ns", "1 min", "-1 ns", "1 ns\n", "1e3 ns", 2**53, "9007199.254740992 s"],
)
def test_other_durations_are_refused(duration: object) -> None:
    with refused("spec.timing.latencyNs.mean: "):
        run_with("timing.latencyNs.mean", duration)


@pytest.mark.parametrize("interval", [[], [1], [1, 2, 3], [2, 1], [-1, 1], (1, 2), {"low": 1, "high": 2}, [1.0, 2.0]])
def test_confidence_intervals_are_low_and_high(interval: object) -> None:
    with refused("spec.timing.latencyNs.confidence95"):
        run_with("timing.latencyNs.confidence95", interval)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "a_1", "a0", "zz", "z"])), st.randoms(use_true_random=False))
def test_set_like_lists_have_no_order_and_no_repetition(items: list[str], random: Any) -> None:
    shuffled = items * 2
    random.shuffle(shuffled)
    for field in ("hardwareArchitectures", "productsTested", "axes", "dtypes", "layouts"):
        ordered, other = (
            make("ImplementationRevision", METADATA, changed(FULL["ImplementationRevision"], ("support", field), given))
            for given in (items, shuffled)
        )
        assert ordered == other
        assert set(ordered.spec["support"][field]) == set(items)
        assert all(left < right for left, right in pairwise(ordered.spec["support"][field]))


def test_set_like_lists_are_sorted_by_code_point() -> None:
    products = ["é", "😀", "\ufb33", "a", "Z", "a", ""]
    spec = changed(FULL["ImplementationRevision"], ("support", "productsTested"), products)
    made = make("ImplementationRevision", METADATA, spec)
    assert made.spec["support"]["productsTested"] == ["", "Z", "a", "é", "\ufb33", "😀"]


@pytest.mark.parametrize("value", [0, 16, -3, 0.5, 1e-30, 1e300, 2**53 - 1, -(2**53) + 1])
def test_metrics_keep_the_type_of_their_number(value: float) -> None:
    metric = run_with("sourceNative.metrics", {"a": value}).spec["sourceNative"]["metrics"]["a"]
    assert (type(metric), metric) == (type(value), value)


@pytest.mark.parametrize("value", [True, "1", None, [], float("nan"), float("inf"), -float("inf"), 2**53, 1j])
def test_metrics_are_numbers(value: object) -> None:
    with refused("spec.sourceNative.metrics.a: "):
        run_with("sourceNative.metrics", {"a": value})


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("kind", "place", "good", "bad"),
    [
        ("BenchmarkRun", ("correctness", "matchedRatio"), [0, 1, 0.0, 1.0, 0.5], [-0.1, 1.1, 2, -1, True, NAN]),
        ("BenchmarkRun", ("correctness", "maximumAbsoluteError"), [0, 0.0, 1e-9, 5], [-1, -1e-9, INFINITY, True]),
        ("BenchmarkRun", ("measurements", 0, "value"), [0, -1, 1e-9], [NAN, INFINITY, "1", True]),
        ("BenchmarkRun", ("measurements", 0, "sampleCount"), [1, 2**53 - 1], [0, -1, 1.0, 2**53, True]),
        ("WorkloadCase", ("correctness", "requiredMatchedRatio"), [0, 1, 0.999], [-1, 1.001, NAN]),
        ("WorkloadCase", ("axes", "batch"), [0, 1, -1], [1.0, "1", 2**53]),
        ("WorkloadCase", ("tensors", "q", "shape"), [[0], [1, 2]], [[], [-1], [1.0], ["batch"], [2**53]]),
        ("ExecutionEnvironment", ("settings", "powerLimitWatts"), [1, 0.5], [0, 0.0, -1, INFINITY, True]),
    ],
    ids=str,
)
def test_numbers_have_their_ranges(kind: str, place: Place, good: list[object], bad: list[object]) -> None:
    for value in good:
        make(kind, METADATA, changed(FULL[kind], place, value))
    for value in bad:
        with refused(f"{kind} spec.{place[0]}"):
            make(kind, METADATA, changed(FULL[kind], place, value))
