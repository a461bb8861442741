"""Bodies that several kinds share."""

from __future__ import annotations

from transforms.manifests.values import (
    Commit,
    Digest,
    ManifestPart,
    Maybe,
    Name,
    Text,
    Text200,
    Text2000,
    Token,
    Url,
)


class Author(ManifestPart):
    """Who an object is credited to."""

    name: Maybe[Text] = None
    github: Maybe[Text] = None


class SourceRef(ManifestPart):
    """A page the object was taken from."""

    url: Url


class Metadata(ManifestPart):
    """Names, titles, labels, credits and links: editorial, and never part of an object's identity."""

    name: Name
    title: Maybe[Text200] = None
    description: Maybe[Text2000] = None
    labels: Maybe[dict[Token, Text200]] = None
    authors: Maybe[list[Author]] = None
    source_refs: Maybe[list[SourceRef]] = None


class Artifact(ManifestPart):
    """Bytes kept elsewhere, under their digest."""

    uri: Text
    digest: Digest


class CodeAt(ManifestPart):
    """A repository at one commit."""

    repository: Url
    commit: Commit
