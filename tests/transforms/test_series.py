"""A series gives what making each manifest whole gives: the same bytes, the same digest, the same refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifest_samples import FULL, METADATA, changed, places

from transforms.manifests import ManifestError, make, make_alike
from transforms.manifests.series import Series

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.from_regex(r"sha256:[0-9a-f]{64}"),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3),
    max_leaves=5,
)


def whole(kind: str, document: dict[str, Any]) -> tuple[str, str] | str:
    try:
        made = make(kind, document["metadata"], document["spec"])
    except ManifestError as error:
        return str(error)
    return made.digest, made.text


def filled(series: Series, values: dict[str, object]) -> tuple[str, str] | str:
    (made,) = series.fill([values])
    return in_words(made)


def in_words(made: tuple[str, str] | ManifestError) -> tuple[str, str] | str:
    return str(made) if isinstance(made, ManifestError) else made


def parted(kind: str) -> Iterator[tuple[dict[str, Any], tuple[str, ...], object]]:
    """The full manifest of a kind, and each place in it that can be one of a series."""
    document = {"metadata": METADATA, "spec": FULL[kind]}
    for place, value in places(document):
        if len(place) < 2 or not all(isinstance(step, str) for step in place):
            continue
        try:
            Series(kind, METADATA, FULL[kind], {".".join(map(str, place)): value})
        except TypeError:
            continue  # inside a map, or a part with a rule of its own
        yield document, tuple(map(str, place)), value


PARTED = [
    pytest.param(kind, document, place, value, id=f"{kind}-{'.'.join(place)}")
    for kind in FULL
    for document, place, value in parted(kind)
]


def test_there_are_places_in_every_kind() -> None:
    assert {parameters.values[0] for parameters in PARTED} == set(FULL)
    assert len(PARTED) > 100


@pytest.mark.parametrize(("kind", "document", "place", "value"), PARTED)
def test_any_value_at_any_place_comes_to_the_same(
    kind: str, document: dict[str, Any], place: tuple[str, ...], value: object
) -> None:
    name = ".".join(place)
    series = Series(kind, METADATA, FULL[kind], {name: value})
    others = [other for _, other in places(FULL[kind])]
    junk = [None, "", "x", 0, -1, 1.5, 2.0, True, [], {}, "ünï 𝄞 \u2028 \x00 \ud800", float("nan"), 2**60, 1e300, 1e-7]
    for other in [value, *others, *junk]:
        assert filled(series, {name: other}) == whole(kind, changed(document, place, other)), repr(other)[:80]


@pytest.mark.parametrize("text", ["%", "100 %", "%b and %s", "%(name)s", "%%", "{}", "\\%b"])
def test_no_text_that_is_shared_is_taken_for_a_place(text: str) -> None:
    metadata, spec = {**METADATA, "title": text}, FULL["BenchmarkRun"]
    values = {"metadata.name": METADATA["name"], "spec.observedAt": spec["observedAt"]}
    document = {"metadata": metadata, "spec": spec}
    assert filled(Series("BenchmarkRun", metadata, spec, values), values) == whole("BenchmarkRun", document)


RUN = {"metadata": METADATA, "spec": FULL["BenchmarkRun"]}
RUN_PLACES = (
    ("metadata", "name"), ("metadata", "title"), ("metadata", "labels"), ("spec", "implementationDigest"),
    ("spec", "timing", "latencyNs"), ("spec", "sourceNative", "externalId"), ("spec", "sourceNative", "metrics"),
    ("spec", "observedAt"),
)  # fmt: skip


def at(place: tuple[str, ...]) -> object:
    value: Any = RUN
    for step in place:
        value = value[step]
    return value


@given(st.dictionaries(st.sampled_from(RUN_PLACES), JSON, max_size=3))
def test_several_places_at_once_come_to_the_same(others: dict[tuple[str, ...], object]) -> None:
    values = {".".join(place): at(place) for place in RUN_PLACES}
    series = Series("BenchmarkRun", METADATA, FULL["BenchmarkRun"], values)
    document = RUN
    for place, value in others.items():
        document = changed(document, place, value)
    wanted, got = whole("BenchmarkRun", document), filled(series, values | {".".join(k): v for k, v in others.items()})
    # Which of several problems is told first is not promised.
    assert type(got) is type(wanted)
    if isinstance(wanted, tuple) or len(others) < 2:
        assert got == wanted


ONE_RUN = {".".join(place): at(place) for place in RUN_PLACES}
GOOD = st.fixed_dictionaries(
    {
        "metadata.name": st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True),
        "metadata.title": st.text(max_size=20),
        "spec.sourceNative.metrics": st.dictionaries(
            st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True), st.integers(-5, 5) | st.floats(allow_nan=False)
        ),
    }
)
ANY = st.fixed_dictionaries({}, optional={"metadata.title": JSON, "spec.sourceNative.metrics": JSON})


@given(st.lists(GOOD | ANY, max_size=5))
def test_several_at_once_come_to_what_each_comes_to_alone(several: list[dict[str, object]]) -> None:
    """Whatever one of them holds: a refused one costs no other, and the order stays."""
    wanted = []
    for values in several:
        document = RUN
        for place, value in values.items():
            document = changed(document, tuple(place.split(".")), value)
        wanted.append(whole("BenchmarkRun", document))
    shared = {name: part for name, part in RUN["spec"].items() if name != "observedAt"}
    made = make_alike("BenchmarkRun", RUN["metadata"], shared, [ONE_RUN | values for values in several])
    for got, want in zip(map(in_words, made), wanted, strict=True):
        assert isinstance(got, str) == isinstance(want, str)
        if isinstance(want, tuple):
            assert got == want


def test_none_at_all_come_to_none() -> None:
    assert make_alike("BenchmarkRun", {}, {}, []) == []


def test_what_is_shared_is_validated_too() -> None:
    with pytest.raises(ManifestError, match="status"):
        Series("BenchmarkRun", METADATA, {**FULL["BenchmarkRun"], "status": "great"}, {"metadata.name": "x"})


def test_a_place_inside_a_part_with_a_rule_of_its_own_is_refused() -> None:
    with pytest.raises(TypeError, match="latencyNs"):
        Series("BenchmarkRun", METADATA, FULL["BenchmarkRun"], {"spec.timing.latencyNs.mean": 5})


def test_a_value_that_is_missing_is_told() -> None:
    series = Series(
        "BenchmarkRun",
        METADATA,
        FULL["BenchmarkRun"],
        {"metadata.name": "x", "spec.observedAt": at(("spec", "observedAt"))},
    )
    assert filled(series, {"metadata.name": "y"}) == "BenchmarkRun spec.observedAt: this field is missing"
