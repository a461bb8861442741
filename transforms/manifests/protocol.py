"""BenchmarkProtocol and ExecutionEnvironment: how it was measured, and on what."""

from __future__ import annotations

from transforms.manifests.values import (
    Commit,
    Count,
    Digest,
    Duration,
    ManifestPart,
    Maybe,
    Positive,
    PositiveNumber,
    Text,
    Token,
    Url,
)


class Harness(ManifestPart):
    """The program that measures."""

    name: Text
    version: Maybe[Text] = None
    repository: Maybe[Url] = None
    commit: Maybe[Commit] = None


class Measurement(ManifestPart):
    """How a figure comes about. What the source does not state is absent, never assumed; durations in ns."""

    timer: Token
    synchronization: Maybe[Token] = None
    compile_included: Maybe[bool] = None
    setup_included: Maybe[bool] = None
    warmup_iterations: Maybe[Count] = None
    warmup_duration: Maybe[Duration] = None
    measured_iterations: Maybe[Positive] = None
    samples: Maybe[Positive] = None
    input_regeneration: Maybe[Token] = None
    outlier_policy: Maybe[Text] = None
    primary_statistic: Token


class ProtocolCorrectness(ManifestPart):
    """What results are compared with, and how."""

    reference: Text
    comparator: Token


class DevicePolicy(ManifestPart):
    """How the device was held steady."""

    clocks_locked: Maybe[bool] = None
    power_limit_watts: Maybe[PositiveNumber] = None
    persistence_mode: Maybe[bool] = None


class Comparability(ManifestPart):
    """The family inside which figures may be compared. Families never mix."""

    family: Token
    notes: Maybe[Text] = None


class BenchmarkProtocol(ManifestPart):
    """The spec of a BenchmarkProtocol manifest."""

    harness: Harness
    measurement: Measurement
    correctness: Maybe[ProtocolCorrectness] = None
    device_policy: Maybe[DevicePolicy] = None
    comparability: Maybe[Comparability] = None


class Hardware(ManifestPart):
    """The machine."""

    vendor: Token
    product: Text
    architecture: Token
    form_factor: Maybe[Text] = None
    memory_bytes: Maybe[Positive] = None
    count: Maybe[Positive] = None
    interconnect: Maybe[Text] = None


class Framework(ManifestPart):
    """The framework kernels are called from."""

    name: Token
    version: Text


class Software(ManifestPart):
    """What was installed on it."""

    operating_system: Maybe[Text] = None
    kernel: Maybe[Text] = None
    driver: Maybe[Text] = None
    cuda_toolkit: Maybe[Text] = None
    compiler: Maybe[Text] = None
    framework: Maybe[Framework] = None
    libraries: Maybe[dict[Token, Text]] = None


class Settings(DevicePolicy):
    """How it was set up."""

    ecc_enabled: Maybe[bool] = None
    environment_variables: Maybe[dict[Text, Text]] = None


class ExecutionEnvironment(ManifestPart):
    """The spec of an ExecutionEnvironment manifest."""

    hardware: Hardware
    software: Software
    settings: Maybe[Settings] = None
    image_digest: Maybe[Digest] = None
