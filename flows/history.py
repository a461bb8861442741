"""The archive and the warehouse of a home tell one history: nothing is loaded on top of a hole in either."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from scrapers.archive import Archive, SyncRecord
from scrapers.codes import Code
from scrapers.errors import SyncFailed
from warehouse.connection import published_path, reading
from warehouse.migrations import check_not_newer
from warehouse.query import Ended, KnownListing, known_listings, published_syncs

LOADED = frozenset({"complete", "partial"})
"""Syncs that brought rows; the others are told of by the next that did."""


def ended_well(archive: Archive, published: dict[int, Ended]) -> list[SyncRecord]:
    """Return the syncs that brought rows, in order.

    A sync that is `published` did, whatever the archive says: it is closed there only afterwards.
    """
    syncs = [
        replace(sync, status=published[sync.sync_id][0], finished_at=published[sync.sync_id][1])
        if sync.status == "running" and sync.sync_id in published
        else sync
        for sync in archive.syncs()
    ]
    return [sync for sync in syncs if sync.status in LOADED]


@dataclass(frozen=True, slots=True)
class Published:
    """What a sync wants to know of the warehouse before it: how and when the syncs ended that it was made of, and the
    latest listing of each of the source's kernels."""

    syncs: dict[int, Ended]
    listings: dict[str, KnownListing]


def published(home: Path, source: str) -> Published:
    """Return what is there; nothing when there is no warehouse.

    Raises `WarehouseError` for one that cannot be read, or that a newer kix wrote.
    """
    if not published_path(home).exists():
        return Published({}, {})
    with reading(home) as db:
        check_not_newer(db)
        return Published(published_syncs(db), known_listings(db, source))


def syncs_published(home: Path) -> dict[int, Ended]:
    """Return how and when each sync ended that the warehouse was made of. Raises `WarehouseError` as `published` does
    for one that cannot be read."""
    if not published_path(home).exists():
        return {}
    with reading(home) as db:
        return published_syncs(db)


def check_archive_is_whole(home: Path, archive: Archive, there: dict[int, Ended]) -> None:
    """Raise `SyncFailed` when the archive lacks syncs that the warehouse was made of: it was lost, or is an old one."""
    lost = there.keys() - {sync.sync_id for sync in archive.syncs()}
    if lost:
        warehouse = published_path(home).name
        raise SyncFailed(
            f"the archive {archive.path} lacks {_syncs(lost)} that {warehouse} was made of: restore {archive.path.name}"
            f" from a backup; or, to begin anew, move {warehouse} away",
            code=Code.ARCHIVE_INCOMPLETE,
        )


def unpublished(archive: Archive, there: dict[int, Ended]) -> list[SyncRecord]:
    """Return all syncs that brought rows when the warehouse lacks any of them: it was lost, or is an old one."""
    brought = ended_well(archive, there)
    return brought if {sync.sync_id for sync in brought} - there.keys() else []


def _syncs(numbers: set[int]) -> str:
    return f"sync {min(numbers)}" if len(numbers) == 1 else f"{len(numbers)} syncs (the first: {min(numbers)})"
