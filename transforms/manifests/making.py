"""The two ways to a manifest: `make` from Python values, `parse` from JSON text."""

from __future__ import annotations

import json
import reprlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NoReturn

import orjson
from pydantic import ValidationError
from pydantic_core import SchemaValidator

from transforms.identity import API_VERSION, canonical_json_of_plain, sha256_digest
from transforms.manifests.compiled import dict_validator
from transforms.manifests.envelope import Manifest, ManifestError, envelope_of
from transforms.units import json_number

RECORD: Final = {"run": "BenchmarkRun", "protocol": "BenchmarkProtocol", "environment": "ExecutionEnvironment"}
"""The parts of a published run record and their kinds."""

_values: Final = reprlib.Repr()
_values.maxstring = _values.maxother = _values.maxlong = 100


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
    """Read a manifest from its JSON text, canonical or not, in UTF-8 when it is bytes.

    Numbers are read as canonical JSON writes them, so 1.0 is 1. Raises ManifestError for what is no JSON object, for
    a field that stands twice in one object (readers disagree on which counts), and for whatever `make` refuses.
    """
    made = _read_canonical(data)
    if made is not None:
        return made
    document = _loaded(data)
    if not isinstance(document, dict):
        raise ManifestError(f"manifest: {_shown(document)} is no JSON object")
    return _made(document.get("kind"), document)


def parse_record(data: bytes | str) -> tuple[dict[str, Made], list[str]]:
    """Read a published run record, one JSON object of three manifests: `run`, `protocol` and `environment`.

    Returns them by those names, and the names of whatever else the object holds. Raises ManifestError as `parse` does,
    and where one of the three is missing or of another kind.
    """
    document = _loaded(data)
    if not isinstance(document, dict):
        raise ManifestError(f"record: {_shown(document)} is no JSON object")
    record = {}
    for name, kind in RECORD.items():
        part = document.get(name)
        if not isinstance(part, dict) or part.get("kind") != kind:
            raise ManifestError(f"record: {name} is {_shown(part)}, not a {kind}")
        record[name] = _made(kind, part)
    return record, sorted(document.keys() - RECORD.keys())


def _read_canonical(data: bytes | str) -> Made | None:
    """Read a manifest in canonical form, as all stored ones are, at a third of the cost; None for any other text.

    This decoder would let a field pass that stands twice, but the canonical text of what it read then differs.
    """
    try:
        document = orjson.loads(data)
        if not isinstance(document, dict):
            return None
        made = _made(document.get("kind"), document)
    except ValueError:
        return None
    return made if made.text == (data if isinstance(data, str) else data.decode()) else None


def _made(kind: object, document: dict[str, Any]) -> Made:
    try:
        normal: dict[str, Any] = _validator(envelope_of(kind)).validate_python(document)
    except ValidationError as error:
        raise ManifestError(f"{kind} {first_problem(error)}") from error
    name, metadata, spec = normal["kind"], normal["metadata"], normal["spec"]
    # The four fields stand in canonical order as they are, so the spec is serialised once for digest and text.
    start = beginning(name)
    end = b'"spec":' + canonical_json_of_plain(spec) + b"}"
    text = start + b'"metadata":' + canonical_json_of_plain(metadata) + b"," + end
    return Made(sha256_digest(start + end), name, metadata["name"], metadata, spec, text.decode())


def beginning(kind: str) -> bytes:
    """Return how the canonical text of every manifest of a kind begins: with all that stands before its metadata."""
    return f'{{"apiVersion":"{API_VERSION}","kind":"{kind}",'.encode()


@cache
def _validator(envelope: type[Manifest[Any, Any]]) -> SchemaValidator:
    return dict_validator(envelope)


def first_problem(error: ValidationError) -> str:
    """Say where the first problem is, what stands there and what the rule is, and how many problems follow."""
    first, *others = error.errors(include_url=False, include_context=False)
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]).lstrip(".")
    rules = {"missing": "this field is missing", "extra_forbidden": "there is no such field"}
    rule = rules.get(first["type"], first["msg"].removeprefix("Value error, "))
    value = "" if first["type"] == "missing" else f"{_shown(first['input'])}: "
    return f"{_cut(place)}: {value}{rule}" + (f" (and {len(others)} more)" if others else "")


def _shown(value: object) -> str:
    if value is None:
        return "null (an absent field is left out)"
    try:
        return _cut(_values.repr(value))
    except ValueError:  # Python does not write out whole numbers of more than 4,300 digits
        return f"a huge {type(value).__name__}"


def _cut(text: str) -> str:
    """Keep a line a line, and short, whatever the manifest holds: a field's name is as free as a value."""
    line = text if text.isprintable() else repr(text)[1:-1]
    return line if len(line) <= 120 else f"{line[:119]}…"


def _loaded(data: bytes | str) -> object:
    try:
        text = data if isinstance(data, str) else data.decode()
        return json.loads(
            text,
            object_pairs_hook=_fields,
            parse_int=json_number,
            parse_float=json_number,
            parse_constant=_no_number,
        )
    except ManifestError:
        raise
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"manifest: cannot be read as JSON in UTF-8: {_cut(str(error))}") from error


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ManifestError(f"manifest: field {_shown(twice)} stands twice in one object")
    return fields


def _no_number(word: str) -> NoReturn:
    raise ManifestError(f"manifest: {word} is no JSON number")
