"""Manifests as JSON: what text is read, and the rules as JSON Schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from manifest_samples import (
    FULL,
    LEAST,
    METADATA,
    RECORDS,
    accepted,
    changed,
    enveloped,
    places,
    refused,
    run_with,
    without,
)

from transforms.identity import canonical_json
from transforms.manifests import KINDS, ManifestError, json_schema, make, parse


@pytest.mark.parametrize("kind", ["", "Nope", "benchmarkrun", "BenchmarkRun\n", "ServingRun", None, 1, [], {}])
def test_unknown_kinds_are_refused_with_the_known_ones(kind: Any) -> None:
    for read in (
        lambda: make(kind, METADATA, LEAST["SoftwareProject"]),
        lambda: parse(json.dumps({**enveloped("SoftwareProject"), "kind": kind})),
        lambda: json_schema(kind),
    ):
        with refused(", ".join(KINDS)):
            read()


@pytest.mark.parametrize("version", ["kernelindex.dev/v1", "kernelindex.dev/v1alpha1\n", "", None, 1])
def test_other_versions_are_refused(version: object) -> None:
    with refused("SoftwareProject apiVersion: "):
        parse(json.dumps({**enveloped("SoftwareProject"), "apiVersion": version}))


@pytest.mark.parametrize("field", ["apiVersion", "kind", "metadata", "spec"])
def test_the_envelope_is_whole(field: str) -> None:
    with refused("kind None" if field == "kind" else f"SoftwareProject {field}: this field is missing"):
        parse(json.dumps(without(enveloped("SoftwareProject"), (field,))))


TEXT = canonical_json(enveloped("SoftwareProject")).decode()
VALUE = '"individual"'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param("", "cannot be read as JSON", id="nothing"),
        pytest.param("{", "cannot be read as JSON", id="half"),
        pytest.param("[]", "no JSON object", id="list"),
        pytest.param("null", "no JSON object", id="null"),
        pytest.param(TEXT + "x", "cannot be read as JSON", id="more behind"),
        pytest.param(TEXT + TEXT, "cannot be read as JSON", id="two"),
        pytest.param(TEXT.replace("}", ",}"), "cannot be read as JSON", id="trailing comma"),
        pytest.param(TEXT.replace('"', "'"), "cannot be read as JSON", id="single quotes"),
        pytest.param(b"\xef\xbb\xbf" + TEXT.encode(), "cannot be read as JSON", id="byte order mark"),
        pytest.param(TEXT.encode("utf-16"), "cannot be read as JSON", id="utf-16"),
        pytest.param(TEXT.encode().replace(b"A title", b"\xff"), "cannot be read as JSON", id="broken utf-8"),
        pytest.param(TEXT.replace(VALUE, '"vendor","kind":' + VALUE), "'kind' stands twice", id="twice"),
        pytest.param(TEXT.replace(VALUE, '"vendor","\\u006bind":' + VALUE), "'kind' stands twice", id="twice, escaped"),
        pytest.param(TEXT.replace(VALUE, "NaN"), "NaN is no JSON number", id="NaN"),
        pytest.param(TEXT.replace(VALUE, "-Infinity"), "-Infinity is no JSON number", id="infinity"),
        pytest.param(TEXT.replace(VALUE, "9" * 5000), "cannot be read as JSON", id="endless number"),
        pytest.param(TEXT.replace(VALUE, "[" * 100_000 + "]" * 100_000), "cannot be read as JSON", id="deep"),
        pytest.param(TEXT.replace(VALUE, '"\\ud800"'), "spec.kind: ", id="lone surrogate"),
    ],
)
def test_other_texts_are_refused_in_a_line(data: bytes | str, words: str) -> None:
    with refused(words) as caught:
        parse(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("number", ["1e400", "-1e400", "9007199254740993", "1" * 400, "01", "+1", ".5"])
def test_numbers_that_no_double_holds_are_refused(number: str) -> None:
    text = canonical_json(enveloped("BenchmarkRun")).decode()
    assert '"sol_score":0.5' in text
    with pytest.raises(ManifestError):
        parse(text.replace('"sol_score":0.5', f'"sol_score":{number}'))


@pytest.mark.parametrize("value", [1e16, 2.0**53, 1e20, -1e20, 1e21, 1e22, 123456789012345680000.0, -0.0, 2.0])
def test_doubles_survive_their_canonical_digits(value: float) -> None:
    made = run_with("sourceNative.metrics", {"a": value})
    assert parse(made.text) == made


def test_text_need_not_be_canonical() -> None:
    document = enveloped("BenchmarkRun")
    loose = json.dumps(dict(reversed(document.items())), indent=4, ensure_ascii=True)
    assert "6.5" in loose
    made = parse(loose.replace("6.5", "0.65e+1"))
    assert made == make("BenchmarkRun", METADATA, FULL["BenchmarkRun"])


TEXTS = {"type": "string", "minLength": 0}


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_closed_everywhere_and_know_no_null(kind: str) -> None:
    schema = json_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for place, part in places(schema):
        if isinstance(part, dict) and part.get("type") == "object":
            free_names = place[-1:] == ("environmentVariables",)
            assert part["additionalProperties"] == (TEXTS if free_names else False), place
        if isinstance(part, dict) and place[-1:] != ("properties",):
            assert part.get("type") != "null", place
            assert "default" not in part, place


@pytest.mark.parametrize("document", RECORDS)
def test_published_records_are_valid(document: dict[str, Any]) -> None:
    Draft202012Validator(json_schema(document["kind"])).validate(document)


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_say_what_the_models_say(kind: str) -> None:
    schema = Draft202012Validator(json_schema(kind))
    assert schema.is_valid(enveloped(kind))
    assert schema.is_valid(enveloped(kind, LEAST[kind]))
    for place, _ in places(enveloped(kind)):
        if place and "confidence95" not in place[:-1]:  # that intervals run upwards is beyond JSON Schema
            for other in (None, [], {}, -1, 0, 5, 0.5, True, "", "A", "a", {"Unknown": "a"}):
                document = changed(enveloped(kind), place, other)
                assert schema.is_valid(document) is accepted(document), (place, other)
            document = without(enveloped(kind), place)
            assert schema.is_valid(document) is accepted(document), place
