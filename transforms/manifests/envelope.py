"""The envelope every object shares, and the two ways in: `make` from Python values, `parse` from JSON text."""

from __future__ import annotations

import json
import reprlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, Literal, NoReturn, TypeVar

from pydantic import ValidationError
from pydantic_core import SchemaValidator

from transforms.identity import API_VERSION, canonical_json, sha256_digest
from transforms.manifests.compiled import dict_validator
from transforms.manifests.operation import OperationSpec
from transforms.manifests.parts import Metadata
from transforms.manifests.project import ImplementationRevision, SoftwareProject
from transforms.manifests.protocol import BenchmarkProtocol, ExecutionEnvironment
from transforms.manifests.run import BenchmarkRun
from transforms.manifests.values import ManifestPart
from transforms.manifests.workload import WorkloadCase, WorkloadSuite
from transforms.units import json_number

KindT = TypeVar("KindT")
SpecT = TypeVar("SpecT", bound=ManifestPart)

_values: Final = reprlib.Repr()
_values.maxstring = _values.maxother = _values.maxlong = 100


class ManifestError(ValueError):
    """Something that is no manifest: one line with the kind, the field, the value and the rule it breaks."""


class Manifest(ManifestPart, Generic[KindT, SpecT]):
    """The envelope of every object. `metadata` is editorial, kind and spec are its identity."""

    api_version: Literal["kernelindex.dev/v1alpha1"]
    kind: KindT
    metadata: Metadata
    spec: SpecT


ENVELOPES: Final[dict[str, type[Manifest[Any, Any]]]] = {
    "OperationSpec": Manifest[Literal["OperationSpec"], OperationSpec],
    "WorkloadCase": Manifest[Literal["WorkloadCase"], WorkloadCase],
    "WorkloadSuite": Manifest[Literal["WorkloadSuite"], WorkloadSuite],
    "SoftwareProject": Manifest[Literal["SoftwareProject"], SoftwareProject],
    "ImplementationRevision": Manifest[Literal["ImplementationRevision"], ImplementationRevision],
    "BenchmarkProtocol": Manifest[Literal["BenchmarkProtocol"], BenchmarkProtocol],
    "ExecutionEnvironment": Manifest[Literal["ExecutionEnvironment"], ExecutionEnvironment],
    "BenchmarkRun": Manifest[Literal["BenchmarkRun"], BenchmarkRun],
}
KINDS: Final = tuple(ENVELOPES)


@dataclass(frozen=True, slots=True)
class Made:
    """A valid manifest, normalised: `text` is the canonical JSON of the whole, `digest` that of kind and spec."""

    digest: str
    kind: str
    name: str
    metadata: dict[str, Any]
    spec: dict[str, Any]
    text: str


def make(kind: str, metadata: dict[str, Any], spec: dict[str, Any]) -> Made:
    """Validate and normalise a manifest of one of `KINDS`, given as JSON-shaped values with the format's field names.

    Normalised means: durations in whole nanoseconds, set-like lists sorted and without repetitions. A field that is
    absent is left out by the caller; None is refused like any other wrong value. Raises ManifestError.
    """
    return _made(kind, {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec})


def parse(data: bytes | str) -> Made:
    """Read a manifest from its JSON text, canonical or not, as UTF-8 when it is bytes.

    Raises ManifestError for what is no JSON object, for a field that stands twice in one object (readers disagree on
    which counts), and for whatever `make` refuses.
    """
    document = _loaded(data)
    if not isinstance(document, dict):
        raise ManifestError(f"manifest: {_values.repr(document)} is no JSON object")
    return _made(document.get("kind"), document)


def _made(kind: object, document: dict[str, Any]) -> Made:
    if not isinstance(kind, str) or kind not in ENVELOPES:
        raise ManifestError(f"manifest: kind {_values.repr(kind)} is none of {', '.join(KINDS)}")
    try:
        normal = _validator(kind).validate_python(document)
    except ValidationError as error:
        raise ManifestError(f"{kind} {_first_problem(error)}") from error
    metadata, spec = normal["metadata"], normal["spec"]
    # The four fields stand in canonical order as they are, so the spec is serialised once for digest and text.
    start = f'{{"apiVersion":"{API_VERSION}","kind":"{kind}",'.encode()
    end = b'"spec":' + canonical_json(spec) + b"}"
    text = start + b'"metadata":' + canonical_json(metadata) + b"," + end
    return Made(sha256_digest(start + end), kind, metadata["name"], metadata, spec, text.decode())


@cache
def _validator(kind: str) -> SchemaValidator:
    return dict_validator(ENVELOPES[kind])


def _first_problem(error: ValidationError) -> str:
    """Say where the first problem is, what stands there and what the rule is, and how many problems follow."""
    first, *others = error.errors(include_url=False, include_context=False)
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]).lstrip(".")
    rules = {"missing": "this field is missing", "extra_forbidden": "there is no such field"}
    rule = rules.get(first["type"], first["msg"].removeprefix("Value error, "))
    value = "" if first["type"] == "missing" else f"{_shown(first['input'])}: "
    return f"{place}: {value}{rule}" + (f" (and {len(others)} more)" if others else "")


def _shown(value: object) -> str:
    if value is None:
        return "null (an absent field is left out)"
    try:
        return _values.repr(value)
    except ValueError:  # Python does not write out whole numbers of more than 4,300 digits
        return f"a huge {type(value).__name__}"


def _loaded(data: bytes | str) -> object:
    try:
        text = data if isinstance(data, str) else data.decode()
        return json.loads(text, object_pairs_hook=_fields, parse_int=json_number, parse_constant=_no_number)
    except ManifestError:
        raise
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"manifest: no JSON text in UTF-8: {str(error)[:200]}") from error


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ManifestError(f"manifest: field {_values.repr(twice)} stands twice in one object")
    return fields


def _no_number(word: str) -> NoReturn:
    raise ManifestError(f"manifest: {word} is no JSON number")
