"""A kernel's definition to an OperationSpec, its workload entries to cases and a suite."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from scrapers.contract import Reject
from scrapers.sol_execbench import Kernel, Workload
from scrapers.sol_execbench.items import Argument, Axis, Tolerance
from transforms import axes, units
from transforms.bundle import Bundle
from transforms.curated import curated
from transforms.manifests import Made, ManifestError, make
from transforms.names import cut, kebab, token

SUBSETS = frozenset({"L1", "L2", "Quant", "FlashInfer-Bench"})
COMPARATOR = "sol_execbench_eval"
_compact_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
SUITE_RULE = "Correctness must pass on every case in the SOL evaluation stack."


@dataclass(frozen=True, slots=True)
class MappedKernel:
    """What a submission's manifests refer to. `floor_ms` is the least time the hardware allows on the fastest case,
    in milliseconds; None when the source does not vouch for one on every case."""

    name: str
    operation_digest: str
    suite: Made | None
    dtypes: list[str]
    floor_ms: Decimal | None


@dataclass(frozen=True, slots=True)
class WorkloadEntry:
    """An entry of a kernel's workload list, by its external id, its axes in the names of manifests."""

    external_id: str
    axes: dict[str, int]
    sent: Workload


@dataclass(frozen=True, slots=True)
class Signature:
    """What the cases of a kernel share, in the names of manifests.

    Its own name, input tensors (name, element type, shape in sizes and axes), sizes of constant axes, expressions of
    derived ones.
    """

    slug: str
    tensors: list[tuple[str, str, list[int | str]]]
    constants: dict[str, int]
    derived: dict[str, str]


def map_kernel(kernel: Kernel, url: str, bundle: Bundle, *, with_suite: bool) -> MappedKernel | None:
    """Add a kernel's manifests to the bundle. None, and a reject, when its definition cannot be expressed."""
    entries = [WorkloadEntry(entry_id(sent), _lowered(sent), sent) for sent in kernel.workloads]
    try:
        operation = _operation(kernel, url)
        suite = _suite(kernel, entries, operation.digest) if with_suite and entries else None
    except ManifestError as error:
        bundle.rejects.append(Reject(url, kernel.name, str(error)))
        return None
    family = operation.spec["family"]
    bundle.add(
        "operations", operation.digest, kebab(kernel.name), kernel.name, family, _tags(kernel),
        operation.text,
    )  # fmt: skip
    signature = _signature(kernel)
    cases = [_add_case(kernel, signature, entry, operation.digest, url, bundle) for entry in entries]
    if suite is not None:
        external_id = f"{kernel.name}/suite"
        bundle.add(
            "workloads", suite.digest, operation.digest, "WorkloadSuite", external_id, suite.text,
        )  # fmt: skip
        _add_bounds(kernel, suite.digest, cases, url, bundle)
    dtypes = [dtype(argument.dtype) for argument in kernel.inputs.values()]
    return MappedKernel(kernel.name, operation.digest, suite, dtypes, _floor_ms(kernel))


def dtype(name: str) -> str:
    """Return the manifest's token for an element type."""
    known: dict[str, str] = curated("dtypes")["names"]
    return known.get(name.lower(), token(name))


def entry_id(entry: Workload) -> str:
    """Return an entry's external id: its uuid, else 12 hex digits over its axes (sorted without regard to case)."""
    if entry.uuid:
        return str(entry.uuid)
    ordered = dict(sorted(entry.axes.items(), key=lambda axis: axis[0].lower()))
    return hashlib.sha256(_compact_json(ordered).encode()).hexdigest()[:12]


def _tags(kernel: Kernel) -> list[str]:
    return [tag for tag in kernel.tags or () if isinstance(tag, str)]


def _family(kernel: Kernel) -> str:
    if kernel.op_type:
        return kebab(kernel.op_type)
    topics = (tag for tag in _tags(kernel) if tag not in SUBSETS and not tag.startswith("model:"))
    return kebab(next(topics, "uncategorized"))


def _operation(kernel: Kernel, url: str) -> Made:
    metadata: dict[str, Any] = {"name": kebab(kernel.name), "title": kernel.name}
    if kernel.description:
        metadata["description"] = cut(kernel.description, 2000)
    if url.startswith("https://"):
        metadata["sourceRefs"] = [{"url": url}]
    _check_distinct("axes", [name.lower() for name in kernel.axes])
    for entry in kernel.workloads:
        _check_distinct("axes of a workload", [name.lower() for name in entry.axes])
    _check_distinct("inputs", [_argument_name(name) for name in kernel.inputs])
    _check_distinct("outputs", [_argument_name(name) for name in kernel.outputs])
    spec: dict[str, Any] = {
        "family": _family(kernel),
        "axes": {name.lower(): _axis(axis) for name, axis in kernel.axes.items()},
        "inputs": [_argument(name, one) for name, one in kernel.inputs.items()],
        "outputs": [_argument(name, one) for name, one in kernel.outputs.items()],
        "semantics": {"mutation": "none", "determinism": "unspecified"},
    }
    if kernel.reference:
        spec["reference"] = {"language": "python"}
    return make("OperationSpec", metadata, spec)


def _check_distinct(what: str, names: list[str]) -> None:
    if twice := {name for name in names if names.count(name) > 1}:
        raise ManifestError(f"{what}: several names become {', '.join(sorted(twice))}, and would be taken for one")


def _axis(axis: Axis) -> dict[str, Any]:
    if axis.type == "const":
        return {"role": "constant", "type": "integer"} | ({} if axis.value is None else {"value": axis.value})
    if axis.type == "expr":
        text = {} if axis.expression is None else {"expression": axis.expression.lower()}
        return {"role": "derived", "type": "integer"} | text
    if axis.type == "var":
        return {"role": "variable", "type": "integer"}
    raise ManifestError(f"axis type {axis.type!r}: only const, expr and var are known")


def _argument_name(name: str) -> str:
    plain = token(name)
    return plain if plain[:1].isalpha() else f"x_{plain}"


def _argument(name: str, one: Argument) -> dict[str, Any]:
    if not one.shape:
        return {"name": _argument_name(name), "scalar": {"dtype": dtype(one.dtype)}}
    shape = [_dimension(entry) for entry in one.shape]
    return {"name": _argument_name(name), "tensor": {"shape": shape, "dtype": dtype(one.dtype)}}


def _dimension(entry: int | str) -> int | str:
    if isinstance(entry, int):
        return entry
    return int(entry) if entry.isascii() and entry.isdigit() else entry.lower()


def _lowered(entry: Workload) -> dict[str, int]:
    return {name.lower(): value for name, value in entry.axes.items()}


def _suite(kernel: Kernel, entries: list[WorkloadEntry], operation_digest: str) -> Made:
    metadata = {"name": f"{kebab(kernel.name)}-suite", "title": cut(f"SOL workload suite: {kernel.name}", 200)}
    spec = {
        "operationSpecDigest": operation_digest,
        "cases": [{"externalId": entry.external_id, "axes": entry.axes} for entry in entries],
        "correctness": {"comparator": COMPARATOR, "description": SUITE_RULE},
        "aggregation": {"metric": "latency", "statistic": "mean"},
    }
    return make("WorkloadSuite", metadata, spec)


def _add_case(
    kernel: Kernel, signature: Signature, entry: WorkloadEntry, operation_digest: str, url: str, bundle: Bundle
) -> str | None:
    try:
        case = _case(kernel, signature, entry, operation_digest)
    except (axes.AxisError, units.UnitError, ManifestError) as error:
        bundle.rejects.append(Reject(f"{url}#workloads/{entry.external_id}", json.dumps(entry.sent.axes), str(error)))
        return None
    bundle.add("workloads", case.digest, operation_digest, "WorkloadCase", entry.external_id, case.text)
    return case.digest


def _case(kernel: Kernel, signature: Signature, entry: WorkloadEntry, operation_digest: str) -> Made:
    bindings, failures = _bindings(signature, entry)
    listed = ", ".join(f"{name}={value}" for name, value in entry.sent.axes.items())
    metadata = {
        "name": f"{signature.slug}-{entry.external_id[:8].lower()}",
        "title": cut(f"{kernel.name} · {listed}", 200),
    }
    bound = {
        name: {"shape": [_bound(size, bindings, failures) for size in shape], "dtype": dtype}
        for name, dtype, shape in signature.tensors
    }
    correctness: dict[str, Any] = {"comparator": COMPARATOR}
    if bytes(entry.sent.tolerance) not in (b"", b"null"):
        tolerance = _tolerance(entry.sent)
        bounds = {"maxAbsoluteError": tolerance.max_atol, "maxRelativeError": tolerance.max_rtol}
        correctness |= {name: units.json_number(text) for name, raw in bounds.items() if (text := _number_text(raw))}
    spec = {
        "operationSpecDigest": operation_digest,
        "axes": entry.axes,
        "tensors": bound,
        "correctness": correctness,
    }
    return make("WorkloadCase", metadata, spec)


def _tolerance(entry: Workload) -> Tolerance:
    try:
        return msgspec.json.decode(entry.tolerance, type=Tolerance)
    except msgspec.DecodeError as error:
        raise ManifestError(f"tolerance {bytes(entry.tolerance)[:60]!r}: {error}") from error


def _signature(kernel: Kernel) -> Signature:
    return Signature(
        slug=kebab(kernel.name),
        tensors=[
            (_argument_name(name), dtype(one.dtype), [_dimension(size) for size in one.shape])
            for name, one in kernel.inputs.items()
            if one.shape
        ],
        constants={
            name.lower(): axis.value
            for name, axis in kernel.axes.items()
            if axis.type == "const" and axis.value is not None
        },
        derived={
            name.lower(): axis.expression.lower()
            for name, axis in kernel.axes.items()
            if axis.type == "expr" and axis.expression
        },
    )


def _bindings(signature: Signature, entry: WorkloadEntry) -> tuple[dict[str, int], dict[str, axes.AxisError]]:
    """Return what the axes are bound to, and why derived ones are not: that matters only where one is needed."""
    bindings = entry.axes | signature.constants
    failures: dict[str, axes.AxisError] = {}
    waiting = {name: text for name, text in signature.derived.items() if name not in bindings}
    # A derived axis may refer to one that is defined further down: go round until nothing more can be bound.
    progress = True
    while progress:
        progress = False
        for name, text in list(waiting.items()):
            try:
                bindings[name] = axes.evaluate(text, bindings)
            except axes.UnboundAxisError as error:
                failures[name] = error
            except axes.AxisError as error:
                failures[name] = error
                del waiting[name]
            else:
                del waiting[name]
                progress = True
    return bindings, failures


def _bound(size: int | str, bindings: dict[str, int], failures: dict[str, axes.AxisError]) -> int:
    if isinstance(size, int):
        return size
    if size not in bindings:
        if size in failures:
            raise failures[size]
        raise axes.UnboundAxisError(size)
    return bindings[size]


def _number_text(raw: bytes | memoryview | Any) -> str | None:
    text = bytes(raw).decode().strip('"')
    return None if text in ("", "null") else text


def _ns(raw: Any) -> float | None:
    text = _number_text(raw)
    return None if text is None else units.ms_to_ns_real(text)


def _add_bounds(kernel: Kernel, suite_digest: str, cases: list[str | None], url: str, bundle: Bundle) -> None:
    for place, (entry, digest) in enumerate(zip(kernel.workloads, cases, strict=True)):
        try:
            bounds = _ns(entry.baseline_latency_ms), _ns(entry.sol_ms)
        except units.UnitError as error:
            bundle.rejects.append(Reject(f"{url}#workloads[{place}]", "", str(error)))
            continue
        bundle.add("workload_bounds", suite_digest, place, digest, *bounds, kernel.name)


def _floor_ms(kernel: Kernel) -> Decimal | None:
    if kernel.sol_is_dummy is not False or not kernel.workloads:
        return None
    try:
        floors = [units.plain_number(_number_text(entry.sol_ms) or "0") for entry in kernel.workloads]
    except units.UnitError:
        return None
    return min(floors) if min(floors) > 0 else None
