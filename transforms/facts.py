"""What a run page says of manifests: label and value, in the page's order.

Labels are the manifest's field names; order and labels are those of the public index's run pages. What a manifest does
not state is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from transforms.identity import canonical_json
from transforms.units import format_score

Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a page."""

    label: str
    value: str


def protocol_facts(spec: Spec) -> list[Fact]:
    """Say how was measured: from the spec of a BenchmarkProtocol."""
    measurement = spec["measurement"]
    before = ("timer", "synchronization", "compileIncluded", "warmupIterations", "measuredIterations", "samples",
              "inputRegeneration", "primaryStatistic", "outlierPolicy")  # fmt: skip
    return _facts([
        ("harness", harness_label(spec)),
        *((name, measurement.get(name)) for name in before),
        ("correctnessReference", spec.get("correctness", {}).get("reference")),
        ("comparabilityFamily", spec.get("comparability", {}).get("family")),
    ])  # fmt: skip


def environment_facts(spec: Spec) -> list[Fact]:
    """Say on what was measured: from the spec of an ExecutionEnvironment."""
    hardware, software, settings = spec["hardware"], spec["software"], spec.get("settings", {})
    framework = software.get("framework")
    return _facts([
        ("gpu", gpu_label(spec)),
        ("gpuCount", hardware.get("count")),
        ("memoryBytes", hardware.get("memoryBytes")),
        *((name, software.get(name)) for name in ("operatingSystem", "driver", "cudaToolkit")),
        ("framework", framework and f"{framework['name']} {framework['version']}"),
        ("compiler", software.get("compiler")),
        *((name, settings.get(name)) for name in ("clocksLocked", "persistenceMode")),
        ("imageDigest", spec.get("imageDigest")),
    ])  # fmt: skip


def workload_facts(manifest: Spec) -> list[Fact]:
    """Say what was run: axes, tensors and tolerances of a WorkloadCase, the rule of correctness of a WorkloadSuite."""
    spec = manifest["spec"]
    rule = spec["correctness"]
    tolerances = ("maxAbsoluteError", "maxRelativeError", "requiredMatchedRatio", "nanPolicy", "infinityPolicy")
    return _facts([
        *spec.get("axes", {}).items(),
        *((name, _tensor(tensor)) for name, tensor in spec.get("tensors", {}).items()),
        *((name, f"{one['dtype']} {_text(one['value'])}") for name, one in spec.get("scalars", {}).items()),
        # Not "comparator": the workload's rule and the protocol's evaluator may have different names.
        ("definition comparator", rule["comparator"]),
        ("description", rule.get("description")),
        *((name, rule.get(name)) for name in tolerances),
    ])  # fmt: skip


def correctness_facts(run: Spec) -> list[Fact]:
    """Say how right the results were: from the spec of a BenchmarkRun; empty when it has no such block."""
    block = run.get("correctness")
    if block is None:
        return []
    return _facts([
        ("comparator", block["comparator"]),
        ("max absolute error", block.get("maximumAbsoluteError")),
        ("max relative error", block.get("maximumRelativeError")),
        ("matched ratio", block.get("matchedRatio")),
        ("result", "passed" if run["status"] == "passed" else "failed"),
    ])  # fmt: skip


def artifact_facts(run: Spec) -> list[Fact]:
    """Say what was published with a run: its evidence, and the raw samples of its timing."""
    evidence, timing = run.get("evidence", {}), run.get("timing", {})
    kept = {"logs": evidence.get("logs"), "rawSamples": evidence.get("rawSamples") or timing.get("rawSamples")}
    harness = evidence.get("harness")
    return _facts([
        *((name, one and f"{one['digest']} · {one['uri']}") for name, one in kept.items()),
        ("harness", harness and f"{harness['repository']} at {harness['commit']}"),
    ])  # fmt: skip


def workload_label(manifest: Spec, external_id: str) -> str:
    """Name a workload: `suite of 16 cases · mean latency` (entries counted with repeats), or a case's axes.

    How a suite is aggregated is left out where the source does not say; a case without axes shows its id.
    """
    spec = manifest["spec"]
    if manifest["kind"] == "WorkloadSuite":
        stated = (spec["aggregation"]["statistic"], spec["aggregation"]["metric"])
        how = " ".join(word for word in stated if word != "unspecified")
        return " · ".join(filter(None, (f"suite of {len(spec['cases'])} cases", how)))
    return " · ".join(f"{name} = {size}" for name, size in spec["axes"].items()) or f"case {external_id}"


def harness_label(protocol: Spec) -> str:
    """Name and version of a protocol's harness."""
    return " ".join(filter(None, (protocol["harness"]["name"], protocol["harness"].get("version"))))


def gpu_label(environment: Spec) -> str:
    """Product and architecture of an environment: `NVIDIA B200 (sm_100)`."""
    return f"{environment['hardware']['product']} ({environment['hardware']['architecture']})"


def environment_label(manifest: Spec) -> str:
    """Name an ExecutionEnvironment: its title, which tells more than the GPU alone, else the GPU."""
    return manifest["metadata"].get("title") or gpu_label(manifest["spec"])


def rule_label(rule: Spec) -> str:
    """A workload's rule of correctness in one line: its comparator, then what else it states."""
    stated = [f"{name} {_text(value)}" for name, value in sorted(rule.items()) if name != "comparator"]
    return ", ".join([rule["comparator"], *stated])


def source_metrics_line(metrics: dict[str, Any]) -> str:
    """Show the source's own figures: `SOL 0.0914 · 0.12× reference · 0/16 cases faster`, a missing part left out.

    Figures of other names follow as they are. The latencies are left out: the primary measurement has them.
    """
    left = {name: value for name, value in metrics.items() if name not in ("latency_ms", "reference_latency_ms")}
    parts = []
    if "sol_score" in left:
        parts.append(f"SOL {format_score(left.pop('sol_score'), 4)}")
    if speedups := [left.pop(name) for name in ("avg_speedup", "speedup_factor") if name in left]:
        parts.append(f"{format_score(speedups[0], 2)}× reference")
    faster = [left.pop(name) for name in ("fast_1_count", "fast_1_total") if name in left]
    if len(faster) == 2:
        parts.append(f"{_text(faster[0])}/{_text(faster[1])} cases faster")
    parts += [f"{name.replace('_', ' ')} {_text(value)}" for name, value in left.items()]
    return " · ".join(parts)


def revision_label(implementation: Spec) -> str | None:
    """Return the version of the project that an implementation is, else its commit or tree; None when none is known."""
    revision = implementation["projectRevision"]
    found: str | None = revision.get("version") or revision.get("commit") or revision.get("treeDigest")
    return found


def _tensor(tensor: Spec) -> str:
    parts = [tensor["dtype"], _sizes(tensor["shape"])]
    if "strides" in tensor:
        parts.append(f"strides {_sizes(tensor['strides'])}")
    if "alignmentBytes" in tensor:
        parts.append(f"align {tensor['alignmentBytes']}")
    return " ".join(parts)


def _sizes(numbers: list[int]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def _facts(pairs: Iterable[tuple[str, Any]]) -> list[Fact]:
    return [Fact(label, _text(value)) for label, value in pairs if value is not None]


def _text(value: Any) -> str:
    """A text as it is, numbers and booleans as JSON writes them."""
    return value if isinstance(value, str) else canonical_json(value).decode()
