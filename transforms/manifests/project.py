"""SoftwareProject and ImplementationRevision: whose code it is, and which state of it."""

from __future__ import annotations

from typing import Literal

from transforms.manifests.values import (
    Commit,
    Digest,
    ManifestPart,
    Maybe,
    Positive,
    SetOfTexts,
    SetOfTokens,
    Text,
    Text100,
    Token,
    Url,
)


class Host(ManifestPart):
    """Where a project lives, by the host's own id for it."""

    kind: Literal["github", "huggingface", "gitlab", "other"]
    id: Text


class Package(ManifestPart):
    """A name under which a project is published."""

    ecosystem: Token
    name: Text


class SoftwareProject(ManifestPart):
    """The spec of a SoftwareProject manifest."""

    name: Text
    kind: Maybe[Literal["library", "individual", "vendor"]] = None
    repository: Maybe[Url] = None
    homepage: Maybe[Url] = None
    host: Maybe[Host] = None
    packages: Maybe[list[Package]] = None


class ProjectRevision(ManifestPart):
    """A state of a project, by whatever names it."""

    repository: Maybe[Url] = None
    commit: Maybe[Commit] = None
    version: Maybe[Text100] = None
    tree_digest: Maybe[Digest] = None


class ImplementedOperation(ManifestPart):
    """The operation that is implemented."""

    spec_digest: Digest


class Callable(ManifestPart):
    """What is called, and in which language it is written."""

    language: Token
    path: Maybe[Text] = None
    symbol: Maybe[Text] = None
    interface: Maybe[Token] = None


class Support(ManifestPart):
    """What the implementation is known to run on. Each list is a set: no repetition, sorted by code point."""

    hardware_architectures: SetOfTokens
    products_tested: Maybe[SetOfTexts] = None
    axes: Maybe[SetOfTexts] = None
    dtypes: SetOfTokens
    layouts: Maybe[SetOfTexts] = None


class SourceFile(ManifestPart):
    """The source text itself, by its digest."""

    content_digest: Digest
    file_name: Maybe[Text] = None
    size_bytes: Maybe[Positive] = None


class Install(ManifestPart):
    """How to get a build."""

    kind: Literal["git", "pip", "package", "container", "source"]
    repository: Maybe[Url] = None
    commit: Maybe[Commit] = None
    package: Maybe[Text] = None
    version: Maybe[Text] = None
    command: Maybe[Text] = None


class BuildVariant(ManifestPart):
    """One way to build, and what it needs."""

    name: Text
    install: Install
    requirements: Maybe[dict[Token, Text]] = None


class LicenseEvidence(ManifestPart):
    """The file that says so."""

    path: Text
    digest: Maybe[Digest] = None


class Licensing(ManifestPart):
    """What is known of the licence; an empty object when nothing is."""

    declared: Maybe[Text] = None
    concluded: Maybe[Text] = None
    evidence: Maybe[LicenseEvidence] = None


class ImplementationRevision(ManifestPart):
    """The spec of an ImplementationRevision manifest."""

    project_revision: ProjectRevision
    operation: ImplementedOperation
    callable: Callable
    support: Support
    source: Maybe[SourceFile] = None
    build_variants: Maybe[list[BuildVariant]] = None
    licensing: Licensing
