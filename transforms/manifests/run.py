"""BenchmarkRun: one result, of one implementation, on one workload, under one protocol, in one environment."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, model_validator

from transforms.manifests.parts import Artifact, CodeAt
from transforms.manifests.values import (
    Digest,
    Duration,
    Instant,
    Interval,
    Magnitude,
    ManifestPart,
    Maybe,
    Number,
    Positive,
    Ratio,
    Slug,
    Text,
    Token,
)

RunStatus = Literal[
    "passed",
    "incorrect_shape",
    "incorrect_dtype",
    "incorrect_numerical",
    "compile_error",
    "runtime_error",
    "timeout",
    "resource_exceeded",
    "invalid_reference",
    "policy_violation",
    "suspected_reward_hack",
    "incomplete_evidence",
    "revoked",
]


class RunCorrectness(ManifestPart):
    """How far the results were from the reference."""

    comparator: Token
    maximum_absolute_error: Maybe[Magnitude] = None
    maximum_relative_error: Maybe[Magnitude] = None
    matched_ratio: Maybe[Ratio] = None


class LatencyNs(ManifestPart):
    """Statistics of a latency, in whole nanoseconds, with a central value at least."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["median"]}, {"required": ["mean"]}]})

    median: Maybe[Duration] = None
    mean: Maybe[Duration] = None
    p05: Maybe[Duration] = None
    p95: Maybe[Duration] = None
    minimum: Maybe[Duration] = None
    maximum: Maybe[Duration] = None
    mad: Maybe[Duration] = None
    confidence95: Maybe[Interval] = None

    @model_validator(mode="before")
    @classmethod
    def _has_a_centre(cls, latency: object) -> object:
        if isinstance(latency, dict) and "median" not in latency and "mean" not in latency:
            raise ValueError("a latency needs a median or a mean")
        return latency


class Timing(ManifestPart):
    """The latency, and which of its statistics is the primary one."""

    primary_statistic: Token
    samples: Maybe[Positive] = None
    latency_ns: LatencyNs
    raw_samples: Maybe[Artifact] = None


class RunMeasurement(ManifestPart):
    """A measured figure with its unit."""

    metric: Token
    unit: Token
    statistic: Token
    value: Number
    sample_count: Maybe[Positive] = None


class SourceNative(ManifestPart):
    """What the source itself published, in its own names and units."""

    source: Slug
    benchmark: Maybe[Text] = None
    external_id: Maybe[Text] = None
    metrics: Maybe[dict[Token, Number]] = None


class RunEvidence(ManifestPart):
    """What the result can be checked against."""

    logs: Maybe[Artifact] = None
    raw_samples: Maybe[Artifact] = None
    harness: Maybe[CodeAt] = None


class BenchmarkRun(ManifestPart):
    """The spec of a BenchmarkRun manifest."""

    implementation_digest: Digest
    workload_digest: Digest
    protocol_digest: Digest
    environment_digest: Digest
    status: RunStatus
    correctness: Maybe[RunCorrectness] = None
    timing: Maybe[Timing] = None
    measurements: Maybe[list[RunMeasurement]] = None
    source_native: Maybe[SourceNative] = None
    evidence: Maybe[RunEvidence] = None
    observed_at: Instant
