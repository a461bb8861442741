"""What every scraper speaks: policies, captures, parts, and what did not fit."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from scrapers.codes import Code


@dataclass(frozen=True, slots=True)
class SourcePolicy:
    """Where a source lives, how politely it is read, and whose data it is.

    `page_url` is where a person finds its results; empty when there is no such page. `closed_paths` are never asked,
    with whatever is below them, whatever robots.txt says.
    """

    slug: str
    title: str
    base_url: str
    hosts: frozenset[str]
    licence: str
    attribution: str
    connections: int = 4
    requests_per_s: float = 10.0
    page_url: str = ""
    closed_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Capture:
    """One answer as the archive holds it. `body_digest` is `sha256:…` of `body`, the bytes after decompression.

    `via` tells how it came: `network`, `revalidated` (304: the stored body is still the source's), `archive`, `saved`
    (a file that was given).
    """

    url: str
    status: int
    fetched_at: datetime
    media_type: str
    body_digest: str
    body: bytes
    via: str


class Fetch(Protocol):
    """Answers a URL from the network or from the archive.

    `again` asks anew although this sync already holds an answer (a listing that moved is read again); `fresh` asks for
    the whole answer, whatever is held (a stored body that is of no use must not be confirmed for ever).
    Raises `GiveUp` when there is no usable answer.
    """

    async def __call__(self, url: str, *, again: bool = False, fresh: bool = False) -> Capture:
        """Return the answer to `url`."""
        ...


@dataclass(frozen=True, slots=True)
class Reject:
    """What could not be used: where it stands, the thing itself (JSON text, may be empty), and why.

    `code` is text, so that a reading is read by a kix that has other codes.
    """

    locator: str
    item: str
    reason: str
    code: str = Code.ITEM_UNUSABLE


@dataclass(frozen=True, slots=True)
class Drift:
    """The source changed its shape: `path` (`submissions[].new_field`), what happened to it, where first, how often."""

    path: str
    change: str
    locator: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Scope:
    """Which parts of a source a sync reads. Empty means all of it. `pages` are of a source that is read by page."""

    kernels: tuple[str, ...] = ()
    tag: str | None = None
    limit: int | None = None
    pages: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the sync reads everything the source lists."""
        return not self.kernels and self.tag is None and self.limit is None and not self.pages


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a source's index: a part to be read. `key` names it for people and in the warehouse (a kernel's name).

    `stated` is how many claims the index says the part has, where it does.
    """

    key: str
    locator: str
    upstream_id: str
    stated: int | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """A source's table of contents as one sync saw it, reduced to the sync's scope."""

    entries: tuple[Entry, ...]
    listed: int
    rejects: tuple[Reject, ...] = ()
    drift: tuple[Drift, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """The smallest piece of a source that is read, mapped and listed as a whole: one kernel's board, or one page.

    It holds references into the archive, not payloads. `definition` is what the claims are about (absent when it
    could not be read), `pages` the listing of the claims in reading order. `complete` means that the listing closed:
    only then does absence from it mean anything. `workloads` and `listed` count what the answers hold,
    `stated` is the index's own count of the claims.
    """

    key: str
    locator: str
    upstream_id: str
    definition: str | None
    pages: tuple[str, ...]
    complete: bool
    workloads: int
    listed: int
    stated: int | None = None
    rejects: tuple[Reject, ...] = ()
    drift: tuple[Drift, ...] = ()

    @property
    def listing_digest(self) -> str:
        """Digest of the listing: its body's own for one page, else SHA-256 over the pages' digests, a line each."""
        if len(self.pages) == 1:
            return self.pages[0]
        return "sha256:" + hashlib.sha256("\n".join(self.pages).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reading:
    """What one sync concluded from the answers it got: what it was asked for, the index, and each part.

    Together with the bodies in the archive it is all that a load needs, so a sync can be loaded again years later.
    """

    scope: Scope
    index: Index
    parts: tuple[Part, ...]


@dataclass(slots=True)
class Findings:
    """Rejects and drift gathered along the way."""

    rejects: list[Reject] = field(default_factory=list)
    drift: list[Drift] = field(default_factory=list)


class Body(Protocol):
    """Reads a stored body by its digest. Raises `ArchiveDamaged`."""

    def __call__(self, digest: str, /) -> bytes:
        """Return the bytes."""
        ...


ReadIndex = Callable[[Fetch, str, Scope], Awaitable[Index]]
ReadPart = Callable[[Fetch, str, Entry], Awaitable[Part]]


def merge_drift(found: Sequence[Drift]) -> tuple[Drift, ...]:
    """Reduce to one line a path and change, counted, at the first place it was seen."""
    merged: dict[tuple[str, str], Drift] = {}
    for one in found:
        first = merged.get((one.path, one.change), Drift(one.path, one.change, one.locator, 0))
        merged[one.path, one.change] = Drift(first.path, first.change, first.locator, first.count + one.count)
    return tuple(merged.values())
