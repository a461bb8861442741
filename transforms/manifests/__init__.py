"""Strict models of the KernelIndex kinds (`kernelindex.dev/v1alpha1`), and manifests made and parsed with them."""

from transforms.manifests.envelope import KINDS, Manifest, ManifestError
from transforms.manifests.making import Made, make, parse, parse_record
from transforms.manifests.operation import OperationSpec
from transforms.manifests.parts import Metadata
from transforms.manifests.project import ImplementationRevision, SoftwareProject
from transforms.manifests.protocol import BenchmarkProtocol, ExecutionEnvironment
from transforms.manifests.run import BenchmarkRun
from transforms.manifests.schema import json_schema
from transforms.manifests.series import make_alike
from transforms.manifests.workload import WorkloadCase, WorkloadSuite

__all__ = [
    "KINDS",
    "BenchmarkProtocol",
    "BenchmarkRun",
    "ExecutionEnvironment",
    "ImplementationRevision",
    "Made",
    "Manifest",
    "ManifestError",
    "Metadata",
    "OperationSpec",
    "SoftwareProject",
    "WorkloadCase",
    "WorkloadSuite",
    "json_schema",
    "make",
    "make_alike",
    "parse",
    "parse_record",
]
