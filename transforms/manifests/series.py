"""Many manifests alike: one is made whole, of the others only what differs is validated and written."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import SchemaValidator

from transforms.identity import canonical_json_of_plain, canonical_texts_of_plain, sha256_digest
from transforms.manifests.compiled import places_validator
from transforms.manifests.envelope import ManifestError, envelope_of
from transforms.manifests.making import beginning, first_problem, make


class Series:
    """Manifests of one kind that are alike but for what stands in some places, such as the runs of one cohort.

    `metadata` and `spec` are what all of them share, `values` what one of them has besides, by place: a path such as
    `spec.timing.latencyNs`. That one is made whole. Raises ManifestError as `make` does.
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
        self._validator: SchemaValidator = places_validator(envelope_of(kind), (*in_metadata, *in_spec))

    def fill(self, values: Mapping[str, object]) -> tuple[str, str]:
        """Return digest and canonical text of the one with these values, each by its place: what `make` would give.

        Raises ManifestError.
        """
        try:
            normal: dict[str, Any] = self._validator.validate_python(values)
        except ValidationError as error:
            raise ManifestError(f"{self._kind} {first_problem(error)}") from error
        texts = canonical_texts_of_plain(normal.values())
        metadata = self._metadata % tuple(texts[: self._in_metadata])
        spec = self._spec % tuple(texts[self._in_metadata :])
        return sha256_digest(self._start + spec), (self._start + metadata + spec).decode()


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
