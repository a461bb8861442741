"""Manifests: the published records reproduce, and nothing gets in that the format does not allow."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_samples import (
    FULL,
    LEAST,
    METADATA,
    RECORDS,
    SEEDS,
    accepted,
    changed,
    enveloped,
    places,
    refused,
    run_with,
    without,
)
from pydantic import ValidationError

from transforms.identity import canonical_json, spec_digest
from transforms.manifests import KINDS, ManifestError, make, parse
from transforms.manifests.envelope import envelope_of


@pytest.mark.parametrize("document", RECORDS)
def test_published_records_are_manifests_and_stay_as_they_are(document: dict[str, Any]) -> None:
    made = make(document["kind"], document["metadata"], document["spec"])

    assert made == parse(canonical_json(document))
    assert (made.kind, made.name) == (document["kind"], document["metadata"]["name"])
    assert (made.metadata, made.spec) == (document["metadata"], document["spec"])
    assert made.text.encode() == canonical_json(document)


@pytest.mark.parametrize(
    ("name", "published"), [("3483", "sha256:449ac0a4bf174ec0ad6110c"), ("27772", "sha256:6fa4f85da9b80839c97c94c")]
)
def test_published_digests_reproduce(name: str, published: str) -> None:
    digests = {
        part: make(document["kind"], document["metadata"], document["spec"]).digest
        for part, document in SEEDS[name].items()
    }
    run = SEEDS[name]["run"]["spec"]

    assert digests["run"].startswith(published)
    assert digests["protocol"] == run["protocolDigest"]
    assert digests["environment"] == run["environmentDigest"]


@pytest.mark.parametrize("specs", [FULL, LEAST], ids=["full", "least"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_survives_its_own_text(kind: str, specs: dict[str, dict[str, Any]]) -> None:
    made = make(kind, METADATA, specs[kind])

    assert (made.metadata, made.spec) == (METADATA, specs[kind])
    assert made.digest == spec_digest(kind, specs[kind])
    assert made.text.encode() == canonical_json(enveloped(kind, specs[kind]))
    assert parse(made.text) == parse(made.text.encode()) == made


@pytest.mark.parametrize("kind", KINDS)
def test_metadata_is_no_part_of_identity(kind: str) -> None:
    full, bare = make(kind, METADATA, FULL[kind]), make(kind, {"name": "b"}, FULL[kind])
    assert full.digest == bare.digest
    assert full.text != bare.text


def test_the_samples_have_every_field_of_every_kind() -> None:
    for kind in KINDS:
        unused = envelope_of(kind).model_validate(enveloped(kind)).model_dump(mode="json", by_alias=True)
        seen = {place: value for place, value in places(unused) if value is None}
        # An author without a name, an axis of another role, an argument of the other sort: absent in one, there in
        # its neighbour.
        assert {place[-1] for place in seen} <= {
            *("name", "github"),
            *("value", "minimum", "maximum", "expression"),
            *("tensor", "scalar", "layout"),
        }, kind


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_fields_are_refused_at_every_level(kind: str) -> None:
    maps = {"labels", "axes", "tensors", "scalars", "parameters", "metrics", "libraries", "requirements"}
    maps |= {"environmentVariables"}
    levels = [
        place
        for place, value in places(enveloped(kind))
        if isinstance(value, dict) and not (place and place[-1] in maps)
    ]
    assert len(levels) >= 5
    for place in levels:
        for name in ("popularity", "x", "", "api_version", "external_id"):
            assert not accepted(changed(enveloped(kind), (*place, name), 1)), (place, name)


@pytest.mark.parametrize("kind", KINDS)
def test_null_stands_nowhere(kind: str) -> None:
    for place, _ in places(enveloped(kind)):
        if place:
            assert not accepted(changed(enveloped(kind), place, None)), place


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_least_manifest_has_is_required(kind: str) -> None:
    least = {**enveloped(kind, LEAST[kind]), "metadata": {"name": "a"}}
    assert accepted(least)
    for place, _ in places(least):
        if place and not isinstance(place[-1], int):
            assert not accepted(without(least, place)), place


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_least_manifest_lacks_is_optional(kind: str) -> None:
    for field in FULL[kind]:
        assert accepted(enveloped(kind, without(FULL[kind], (field,)))) is (field not in LEAST[kind]), field
    for field in METADATA:
        assert accepted({**enveloped(kind), "metadata": without(METADATA, (field,))}) is (field != "name")


OF_ANOTHER_TYPE: list[tuple[type, object]] = [
    *((bool, wrong) for wrong in (1, 0, "true")),
    *((int, wrong) for wrong in ("12", True, [1])),
    *((float, wrong) for wrong in ("0.5", False)),
    *((str, wrong) for wrong in (1, True, ["a"], {"a": "b"})),
    *((list, wrong) for wrong in ("ab", {"0": "a"})),
    *((dict, wrong) for wrong in ([], "a")),
]


@pytest.mark.parametrize("kind", KINDS)
def test_no_type_is_converted_into_another(kind: str) -> None:
    tried = 0
    for place, value in places(enveloped(kind)):
        for type_, wrong in OF_ANOTHER_TYPE:
            named_size = type_ is str and place[-2:-1] == ("shape",) and type(wrong) is int  # may be a number as well
            if place and type(value) is type_ and not named_size:
                assert not accepted(changed(enveloped(kind), place, wrong)), (place, wrong)
                tried += 1
    assert tried > 20


WEIRD = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 12, 2**53 - 1, 2**53, -(2**53)),
        *(0.0, -0.5, 0.5, 1.0, 1e16, float("nan"), float("inf")),
        *("", "a", "A", "12", "a\n", "a b", "µ", "\ud800", "😀", "mean", "none", "0.008 ms", "a" * 300),
        *("sha256:" + "0a" * 32, "0a" * 20, "https://example.org"),
        *([], {}, [[]], [1], ["a"], [1, 2], [2, 1], {"a": 1}, {"A": 1}, {"name": "a"}),
        *(b"a", (), (1,), object(), {1: 2}),
    ]
)


@settings(max_examples=600, deadline=None)
@given(st.data(), st.sampled_from(KINDS), WEIRD)
def test_the_compiled_rules_are_those_of_the_models(data: st.DataObject, kind: str, weird: object) -> None:
    """Whatever stands anywhere: `make` and the model agree, on the answer and on the normalised form."""
    place = data.draw(st.sampled_from([place for place, _ in places(enveloped(kind)) if len(place) > 1]))
    document = changed(enveloped(kind), place, weird)
    try:
        model = envelope_of(kind).model_validate(document)
    except ValidationError:
        with pytest.raises(ManifestError) as caught:
            make(kind, document["metadata"], document["spec"])
        assert str(caught.value).startswith(f"{kind} {place[0]}")
        assert "\n" not in str(caught.value)
        return
    made = make(kind, document["metadata"], document["spec"])
    dumped = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert (made.metadata, made.spec) == (dumped["metadata"], dumped["spec"])
    assert parse(made.text) == made


def test_what_is_made_shares_nothing_with_what_was_given() -> None:
    spec, metadata = copy.deepcopy(FULL["BenchmarkRun"]), copy.deepcopy(METADATA)
    made = make("BenchmarkRun", metadata, spec)
    for _, value in [*places(spec), *places(metadata)]:
        if isinstance(value, dict | list):
            value.clear()
    assert made == make("BenchmarkRun", METADATA, FULL["BenchmarkRun"])


@pytest.mark.parametrize("latency", [{}, {"p05": 1}, {"confidence95": [1, 2], "minimum": 1}])
def test_a_latency_has_a_median_or_a_mean(latency: object) -> None:
    with refused("spec.timing.latencyNs: "):
        run_with("timing.latencyNs", latency)


@pytest.mark.parametrize("latency", [{"median": 1}, {"mean": 1}, {"mean": 0, "median": 0}])
def test_either_is_enough(latency: dict[str, int]) -> None:
    assert run_with("timing.latencyNs", latency).spec["timing"]["latencyNs"] == latency


@pytest.mark.parametrize(
    ("argument", "good"),
    [
        ({"tensor": {"shape": ["batch", 1], "dtype": "bf16"}}, True),
        ({"scalar": {"dtype": "bf16"}}, True),
        ({}, False),
        ({"tensor": {"shape": ["batch"], "dtype": "bf16"}, "scalar": {"dtype": "bf16"}}, False),
        *(({"tensor": {"shape": [size], "dtype": "bf16"}}, False) for size in (-1, 1.0, True, "12", "Batch", "a+b")),
        ({"tensor": {"shape": [], "dtype": "bf16"}}, False),
    ],
)
def test_an_argument_is_one_of_tensor_and_scalar(argument: dict[str, Any], good: bool) -> None:
    for side in ("inputs", "outputs"):
        spec = changed(FULL["OperationSpec"], (side, 0), {"name": "x", **argument})
        with nullcontext() if good else refused(f"spec.{side}[0]"):
            make("OperationSpec", METADATA, spec)


@pytest.mark.parametrize(
    ("kind", "field"), [("OperationSpec", "inputs"), ("OperationSpec", "outputs"), ("WorkloadSuite", "cases")]
)
def test_lists_that_hold_one_at_least(kind: str, field: str) -> None:
    with refused(f"{kind} spec.{field}: []"):
        make(kind, METADATA, changed(FULL[kind], (field,), []))


@pytest.mark.parametrize(
    ("axis", "good"),
    [
        ({"role": "variable"}, True),
        ({"role": "variable", "minimum": -1, "maximum": 5}, True),
        ({"role": "constant", "value": 0}, True),
        ({"role": "constant"}, False),
        ({"role": "constant", "expression": "a"}, False),
        ({"role": "derived", "expression": "2 * heads"}, True),
        ({"role": "derived"}, False),
        ({"role": "derived", "value": 1}, False),
        ({"role": "const", "value": 1}, False),
        ({"role": ["constant"], "value": 1}, False),
        ({"role": "variable", "value": 1.0}, False),
        ({"role": "variable", "type": "float"}, False),
    ],
)
def test_an_axis_has_what_its_role_needs(axis: dict[str, Any], good: bool) -> None:
    spec = changed(FULL["OperationSpec"], ("axes", "heads"), {"type": "integer", **axis})
    with nullcontext() if good else refused("spec.axes.heads"):
        make("OperationSpec", METADATA, spec)


def test_other_lists_keep_order_and_repetitions() -> None:
    entries = [{"externalId": name, "axes": {}} for name in ("b", "a", "b")]
    suite = make("WorkloadSuite", METADATA, changed(FULL["WorkloadSuite"], ("cases",), entries))
    assert suite.spec["cases"] == entries


def test_errors_name_kind_field_value_and_rule_in_a_line() -> None:
    with refused("BenchmarkRun spec.measurements[0].metric: 'Latency': String should match pattern '^[a-z]"):
        run_with("measurements.0.metric", "Latency")
    with refused("BenchmarkRun metadata.name: this field is missing"):
        make("BenchmarkRun", {}, FULL["BenchmarkRun"])
    with refused("metadata.nmae: 'a': there is no such field"):
        make("BenchmarkRun", {"name": "a", "nmae": "a"}, FULL["BenchmarkRun"])
    with refused("(and 1 more)"):
        make("BenchmarkRun", {"nmae": "a"}, FULL["BenchmarkRun"])
    with refused("metadata.title: null (an absent field is left out)"):
        make("BenchmarkRun", {"name": "a", "title": None}, FULL["BenchmarkRun"])


def test_errors_stay_short_whatever_stands_there() -> None:
    for value in ("x" * 10_000 + "\n", ["x" * 1_000] * 1_000, {"x" * 1_000: {"y" * 1_000: ["z"]}}, 10**5_000):
        with refused("BenchmarkRun spec.status: ") as caught:
            run_with("status", value)
        assert len(str(caught.value)) < 600
        assert "\n" not in str(caught.value)
        assert "pydantic" not in str(caught.value)
