"""Many manifests alike: one is made whole, of the others only what differs is validated and written."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import SchemaValidator

from transforms.identity import canonical_json_of_plain, canonical_texts_of_plain, sha256_digest
from transforms.manifests.compiled import places_validator
from transforms.manifests.envelope import ManifestError, envelope_of
from transforms.manifests.making import beginning, first_problem, make

Alike = tuple[str, str] | ManifestError
"""Digest and canonical text of one manifest of several, or why it cannot be made."""


def make_alike(
    kind: str, metadata: dict[str, Any], spec: dict[str, Any], several: Sequence[Mapping[str, object]]
) -> list[Alike]:
    """Make manifests of one kind that are alike but for what stands in some places, such as the runs of one cohort.

    `metadata` and `spec` are what all of them share; each of `several` is what one of them has besides, by place, all
    at the same places: a path such as `spec.timing.latencyNs`. Returns for each what `make` would give, or the
    ManifestError it would raise.
    """
    refused: list[Alike] = []
    for values in several:
        try:
            series = Series(kind, metadata, spec, values)
        except ManifestError as error:
            refused.append(error)
        else:
            return refused + series.fill(several[len(refused) :])
    return refused


class Series:
    """Manifests of one kind that are alike but for what stands in some places.

    `metadata` and `spec` are what all of them share, `values` what one of them has besides, by place. That one is made
    whole. Raises ManifestError as `make` does.
    """

    def __init__(self, kind: str, metadata: dict[str, Any], spec: dict[str, Any], values: Mapping[str, object]) -> None:
        document = _filled({"metadata": metadata, "spec": spec}, values)
        made = make(kind, document["metadata"], document["spec"])
        self._kind = kind
        self._start = beginning(kind)
        # Marks that no manifest holds show where the canonical text is to be filled in.
        secret = secrets.token_hex(16)
        marks = {place: f"{secret}-{number}-" for number, place in enumerate(values)}
        marked = _filled({"metadata": made.metadata, "spec": made.spec}, marks)
        self._metadata, in_metadata = _template(b'"metadata":', marked["metadata"], marks, b",")
        self._spec, in_spec = _template(b'"spec":', marked["spec"], marks, b"}")
        self._in_metadata = len(in_metadata)
        self._places = (*in_metadata, *in_spec)
        model = envelope_of(kind)
        self._several: SchemaValidator = places_validator(model, self._places, several=True)
        self._one: SchemaValidator = places_validator(model, self._places, several=False)

    def fill(self, several: Sequence[Mapping[str, object]]) -> list[Alike]:
        """Make those with these values, each by its place: what `make` would give, or the error it would raise."""
        try:
            normal: list[dict[str, Any]] = self._several.validate_python(several)
        except ValidationError:
            return [self._fill_one(values) for values in several]
        return self._written(normal)

    def _fill_one(self, values: Mapping[str, object]) -> Alike:
        try:
            normal: dict[str, Any] = self._one.validate_python(values)
        except ValidationError as error:
            return ManifestError(f"{self._kind} {first_problem(error)}")
        return self._written([normal])[0]

    def _written(self, several: list[dict[str, Any]]) -> list[Alike]:
        texts = canonical_texts_of_plain([value for one in several for value in one.values()])
        made: list[Alike] = []
        for start in range(0, len(texts), len(self._places)):
            middle, end = start + self._in_metadata, start + len(self._places)
            spec = self._spec % tuple(texts[middle:end])
            text = b"".join((self._start, self._metadata % tuple(texts[start:middle]), spec))
            made.append((sha256_digest(self._start + spec), text.decode()))
        return made


def _filled(document: dict[str, Any], values: Mapping[str, object]) -> dict[str, Any]:
    """Return a copy of the document with the values in their places."""
    for place, value in values.items():
        document = _put(document, place.split("."), value)
    return document


def _put(document: dict[str, Any], path: list[str], value: object) -> dict[str, Any]:
    step, *rest = path
    return {**document, step: _put(document.get(step, {}), rest, value) if rest else value}


def _template(before: bytes, part: object, marks: dict[str, str], after: bytes) -> tuple[bytes, list[str]]:
    """Make a template of the canonical text of a part, to be filled with `%`, with room where its marks stand.
    Returns it, and which places are left open, in order."""
    text = before + canonical_json_of_plain(part) + after
    found = {place: at for place, mark in marks.items() if (at := text.find(mark.encode())) >= 0}
    text = text.replace(b"%", b"%%")
    for place in found:
        text = text.replace(f'"{marks[place]}"'.encode(), b"%b")
    return text, sorted(found, key=found.__getitem__)
