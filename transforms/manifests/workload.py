"""WorkloadCase and WorkloadSuite: the sizes an operation is run at, and what counts as correct."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from transforms.manifests.parts import Artifact
from transforms.manifests.values import (
    AxisName,
    Count,
    Digest,
    Integer,
    Magnitude,
    ManifestPart,
    Maybe,
    Number,
    Positive,
    Ratio,
    Text200,
    Text500,
    Token,
)


class TensorData(ManifestPart):
    """How a tensor's content is made, or where it is kept."""

    generator: Token
    seed: Maybe[Count] = None
    parameters: Maybe[dict[Token, Number]] = None
    artifact: Maybe[Artifact] = None


class CaseTensor(ManifestPart):
    """A tensor with its shape in whole numbers; strides count elements."""

    shape: Annotated[list[Count], Field(min_length=1)]
    dtype: Token
    strides: Maybe[list[Integer]] = None
    alignment_bytes: Maybe[Positive] = None
    data: Maybe[TensorData] = None


class CaseScalar(ManifestPart):
    """A scalar with its value."""

    dtype: Token
    value: Number


class CaseCorrectness(ManifestPart):
    """When a result on a case is right."""

    comparator: Token
    max_absolute_error: Maybe[Magnitude] = None
    max_relative_error: Maybe[Magnitude] = None
    required_matched_ratio: Maybe[Ratio] = None
    nan_policy: Maybe[Token] = None
    infinity_policy: Maybe[Token] = None


class WorkloadCase(ManifestPart):
    """The spec of a WorkloadCase manifest: one operation at one size."""

    operation_spec_digest: Digest
    axes: dict[AxisName, Integer]
    tensors: dict[Token, CaseTensor]
    scalars: Maybe[dict[Token, CaseScalar]] = None
    correctness: CaseCorrectness


class SuiteEntry(ManifestPart):
    """One case of a suite, by the source's id for it."""

    external_id: Text200
    axes: dict[AxisName, Integer]


class SuiteCorrectness(ManifestPart):
    """When a result on a suite is right."""

    comparator: Token
    description: Maybe[Text500] = None


class Aggregation(ManifestPart):
    """How the source makes one figure of all cases."""

    metric: Token
    statistic: Token


class WorkloadSuite(ManifestPart):
    """The spec of a WorkloadSuite manifest. A suite's result is the source's own aggregate, never a case's."""

    operation_spec_digest: Digest
    cases: Annotated[list[SuiteEntry], Field(min_length=1)]
    correctness: SuiteCorrectness
    aggregation: Aggregation
