"""The envelope every object shares, and which kinds there are."""

from __future__ import annotations

from typing import Any, Final, Generic, Literal, TypeVar

from transforms.manifests.operation import OperationSpec
from transforms.manifests.parts import Metadata
from transforms.manifests.project import ImplementationRevision, SoftwareProject
from transforms.manifests.protocol import BenchmarkProtocol, ExecutionEnvironment
from transforms.manifests.run import BenchmarkRun
from transforms.manifests.values import ManifestPart
from transforms.manifests.workload import WorkloadCase, WorkloadSuite

KindT = TypeVar("KindT")
SpecT = TypeVar("SpecT", bound=ManifestPart)


class ManifestError(ValueError):
    """Something that is no manifest: one line with the kind, the field, the value and the rule it breaks."""


class Manifest(ManifestPart, Generic[KindT, SpecT]):
    """The envelope of every object: `metadata` is editorial, version, kind and spec are its identity."""

    api_version: Literal["kernelindex.dev/v1alpha1"]
    kind: KindT
    metadata: Metadata
    spec: SpecT


_ENVELOPES: Final[dict[str, type[Manifest[Any, Any]]]] = {
    "OperationSpec": Manifest[Literal["OperationSpec"], OperationSpec],
    "WorkloadCase": Manifest[Literal["WorkloadCase"], WorkloadCase],
    "WorkloadSuite": Manifest[Literal["WorkloadSuite"], WorkloadSuite],
    "SoftwareProject": Manifest[Literal["SoftwareProject"], SoftwareProject],
    "ImplementationRevision": Manifest[Literal["ImplementationRevision"], ImplementationRevision],
    "BenchmarkProtocol": Manifest[Literal["BenchmarkProtocol"], BenchmarkProtocol],
    "ExecutionEnvironment": Manifest[Literal["ExecutionEnvironment"], ExecutionEnvironment],
    "BenchmarkRun": Manifest[Literal["BenchmarkRun"], BenchmarkRun],
}
KINDS: Final = tuple(_ENVELOPES)


def envelope_of(kind: object) -> type[Manifest[Any, Any]]:
    """Return the model of whole manifests of a kind. Raises ManifestError for what is none of `KINDS`."""
    if isinstance(kind, str) and kind in _ENVELOPES:
        return _ENVELOPES[kind]
    raise ManifestError(f"manifest: kind {repr(kind)[:60]} is none of {', '.join(KINDS)}")
