"""Manifests to test with: the published records, and one of every kind with all fields and one with the fewest."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from transforms.identity import API_VERSION, canonical_json
from transforms.manifests import Made, ManifestError, make, parse

FIXTURES = Path(__file__).parent / "fixtures"
SEEDS = {name: json.loads((FIXTURES / "seeds" / f"run-{name}.json").read_text("utf-8")) for name in ("3483", "27772")}
RECORDS = [pytest.param(document, id=f"{name}-{part}") for name in SEEDS for part, document in SEEDS[name].items()]

_SAMPLES = json.loads((FIXTURES / "manifests.json").read_text("utf-8"))
METADATA: dict[str, Any] = _SAMPLES["metadata"]
FULL: dict[str, dict[str, Any]] = _SAMPLES["full"]
LEAST: dict[str, dict[str, Any]] = _SAMPLES["least"]

Place = tuple[str | int, ...]


def places(value: object, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value in a document, the document first, with the way to it."""
    yield place, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*place, key))


def changed(document: dict[str, Any], place: Place, value: object) -> dict[str, Any]:
    """A copy of the document with another value at the place."""
    copied, holder = _copied(document, place)
    holder[place[-1]] = value
    return copied


def without(document: dict[str, Any], place: Place) -> dict[str, Any]:
    """A copy of the document with nothing at the place."""
    copied, holder = _copied(document, place)
    del holder[place[-1]]
    return copied


def _copied(document: dict[str, Any], place: Place) -> tuple[dict[str, Any], Any]:
    copied = copy.deepcopy(document)
    holder: Any = copied
    for key in place[:-1]:
        holder = holder[key]
    return copied, holder


def enveloped(kind: str, spec: dict[str, Any] | None = None) -> dict[str, Any]:
    """A whole manifest: of the given spec, else of the one with all fields."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": METADATA, "spec": spec or FULL[kind]}


def accepted(document: dict[str, Any]) -> bool:
    """Tell whether a whole manifest is read from its JSON text."""
    try:
        parse(canonical_json(document))
    except ManifestError:
        return False
    return True


def run_with(place: str, value: object) -> Made:
    """Make the full run with another value at a dotted place."""
    steps = tuple(int(step) if step.isdigit() else step for step in place.split("."))
    return make("BenchmarkRun", METADATA, changed(FULL["BenchmarkRun"], steps, value))


def refused(words: str) -> Any:
    """Expect a ManifestError that says so."""
    return pytest.raises(ManifestError, match=re.escape(words))
