"""Canonical JSON against RFC 8785 and its reference library; digests against the published run records."""

from __future__ import annotations

import dataclasses
import enum
import json
import struct
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transforms.identity import (
    API_VERSION,
    IdentityError,
    canonical_json,
    canonical_texts_of_plain,
    comparison_key,
    correctness_digest,
    is_digest,
    sha256_digest,
    spec_digest,
)

SEEDS = {
    name: json.loads((Path(__file__).parent.parent / "fixtures" / "seeds" / f"run-{name}.json").read_text("utf-8"))
    for name in ("3483", "27772")
}

# RFC 8785, Appendix B: the bits of a double and its canonical text.
APPENDIX_B = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]

PLACES: dict[str, Callable[[Any], Any]] = {
    "alone": lambda number: number,
    "only element": lambda number: [number],
    "later element": lambda number: ["a", number, "b"],
    "last element": lambda number: ["a", number],
    "member": lambda number: {"a": number},
    "later member": lambda number: {"a": "x", "b": number, "c": "y"},
    "in nested lists": lambda number: {"a": [[[1], [number]]]},
    "in a tuple": lambda number: {"a": (1, number)},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("bits", "text"), APPENDIX_B)
def test_doubles_of_the_rfc_are_written_as_it_says_wherever_they_stand(bits: str, text: str, place: str) -> None:
    number = struct.unpack(">d", bytes.fromhex(bits))[0]

    written = canonical_json(PLACES[place](number)).decode()

    assert text in written
    # Around the number, the document is what it is around a text of the same length.
    assert written == canonical_json(PLACES[place]("#")).decode().replace('"#"', text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.00001, "0.00001"),
        (1e-7, "1e-7"),
        (1e21, "1e+21"),
        (-0.0, "0"),
        (2.0, "2"),
        (1.0048e-05, "0.000010048"),
        (1e16, "10000000000000000"),
        (2**53 - 1, "9007199254740991"),
        (-(2**53) + 1, "-9007199254740991"),
        (0.1, "0.1"),
        (True, "true"),
    ],
)
def test_numbers_print_as_ecmascript_does(number: float, text: str) -> None:
    assert canonical_json({"n": number}).decode() == f'{{"n":{text}}}'


def test_the_examples_of_the_rfc() -> None:
    # Section 3.2.2, with the input's escapes as Python reads them, and section 3.2.3.
    serialised = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert canonical_json(serialised) == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    ordered = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    document = dict.fromkeys(sorted(ordered), "x")
    assert list(json.loads(canonical_json(document))) == ordered


KEYS = st.text(st.sampled_from('ab\u00e9\u20ac\ufb33\ue000\uffff\U0001f600\U00010000\n\x7f"\\'), max_size=3) | st.text()
NUMBERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(1e-8, 1e-3),
    st.floats(1e14, 1e22),
    st.integers(-(10**9), 10**9).map(lambda thousandths: thousandths / 1000),
    st.integers(-(10**6), 10**6).map(float),
    st.sampled_from([struct.unpack(">d", bytes.fromhex(bits))[0] for bits, _ in APPENDIX_B]),
)
SCALARS = st.none() | st.booleans() | NUMBERS | KEYS | st.sampled_from([":1.0,", ",null]", "[1e5]", '":1e16}'])
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=20,
)


@settings(max_examples=600, deadline=None)
@given(DOCUMENTS)
def test_bytes_are_those_of_the_reference_library(document: object) -> None:
    assert canonical_json(document) == rfc8785.dumps(document)  # type: ignore[arg-type]


@settings(max_examples=600, deadline=None)
@given(st.lists(NUMBERS | DOCUMENTS, max_size=8))
def test_bytes_of_several_values_are_those_of_each(values: list[object]) -> None:
    assert canonical_texts_of_plain(values) == [rfc8785.dumps(value) for value in values]  # type: ignore[arg-type]


@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_numbers_are_those_of_the_reference_library(numbers: list[float]) -> None:
    assert canonical_json(numbers) == rfc8785.dumps(numbers)
    assert canonical_json(dict(zip(map(str, range(30)), numbers, strict=False))) == rfc8785.dumps(
        dict(zip(map(str, range(30)), numbers, strict=False))
    )


@settings(deadline=None)
@given(st.integers())
@example(2**53)
@example(-(2**53))
@example(2**63)
@example(2**64)
@example(10**30)
@example(10**5000)
def test_whole_numbers_beyond_the_safe_ones_are_refused(number: int) -> None:
    for place in PLACES.values():
        if abs(number) < 2**53:
            assert str(number).encode() in canonical_json(place(number))
        else:
            with pytest.raises(IdentityError):
                canonical_json(place(number))


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int


@dataclasses.dataclass
class Box:
    x: int


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        "\ud800",
        {"\udfff": 1},
        {"\udfff": 1, "a": 2},
        {1: 2},
        {None: 2},
        b"bytes",
        {1, 2},
        object(),
        Decimal("1.5"),
        datetime(2026, 5, 21, tzinfo=UTC),
        date(2026, 5, 21),
        uuid.UUID(int=1),
        Colour.RED,
        Box(1),
        orjson.Fragment(b'{"a":'),
        1j,
    ],
    ids=lambda value: f"{type(value).__name__} {value}".partition(" at 0x")[0],
)
def test_what_json_cannot_say_is_refused(value: object, place: str) -> None:
    with pytest.raises(IdentityError, match="no canonical JSON"):
        canonical_json(PLACES[place](value))


def test_a_value_inside_itself_is_refused() -> None:
    circle: list[object] = []
    circle.append({"again": circle})
    with pytest.raises(IdentityError, match="contains itself"):
        canonical_json(circle)


def test_deep_values_are_written_until_they_are_refused() -> None:
    def nested(depth: int) -> list[Any]:
        value: list[Any] = []
        for _ in range(depth):
            value = [value]
        return value

    assert canonical_json(nested(400)) == b"[" * 401 + b"]" * 401
    with pytest.raises(IdentityError, match="nested too deeply"):
        canonical_json(nested(100_000))


@pytest.mark.parametrize("name", SEEDS)
def test_published_digests_reproduce(name: str) -> None:
    documents = SEEDS[name]
    digests = {part: spec_digest(document["kind"], document["spec"]) for part, document in documents.items()}
    published = {"3483": "sha256:449ac0a4bf174ec0ad6110c", "27772": "sha256:6fa4f85da9b80839c97c94c"}

    assert digests["run"].startswith(published[name])
    assert digests["protocol"] == documents["run"]["spec"]["protocolDigest"]
    assert digests["environment"] == documents["run"]["spec"]["environmentDigest"]


def test_metadata_is_no_part_of_the_digest_and_kind_is() -> None:
    spec = SEEDS["3483"]["protocol"]["spec"]
    envelope = json.dumps({"apiVersion": API_VERSION, "kind": "BenchmarkProtocol", "spec": spec}, separators=(",", ":"))

    # Nothing in this spec is written differently by the standard library but the order.
    in_order = json.dumps(json.loads(envelope), sort_keys=True, separators=(",", ":"))
    assert spec_digest("BenchmarkProtocol", spec) == sha256_digest(in_order.encode())
    assert spec_digest("BenchmarkRun", spec) != spec_digest("BenchmarkProtocol", spec)


SUITE_CORRECTNESS = {
    "comparator": "sol_execbench_eval",
    "description": "Correctness must pass on every case in the SOL evaluation stack.",
}


@pytest.mark.parametrize(
    ("name", "operation", "published"),
    [
        # The operation digests are those the public catalogue records for the two kernels.
        ("3483", "sha256:e810e0e29d644f8b12769bf72490e75a12a348aff421e56c07eeab455942aa7b", "sha256:f2fadd4714b17399"),
        ("27772", "sha256:818e910899ea2702680590f29411bdbea7c5fdb3d3e5001c04e353f2790ff667", "sha256:afb19fba8875cb05"),
    ],
)
def test_published_comparison_keys_reproduce(name: str, operation: str, published: str) -> None:
    spec = SEEDS[name]["run"]["spec"]
    key = comparison_key(
        operation=operation,
        workload=spec["workloadDigest"],
        protocol=spec["protocolDigest"],
        environment=spec["environmentDigest"],
        correctness=correctness_digest(SUITE_CORRECTNESS),
        metric="latency:mean:ns",
    )
    assert key.startswith(published)
    assert is_digest(key)


@pytest.mark.replay
def test_every_recorded_comparison_key_reproduces(expected: Callable[[str], list[dict[str, str]]]) -> None:
    rows = expected("expected.csv")
    assert len(rows) > 500
    for row in rows:
        key = comparison_key(
            operation=row["operation_digest"],
            workload=row["workload_digest"],
            protocol=row["protocol_digest"],
            environment=row["environment_digest"],
            correctness=correctness_digest(SUITE_CORRECTNESS),
            metric="latency:mean:ns",
        )
        assert key == row["comparison_key"], row["submission_id"]


GOOD = dict.fromkeys(("operation", "workload", "protocol", "environment", "correctness"), "sha256:" + "0" * 64)


def test_every_part_changes_the_comparison_key() -> None:
    base = comparison_key(**GOOD, metric="latency:mean:ns")
    others = [comparison_key(**{**GOOD, part: "sha256:" + "1" * 64}, metric="latency:mean:ns") for part in GOOD]
    others += [comparison_key(**GOOD, metric=metric) for metric in ("latency:median:ns", "none")]
    assert len({base, *others}) == 8


@pytest.mark.parametrize("part", GOOD)
@pytest.mark.parametrize("wrong", ["", "none", "sha256:" + "0" * 63, "sha256:" + "A" * 64, "sha256:" + "0" * 64 + "\n"])
def test_a_comparison_key_is_made_of_digests_only(part: str, wrong: str) -> None:
    with pytest.raises(IdentityError, match=part):
        comparison_key(**{**GOOD, part: wrong}, metric="latency:mean:ns")


@pytest.mark.parametrize("metric", ["", "latency", "latency:mean", "latency:mean:ns\n", "Latency:mean:ns", "a:b:c:d"])
def test_a_comparison_key_has_a_whole_metric(metric: str) -> None:
    with pytest.raises(IdentityError, match="metric"):
        comparison_key(**GOOD, metric=metric)


def test_sha256_digest_is_that_of_the_standard() -> None:
    # FIPS 180-2, the message "abc".
    assert sha256_digest(b"abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("sha256:" + "0a" * 32, True),
        ("sha256:" + "0A" * 32, False),
        ("sha256:" + "0a" * 31, False),
        ("sha256:" + "0a" * 33, False),
        ("sha256:" + "0a" * 32 + "\n", False),
        (" sha256:" + "0a" * 32, False),
        ("sha512:" + "0a" * 32, False),
        ("sha256:" + "\u0660" * 64, False),
        ("", False),
    ],
)
def test_is_digest(text: str, answer: bool) -> None:
    assert is_digest(text) is answer
